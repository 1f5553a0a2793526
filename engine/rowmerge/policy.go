package rowmerge

import "github.com/colonnade-db/colonnade/cell"

// Policy says which cells of one family are alive.
type Policy struct {
	GC cell.GC
	// Since hides the cells of an earlier family of the same name: those with
	// a sequence number of Since or below. 0 means that the partition never had
	// an earlier one.
	Since uint64
}

// Policies lists the families of a partition. Cells of a family that is not listed are
// garbage. A Policies is immutable. A nil *Policies keeps every cell of every family.
type Policies struct {
	families map[string]Policy
	// asOf is the last sequence number before the list was made. A family that
	// is missing here may have been created since. A compaction can run with an
	// old list, so it must not touch later cells.
	asOf uint64
	// undeclared marks the list of a partition before its families are known.
	undeclared bool
}

// NoPolicies is the list of a partition whose families are not known yet. It keeps everything.
var NoPolicies = &Policies{undeclared: true}

// NewPolicies makes the list for a partition. asOf is the last sequence number
// given to a batch at a moment when no write to the partition was under way.
func NewPolicies(asOf uint64, families map[string]Policy) *Policies {
	return &Policies{families: families, asOf: asOf}
}

// declared reports whether the families of the partition are known.
func (p *Policies) declared() bool { return p == nil || !p.undeclared }

// keepAll reports whether every cell of every family is alive.
func (p *Policies) keepAll() bool { return p == nil || p.undeclared }

// family returns the policy of a family, and whether the list has one.
func (p *Policies) family(name []byte) (Policy, bool) {
	if p.keepAll() {
		return Policy{}, true
	}
	policy, ok := p.families[string(name)]
	return policy, ok
}

// Contents summarizes the entries of a sorted file.
type Contents struct {
	Families         []string
	MinTime, MaxTime int64
	MaxSeq           uint64
}

// Garbage estimates the fraction of a file's versions, up to 1, that are expired at a time of now
// or whose families are dropped. It is 0 or below if nothing is known to be garbage.
//
// It assumes that versions are spread evenly between the first and the last time of the file.
// When families differ, the one with the least garbage decides. Versions with a time of 0 do not
// age, so a file that has one has no garbage.
func (p *Policies) Garbage(c Contents, now int64) float64 {
	if len(c.Families) == 0 || c.MinTime <= 0 || !p.declared() {
		return 0
	}
	least := 1.0
	for _, name := range c.Families {
		policy, listed := p.family([]byte(name))
		if !listed && c.MaxSeq <= p.asOf {
			continue // all of it
		}
		gc := policy.GC
		if !listed || gc.TTLSecs <= 0 || gc.Intersection {
			return 0
		}
		if gc.Expired(c.MaxTime, now) {
			continue
		}
		limit := now - gc.TTLSecs*1_000_000
		least = min(least, float64(limit-c.MinTime)/float64(c.MaxTime-c.MinTime+1))
	}
	return least
}
