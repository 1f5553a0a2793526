package widecol

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestManyGroupsAreRefusedEarly: a million groups are refused without keeping them.
func TestManyGroupsAreRefusedEarly(t *testing.T) {
	for _, e := range []struct {
		by   GroupBy
		tail string
		most int
	}{{GroupBy{By: ByRowLength, Length: MaxRowKey}, "", MaxGroups}, {GroupBy{By: ByRowLength, Length: MaxRowKey}, strings.Repeat("k", 4000), MaxGroupBytes / 4000}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		aggregator := NewAggregator(&Aggregate{GroupBy: e.by, Of: Sum})
		n := 0
		var err error
		for ; n < 1_000_000 && err == nil; n++ {
			if err = aggregator.BeginRow(fmt.Appendf(nil, "%07d%s", n, e.tail)); err == nil {
				err = aggregator.Add([]cell.Cell{{Type: cell.F64, Value: make([]byte, 8)}})
			}
		}
		runtime.ReadMemStats(&after)
		if KindOf(err) != Invalid || n > e.most+1 {
			t.Errorf("%d groups: got %v", n, err)
		}
		if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 64<<20 {
			t.Errorf("%d groups take %d bytes", n, used)
		}
		runtime.KeepAlive(aggregator)
	}
}

// TestAggregateAllocs: a version more of a group allocates nothing.
func TestAggregateAllocs(t *testing.T) {
	for by := OneGroup; by <= ByRowDelimiter; by++ {
		aggregator := NewAggregator(&Aggregate{GroupBy: GroupBy{By: by, Length: 1, Delimiter: []byte(":")}, Of: Count | Sum | Min | Max | Avg})
		rows := [][]byte{[]byte("a:1"), []byte("b:1")}
		cells := []cell.Cell{{Column: []byte("f\x00a"), Type: cell.I64, Value: make([]byte, 8)}, {Column: []byte("f\x00b"), Type: cell.F32, Value: make([]byte, 4)}}
		add := func() {
			for _, row := range rows {
				if err := aggregator.BeginRow(row); err != nil {
					t.Fatal(err)
				}
				if err := aggregator.Add(cells); err != nil {
					t.Fatal(err)
				}
			}
		}
		add()
		if n := testing.AllocsPerRun(10, add); n != 0 {
			t.Errorf("grouping %d: %v allocations", by, n)
		}
	}
}
