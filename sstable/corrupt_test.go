package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// smallFile has every feature of the format in as few bytes as possible: wide rows
// over several blocks, tombstones, small and large value blocks.
func smallFile(t testing.TB, id ID, c Compression) (file []byte, info Info, list []entry) {
	g := newGenerator(4)
	for i := range 30 {
		row := fmt.Appendf(nil, "row%02d", i/3)
		e := g.entry(row, 2, 3)
		e.Value = e.Value[:min(len(e.Value), 300)]
		list = append(list, e)
	}
	for i := range 30 {
		e := entry{[]byte("row05"), cell.Cell{Column: fmt.Appendf(nil, "f\x00%d", i), Time: int64(i), Seq: 5, Type: cell.Bytes}}
		e.Value = bytes.Repeat([]byte{byte(i)}, i*2)
		list = append(list, e)
	}
	large := bytes.Repeat([]byte("large"), LargeValue/5+10)
	list = append(list,
		entry{[]byte("row03"), cell.Cell{Column: []byte("f\x00large"), Value: large, Time: 5, Seq: 5, Type: cell.String}},
		entry{[]byte("row04"), cell.Cell{Column: []byte("f\x00large"), Value: bytes.ToUpper(large), Time: 5, Seq: 5, Type: cell.String}})
	list = sortEntries(list)
	file, info = build(t, list, WriterOptions{ID: id, Compression: c, BlockSize: 400, FilterBits: 4, smallBlock: 600})
	if info.CellBlocks < 4 || info.ValueBlocks < 4 {
		t.Fatalf("the file is too simple: %d cell blocks, %d value blocks", info.CellBlocks, info.ValueBlocks)
	}
	return file, info, list
}

// outcome is the result of reading a damaged file.
type outcome struct {
	opened bool
	verify error
	err    error // of a read
	wrong  string
}

// readAll opens a file, reads it in every way, and compares the results with the list.
func readAll(file []byte, id ID, cache Cache, list []entry) outcome {
	return readEach(file, id, cache, list, func(read func()) { read() })
}

// readEach is readAll with each read in a call of once.
func readEach(file []byte, id ID, cache Cache, list []entry, once func(read func())) (o outcome) {
	r, err := Open(bytes.NewReader(file), int64(len(file)), id, cache)
	if err != nil {
		o.err, o.verify = err, err
		return o
	}
	o.opened = true
	once(func() { o.verify = r.Verify(0) })
	note := func(err error) {
		if err != nil && o.err == nil {
			o.err = err
		}
	}
	readBy := func(collect func(*Iterator, []byte, int) []entry, what string, opts ReadOptions, seek []byte, want []entry) {
		it := r.NewIterator(opts)
		defer it.Close()
		var got []entry
		once(func() { got = collect(it, seek, 1<<30) })
		note(it.Err())
		same := len(got) == len(want)
		for i := range min(len(got), len(want)) {
			if opts.KeysOnly {
				got[i].Value, want[i].Value = nil, nil
			}
			same = same && equalEntries(got[i], want[i])
		}
		if it.Err() == nil && !same {
			o.wrong = what
		}
	}
	read := func(what string, opts ReadOptions, seek []byte, want []entry) {
		readBy(collect, what, opts, seek, want)
	}
	read("scan", ReadOptions{}, nil, list)
	readBy(collectDown, "scan down", ReadOptions{}, nil, downward(list))
	readBy(collectInSteps, "scan in steps", ReadOptions{}, nil, withoutRows(list))
	read("scan and fill", ReadOptions{FillCache: true}, nil, list)
	read("keys", ReadOptions{KeysOnly: true}, nil, slices.Clone(list))
	times := cell.TimeRange{Start: 5, End: 6}
	it := r.NewIterator(ReadOptions{Times: &times})
	once(func() {
		if got := collect(it, nil, 1<<30); it.Err() == nil && lackOf(got, list, times) != "" {
			o.wrong = "times"
		}
	})
	note(it.Err())
	it.Close()
	columns := cell.NewColumns(cell.FamilyRange([]byte("f")))
	read("columns", ReadOptions{Columns: columns}, nil, slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
		return !columns.Wants(e.Column)
	}))
	for i, e := range list {
		if i%7 == 0 {
			from := slices.IndexFunc(list, func(f entry) bool { return bytes.Equal(e.row, f.row) })
			read("seek", ReadOptions{}, e.row, list[from:])
		}
		ok, err := mayContain(r, e.row)
		note(err)
		if err == nil && !ok {
			o.wrong = "filter"
		}
	}
	return o
}

