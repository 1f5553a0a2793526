package bigtable

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
)

const (
	kills       = 4    // how often the server is killed
	loaders     = 4    // how many load at a time
	bulk        = 100  // rows of a MutateRows
	killedAfter = 5000 // rows acknowledged in a round
)

// TestKill kills the server under the bulk load of the Go client, again and again. What was acknowledged is there, and
// every row as a whole.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	createTable(t, s.address, "load", "f", "g")
	var acknowledged []string
	for round := range kills {
		acknowledged = append(acknowledged, loadUntilKilled(t, s, round)...)
		s = serve(t, dir)
		checkLoaded(t, s, acknowledged)
	}
	if t.Failed() {
		return
	}
	var counted struct {
		RowCount int `json:"row_count"`
	}
	if err := json.Unmarshal(s.call(t, "POST", "load/count", `{}`), &counted); err != nil || counted.RowCount < len(acknowledged) {
		t.Errorf("JSON counts %d rows, %d were acknowledged: %v", counted.RowCount, len(acknowledged), err)
	}
}

// loadUntilKilled loads rows, kills the server in between, and returns the keys that were acknowledged.
func loadUntilKilled(t *testing.T, s *server, round int) (acknowledged []string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	table := client(t, s.address).Open("load")
	var mu sync.Mutex
	var loading sync.WaitGroup
	for loader := range loaders {
		loading.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var keys []string
				var list []*bigtable.Mutation
				for i := range bulk {
					key := fmt.Sprintf("%d-%d-%06d-%02d", round, loader, n, i)
					keys, list = append(keys, key), append(list, loadedRow(key))
				}
				errs, err := table.ApplyBulk(ctx, keys, list)
				mu.Lock()
				for i, key := range keys {
					if err == nil && (errs == nil || errs[i] == nil) {
						acknowledged = append(acknowledged, key)
					}
				}
				full := len(acknowledged) >= killedAfter
				mu.Unlock()
				if full {
					s.kill()
					cancel() // or the client would try again
				}
			}
		})
	}
	loading.Wait()
	return acknowledged
}

// loadedRow sets three cells that the key says.
func loadedRow(key string) *bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set("f", "a", 1000, []byte("a"+key))
	m.Set("f", "b", 1000, []byte(strings.Repeat(key, 10)))
	m.Set("g", "", 2000, []byte("g"+key))
	return m
}

func checkLoaded(t *testing.T, s *server, acknowledged []string) {
	t.Helper()
	there := make(map[string]bool)
	err := client(t, s.address).Open("load").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		key := row.Key()
		there[key] = true
		var values []string
		for _, c := range append(slices.Clone(row["f"]), row["g"]...) {
			values = append(values, string(c.Value))
		}
		if want := []string{"a" + key, strings.Repeat(key, 10), "g" + key}; !slices.Equal(values, want) {
			t.Errorf("row %s has %q", key, values)
		}
		return !t.Failed()
	})
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, key := range acknowledged {
		if !there[key] {
			lost++
		}
	}
	t.Logf("%d rows are there, %d were acknowledged", len(there), len(acknowledged))
	if lost > 0 {
		t.Errorf("%d acknowledged rows are lost", lost)
	}
}
