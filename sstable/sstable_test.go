package sstable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// An entry is a cell with its row.
type entry struct {
	row []byte
	cell.Cell
}

func (e entry) String() string {
	return fmt.Sprintf("%q %q time %d seq %d kind %d type %d value of %d", e.row, e.Column, e.Time, e.Seq, e.Kind, e.Type, len(e.Value))
}

func compareEntries(a, b entry) int {
	return comparePlace(a.row, &a.Cell, b.row, &b.Cell)
}

// sortEntries sorts the entries, and drops all but one of those with equal keys.
func sortEntries(list []entry) []entry {
	slices.SortStableFunc(list, compareEntries)
	return slices.CompactFunc(list, func(a, b entry) bool { return compareEntries(a, b) == 0 })
}

var testID = ID{Store: [16]byte{1, 2, 3, 15: 16}, Number: 77}

// build writes the entries to a file.
func build(t testing.TB, list []entry, o WriterOptions) ([]byte, Info) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, o)
	for _, r := range rowsOf(list, math.MaxInt) {
		if err := w.Add(r.row, r.cells); err != nil {
			t.Fatalf("Add %q: %v", r.row, err)
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	if info.Size != int64(b.Len()) {
		t.Fatalf("Finish reports %d bytes, wrote %d", info.Size, b.Len())
	}
	return b.Bytes(), info
}

func open(t testing.TB, file []byte, id ID, cache Cache) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)), id, cache)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return r
}

// collect reads at most limit rows from the seek on.
func collect(it *Iterator, seek []byte, limit int) (list []entry) {
	var cells []cell.Cell
	for it.SeekRow(seek); it.Row() != nil && limit > 0; it.NextRow() {
		row := bytes.Clone(it.Row())
		for {
			cells = it.Cells(cells[:0])
			if len(cells) == 0 {
				break
			}
			for _, c := range cells {
				c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
				list = append(list, entry{row, c})
			}
		}
		limit--
	}
	return list
}

func equalEntries(a, b entry) bool {
	return bytes.Equal(a.row, b.row) && bytes.Equal(a.Column, b.Column) && bytes.Equal(a.Value, b.Value) &&
		a.Time == b.Time && a.Seq == b.Seq && a.Kind == b.Kind && a.Type == b.Type
}

func diff(t testing.TB, what string, got, want []entry) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !equalEntries(got[i], want[i]) {
			t.Fatalf("%s: entry %d:\n got %v\nwant %v", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d entries, want %d", what, len(got), len(want))
	}
}

// A generator makes random entries that cover the corners of the format.
type generator struct {
	*rand.Rand
}

func newGenerator(seed uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, 1))}
}

// key returns a short key of few letters, so keys share prefixes.
func (g generator) key(longest int) []byte {
	letters := []byte{0, 1, 'a', 'b', ':', 0xfe, 0xff}
	k := make([]byte, g.IntN(longest+1))
	for i := range k {
		k[i] = letters[g.IntN(len(letters))]
	}
	return k
}

func (g generator) value(typ cell.Type) []byte {
	n := 0
	switch r := g.IntN(100); {
	case r < 20:
	case r < 90:
		n = g.IntN(40)
	case r < 97:
		n = g.IntN(3 * LargeValue)
	case r < 99:
		n = g.IntN(40 << 10)
	default:
		n = maxSharedValue + g.IntN(40<<10)
	}
	v := make([]byte, n)
	if g.IntN(2) == 0 {
		for i := range v {
			v[i] = byte(g.Uint32())
		}
	} else {
		for i := range v {
			v[i] = "the quick brown fox"[i%19]
		}
	}
	return v
}

func (g generator) entry(row []byte, families, qualifiers int) entry {
	family := []byte(fmt.Sprintf("f%d", g.IntN(families)))
	if g.IntN(4) == 0 {
		family = append(family, 'x')
	}
	e := entry{row: row, Cell: cell.Cell{Seq: g.Uint64N(1000), Time: cell.TombstoneTime}}
	switch g.IntN(20) {
	case 0:
		e.Kind = cell.DeleteRow
	case 1:
		e.Kind, e.Column = cell.DeleteFamily, family
	case 2:
		e.Kind, e.Column = cell.DeleteColumn, cell.AppendColumn(nil, family, g.qualifier(qualifiers))
	case 3:
		e.Kind, e.Column = cell.DeleteVersion, cell.AppendColumn(nil, family, g.qualifier(qualifiers))
		e.Time = g.time()
	default:
		e.Type = 1 + cell.Type(g.IntN(cell.TypeCount-1))
		e.Column, e.Time, e.Value = cell.AppendColumn(nil, family, g.qualifier(qualifiers)), g.time(), g.value(e.Type)
	}
	return e
}

func (g generator) qualifier(n int) []byte {
	if g.IntN(5) == 0 {
		return g.key(3)
	}
	return binary.BigEndian.AppendUint16(nil, uint16(g.IntN(n)))
}