// checkDamaged fails the test unless the damage was reported: always by Verify, and by reads unless
// all their results were right.
func checkDamaged(t *testing.T, what string, o outcome) {
	t.Helper()
	var corrupt *CorruptError
	var version *VersionError
	if o.verify == nil {
		t.Errorf("%s: Verify found nothing", what)
	} else if !errors.As(o.verify, &corrupt) && !errors.As(o.verify, &version) {
		t.Errorf("%s: Verify: %v", what, o.verify)
	}
	if o.err != nil && !errors.As(o.err, &corrupt) && !errors.As(o.err, &version) {
		t.Errorf("%s: read: %v", what, o.err)
	}
	if o.wrong != "" {
		t.Errorf("%s: wrong answer without an error: %s", what, o.wrong)
	}
}

// stride is the distance between the bytes that sweeps over a file change.
func stride() int {
	if raceEnabled || testing.Short() {
		return 17
	}
	return 1
}

func TestBitFlips(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		file, _, list := smallFile(t, testID, c)
		if o := readAll(file, testID, nil, list); o != (outcome{opened: true}) {
			t.Fatalf("%v: the file as written: %+v", c, o)
		}
		for i := 0; i < len(file); i += stride() {
			file[i] ^= 1 << (i % 8)
			checkDamaged(t, fmt.Sprintf("%v: byte %d of %d", c, i, len(file)), readAll(file, testID, new(testCache), list))
			file[i] ^= 1 << (i % 8)
		}
	}
}

func TestTruncation(t *testing.T) {
	file, _, list := smallFile(t, testID, S2)
	for n := range file {
		o := readAll(file[:n], testID, nil, list)
		checkDamaged(t, fmt.Sprintf("first %d bytes", n), o)
		if o.opened {
			t.Errorf("first %d bytes: opened", n)
		}
	}
	if o := readAll(append(file, 0), testID, nil, list); o.opened {
		t.Error("a byte too many: opened")
	}
}

func TestDamagedSectors(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	const sector = 512
	for at := 0; at < len(file); at += sector / 2 {
		end := min(at+sector, len(file))
		for name, damage := range map[string]func(p []byte){
			"zeros": func(p []byte) { clear(p) },
			"ones":  func(p []byte) { copy(p, bytes.Repeat([]byte{0xff}, len(p))) },
			"another": func(p []byte) {
				other := (at + 2*sector) % (len(file) - sector)
				copy(p, file[other:])
			},
		} {
			broken := bytes.Clone(file)
			damage(broken[at:end])
			if bytes.Equal(broken, file) {
				continue
			}
			checkDamaged(t, fmt.Sprintf("%s at %d", name, at), readAll(broken, testID, nil, list))
		}
	}
}

// blocksOf returns all blocks of a file, in file order.
func blocksOf(t testing.TB, file []byte, id ID) (list []handle) {
	r := open(t, file, id, nil)
	x, err := r.openIndex()
	if err != nil {
		t.Fatal(err)
	}
	for e := range x.cells {
		raw, err := r.readOwned(x.handle(e), maxCellBlock, new(readBuffer))
		if err != nil {
			t.Fatal(err)
		}
		var b cellBlock
		if err := b.parse(raw); err != nil {
			t.Fatal(err)
		}
		for k := range b.largeBlocks {
			list = append(list, b.large(k))
		}
		for k := range b.smallBlocks {
			h, _, _ := b.small(k)
			list = append(list, h)
		}
		list = append(list, x.handle(e))
	}
	list = append(list, r.footer.filter, r.footer.index, r.footer.times, r.footer.properties)
	var at uint64
	for _, h := range list {
		if h.offset != at {
			t.Fatalf("block at %d, want %d", h.offset, at)
		}
		at = h.end()
	}
	return list
}

