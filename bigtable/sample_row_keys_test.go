package bigtable

import (
	"context"
	"fmt"
	"io"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/widecol"
)

// divided is a store whose tables have a size, and views that can be divided at keys.
type divided struct {
	widecol.Store
	keys  []string
	bytes int64
	least int64 // that Divide was called with
}

func (s *divided) Table(ctx context.Context, name string) (widecol.Table, error) {
	t, err := s.Store.Table(ctx, name)
	t.DiskBytes = s.bytes
	return t, err
}

func (s *divided) View(ctx context.Context, table string) (widecol.View, error) {
	v, err := s.Store.View(ctx, table)
	return dividedView{v, s}, err
}

type dividedView struct {
	widecol.View
	store *divided
}

func (v dividedView) Divide(q *widecol.Query, least int64) []widecol.Query {
	v.store.least = least
	parts, start := []widecol.Query{}, []byte(nil)
	for _, key := range append(v.store.keys, "") {
		part := *q
		r := widecol.RowRange{Start: start}
		if key != "" {
			r.End = []byte(key)
		}
		part.Rows, start = widecol.NewRowSet(r), []byte(key)
		parts = append(parts, part)
	}
	return parts
}

// samples returns the samples of the table, a line each: offset and key.
func (h *harness) samples() string {
	h.Helper()
	stream, err := h.data.SampleRowKeys(h.ctx, &btpb.SampleRowKeysRequest{TableName: testTable})
	h.ok(err)
	var list []string
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return lines(list...)
		}
		h.ok(err)
		list = append(list, fmt.Sprintf("%d %s", m.OffsetBytes, m.RowKey))
	}
}

// TestSampleRowKeys: samples are the keys that divide a table, or its last one, and the end of the table.
func TestSampleRowKeys(t *testing.T) {
	h := withTable(t)
	h.same("empty", h.samples(), "0 ")
	for _, row := range []string{"b", "a", "z", "m"} {
		h.ok(h.mutate(row, setCell("a", "q", 0, "")))
	}
	h.same("small", h.samples(), "0 z\n0 ")
	s := &divided{Store: h.store, keys: []string{"f", "m", "t"}, bytes: 4000}
	h.store = s
	h.serve(Options{})
	h.same("divided", h.samples(), "1000 f\n2000 m\n3000 t\n4000 ")
	if s.least != leastSample {
		t.Errorf("a small table is divided into parts of %d", s.least)
	}
	s.bytes = 10 << 30
	h.samples()
	if want := int64(10 << 30 / mostSamples); s.least != want {
		t.Errorf("a table of 10 GiB is divided into parts of %d, want %d", s.least, want)
	}
}
