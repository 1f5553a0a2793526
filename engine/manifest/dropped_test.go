package manifest

import (
	"reflect"
	"testing"
)

// TestTimelineAndDropped: both are kept, and a manifest that contradicts itself is refused.
func TestTimelineAndDropped(t *testing.T) {
	make := func(d ...Dropped) *Manifest {
		live := &Partition{ID: 1, Name: "a", Version: &Version{}}
		return &Manifest{Edit: 3, NextFile: 9, NextPartition: 5, LogStart: 1, LastTime: 1000, Timeline: 1 << 63, Dropped: d, Partitions: map[PartitionID]*Partition{1: live}}
	}
	m := make(Dropped{ID: 2, Name: "b", Time: 10}, Dropped{ID: 4, Name: "", Time: 1000})
	got, err := Decode(m.Encode())
	if err != nil || got.Timeline != m.Timeline || !reflect.DeepEqual(got.Dropped, m.Dropped) {
		t.Errorf("got timeline %x, dropped %v, %v", got.Timeline, got.Dropped, err)
	}
	for _, d := range []Dropped{{ID: 1, Time: 1}, {ID: 5, Time: 1}, {ID: 2, Time: 1001}, {ID: 2, Time: -1}} {
		if _, err := Decode(make(d).Encode()); err == nil {
			t.Errorf("%+v is accepted", d)
		}
	}
	next := m.Next()
	if next.Timeline++; next.Follows(m) == nil {
		t.Error("an edit has another timeline")
	}
}