func TestSwappedBlocks(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	blocks := blocksOf(t, file, testID)
	swaps := 0
	for i, a := range blocks {
		for _, b := range blocks[i+1:] {
			pa, pb := file[a.offset:a.end()], file[b.offset:b.end()]
			if a.length != b.length || bytes.Equal(pa[:a.length], pb[:b.length]) {
				continue
			}
			swaps++
			broken := bytes.Clone(file)
			copy(broken[a.offset:], pb)
			copy(broken[b.offset:], pa)
			checkDamaged(t, fmt.Sprintf("blocks at %d and %d swapped", a.offset, b.offset), readAll(broken, testID, nil, list))
		}
	}
	if swaps == 0 {
		t.Error("no two blocks have the same length")
	}
}

func TestBlockOfAnotherFile(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	ids := []ID{{Store: testID.Store, Number: testID.Number + 1}, {Number: testID.Number}}
	for _, id := range ids {
		other, _, _ := smallFile(t, id, None)
		for _, h := range blocksOf(t, file, testID) {
			broken := bytes.Clone(file)
			copy(broken[h.offset:], other[h.offset:h.end()])
			checkDamaged(t, fmt.Sprintf("block at %d of %v", h.offset, id), readAll(broken, testID, nil, list))
		}
		o := readAll(other, testID, nil, list)
		checkDamaged(t, fmt.Sprintf("file %v", id), o)
		if o.opened {
			t.Errorf("file %v opened as %v", id, testID)
		}
	}
}

// seal recomputes every checksum of an uncompressed file, so that only validation
// protects the reader.
func seal(file []byte, id ID, blocks []handle) {
	sum := newChecksums(id)
	for _, h := range blocks {
		p := file[h.offset:h.end()]
		binary.LittleEndian.PutUint32(p[len(p)-4:], sum.of(h.offset, p[:len(p)-4]))
	}
	f := file[len(file)-footerSize:]
	clear(f[len(f)-16 : len(f)-12])
	binary.LittleEndian.PutUint32(f[len(f)-16:], crc32.Checksum(f, castagnoli))
}

// Damage with valid checksums may cause wrong results, but no panic and no endless read.
func TestSealedDamage(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	blocks := blocksOf(t, file, testID)
	for i := 0; i < len(file); i += stride() {
		if bytes.Contains(file[max(i-5, 0):i], []byte("large")) {
			continue // inside a large value
		}
		for _, value := range []byte{0, 0xff, file[i] + 1, file[i] ^ 0x80} {
			broken := bytes.Clone(file)
			broken[i] = value
			seal(broken, testID, blocks)
			readAll(broken, testID, new(testCache), list)
		}
	}
}

// TestColumnsWithoutNames: a file with valid checksums may have blocks whose columns have
// no bytes, and differ in number.
func TestColumnsWithoutNames(t *testing.T) {
	var list []entry
	for _, c := range "abc" {
		list = append(list, entry{bytes.Repeat([]byte{byte(c)}, 3000), cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime, Seq: 5}})
	}
	file, _ := build(t, list, WriterOptions{ID: testID, Compression: None, BlockSize: 1024, FilterBits: 4})
	blocks := blocksOf(t, file, testID)
	r := open(t, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.readOwned(x.handle(1), maxCellBlock, new(readBuffer))
	if err != nil {
		t.Fatal(err)
	}
	copy(file[bytes.Index(file, raw):], twoColumns(t, len(raw), 'b'))
	seal(file, testID, blocks)
	for _, o := range []ReadOptions{{}, {KeysOnly: true}, {Columns: cell.NewColumns(cell.FamilyRange([]byte("f")))}} {
		it := open(t, file, testID, nil).NewIterator(o)
		cells := 0
		for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
			cells += len(it.Cells(nil))
		}
		if it.Err() == nil && cells != 4 {
			t.Errorf("%+v: %d cells, want an error or those of the blocks, 4", o, cells)
		}
		it.Close()
	}
}

// twoColumns makes a block of size bytes: one row, whose key repeats a letter, with a
// tombstone in each of two columns without a name.
func twoColumns(t *testing.T, size int, letter byte) []byte {
	h := cellHeader{cells: 2, rows: 1, columns: 2, versions: 1, flags: flagValueLength}
	h.prefix = uint64(size) - h.size()
	p := append(h.append(nil), 0, 2) // row starts
	kind := byte(cell.DeleteRow) << kindShift
	p = append(p, kind, kind, 0, 1) // kinds of the columns; column ids of the cells
	p = append(p, bytes.Repeat([]byte{letter}, int(h.prefix))...)
	if len(p) != size {
		t.Fatalf("the block has %d bytes, want %d", len(p), size)
	}
	return p
}

