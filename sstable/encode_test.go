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

	"github.com/colonnade-db/colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// oddBlocks are blocks with every feature that encoding handles, by name.
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
		"one cell":              rows(1, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "value") }),
		"no value":              rows(3, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "") }),
		"one value":             rows(9, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "same") }),
		"value lengths":         rows(9, func(b *cellBuilder, r int) { add(b, "q", 5, 6, "values"[:r%6]) }),
		"long values":           rows(3, func(b *cellBuilder, r int) { add(b, "q", 5, 6, string(make([]byte, 300*r))) }),
		"sets, a version each":  rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(1000*r), uint64(r), "v") }),
		"sets, versions":        rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(r/2), 7, "v") }),
		"sets, versions return": rows(9, func(b *cellBuilder, r int) { add(b, "q", int64(r%3), 7, "v") }),
		"many versions":         rows(700, func(b *cellBuilder, r int) { add(b, "q", int64(r%600), 7, "v") }),
		"versions":              rows(1, func(b *cellBuilder, r int) { add(b, "q", 9, 7, "a"); add(b, "q", 8, 7, "b"); add(b, "q", 8, 6, "c") }),
		"rows of one and":       rows(4, func(b *cellBuilder, r int) { add(b, "p", 9, 7, "a"); add(b, fmt.Sprint("q", r%2), 8, 7, "b") }),
		"many cells":            rows(2, func(b *cellBuilder, r int) { manyCells(b, add, 300*(r+1)) }),
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
	for n := 2; n <= maxDictValues+1; n++ {
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

// guarded returns p with the guard after it.
func guarded(p []byte) []byte { return append(resize(nil, len(p))[:0], p...) }

// Decoding restores the plain block to the byte, whatever was in the memory before.
func TestDecode(t *testing.T) {
	for name, build := range oddBlocks() {
		b := oddBlock(build)
		want := b.appendPlain(nil)
		got, err := decodeCellBlock(bytes.Repeat([]byte{0xff}, len(want)+guard), guarded(b.appendEncoded(nil)), maxCellBlock)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, got\n%q, want\n%q", name, err, got, want)
		}
		if err := parseBlock(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Typical blocks compress better encoded.
func TestEncodingSaves(t *testing.T) {
	b := oddBlock(func(b *cellBuilder) {
		for r := range 60 {
			b.addRow(fmt.Appendf(nil, "org.example.www/path/%d", r))
			c := set("language\x00", int64(r), 0)
			c.Value = []byte([]string{"DE", "EN", "FR"}[r%3])
			b.addCell(&c)
		}
	})
	encoded, _ := compress(S2, nil, b.appendEncoded(nil))
	whole, _ := compress(S2, nil, b.appendPlain(nil))
	if len(encoded) > len(whole)*3/4 {
		t.Errorf("%d bytes of %d", len(encoded), len(whole))
	}
}

// Values get a dictionary if few are distinct and that is shorter.
func TestValueDict(t *testing.T) {
	for name, want := range map[string]bool{
		"one value": false, "2 values in 2": false, "2 values in 40": true, "16 values in 31": true, "16 values in 16": false, "17 values in 40": false,
		"value lengths": false, "apart": false,
	} {
		encoded := oddBlock(oddBlocks()[name]).appendEncoded(nil)
		d := blockDecoder{p: guarded(encoded)[:len(encoded)+guard], n: len(encoded)}
		if !d.readHeader(maxCellBlock) || d.dict.length > 0 != want {
			t.Errorf("%s: %+v, want a value dictionary %v", name, d.dict, want)
		}
	}
}

// An encoded block that is cut off, too long, or claims what it does not have is refused, or
// its result is. No claim makes it panic or allocate beyond the limit.
func TestDecodeRefuses(t *testing.T) {
	for name, build := range oddBlocks() {
		encoded := oddBlock(build).appendEncoded(nil)
		if len(encoded) > 4<<10 {
			continue
		}
		for n := range encoded {
			if raw, err := decodeCellBlock(nil, guarded(encoded[:n]), maxCellBlock); err == nil {
				t.Errorf("%s: the first %d of %d bytes are a block of %d", name, n, len(encoded), len(raw))
			}
		}
		if _, err := decodeCellBlock(nil, guarded(append(encoded[:len(encoded):len(encoded)], 0)), maxCellBlock); err != errEncoding {
			t.Errorf("%s: a byte too many: got %v, want %v", name, err, errEncoding)
		}
		for at := range encoded {
			for _, v := range []byte{0, 1, 2, 0x7f, 0x80, 0xff, encoded[at] + 1, encoded[at] - 1} {
				broken := guarded(encoded)
				broken[at] = v
				decodeAny(t, broken)
			}
		}
	}
	withDict := guarded(oddBlock(oddBlocks()["3 values in 40"]).appendEncoded(nil))
	for i := range withDict { // four indexes in each byte at the end, before the versions
		if bytes.HasPrefix(withDict[i:], []byte("000001002")) {
			withDict[i+9] |= 3
		}
	}
	if _, err := decodeCellBlock(nil, withDict, maxCellBlock); err != errEncoding {
		t.Errorf("a value that is not in the dictionary: got %v, want %v", err, errEncoding)
	}
	encoded := oddBlock(oddBlocks()["many cells"]).appendEncoded(nil)
	whole, err := decodeCellBlock(nil, guarded(encoded), maxCellBlock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeCellBlock(nil, guarded(encoded), uint32(len(whole)-1)); err != errEncoding {
		t.Errorf("a limit one byte below: got %v, want %v", err, errEncoding)
	}
	if _, err := decodeCellBlock(nil, guarded(encoded), uint32(len(whole))); err != nil {
		t.Errorf("a limit that is the length: %v", err)
	}
}

// decodeAny decodes a possibly damaged block, and walks over the result if it is valid.
func decodeAny(t *testing.T, encoded []byte) {
	t.Helper()
	raw, err := decodeCellBlock(nil, encoded, maxCellBlock)
	if err != nil {
		if err != errEncoding {
			t.Errorf("got %v, want %v", err, errEncoding)
		}
		return
	}
	again, err := decodeCellBlock(bytes.Repeat([]byte{0xff}, len(raw)+guard), encoded, maxCellBlock)
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("decoded into other memory it is another block: %v", err)
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

// A number that claims much must be backed by bytes before memory is allocated.
func TestDecodeClaims(t *testing.T) {
	encoded := oddBlock(oddBlocks()["one cell"]).appendEncoded(nil)
	for number := range 11 {
		at := 0
		for range number {
			_, n := binary.Uvarint(encoded[at:])
			at += n
		}
		_, n := binary.Uvarint(encoded[at:])
		for _, claim := range []uint64{maxIndex - 1000, math.MaxUint32, math.MaxUint64} {
			broken := binary.AppendUvarint(encoded[:at:at], claim)
			broken = guarded(append(broken, encoded[at+n:]...))
			before := allocated()
			_, err := decodeCellBlock(nil, broken, maxIndex)
			if took := allocated() - before; took > 1<<20 || err == nil && number < 9 {
				t.Errorf("number %d says %d: %d bytes were allocated, error %v", number, claim, took, err)
			}
		}
	}
}

// FuzzDecode decodes any bytes, past all checksums.
func FuzzDecode(f *testing.F) {
	for _, build := range oddBlocks() {
		if encoded := oddBlock(build).appendEncoded(nil); len(encoded) < 1<<10 {
			f.Add(encoded)
		}
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		bounded(t, func() { decodeAny(t, guarded(encoded)) })
	})
}

// With compression all cell blocks are encoded, and no other block is. Without it none is.
func TestWhatIsEncoded(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		file, _, list := smallFile(t, testID, c)
		blocks := blocksOf(t, file, testID)
		x, err := open(t, file, testID, nil).openIndex()
		if err != nil {
			t.Fatal(err)
		}
		cells := []handle{blocks[len(blocks)-3]} // the index
		for e := range x.cells {
			cells = append(cells, x.handle(e))
		}
		for _, h := range blocks {
			encoded := file[h.end()-trailerSize]&encodedBit != 0
			if encoded != (c != None && slices.Contains(cells, h)) {
				t.Errorf("%v: the block at %d: encoded %v", c, h.offset, encoded)
			}
		}
		if o := readAll(file, testID, nil, list); o.err != nil || o.verify != nil || o.wrong != "" {
			t.Errorf("%v: %+v", c, o)
		}
	}
}

// An invalid encoded block is damage at its offset, although its checksum is valid.
func TestDamagedEncoding(t *testing.T) {
	file, _, list := smallFile(t, testID, S2)
	blocks := blocksOf(t, file, testID)
	h := blocks[slices.IndexFunc(blocks, func(h handle) bool {
		return file[h.end()-trailerSize] == encodedBit // stored uncompressed, since S2 saved too little
	})]
	broken := bytes.Clone(file)
	broken[h.offset] = 0 // number of cells
	seal(broken, testID, blocks)
	o := readAll(broken, testID, nil, list)
	var damage *CorruptError
	if !errors.As(o.verify, &damage) || damage.Offset != int64(h.offset) || damage.Reason != errEncoding.Error() {
		t.Errorf("Verify: got %v, want %v at %d", o.verify, errEncoding, h.offset)
	}
	if !errors.As(o.err, &damage) || o.wrong != "" {
		t.Errorf("read: %v, wrong answer: %s", o.err, o.wrong)
	}
}

//go:embed testdata/version1.sst
var version1 []byte

//go:embed testdata/version2.sst
var version2 []byte

// Files of former versions can be read: of version 1, which has no encoded blocks, and of version 2, which has
// no times. Nothing is left out of a read of a range of times.
func TestFormerVersions(t *testing.T) {
	_, _, list := smallFile(t, testID, S2)
	for version, file := range map[uint32][]byte{1: version1, 2: version2} {
		if o := readAll(file, testID, nil, list); o.err != nil || o.verify != nil || o.wrong != "" {
			t.Errorf("version %d: %+v", version, o)
		}
		r := open(t, file, testID, nil)
		if r.footer.version != version || r.Info().Times != cell.AllTimes {
			t.Errorf("version %d: read as version %d, with times %+v", version, r.footer.version, r.Info().Times)
		}
		it := r.NewIterator(ReadOptions{Times: &cell.TimeRange{Start: 5, End: 6}})
		diff(t, "range of times", collect(it, nil, 1<<30), list)
		it.Close()
	}
}

// The encoded form is part of the format: if this test fails, raise the version.
func TestEncodingIsStable(t *testing.T) {
	names := make([]string, 0)
	for name := range oddBlocks() {
		names = append(names, name)
	}
	slices.Sort(names)
	d := xxhash.New()
	for _, name := range names {
		d.Write(oddBlock(oddBlocks()[name]).appendEncoded(nil))
	}
	if got, want := d.Sum64(), uint64(0x695cebea1844c071); got != want {
		t.Errorf("the encoded blocks hash to %#x, want %#x", got, want)
	}
}

func BenchmarkDecode(b *testing.B) {
	file, _ := build(b, benchEntries(1000), WriterOptions{ID: testID, Compression: S2})
	r := open(b, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		b.Fatal(err)
	}
	var buf readBuffer
	h := x.handle(1)
	stored, c, err := r.readStored(h, maxCellBlock, &buf)
	if err != nil {
		b.Fatal(err)
	}
	encoded := resize(nil, int(c.rawLength))
	if err := decompress(c.compression, encoded, stored); err != nil {
		b.Fatal(err)
	}
	var raw []byte
	b.ReportAllocs()
	for b.Loop() {
		if raw, err = decodeCellBlock(raw, encoded, maxCellBlock); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(raw)))
}
