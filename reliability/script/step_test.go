package script

import (
	"maps"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/vfs"
)

// What the steps are said to leave is what the stores then hold, and every kind of
// step comes up.
func TestStepsAreAsTold(t *testing.T) {
	mix := Mix{Writers: 2, Rows: 4, Batch: 3, Values: []int{1, 50}, Deletes: 20, Flushes: 5, Compacts: 5, Remakes: 20, Moves: 20}
	size := Size{Memtable: 1 << 20, Log: 1 << 20, Segment: 64 << 10, Clock: clock.System, Patience: time.Minute}
	for name, level := range map[string]Level{"engine": Engine, "tables": Moving} {
		t.Run(name, func(t *testing.T) {
			store, err := level(vfs.NewMem(), size)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			l := ledger.New(mix.Writers)
			verbs := map[verb]bool{}
			for i := range 200 {
				w := i % mix.Writers
				cells, number := l.Now(w)
				verbs[mix.Step(1, w, number, cells).verb] = true
				if err := mix.Next(1, l, store, w); err != nil {
					t.Fatal(err)
				}
			}
			if len(verbs) != int(compactAll)+1 {
				t.Errorf("only the verbs %v came up", verbs)
			}
			found, err := store.Read()
			if err != nil {
				t.Fatal(err)
			}
			split, err := Split(found, mix.Writers)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Shows(split); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	found := ledger.Cells{"shared/": "", "shared/a001/0": "1", "shared/b001/2": "2", "ownb/": "", "ownb/b002/0": "3"}
	list, err := Split(found, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Cells{{"shared/": "", "shared/a001/0": "1"}, {"shared/b001/2": "2", "ownb/": "", "ownb/b002/0": "3"}}
	for w := range want {
		if !maps.Equal(list[w], want[w]) {
			t.Errorf("writer %d has %v, want %v", w, list[w], want[w])
		}
	}
	if _, err := Split(ledger.Cells{"shared/c001/0": ""}, 2); err == nil {
		t.Error("a cell that nobody has written belongs to somebody")
	}
}
