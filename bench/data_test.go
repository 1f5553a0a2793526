package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"colonnade/cell"
	"colonnade/internal/webtable"
)

// table is the rows of a benchmark, in the order of their keys, packed into one
// piece of memory: so a large one costs the garbage collector nothing, and
// taking a row out of it costs a few nanoseconds a cell.
type table struct {
	rows  []int // where each row begins in data
	data  []byte
	cells int64
	raw   int64 // bytes, as in cell.RawSize
}

// row returns row i and its cells, in order. They are parts of the table; the
// list of cells is appended to dst.
func (t *table) row(i int, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	p := t.data[t.rows[i]:]
	take := func() []byte {
		n, size := binary.Uvarint(p)
		end := size + int(n)
		field := p[size:end:end]
		p = p[end:]
		return field
	}
	key = take()
	count, size := binary.Uvarint(p)
	p = p[size:]
	for range count {
		c := cell.Cell{Time: int64(binary.LittleEndian.Uint64(p)), Type: cell.Type(p[8])}
		p = p[9:]
		c.Column, c.Value = take(), take()
		dst = append(dst, c)
	}
	return key, dst
}

// key returns the key of row i.
func (t *table) key(i int) []byte {
	p := t.data[t.rows[i]:]
	n, size := binary.Uvarint(p)
	return p[size : size+int(n)]
}

// nth returns row n of a stream without end: the rows in the given order, and then
// again and again under other keys, so that nothing is ever overwritten. The key
// replaces what buf holds.
func (t *table) nth(n int, order []int, buf []byte, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	key, cells = t.row(order[n%len(order)], dst)
	key = append(buf[:0], key...)
	if round := n / len(order); round > 0 {
		key = binary.BigEndian.AppendUint32(append(key, '~'), uint32(round))
	}
	return key, cells
}

// add packs a row.
func (t *table) add(key []byte, cells []cell.Cell) {
	field := func(b []byte) {
		t.data = binary.AppendUvarint(t.data, uint64(len(b)))
		t.data = append(t.data, b...)
	}
	t.rows = append(t.rows, len(t.data))
	field(key)
	t.data = binary.AppendUvarint(t.data, uint64(len(cells)))
	for i := range cells {
		c := &cells[i]
		t.data = binary.LittleEndian.AppendUint64(t.data, uint64(c.Time))
		t.data = append(t.data, byte(c.Type))
		field(c.Column)
		field(c.Value)
		t.raw += int64(c.RawSize(key))
	}
	t.cells += int64(len(cells))
}

// sort puts the rows into the order of their keys.
func (t *table) sort() {
	order := make([]int, len(t.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return bytes.Compare(t.key(i), t.key(j)) })
	for i, at := range order {
		order[i] = t.rows[at]
	}
	t.rows = order
}

// shuffled returns the numbers of the rows in an order that the seed decides.
func (t *table) shuffled(seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 0)).Perm(len(t.rows))
}

// line is a row in the form of the service's write requests.
type line struct {
	RowKey string `json:"row_key"`
	Cells  []struct {
		ColumnKey string `json:"column_key"`
		Type      string `json:"type"`
		Value     any    `json:"value"`
		Time      int64  `json:"time"`
	} `json:"cells"`
}

// addLine adds a row that is given as a line of JSON.
func (t *table) addLine(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	cells := make([]cell.Cell, 0, len(l.Cells))
	for _, given := range l.Cells {
		family, qualifier, _ := strings.Cut(given.ColumnKey, ":")
		c := cell.Cell{
			Column: cell.AppendColumn(nil, []byte(family), []byte(qualifier)),
			Type:   cell.TypeOf(given.Type), Time: given.Time,
		}
		switch v := given.Value.(type) {
		case string:
			c.Value = []byte(v)
		case float64:
			c.Value = binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))
		}
		if err := c.Check(); err != nil || !c.Type.Fits(c.Value) {
			return fmt.Errorf("cell %s of row %q: %v", given.ColumnKey, l.RowKey, err)
		}
		cells = append(cells, c)
	}
	slices.SortStableFunc(cells, func(x, y cell.Cell) int { return x.Compare(&y) })
	cells = slices.CompactFunc(cells, func(x, y cell.Cell) bool { return x.Compare(&y) == 0 })
	t.add([]byte(l.RowKey), cells)
	return nil
}

// made is the last table that was generated. One is kept: they can be large.
var made struct {
	sync.Mutex
	o webtable.Options
	t *table
}

// generated returns a table of rows of ten cells. With contents of 100, a cell
// has 70 bytes on average, and its value 2 to 150.
func generated(b *testing.B, rows, contents int) *table {
	b.Helper()
	o := webtable.Options{Rows: int64(rows), Seed: 1, Contents: contents}
	made.Lock()
	defer made.Unlock()
	if made.t != nil && made.o == o {
		return made.t
	}
	g, err := webtable.New(o)
	must(b, err)
	t := new(table)
	var text []byte
	for i := range o.Rows {
		text = g.AppendRow(text[:0], i)
		must(b, t.addLine(text))
	}
	t.sort()
	made.o, made.t = o, t
	return t
}

// realTable reads the table of real web pages, and skips the benchmark when
// there is none.
func realTable(b *testing.B) *table {
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
	t, err := readTable(f)
	must(b, err)
	return t
}

func readTable(r io.Reader) (*table, error) {
	t := new(table)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := t.addLine(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(t.rows)+1, err)
		}
	}
	t.sort()
	return t, lines.Err()
}

func TestTableGivesBackWhatItWasGiven(t *testing.T) {
	const text = `{"row_key":"b","cells":[{"column_key":"f:y","type":"i64","value":-7,"time":5},{"column_key":"f:x:z","type":"string","value":"","time":6}]}
{"row_key":"a","cells":[{"column_key":"g:","type":"string","value":"v","time":0}]}
`
	got, err := readTable(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range got.rows {
		key, cells := got.row(i, nil)
		for _, c := range cells {
			list = append(list, fmt.Sprintf("%s %q %d %s %q", key, c.Column, c.Time, c.Type, c.Value))
		}
	}
	want := []string{
		`a "g\x00" 0 string "v"`,
		`b "f\x00x:z" 6 string ""`,
		`b "f\x00y" 5 i64 "\xf9\xff\xff\xff\xff\xff\xff\xff"`,
	}
	if !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
	if got.cells != 3 || got.raw != (1+2+8+1)+(1+5+8+0)+(1+3+8+8) {
		t.Errorf("%d cells of %d raw bytes", got.cells, got.raw)
	}
}