func TestVersions(t *testing.T) {
	file, _, _ := smallFile(t, testID, None)
	binary.LittleEndian.PutUint32(file[len(file)-12:], 7)
	seal(file, testID, nil)
	_, err := Open(bytes.NewReader(file), int64(len(file)), testID, nil)
	var version *VersionError
	if !errors.As(err, &version) || version.Version != 7 || !strings.Contains(err.Error(), "7") {
		t.Errorf("format version 7: %v", err)
	}
}

// A footer of this version that is too long is damaged, although its checksum is valid.
func TestFooterLength(t *testing.T) {
	file, _, _ := smallFile(t, testID, None)
	tail := bytes.Clone(file[len(file)-footerTailSize:])
	binary.LittleEndian.PutUint32(tail, footerSize+4)
	file = append(append(file[:len(file)-footerTailSize], 0, 0, 0, 0), tail...)
	f := file[len(file)-footerSize-4:]
	clear(f[len(f)-16 : len(f)-12])
	binary.LittleEndian.PutUint32(f[len(f)-16:], crc32.Checksum(f, castagnoli))
	_, err := Open(bytes.NewReader(file), int64(len(file)), testID, nil)
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.File != testID.Number || damage.Reason != "footer: impossible length" {
		t.Errorf("got %v, want a *CorruptError that says the length is impossible", err)
	}
}

// An invalid filter is reported at its offset by every read that needs it.
func TestDamagedFilter(t *testing.T) {
	file, info, _ := smallFile(t, testID, None)
	file = tamper(t, file, -4, func(raw []byte) { raw[1] = 0 })
	r := open(t, file, testID, nil)
	for name, use := range map[string]func() error{
		"MayContain":  func() error { _, err := mayContain(r, []byte("row")); return err },
		"Verify":      func() error { return r.Verify(0) },
		"VerifyBytes": func() error { return r.VerifyBytes(info.Checksum) },
	} {
		var damage *CorruptError
		err := use()
		if !errors.As(err, &damage) || damage.Offset != int64(r.footer.filter.offset) || damage.Reason != errFilterProbes.Error() {
			t.Errorf("%s: got %v, want a *CorruptError for the filter", name, err)
		}
	}
}

// Stored bytes that no compressor made are damage like any other.
func TestNotCompressed(t *testing.T) {
	for c, want := range map[Compression]error{S2: s2.ErrCorrupt, Zstd: zstd.ErrMagicMismatch} {
		file, _, _ := smallFile(t, testID, c)
		blocks := blocksOf(t, file, testID)
		found := 0
		for _, h := range blocks {
			if Compression(file[h.end()-trailerSize]) != c {
				continue
			}
			found++
			broken := bytes.Clone(file)
			copy(broken[h.offset:][:h.length], bytes.Repeat([]byte{0xff}, 12))
			seal(broken, testID, blocks)
			var damage *CorruptError
			err := open(t, broken, testID, nil).Verify(0)
			if !errors.As(err, &damage) || damage.Offset != int64(h.offset) || damage.Reason != want.Error() {
				t.Errorf("%v: block at %d: got %v, want %v there", c, h.offset, err, want)
			}
		}
		if found == 0 {
			t.Errorf("%v: no block is compressed", c)
		}
	}
}

// TestBlocksApartFromTheFooter: the last block has to end where the footer begins.
func TestBlocksApartFromTheFooter(t *testing.T) {
	for _, version := range []uint32{timesVersion - 1, timesVersion} {
		f := footer{id: testID, version: version, filter: handle{0, 40}, properties: handle{0, 40}}
		f.index = handle{f.filter.end(), 40}
		f.times = handle{f.index.end(), 40}
		f.properties.offset = f.times.end()
		if version < timesVersion {
			f.properties.offset = f.index.end()
		}
		for gap, want := range map[uint64]bool{0: true, 1: false, 1000: false} {
			f.size = f.properties.end() + gap + uint64(f.length())
			err := f.checkHandles(func(reason string) error { return errors.New(reason) })
			if (err == nil) != want {
				t.Errorf("version %d, %d bytes before the footer: %v", version, gap, err)
			}
		}
	}
}

