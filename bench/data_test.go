package bench

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
)

// made is the table generated last. Only one is kept: tables can be large.
var made struct {
	sync.Mutex
	rows, contents int
	t              *dataset.Table
}

// generated returns a table of rows of ten cells, see dataset.Generated.
func generated(b *testing.B, rows, contents int) *dataset.Table {
	b.Helper()
	made.Lock()
	defer made.Unlock()
	if made.t == nil || made.rows != rows || made.contents != contents {
		t, err := dataset.Generated(rows, contents)
		must(b, err)
		made.rows, made.contents, made.t = rows, contents, t
	}
	return made.t
}

// shuffled returns a part-th of a table's rows, in random order.
func shuffled(data *dataset.Table, part int) *dataset.Table {
	return data.In(data.Shuffled(1)[:max(data.Len()/part, 1)])
}

// realTable reads the table of real web pages, and skips the benchmark if there is none.
func realTable(b *testing.B) *dataset.Table {
	b.Helper()
	name := os.Getenv("COLONNADE_WEBTABLE")
	if name == "" {
		name = "../../shared/data/webtable.ndjson"
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		b.Skipf("no table of real web pages at %s; COLONNADE_WEBTABLE names another place", name)
	}
	must(b, err)
	defer f.Close()
	t, err := dataset.Read(f)
	must(b, err)
	return t
}
