package bigtable

import (
	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/widecol"
)

// The value type of a family is its annotation in the Store, as an encoded message. That of an aggregate is a merge
// operator besides.

// keepType keeps a value type with a family.
func keepType(place string, f *widecol.Family, m *adminpb.Type) (err error) {
	if m == nil {
		return nil
	}
	if aggregate := m.GetAggregateType(); aggregate != nil {
		m = proto.CloneOf(m)
		if f.Merge, err = mergeOf(place, aggregate); err != nil {
			return err
		}
		m.GetAggregateType().StateType = aggregate.InputType // for sums, and the least and the greatest
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	f.Annotation = string(text)
	return statusAt(place, err)
}

// mergeOf returns the merge operator of an aggregate.
func mergeOf(place string, m *adminpb.Type_Aggregate) (widecol.MergeOperator, error) {
	if m.GetInputType().GetInt64Type() == nil {
		return widecol.NoMerge, unimplemented(place+".aggregate_type.input_type", "the only type that can be aggregated is int64_type")
	}
	switch m.GetAggregator().(type) {
	case *adminpb.Type_Aggregate_Sum_:
		return widecol.MergeSum, nil
	case *adminpb.Type_Aggregate_Min_:
		return widecol.MergeMin, nil
	case *adminpb.Type_Aggregate_Max_:
		return widecol.MergeMax, nil
	}
	return widecol.NoMerge, unimplemented(place+".aggregate_type.aggregator", "the aggregators are sum, min and max")
}

// typeOf returns the value type of a family, nil for none.
func typeOf(f *widecol.Family) *adminpb.Type {
	m := new(adminpb.Type)
	if f.Annotation == "" || proto.Unmarshal([]byte(f.Annotation), m) != nil {
		return nil
	}
	return m
}