func TestFilterVersion(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	blocks := blocksOf(t, file, testID)
	filter := blocks[len(blocks)-4]
	file[filter.offset] = filterVersion + 1
	clear(file[filter.offset+1:][:filter.length-1])
	seal(file, testID, blocks)
	if o := readAll(file, testID, nil, list); o != (outcome{opened: true}) {
		t.Errorf("a filter of an unknown version: %+v", o)
	}
	if ok, err := mayContain(open(t, file, testID, nil), []byte("absent")); !ok || err != nil {
		t.Errorf("MayContain with an unknown filter: %v, %v", ok, err)
	}
}

// A failingReader fails the reads that fail selects.
type failingReader struct {
	io.ReaderAt
	fail func(p []byte, offset int64) error
}

func (r failingReader) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.fail(p, offset); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, offset)
}

var errDevice = errors.New("device error")

// Each read of the file fails once: the error is returned, not taken for corruption, and
// the next attempt succeeds.
func TestReadErrors(t *testing.T) {
	file, _, list := smallFile(t, testID, S2)
	for n := 0; failRead(t, file, list, n); n++ {
	}
	list = benchEntries(1000)
	file, _ = build(t, list, WriterOptions{ID: testID, Compression: S2})
	for n := 0; failRead(t, file, list, n); n++ {
	}
}

// failRead reads a file whose nth read fails. It returns false if there are fewer reads.
func failRead(t *testing.T, file []byte, list []entry, n int) bool {
	t.Helper()
	var count atomic.Int64 // atomic because of readahead
	failed := func() bool { return count.Load() > int64(n) }
	r := failingReader{bytes.NewReader(file), func(p []byte, _ int64) error {
		if count.Add(1) != int64(n+1) {
			return nil
		}
		for i := range p {
			p[i] = 0xaa // the rest of the buffer may hold anything
		}
		return errDevice
	}}
	cache := new(testCache)
	t1, err := Open(r, int64(len(file)), testID, cache)
	if err != nil {
		t1 = reopen(t, r, file, cache, err)
	}
	for try := 0; try < 2; try++ {
		before := failed()
		got, err := scanWithFilter(t1, list)
		if err == nil {
			diff(t, fmt.Sprintf("read %d fails", n), got, list)
			break
		}
		if !errors.Is(err, errDevice) || errors.As(err, new(*CorruptError)) || before == failed() {
			t.Fatalf("read %d fails: got %v", n, err)
		}
	}
	if !failed() && n < 5 {
		t.Fatalf("only %d reads", n)
	}
	return failed()
}

func reopen(t *testing.T, r io.ReaderAt, file []byte, cache Cache, err error) *Reader {
	t.Helper()
	if !errors.Is(err, errDevice) || errors.As(err, new(*CorruptError)) {
		t.Fatalf("Open with a read error: %v", err)
	}
	t1, err := Open(r, int64(len(file)), testID, cache)
	if err != nil {
		t.Fatalf("Open after a read error: %v", err)
	}
	return t1
}

// scanWithFilter reads everything through the cache, and uses the filter.
func scanWithFilter(r *Reader, list []entry) ([]entry, error) {
	for _, e := range list {
		if ok, err := mayContain(r, e.row); err != nil || !ok {
			return nil, err
		}
	}
	it := r.NewIterator(ReadOptions{FillCache: true})
	defer it.Close()
	got := collect(it, nil, 1<<30)
	return got, it.Err()
}

// A block that claims to be huge is refused before memory is allocated.
func TestBomb(t *testing.T) {
	for c := S2; c <= Zstd; c++ {
		file, _, _ := smallFile(t, testID, c)
		for _, h := range blocksOf(t, file, testID) {
			broken := bytes.Clone(file)
			binary.LittleEndian.PutUint32(broken[h.offset+uint64(h.length)+1:], 2<<30)
			seal(broken, testID, []handle{h})
			r, err := Open(bytes.NewReader(broken), int64(len(file)), testID, nil)
			if err == nil {
				err = r.Verify(0)
			}
			if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "claims") {
				t.Errorf("%v: block at %d claims 2 GiB: %v", c, h.offset, err)
			}
		}
	}
}
