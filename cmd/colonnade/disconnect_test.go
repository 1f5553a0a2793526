package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// TestClientsThatLeaveInMidCommit: a write whose client has gone is committed as a
// whole or not at all, and nothing that worked on it stays behind.
func TestClientsThatLeaveInMidCommit(t *testing.T) {
	var slow atomic.Bool
	release := make(chan struct{})
	store, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{
		FS: vfs.Inject(vfs.NewMem(), func(op vfs.Op) (f vfs.Fault) {
			if slow.Load() && op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "data/wal/") {
				f.Hold = release
			}
			return f
		}),
		Clock: clock.System, SegmentBytes: 1 << 20, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	families := []widecol.Family{{Name: "a"}, {Name: "b"}}
	spec := widecol.TableSpec{Families: families, Groups: [][]string{{"a"}, {"b"}}}
	if err := store.CreateTable(context.Background(), "t", spec); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(store, server.Options{Now: time.Now})
	go s.Serve(listener)
	defer s.Shutdown(context.Background())

	const clients = 8
	table := "http://" + listener.Addr().String() + "/v1/table/t"
	if _, err := http.Get("http://" + listener.Addr().String() + "/healthz"); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	before, seq := goroutines(), store.Engine().LastSeq()
	slow.Store(true)
	leave(t, table, clients, func() {
		until(t, "all writes are in the log's queue", func() bool { return store.Engine().LastSeq() == seq+clients })
	})
	slow.Store(false)
	close(release)
	until(t, "as many goroutines as before", func() bool { return goroutines() <= before })
	if got := wholeRows(t, store); got != clients {
		t.Errorf("%d rows are there as a whole, want %d", got, clients)
	}
}

// goroutines counts all but those that insert batches and two of those that lead the log, or have done so: they stay as
// long as the store is open, and where a batch comes just before the first is idle again,
// there is a second.
func goroutines() (n int) {
	leaders := 0
	for _, stack := range bytes.Split(stacks(), []byte("\n\n")) {
		switch {
		case bytes.Contains(stack, []byte("engine.(*DB).startInserter")):
		case bytes.Contains(stack, []byte("engine.(*DB).startLeader")):
			leaders++
		default:
			n++
		}
	}
	return n + max(leaders-2, 0)
}

// stacks describes all goroutines.
func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}

// leave sends writes, each over a connection of its own, and leaves when ready
// returns.
func leave(t *testing.T, table string, writes int, ready func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	for i := range writes {
		body := fmt.Sprintf(`{"items":[{"row_key":"%d","cells":[{"column_key":"a:","type":"i64","value":1},{"column_key":"b:","type":"i64","value":1}]}]}`, i)
		go func() {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			req, _ := http.NewRequestWithContext(ctx, "POST", table+"/write", strings.NewReader(body))
			_, err := c.Do(req)
			done <- err
		}()
	}
	ready()
	cancel()
	for range writes {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a write ended with %v before its client left", err)
		}
	}
}

// until waits for something that has to come about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came about: %s\n%s", what, stacks())
		}
	}
}

// wholeRows counts the rows of the table, each of which has to have both cells.
func wholeRows(t *testing.T, store *lsmstore.Store) (n int) {
	t.Helper()
	view, err := store.View(context.Background(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(context.Background(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cells := make(map[string]int)
	for rows.Next() {
		cells[string(rows.Row())] += len(rows.Cells())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for row, n := range cells {
		if n != 2 {
			t.Errorf("row %s has %d cells, want 2", row, n)
		}
	}
	return len(cells)
}
