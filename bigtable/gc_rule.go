package bigtable

import (
	"math"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/colonnade-db/colonnade/widecol"
)

// maxDurationSecs is the longest duration of protocol buffers, about 10,000 years.
const maxDurationSecs = 315_576_000_000

// gcOf takes a GC rule over: one of max_age and max_num_versions, or a union or an intersection with at most one of
// each. Ages are whole seconds here; a part of a second counts as a whole one.
func gcOf(place string, m *adminpb.GcRule) (gc widecol.GC, err error) {
	switch rule := m.GetRule().(type) {
	case nil:
		return gc, nil
	case *adminpb.GcRule_Union_:
		err = gcOfAll(&gc, place+".union", rule.Union.GetRules())
	case *adminpb.GcRule_Intersection_:
		err = gcOfAll(&gc, place+".intersection", rule.Intersection.GetRules())
		gc.Intersection = gc.TTLSecs > 0 && gc.VersionLimit > 0
	default:
		err = gcOfOne(&gc, place, m)
	}
	return gc, err
}

func gcOfAll(gc *widecol.GC, place string, rules []*adminpb.GcRule) error {
	for _, m := range rules {
		if err := gcOfOne(gc, place, m); err != nil {
			return err
		}
	}
	return nil
}

func gcOfOne(gc *widecol.GC, place string, m *adminpb.GcRule) error {
	switch rule := m.GetRule().(type) {
	case *adminpb.GcRule_MaxNumVersions:
		if rule.MaxNumVersions < 1 {
			return invalid(place+".max_num_versions", "it is %d, and must be at least 1", rule.MaxNumVersions)
		}
		if gc.VersionLimit == 0 {
			gc.VersionLimit = int64(rule.MaxNumVersions)
			return nil
		}
	case *adminpb.GcRule_MaxAge:
		if err := rule.MaxAge.CheckValid(); err != nil {
			return invalid(place+".max_age", "it is no duration: %v", err)
		}
		if age := rule.MaxAge.AsDuration(); age < time.Millisecond {
			return invalid(place+".max_age", "it is %v, and must be at least a millisecond", age)
		}
		if gc.TTLSecs == 0 {
			gc.TTLSecs = rule.MaxAge.Seconds + int64((rule.MaxAge.Nanos+999_999_999)/1_000_000_000)
			return nil
		}
	case nil:
		return invalid(place, "a rule is empty")
	}
	return status.Error(codes.Unimplemented, at(place, "a union or an intersection may have one max_age and one max_num_versions, and no other unions or intersections"))
}

// ruleOf returns the GC rule of a policy, nil for none. Numbers that are too large for a rule are the largest there is.
func ruleOf(gc widecol.GC) *adminpb.GcRule {
	age := &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: &durationpb.Duration{Seconds: min(gc.TTLSecs, maxDurationSecs)}}}
	versions := &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(min(gc.VersionLimit, math.MaxInt32))}}
	switch both := []*adminpb.GcRule{age, versions}; {
	case gc == (widecol.GC{}):
		return nil
	case gc.VersionLimit == 0:
		return age
	case gc.TTLSecs == 0:
		return versions
	case gc.Intersection:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: both}}}
	default:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: both}}}
	}
}