func (g generator) time() int64 {
	switch g.IntN(30) {
	case 0:
		return 0
	case 1:
		return cell.MaxTime
	case 2:
		return g.Int64N(cell.MaxTime)
	}
	return 1_700_000_000_000_000 + g.Int64N(1000)
}

// entries returns the entries of a file: narrow rows, and some wide ones.
func (g generator) entries(rows, widest int) (list []entry) {
	for range rows {
		row := append(g.key(6), 'r')
		n := 1 + g.IntN(8)
		if g.IntN(50) == 0 {
			n = 1 + g.IntN(widest)
		}
		for range n {
			list = append(list, g.entry(row, 3, n))
		}
	}
	return sortEntries(list)
}

func options(g generator) WriterOptions {
	return WriterOptions{
		ID: testID, Compression: Compression(g.IntN(3)),
		BlockSize: []int{1, 300, 4 << 10, 0}[g.IntN(4)], FilterBits: []int{1, 5, 0, 40}[g.IntN(4)],
	}
}

// testCache keeps everything, and reserves nothing beyond its room. If picky, it admits only
// every other block.
type testCache struct {
	sync.Mutex
	blocks map[Key]Block
	room   int
	picky  bool
	asked  int
}

func (c *testCache) Admits(Key) bool {
	c.Lock()
	defer c.Unlock()
	c.asked++
	return !c.picky || c.asked%2 == 0
}

func (c *testCache) Reserve(_ uint64, bytes int) bool {
	c.Lock()
	defer c.Unlock()
	if bytes > c.room {
		return false
	}
	c.room -= bytes
	return true
}

func (c *testCache) Get(k Key) Block {
	c.Lock()
	defer c.Unlock()
	return c.blocks[k]
}

func (c *testCache) Put(k Key, b Block) {
	c.Lock()
	defer c.Unlock()
	if c.blocks == nil {
		c.blocks = map[Key]Block{}
	}
	c.blocks[k] = b
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(25) {
		g := newGenerator(seed)
		list := g.entries(1+g.IntN(400), 3000)
		o := options(g)
		file, info := build(t, list, o)
		what := fmt.Sprintf("seed %d: %d entries, %+v", seed, len(list), o)
		cache := &testCache{picky: seed%2 == 1}
		for _, c := range []Cache{nil, cache, cache} {
			r := open(t, file, o.ID, c)
			if err := r.Verify(info.Checksum); err != nil {
				t.Fatalf("%s: Verify: %v", what, err)
			}
			for _, fill := range []bool{false, true} {
				it := r.NewIterator(ReadOptions{FillCache: fill})
				got := collect(it, nil, 1<<30)
				if it.Err() != nil {
					t.Fatalf("%s: %v", what, it.Err())
				}
				diff(t, what, got, list)
				checkScanned(t, what, it.Scanned(), list)
				it.Close()
			}
		}
		checkInfo(t, what, open(t, file, o.ID, nil).Info(), info, list)
	}
}

// Values of every size around the limits, up to many megabytes.
func TestValueSizes(t *testing.T) {
	text := bytes.Repeat([]byte("values are of any size, "), 20<<20/24)
	noise := make([]byte, 9<<20)
	g := newGenerator(5)
	for i := range noise {
		noise[i] = byte(g.Uint32())
	}
	var list []entry
	for i, n := range []int{0, 1, LargeValue - 1, LargeValue, LargeValue + 1, maxInlineValues, 32<<10 - 1, 32 << 10, 32<<10 + 1,
		maxSharedValue - 1, maxSharedValue, maxSharedValue + 1, maxCachedValue, maxCachedValue + 1, 1<<20 + 1, len(noise), len(text)} {
		for k, source := range [][]byte{text, noise} {
			row := fmt.Appendf(nil, "row%02d%d", i, k)
			list = append(list, entry{row, cell.Cell{Column: []byte("f\x00q"), Value: source[:min(n, len(source))], Type: cell.Bytes}})
		}
	}
	for c := None; c <= Zstd; c++ {
		file, info := build(t, list, WriterOptions{ID: testID, Compression: c})
		r := open(t, file, testID, &testCache{picky: c%2 == 1})
		if err := r.Verify(info.Checksum); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		it := r.NewIterator(ReadOptions{FillCache: true})
		diff(t, c.String(), collect(it, nil, 1<<30), list)
		it.Close()
	}
}

func checkScanned(t *testing.T, what string, got cell.Scanned, list []entry) {
	t.Helper()
	var want cell.Scanned
	for _, e := range list {
		want.Add(cell.Scanned{Cells: 1, Bytes: uint64(e.RawSize(e.row))})
	}
	if passed(got) != want {
		t.Fatalf("%s: scanned %+v, want %+v", what, got, want)
	}
}

// passed returns s without what depends on the blocks.
func passed(s cell.Scanned) cell.Scanned {
	s.Read = 0
	return s
}

