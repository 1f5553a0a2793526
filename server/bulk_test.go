package server

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/internal/cellstream"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// loadingClient returns a client of a store that takes loads.
func loadingClient(t *testing.T) *client {
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := clientOf(t, s, Options{})
	if w := c.send("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`); w.Code/100 != 2 {
		t.Fatal(w.Body.String())
	}
	return c
}

// stream returns cells as a stream, a frame for each n of them.
func streamOf(n int, cells ...cellstream.Cell) string {
	var e cellstream.Encoder
	text := cellstream.Magic
	for i := range cells {
		e.Add(&cells[i])
		if e.Cells() == n {
			text += string(e.Frame())
		}
	}
	if e.Cells() > 0 {
		text += string(e.Frame())
	}
	return text + string(e.Frame())
}

func stringCell(row, qualifier, value string) cellstream.Cell {
	return cellstream.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Value: []byte(value), Time: 5, Type: cell.String}
}

func (c *client) load(body, kind string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/table/t/bulk", strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// TestBulk: a stream of cells is loaded, and read as what was written.
func TestBulk(t *testing.T) {
	c := loadingClient(t)
	for n := 1; n < 4; n++ {
		w := c.load(streamOf(n, stringCell("a", "q", "one"), stringCell("a", "r", "two"), stringCell("b", "q", "three")), cellstream.MediaType)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"items":{"row_count":2,"cell_count":3}`) {
			t.Fatalf("frames of %d cells: got %d %s", n, w.Code, w.Body)
		}
	}
	w := c.send("POST", "/v1/table/t/scan", `{}`)
	for _, value := range []string{"one", "two", "three"} {
		if !bytes.Contains(w.Body.Bytes(), []byte(value)) {
			t.Errorf("%s is not there: %s", value, w.Body)
		}
	}
}

// TestBulkRefuses: what is wrong has its code and its place, and nothing is there afterwards.
func TestBulkRefuses(t *testing.T) {
	c := loadingClient(t)
	good := stringCell("a", "q", "v")
	bad := func(change func(*cellstream.Cell)) cellstream.Cell {
		b := stringCell("b", "q", "v")
		change(&b)
		return b
	}
	whole := streamOf(1, good, bad(func(*cellstream.Cell) {}))
	damaged := []byte(whole)
	damaged[len(cellstream.Magic)+4] ^= 1
	for _, e := range []struct {
		name, body, kind, code, at string
		status                     int
	}{
		{"type", whole, "application/json", "unsupported_media_type", "header", 415},
		{"magic", "COLCELL\x02" + whole[8:], "", "invalid_stream", "", 400},
		{"cut off", whole[:len(whole)-1], "", "invalid_stream", "", 400},
		{"nothing", "", "", "invalid_stream", "", 400},
		{"no cells", cellstream.Magic + "\x00", "", "empty_list", "", 400},
		{"damaged", string(damaged), "", "invalid_stream", "", 400},
		{"family", streamOf(1, good, bad(func(c *cellstream.Cell) { c.Family = []byte("x") })), "", "unknown_column_family", "cells[1]", 404},
		{"order", streamOf(2, good, bad(func(c *cellstream.Cell) { c.Row = []byte("A") })), "", "unsorted_cells", "cells[1]", 400},
		{"UTF-8", streamOf(2, good, bad(func(c *cellstream.Cell) { c.Value = []byte("\xff") })), "", "invalid_utf8", "cells[1]", 400},
		{"time", streamOf(2, good, bad(func(c *cellstream.Cell) { c.Time = -1 })), "", "invalid_mutation", "cells[1]", 400},
		{"type of value", streamOf(2, good, bad(func(c *cellstream.Cell) { c.Type = cell.I64 })), "", "invalid_value", "cells[1]", 400},
	} {
		kind := e.kind
		if kind == "" {
			kind = cellstream.MediaType
		}
		w := c.load(e.body, kind)
		var answer struct {
			Error struct{ Code, At string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != e.status || answer.Error.Code != e.code || answer.Error.At != e.at {
			t.Errorf("%s: got %d %s %v", e.name, w.Code, w.Body, err)
		}
	}
	if w := c.send("POST", "/v1/table/t/count", `{}`); !strings.Contains(w.Body.String(), `"row_count":0`) {
		t.Errorf("afterwards: %s", w.Body)
	}
	if w := newClient(t).load(whole, cellstream.MediaType); w.Code != 409 {
		t.Errorf("a store without loads: %d %s", w.Code, w.Body)
	}
}
