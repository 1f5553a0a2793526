package sstable

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// oddBlocks are blocks with everything that a folded form makes a difference for, by name.
func oddBlocks() map[string]func(b *cellBuilder) {
	rows := func(n int, each func(b *cellBuilder, r int)) func(b *cellBuilder) {
		return func(b *cellBuilder) {
			for r := range n {
				b.addRow(fmt.Appendf(nil, "row/%05d/end", r))
				each(b, r)
			}
		}
	}
	add := func(b *cellBuilder, column string, time int64, seq uint64, value string) {
		c := set("f\x00"+column, time, seq)
		c.Value = []byte(value)
		b.addCell(&c)
	}
	blocks := map[string]func(b *cellBuilder){
		"one cell":        rows(1, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "value") }),
		"no value":        rows(3, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "") }),
		"one value":       rows(9, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "same") }),
		"value lengths":   rows(9, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "values"[:r%6]) }),
		"long values":     rows(3, func(b *cellBuilder, r int) { add(b, "q", 5, 6, string(make([]byte, 300*r))) }),
		"stamp each":      rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(1000*r), uint64(r), "v") }),
		"stamps":          rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(r/2), 7, "v") }),
		"stamps return":   rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(r%3), 7, "v") }),
		"many stamps":     rows(700, func(b *cellBuilder, r int) { add(b, "q", int64(r%600), 7, "v") }),
		"versions":        rows(1, func(b *cellBuilder, r int) { add(b, "q", 9, 7, "a"); add(b, "q", 8, 7, "b"); add(b, "q", 8, 6, "c") }),
		"rows of one and": rows(4, func(b *cellBuilder, r int) { add(b, "p", 9, 7, "a"); add(b, fmt.Sprint("q", r%2), 8, 7, "b") }),
		"many cells":      rows(2, func(b *cellBuilder, r int) { manyCells(b, add, 300*(r+1)) }),
		"tombstone": rows(2, func(b *cellBuilder, r int) {
			b.addCell(&cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime, Seq: 9})
			add(b, "q", 5, 6, "v")
		}),
		"long keys": func(b *cellBuilder) {
			for _, n := range []int{1, 40, 300, MaxKey} {
				b.addRow(bytes.Repeat([]byte{'k'}, n))
				add(b, string(bytes.Repeat([]byte{'q'}, n/2)), 5, 6, "v")
			}
		},
		"apart": func(b *cellBuilder) { *b = *builtBlock(func(*cellBuilder) {}) },
	}
	for n := 2; n <= mostNumbered+1; n++ {
		for _, cells := range []int{n, 31, 40} {
			blocks[fmt.Sprintf("%d values in %d", n, cells)] = rows(cells, func(b *cellBuilder, r int) { add(b, "q", 5, 6, fmt.Sprintf("%03d", r%n)) })
		}
	}
	return blocks
}

func manyCells(b *cellBuilder, add func(b *cellBuilder, column string, time int64, seq uint64, value string), n int) {
	for q := range n {
		add(b, fmt.Sprintf("%04d", q), int64(q%5), 6, "value"[:q%5])
	}
}

func oddBlock(build func(b *cellBuilder)) *cellBuilder {
	b := new(cellBuilder)
	b.reset()
	build(b)
	return b
}

// guarded returns p with the guard behind it.
func guarded(p []byte) []byte { return append(sized(nil, len(p))[:0], p...) }

