package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// realServer returns the URL of a server with an empty store.
func realServer(t *testing.T) string {
	t.Helper()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.New(s, server.Options{Now: time.Now}))
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return h.URL
}

// importInto imports lines into table t, and returns the outcome.
func importInto(t *testing.T, url, lines string, change func(*Options)) (Progress, error) {
	t.Helper()
	in, err := format.NewStream(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Server: Server{URL: url}, Table: "t", Name: "in", CreateTable: true, CreateFamilies: true, Parallel: 1, BatchCells: 100, Time: 1_000}
	change(&o)
	return Run(context.Background(), format.NewLines(in), o)
}

// contentOf returns all rows of table t as lines.
func contentOf(t *testing.T, url string) string {
	t.Helper()
	c, err := client.New(url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := c.Lines(context.Background(), "/v1/table/t/scan", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.TrimRight(text, "\n")
	return string(text[:max(bytes.LastIndexByte(text, '\n'), 0)]) // without the statistics
}

// randomLines returns lines of rows that come several times, with cells that come several times, with and without times.
func randomLines(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(60) {
		var cells []string
		for range 1 + r.IntN(5) {
			time := ""
			if r.IntN(3) > 0 {
				time = fmt.Sprintf(`,"time":%d`, r.IntN(3))
			}
			value := []string{`"type":"string","value":"v%d\u00e9"`, `"type":"i64","value":%d`, `"type":"f64","value":%d.5`, `"value":%d,"type":"i32"`}[r.IntN(4)]
			cells = append(cells, fmt.Sprintf(`{"column_key":"%c:q%d",`+value+`%s}`, 'f'+rune(r.IntN(3)), r.IntN(3), r.IntN(1000), time))
		}
		fmt.Fprintf(&b, `{"row_key":"row%02d","cells":[%s]}`+"\n", r.IntN(30), strings.Join(cells, ","))
	}
	return b.String()
}

// TestBulkImport: a bulk import leaves what an import leaves that keeps the order of lines, also if its rows do not fit into
// memory.
func TestBulkImport(t *testing.T) {
	for seed := range uint64(15) {
		lines := randomLines(rand.New(rand.NewPCG(seed, 1)))
		plain, bulk := realServer(t), realServer(t)
		want, err := importInto(t, plain, lines, func(*Options) {})
		if err != nil {
			t.Fatal(err)
		}
		got, err := importInto(t, bulk, lines, func(o *Options) {
			o.Bulk = true
			if seed%2 == 1 {
				o.sortBytes = 500
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Cells != want.Cells || got.Bytes != want.Bytes {
			t.Errorf("seed %d: counted %+v, want %+v", seed, got, want)
		}
		if a, b := contentOf(t, bulk), contentOf(t, plain); a != b {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, a, b)
		}
	}
}

// TestBulkImportFails: an error has its line, and nothing is written.
func TestBulkImportFails(t *testing.T) {
	line := func(row, rest string) string { return fmt.Sprintf(`{"row_key":%q,"cells":[%s]}`+"\n", row, rest) }
	good := `{"column_key":"f:q","type":"string","value":"v"}`
	for name, e := range map[string]struct{ lines, want string }{
		"no JSON":     {line("b", good) + "{\n" + line("a", good), "in:2: "},
		"wrong type":  {line("b", good) + line("a", `{"column_key":"f:q","type":"i64","value":"v"}`), "in:2: "},
		"bad family":  {line("c", good) + line("b", `{"column_key":"f g:q","type":"string","value":"v"}`) + line("a", good), "in"},
		"long value":  {line("b", good) + line("a", good) + line("a", `{"column_key":"f:r","type":"string","value":"`+strings.Repeat("x", 17<<20)+`"}`), "in:3: "},
		"long column": {line("b", good) + line("a", `{"column_key":"f:`+strings.Repeat("x", 17<<10)+`","type":"string","value":"v"}`), "in:2: "},
	} {
		url := realServer(t)
		_, err := importInto(t, url, e.lines, func(o *Options) { o.Bulk = true })
		if err == nil || !strings.HasPrefix(err.Error(), e.want) {
			t.Errorf("%s: got %v, want %s", name, err, e.want)
		}
		if got := contentOf(t, url); got != "" {
			t.Errorf("%s: there is %.200s", name, got)
		}
	}
	url := realServer(t)
	done, err := importInto(t, url, line("b", good)+"{\n"+line("a", good), func(o *Options) { o.Bulk, o.SkipBad = true, true })
	if err != nil || done.Skipped != 1 || done.Rows != 2 {
		t.Errorf("with bad lines left out: %+v, %v", done, err)
	}
}
