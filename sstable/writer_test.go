package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

func set(column string, time int64, seq uint64) cell.Cell {
	return cell.Cell{Column: []byte(column), Time: time, Seq: seq, Type: cell.String}
}

func TestWriterOrder(t *testing.T) {
	for _, test := range []struct {
		row1 string
		c1   cell.Cell
		row2 string
		c2   cell.Cell
		ok   bool
	}{
		{"a", set("f\x00q", 5, 5), "b", set("f\x00a", 5, 5), true},
		{"b", set("f\x00q", 5, 5), "a", set("f\x00q", 5, 5), false},
		{"b", set("f\x00q", 5, 5), "a", set("f\x00r", 5, 5), false},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q", 5, 5), false},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q", 5, 4), true},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q", 5, 6), false},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q", 4, 9), true},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q", 6, 1), false},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00p", 5, 5), false},
		{"a", set("f\x00q", 5, 5), "a", set("f\x00q\x00", 9, 9), true},
		{"a", set("f\x00q", 5, 5), "a", cell.Cell{Time: cell.TombstoneTime, Kind: cell.DeleteRow}, false},
		{"a", cell.Cell{Time: cell.TombstoneTime, Kind: cell.DeleteRow}, "a", set("f\x00q", 5, 5), true},
	} {
		w := NewWriter(io.Discard, WriterOptions{})
		if err := w.Add([]byte(test.row1), []cell.Cell{test.c1}); err != nil {
			t.Fatal(err)
		}
		err := w.Add([]byte(test.row2), []cell.Cell{test.c2})
		if (err == nil) != test.ok {
			t.Errorf("%s %v then %s %v: %v", test.row1, test.c1, test.row2, test.c2, err)
		}
		if _, err2 := w.Finish(); (err2 == nil) != test.ok {
			t.Errorf("Finish after %v: %v", err, err2)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxKey+1)
	for name, e := range map[string]entry{
		"empty row":          {nil, set("f\x00q", 1, 1)},
		"long row":           {[]byte(long), set("f\x00q", 1, 1)},
		"long column":        {[]byte("r"), set("f\x00"+long, 1, 1)},
		"last sequence":      {[]byte("r"), set("f\x00q", 1, math.MaxUint64)},
		"column without NUL": {[]byte("r"), set("f", 1, 1)},
		"negative time":      {[]byte("r"), set("f\x00q", -1, 1)},
		"unknown kind":       {[]byte("r"), cell.Cell{Column: []byte("f\x00q"), Kind: cell.KindCount}},
		"tombstone with time": {[]byte("r"), cell.Cell{
			Column: []byte("f\x00q"), Kind: cell.DeleteColumn, Time: 1}},
	} {
		w := NewWriter(io.Discard, WriterOptions{})
		if err := w.Add(e.row, []cell.Cell{e.Cell}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewWriter(io.Discard, WriterOptions{}).Finish(); err == nil {
		t.Error("a file without cells: accepted")
	}
	c := set("f\x00q", 1, 1)
	if err := NewWriter(io.Discard, WriterOptions{Compression: 9}).Add([]byte("r"), []cell.Cell{c}); err == nil {
		t.Error("unknown compression: accepted")
	}
}

// The arguments of Add may be changed as soon as it returns.
func TestWriterCopies(t *testing.T) {
	g := newGenerator(11)
	list := g.entries(200, 300)
	var b bytes.Buffer
	w := NewWriter(&b, WriterOptions{ID: testID, BlockSize: 1000})
	for _, e := range list {
		row, c := bytes.Clone(e.row), e.Cell
		c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
		if err := w.Add(row, []cell.Cell{c}); err != nil {
			t.Fatal(err)
		}
		for _, p := range [][]byte{row, c.Column, c.Value} {
			for i := range p {
				p[i] = 0xaa
			}
		}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got := xxhash.Sum64(b.Bytes()); got != info.Checksum {
		t.Errorf("checksum %#x, want %#x", info.Checksum, got)
	}
	it := open(t, b.Bytes(), testID, nil).NewIterator(ReadOptions{})
	defer it.Close()
	diff(t, "poisoned", collect(it, nil, 1<<30), list)
}

type failingWriter struct {
	left  int
	short bool
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left >= 0 {
		return len(p), nil
	}
	if w.short {
		return len(p) - 1, nil
	}
	return 0, errDevice
}

func TestWriteErrors(t *testing.T) {
	list := benchEntries(2000)
	file, _ := build(t, list, WriterOptions{ID: testID})
	for _, short := range []bool{false, true} {
		for left := 0; left < len(file); left += len(file) / 9 {
			w := NewWriter(&failingWriter{left, short}, WriterOptions{ID: testID})
			var err error
			for i := range list {
				if err = w.Add(list[i].row, []cell.Cell{list[i].Cell}); err != nil {
					break
				}
			}
			info, err2 := w.Finish()
			if want := map[bool]error{false: errDevice, true: io.ErrShortWrite}[short]; !errors.Is(err2, want) {
				t.Errorf("%d bytes written: Add %v, Finish %v", left, err, err2)
			}
			if err != nil && !errors.Is(err2, err) || info.Size != 0 {
				t.Errorf("%d bytes written: Add %v, Finish %v, %+v", left, err, err2, info)
			}
		}
	}
}

// longRows returns rows whose keys are long and differ only at their ends, so that the
// bounds of their blocks are long, too.
func longRows(n int) (list []entry) {
	list = append(list, entry{[]byte("a"), set("f\x00q", 1, 1)})
	for i := range n {
		row := bytes.Repeat([]byte{'b'}, 60<<10)
		list = append(list, entry{binary.BigEndian.AppendUint32(row, uint32(i)), set("f\x00q", 1, 1)})
	}
	return list
}

// Each write fails once, in files where every kind of block is too large to wait for
// another. The error is returned and nothing is written after it.
func TestWriteErrorsOfBlocks(t *testing.T) {
	row := func(n, size int) (list []entry) {
		for i := range n {
			c := set(fmt.Sprintf("f\x00%04d", i), 1, 1)
			c.Value = bytes.Repeat([]byte{'v'}, size)
			list = append(list, entry{[]byte("row"), c})
		}
		return list
	}
	for name, test := range map[string]struct {
		list   []entry
		o      WriterOptions
		writes int // at least
	}{
		"large values that share no block": {row(3, 600<<10), WriterOptions{BlockSize: maxBlockSize}, 3},
		"large values of a block each":     {row(3, 300<<10), WriterOptions{}, 3},
		"small values":                     {row(400, 1000), WriterOptions{BlockSize: maxBlockSize, smallBlock: 100 << 10}, 3},
		"blocks within a row":              {row(4000, 100), WriterOptions{}, 3},
		"keys":                             {longRows(4), WriterOptions{BlockSize: 1}, 3},
		"filter":                           {row(1, 1), WriterOptions{FilterBits: 2 << 20}, 2},
	} {
		test.o.ID = testID
		for n := 0; ; n++ {
			w := &nthWriter{n: n}
			err := writeAll(w, test.list, test.o)
			if w.writes <= n {
				if err != nil || n < test.writes {
					t.Errorf("%s: %d writes, %v, want %d at least and no error", name, n, err, test.writes)
				}
				break
			}
			if !errors.Is(err, errDevice) || w.writes != n+1 {
				t.Errorf("%s: write %d fails: got %v after %d writes", name, n, err, w.writes)
			}
		}
	}
}

// TestWriteErrorOfTimes: the block of times is what fills the buffer of the file, and the write fails.
func TestWriteErrorOfTimes(t *testing.T) {
	var list []entry
	for i := range 2000 {
		list = append(list, entry{[]byte("row"), set(fmt.Sprintf("f\x00%04d", i), int64(i*7919%2003)<<40, 1)})
	}
	tail := 0
	for filter := 0; filter < writeSize; filter += 2 << 10 {
		w := &nthWriter{n: -1}
		o := WriterOptions{ID: testID, BlockSize: 1, FilterBits: 8 * max(filter, 1)}
		if err := writeAll(w, list, o); err != nil {
			t.Fatal(err)
		}
		for n := range w.writes {
			w := &nthWriter{n: n}
			if err := writeAll(w, list, o); !errors.Is(err, errDevice) || w.writes != n+1 {
				t.Fatalf("filter of %d bytes, write %d fails: got %v after %d writes", filter, n, err, w.writes)
			}
			tail++
		}
	}
	if tail == 0 {
		t.Error("nothing was written")
	}
}

// writeAll writes a file, and calls Finish even after an error, which stays.
func writeAll(out io.Writer, list []entry, o WriterOptions) error {
	w := NewWriter(out, o)
	for i := range list {
		if err := w.Add(list[i].row, []cell.Cell{list[i].Cell}); err != nil {
			_, again := w.Finish()
			return errors.Join(again, w.Add(list[i].row, []cell.Cell{list[i].Cell}))
		}
	}
	_, err := w.Finish()
	return err
}

// nthWriter fails the nth write.
type nthWriter struct{ n, writes int }

func (w *nthWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == w.n+1 {
		return 0, errDevice
	}
	return len(p), nil
}

// A file whose index no reader would accept is not written.
func TestIndexTooLarge(t *testing.T) {
	list := longRows(maxIndex/(60<<10) + 2)
	err := writeAll(io.Discard, list, WriterOptions{ID: testID, BlockSize: 1})
	if want := fmt.Sprintf("%d blocks are too many", len(list)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := writeAll(io.Discard, list[:len(list)/2], WriterOptions{ID: testID, BlockSize: 1}); err != nil {
		t.Errorf("half of the file: %v", err)
	}
}

// EstimatedSize predicts the length of the file well enough to decide when to end it.
func TestWriterSize(t *testing.T) {
	list := benchEntries(5000)
	for c := None; c <= Zstd; c++ {
		for _, cells := range []int{1, 100, 3000, len(list)} {
			w := NewWriter(io.Discard, WriterOptions{ID: testID, Compression: c})
			for i := range list[:cells] {
				if err := w.Add(list[i].row, []cell.Cell{list[i].Cell}); err != nil {
					t.Fatal(err)
				}
			}
			size := w.EstimatedSize()
			info, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if slack := info.Size/10 + 40<<10; size < info.Size-slack || size > info.Size+slack {
				t.Errorf("%v, %d cells: estimated %d, is %d", c, cells, size, info.Size)
			}
		}
	}
}

// Rows that fit are in one block each, whatever their size.
func TestRowsStayWhole(t *testing.T) {
	list := benchEntries(3000)
	file, info := build(t, list, WriterOptions{ID: testID})
	r := open(t, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		t.Fatal(err)
	}
	for e := range x.cells {
		if !x.isHead(e) {
			t.Errorf("block %d continues a row", e)
		}
	}
	if raw := info.RawBytes / info.CellBlocks; raw < 4<<10 || raw > 16<<10 {
		t.Errorf("%d raw bytes in each block", raw)
	}
}

// Blocks of long keys are larger, so that the index is a small part of the file, but
// bounded.
func TestLongKeysInBlocks(t *testing.T) {
	for _, test := range []struct{ key, cells int }{{50, minBlockCells}, {600, minBlockCells}, {3000, 4 << 10 * maxBlockGrowth / 2 / 3000}} {
		var list []entry
		for i := range 32 * minBlockCells {
			column := append([]byte("f\x00"), bytes.Repeat([]byte{'c'}, test.key)...)
			list = append(list, entry{[]byte("row"), set(fmt.Sprintf("%s%04d", column, i), 1, 1)})
		}
		_, info := build(t, list, WriterOptions{ID: testID})
		if cells := int(info.Cells / info.CellBlocks); cells < test.cells || cells*test.key > 4<<10*maxBlockGrowth {
			t.Errorf("keys of %d bytes: %d cells in each block, want %d at least", test.key, cells, test.cells)
		}
	}
}

// The bytes of a file depend on the format and on choices of the Writer. If this test fails
// for another reason than such a choice, the format has changed: raise its version.
func TestFormatIsStable(t *testing.T) {
	for c, want := range map[Compression]uint64{None: 0xef805c656675b40d} {
		file, _, _ := smallFile(t, testID, c)
		if got := xxhash.Sum64(file); got != want {
			t.Errorf("%v: the file hashes to %#x, want %#x", c, got, want)
		}
	}
}

func ExampleWriter() {
	var file bytes.Buffer
	id := ID{Store: [16]byte{1}, Number: 1}
	w := NewWriter(&file, WriterOptions{ID: id, Compression: S2})
	c := cell.Cell{Column: cell.AppendColumn(nil, []byte("title"), nil), Value: []byte("Colonnade"), Time: 1, Type: cell.String}
	if err := w.Add([]byte("org.example/"), []cell.Cell{c}); err != nil {
		panic(err)
	}
	info, err := w.Finish()
	if err != nil {
		panic(err)
	}
	r, err := Open(bytes.NewReader(file.Bytes()), info.Size, id, nil)
	if err != nil {
		panic(err)
	}
	it := r.NewIterator(ReadOptions{})
	defer it.Close()
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		for _, c := range it.Cells(nil) {
			fmt.Printf("%s %q\n", it.Row(), c.Value)
		}
	}
	// Output: org.example/ "Colonnade"
}

// A large value leaves no large buffer behind, however well it compresses.
func TestBufferOfALargeValue(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		w := NewWriter(io.Discard, WriterOptions{Compression: c})
		for i := range 3 {
			v := set("f\x00q", 5, 5)
			v.Value = make([]byte, 16<<20)
			if err := w.Add(fmt.Appendf(nil, "row %d", i), []cell.Cell{v}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Add([]byte("small"), []cell.Cell{set("f\x00q", 5, 5)}); err != nil {
			t.Fatal(err)
		}
		if n := cap(w.out.pending); n > 2*maxKeptBuffer {
			t.Errorf("%v: a buffer of %d bytes", c, n)
		}
	}
}