// What is unfolded is the block that was folded, to the byte, whatever was in the memory before.
func TestUnfold(t *testing.T) {
	for name, build := range oddBlocks() {
		b := oddBlock(build)
		want := b.finish(nil)
		got, err := unfold(bytes.Repeat([]byte{0xff}, len(want)+guard), guarded(b.fold(nil)), maxCellBlock)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, got\n%q, want\n%q", name, err, got, want)
		}
		if err := parseBlock(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Blocks of rows, as files have them, take less when they are folded before they are compressed.
func TestFoldSaves(t *testing.T) {
	b := oddBlock(func(b *cellBuilder) {
		for r := range 60 {
			b.addRow(fmt.Appendf(nil, "org.example.www/path/%d", r))
			c := set("language\x00", int64(r), 0)
			c.Value = []byte([]string{"DE", "EN", "FR"}[r%3])
			b.addCell(&c)
		}
	})
	folded, _ := compress(S2, nil, b.fold(nil))
	whole, _ := compress(S2, nil, b.finish(nil))
	if len(folded) > len(whole)*3/4 {
		t.Errorf("%d bytes of %d", len(folded), len(whole))
	}
}

// Values are numbered if few are different, and that makes them shorter.
func TestNumberedValues(t *testing.T) {
	for name, want := range map[string]bool{
		"one value": false, "2 values in 2": false, "2 values in 40": true, "16 values in 31": true, "16 values in 16": false, "17 values in 40": false,
		"value lengths": false, "apart": false,
	} {
		folded := oddBlock(oddBlocks()[name]).fold(nil)
		u := unfolder{p: guarded(folded)[:len(folded)+guard], n: len(folded)}
		if !u.readNumbers(maxCellBlock) || u.numbered.length > 0 != want {
			t.Errorf("%s: %+v, want numbered values %v", name, u.numbered, want)
		}
	}
}

// A folded block that is cut off, goes on, or claims what it does not have is refused, or what
// comes of it is. Nothing that it says makes it panic, or take memory beyond the limit.
func TestUnfoldRefuses(t *testing.T) {
	for name, build := range oddBlocks() {
		folded := oddBlock(build).fold(nil)
		if len(folded) > 4<<10 {
			continue
		}
		for n := range folded {
			if raw, err := unfold(nil, guarded(folded[:n]), maxCellBlock); err == nil {
				t.Errorf("%s: the first %d of %d bytes are a block of %d", name, n, len(folded), len(raw))
			}
		}
		if _, err := unfold(nil, guarded(append(folded[:len(folded):len(folded)], 0)), maxCellBlock); err != errFolded {
			t.Errorf("%s: a byte too many: got %v, want %v", name, err, errFolded)
		}
		for at := range folded {
			for _, v := range []byte{0, 1, 2, 0x7f, 0x80, 0xff, folded[at] + 1, folded[at] - 1} {
				broken := guarded(folded)
				broken[at] = v
				unfoldAny(t, broken)
			}
		}
	}
	numbered := guarded(oddBlock(oddBlocks()["3 values in 40"]).fold(nil))
	for i := range numbered { // four numbers in each byte at the end, before the stamp
		if bytes.HasPrefix(numbered[i:], []byte("000001002")) {
			numbered[i+9] |= 3
		}
	}
	if _, err := unfold(nil, numbered, maxCellBlock); err != errFolded {
		t.Errorf("a value that is none of those numbered: got %v, want %v", err, errFolded)
	}
	folded := oddBlock(oddBlocks()["many cells"]).fold(nil)
	whole, err := unfold(nil, guarded(folded), maxCellBlock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unfold(nil, guarded(folded), uint32(len(whole)-1)); err != errFolded {
		t.Errorf("a limit one byte below: got %v, want %v", err, errFolded)
	}
	if _, err := unfold(nil, guarded(folded), uint32(len(whole))); err != nil {
		t.Errorf("a limit that is the length: %v", err)
	}
}

// unfoldAny unfolds what may be damaged, and walks over what comes of it if that is a block.
func unfoldAny(t *testing.T, folded []byte) {
	t.Helper()
	raw, err := unfold(nil, folded, maxCellBlock)
	if err != nil {
		if err != errFolded {
			t.Errorf("got %v, want %v", err, errFolded)
		}
		return
	}
	again, err := unfold(bytes.Repeat([]byte{0xff}, len(raw)+guard), folded, maxCellBlock)
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("unfolded into other memory it is another block: %v", err)
	}
	var b cellBlock
	if len(raw) > maxCellBlock || b.parse(raw) != nil {
		return
	}
	for r := range b.rows {
		b.findRow(b.appendRow(nil, r))
	}
	for i := range b.cells {
		b.keyAt(i)
	}
}

// A number that claims much has to have something to show for it, before there is memory.
func TestUnfoldClaims(t *testing.T) {
	folded := oddBlock(oddBlocks()["one cell"]).fold(nil)
	for number := range 11 {
		at := 0
		for range number {
			_, n := binary.Uvarint(folded[at:])
			at += n
		}
		_, n := binary.Uvarint(folded[at:])
		for _, claim := range []uint64{maxIndex - 1000, math.MaxUint32, math.MaxUint64} {
			broken := binary.AppendUvarint(folded[:at:at], claim)
			broken = guarded(append(broken, folded[at+n:]...))
			before := allocated()
			_, err := unfold(nil, broken, maxIndex)
			if took := allocated() - before; took > 1<<20 || err == nil && number < 9 {
				t.Errorf("number %d says %d: %d bytes were allocated, error %v", number, claim, took, err)
			}
		}
	}
}

// FuzzUnfold puts any bytes past every checksum.
func FuzzUnfold(f *testing.F) {
	for _, build := range oddBlocks() {
		if folded := oddBlock(build).fold(nil); len(folded) < 1<<10 {
			f.Add(folded)
		}
	}
	f.Fuzz(func(t *testing.T, folded []byte) {
		bounded(t, func() { unfoldAny(t, guarded(folded)) })
	})
}

// Every kind of compression has its cell blocks folded, and no other block; a file without
// compression has none.
func TestWhatIsFolded(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		file, _, list := smallFile(t, testID, c)
		blocks := blocksOf(t, file, testID)
		x, err := open(t, file, testID, nil).openIndex()
		if err != nil {
			t.Fatal(err)
		}
		cells := []handle{blocks[len(blocks)-2]} // the index
		for e := range x.cells {
			cells = append(cells, x.handle(e))
		}
		for _, h := range blocks {
			folded := file[h.end()-trailerSize]&foldedBlock != 0
			if folded != (c != None && slices.Contains(cells, h)) {
				t.Errorf("%v: the block at %d: folded %v", c, h.offset, folded)
			}
		}
		if o := readAll(file, testID, nil, list); o.err != nil || o.verify != nil || o.wrong != "" {
			t.Errorf("%v: %+v", c, o)
		}
	}
}

// A folded block that makes no sense is damage at its place, though its checksum is right.
func TestDamagedFold(t *testing.T) {
	file, _, list := smallFile(t, testID, S2)
	blocks := blocksOf(t, file, testID)
	h := blocks[slices.IndexFunc(blocks, func(h handle) bool {
		return file[h.end()-trailerSize] == foldedBlock // not compressed, which saved too little
	})]
	broken := bytes.Clone(file)
	broken[h.offset] = 0 // cells
	seal(broken, testID, blocks)
	o := readAll(broken, testID, nil, list)
	var damage *CorruptError
	if !errors.As(o.verify, &damage) || damage.Offset != int64(h.offset) || damage.Reason != errFolded.Error() {
		t.Errorf("Verify: got %v, want %v at %d", o.verify, errFolded, h.offset)
	}
	if !errors.As(o.err, &damage) || o.wrong != "" {
		t.Errorf("read: %v, wrong answer: %s", o.err, o.wrong)
	}
}

//go:embed testdata/version1.sst
var version1 []byte

// A file of version 1, which has no folded blocks, is read as ever.
func TestVersion1(t *testing.T) {
	_, _, list := smallFile(t, testID, S2)
	if o := readAll(version1, testID, nil, list); o.err != nil || o.verify != nil || o.wrong != "" {
		t.Errorf("%+v", o)
	}
}

// The folded form is part of the format: if this test fails, raise its version.
func TestFoldIsStable(t *testing.T) {
	names := make([]string, 0)
	for name := range oddBlocks() {
		names = append(names, name)
	}
	slices.Sort(names)
	d := xxhash.New()
	for _, name := range names {
		d.Write(oddBlock(oddBlocks()[name]).fold(nil))
	}
	if got, want := d.Sum64(), uint64(0x695cebea1844c071); got != want {
		t.Errorf("the folded blocks hash to %#x, want %#x", got, want)
	}
}

func BenchmarkUnfold(b *testing.B) {
	file, _ := build(b, benchEntries(1000), WriterOptions{ID: testID, Compression: S2})
	r := open(b, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		b.Fatal(err)
	}
	var w window
	h := x.handle(1)
	stored, c, err := r.readStored(h, maxCellBlock, &w)
	if err != nil {
		b.Fatal(err)
	}
	folded := sized(nil, int(c.rawLength))
	if err := decompress(c.compression, folded, stored); err != nil {
		b.Fatal(err)
	}
	var raw []byte
	b.ReportAllocs()
	for b.Loop() {
		if raw, err = unfold(raw, folded, maxCellBlock); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(raw)))
}
