package storemetrics

import (
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// TestTables: no more tables are shown than may be, the counts of a label never fall, and all together have what all
// tables have counted, whichever come and go.
func TestTables(t *testing.T) {
	shows := newTables()
	state := make([]lsmstore.TableMetrics, 2*MaxTables)
	for i := range state {
		state[i] = lsmstore.TableMetrics{Name: fmt.Sprint("t", i), ID: engine.PartitionID(i + 1)}
	}
	before := map[string]uint64{}
	for round := range uint64(5) {
		want := uint64(0)
		for i := range state {
			n := uint64(i) // those that are used most are others each time
			if round%2 == 0 {
				n = uint64(len(state) - i)
			}
			state[i].Reads += n
			state[i].BytesScanned += n << (10 * round)
			state[i].DiskBytes = 100
			want += state[i].Reads
		}
		list := append([]lsmstore.TableMetrics(nil), state...)
		shown := shows.show(list)
		if len(shown) != MaxTables+1 {
			t.Fatalf("round %d: %d labels", round, len(shown))
		}
		most := state[0].Name
		if round%2 == 1 {
			most = state[len(state)-1].Name
		}
		if shown[most] == nil || shown[otherTables] == nil || shown[otherTables].DiskBytes != MaxTables*100 {
			t.Errorf("round %d: %s is not shown, or the others are not %+v", round, most, shown[otherTables])
		}
		now := map[string]uint64{}
		for label, n := range shown {
			if now[label] = n.Reads; n.Reads < before[label] {
				t.Errorf("round %d: the count of %s falls from %d to %d", round, label, before[label], n.Reads)
			}
		}
		if round == 0 {
			sum := uint64(0)
			for _, n := range now {
				sum += n
			}
			if sum != want {
				t.Errorf("all labels have %d, all tables %d", sum, want)
			}
		}
		before = now
	}
}

// TestTableAgain: a table that is dropped and created again goes on where it was.
func TestTableAgain(t *testing.T) {
	shows := newTables()
	for _, e := range []struct {
		id         engine.PartitionID
		reads, all uint64
	}{{1, 5, 5}, {1, 7, 7}, {2, 1, 8}, {2, 1, 8}, {3, 9, 17}} {
		list := []lsmstore.TableMetrics{{Name: "t", ID: e.id, TableCounts: lsmstore.TableCounts{Reads: e.reads}}}
		if got := shows.show(list)["t"].Reads; got != e.all {
			t.Errorf("table %d with %d reads: got %d, want %d", e.id, e.reads, got, e.all)
		}
	}
}
