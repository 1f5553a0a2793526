package bigtable

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// hurried is a clock on which each look takes a second.
type hurried struct {
	clock.Clock
	now atomic.Int64
}

func (h *hurried) Now() int64 { return h.now.Add(time.Second.Microseconds()) }

// TestLastScanned: while a filter lets nothing through, the client hears how far the read is, and never of a row that
// it has not got whole. So it is where slow reads are logged.
func TestLastScanned(t *testing.T) {
	t.Run("plain", func(t *testing.T) { lastScanned(t, nil) })
	t.Run("slow log", func(t *testing.T) { lastScanned(t, explain.NewSlowLog(slog.New(slog.DiscardHandler), time.Hour)) })
}

func lastScanned(t *testing.T, slow *explain.SlowLog) {
	const rows = 2000
	store, err := lsmstore.Open(lsmstore.Options{Dir: "/s", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	h := &harness{TB: t, ctx: t.Context(), store: store}
	h.serve(Options{Clock: &hurried{Clock: clock.System}, Slow: slow})
	h.createTable()
	var list []widecol.Mutation
	for i := range rows {
		value := "no"
		if i%700 == 300 {
			value = "yes"
		}
		list = append(list, widecol.Mutation{Row: fmt.Appendf(nil, "r%05d", i), Family: []byte("a"), Time: 1000, Type: cell.Bytes, Value: []byte(value)})
	}
	if _, err := store.Write(t.Context(), "p$i$t", list, ""); err != nil {
		t.Fatal(err)
	}
	stream, err := h.data.ReadRows(h.ctx, &btpb.ReadRowsRequest{TableName: testTable, Filter: &btpb.RowFilter{Filter: &btpb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte("yes")}}})
	h.ok(err)
	last, told, found := "", 0, 0
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		for i, c := range m.Chunks {
			if key := string(c.RowKey); key <= last {
				t.Errorf("row %s comes behind %s", key, last)
			}
			if last = string(c.RowKey); !c.GetCommitRow() {
				t.Errorf("chunk %d ends no row", i)
			}
			found++
		}
		if key := string(m.LastScannedRowKey); key != "" {
			if key <= last {
				t.Errorf("the read was at %s, and is at %s", last, key)
			}
			last = key
			told++
		}
	}
	if told < 50 || found != 3 {
		t.Errorf("the client was told %d times, and got %d rows", told, found)
	}
}