func checkInfo(t *testing.T, what string, opened, written Info, list []entry) {
	t.Helper()
	written.Checksum = 0
	if got, want := fmt.Sprintf("%+v", opened), fmt.Sprintf("%+v", written); got != want {
		t.Fatalf("%s: info read back:\n got %s\nwant %s", what, got, want)
	}
	var cells, raw, sets uint64
	var last []byte
	var rows uint64
	for _, e := range list {
		cells++
		raw += uint64(e.RawSize(e.row))
		if e.Kind == cell.Set {
			sets++
			if e.Time < opened.MinTime || e.Time > opened.MaxTime {
				t.Fatalf("%s: time %d outside %d to %d", what, e.Time, opened.MinTime, opened.MaxTime)
			}
		}
		if !bytes.Equal(last, e.row) {
			rows++
		}
		last = e.row
		if f, _ := cell.SplitColumn(e.Column); len(f) > 0 && !slices.Contains(opened.Families, string(f)) {
			t.Fatalf("%s: family %q missing in %q", what, f, opened.Families)
		}
	}
	if opened.Cells != cells || opened.RawBytes != raw || opened.Tombstones != cells-sets || opened.Rows != rows ||
		!bytes.Equal(opened.Smallest, list[0].row) || !bytes.Equal(opened.Largest, last) {
		t.Fatalf("%s: info %+v does not fit the entries", what, opened)
	}
}

// around returns keys around a row: itself, just above, and just below.
func around(row []byte) [][]byte {
	below := bytes.Clone(row[:len(row)-1])
	lower := bytes.Clone(row)
	lower[len(lower)-1]--
	return [][]byte{row, append(bytes.Clone(row), 0), append(lower, 0xff), below}
}

func TestSeekRow(t *testing.T) {
	for seed := range uint64(12) {
		g := newGenerator(seed)
		list := g.entries(1+g.IntN(200), 800)
		o := options(g)
		file, _ := build(t, list, o)
		r := open(t, file, o.ID, &testCache{picky: seed%2 == 1})
		it := r.NewIterator(ReadOptions{FillCache: true})
		var last []byte
		for _, e := range list {
			if bytes.Equal(e.row, last) {
				continue
			}
			last = e.row
			for _, key := range around(e.row) {
				from, _ := slices.BinarySearchFunc(list, key, func(e entry, k []byte) int { return bytes.Compare(e.row, k) })
				to := from
				for rows := 0; to < len(list); to++ {
					if to == from || !bytes.Equal(list[to].row, list[to-1].row) {
						if rows++; rows > 2 {
							break
						}
					}
				}
				got := collect(it, key, 2)
				diff(t, fmt.Sprintf("seed %d %+v seek %q", seed, o, key), got, list[from:to])
			}
			if ok, err := mayContain(r, e.row); !ok || err != nil {
				t.Fatalf("seed %d: MayContain(%q) of a present row: %v, %v", seed, e.row, ok, err)
			}
		}
		it.SeekRow([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		if it.Row() != nil || it.Err() != nil {
			t.Fatalf("seek past the end: row %q, %v", it.Row(), it.Err())
		}
		it.Close()
	}
}

func TestColumns(t *testing.T) {
	for seed := range uint64(25) {
		g := newGenerator(seed)
		list := g.entries(1+g.IntN(200), 3000)
		o := options(g)
		file, _ := build(t, list, o)
		r := open(t, file, o.ID, nil)
		for range 6 {
			columns := g.columns(list)
			var want []entry
			for _, e := range list {
				if columns.Wants(e.Column) {
					want = append(want, e)
				}
			}
			what := fmt.Sprintf("seed %d %+v columns %q", seed, o, columns.Ranges())
			it := r.NewIterator(ReadOptions{Columns: columns})
			got := collect(it, nil, 1<<30)
			if it.Err() != nil {
				t.Fatalf("%s: %v", what, it.Err())
			}
			// tombstones of other families may be skipped with their block
			needed := func(e entry) bool {
				return columns.Contains(e.Column) || e.Kind == cell.DeleteRow ||
					e.Kind == cell.DeleteFamily && columns.Overlaps(e.Column)
			}
			for _, e := range got {
				if !columns.Wants(e.Column) {
					t.Fatalf("%s: got %v", what, e)
				}
			}
			keep := func(l []entry) []entry {
				return slices.DeleteFunc(l, func(e entry) bool { return !needed(e) })
			}
			diff(t, what, keep(got), keep(want))
			it.Close()
		}
	}
}

// columns returns a random set of the list's columns.
func (g generator) columns(list []entry) *cell.Columns {
	var ranges []cell.Range
	for range 1 + g.IntN(3) {
		e := list[g.IntN(len(list))]
		family, qualifier := cell.SplitColumn(e.Column)
		switch g.IntN(4) {
		case 0:
			ranges = append(ranges, cell.FamilyRange(family))
		case 1:
			ranges = append(ranges, cell.PrefixRange(e.Column))
		case 2:
			end := list[g.IntN(len(list))].Column
			ranges = append(ranges, cell.Range{Start: e.Column, End: end})
		default:
			ranges = append(ranges, cell.ColumnRange(family, qualifier))
		}
	}
	return cell.NewColumns(ranges...)
}
