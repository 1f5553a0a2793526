package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// builtBlock returns a cell block of three rows with small and large blocks, after change.
func builtBlock(change func(b *cellBuilder)) *cellBuilder {
	b := new(cellBuilder)
	b.reset()
	for r := range 3 {
		b.addRow(fmt.Appendf(nil, "row%d", r))
		for q := range 3 {
			c := set(fmt.Sprintf("f\x00%d", q), int64(q), 1)
			c.Value = bytes.Repeat([]byte{'v'}, 10+q)
			b.addCell(&c)
		}
		c := set("f\x00large", 1, 1)
		b.addLarge(&c, reference{uint32(r), 0, 5000})
		b.largeBlocks = append(b.largeBlocks, handle{uint64(r * 6000), 5000})
	}
	for r := range 3 {
		b.smallBlocks = append(b.smallBlocks, smallBlock{handle{uint64(20000 + r*100), 33}, 33 * (r + 1)})
	}
	change(b)
	return b
}

func parseBlock(raw []byte) error {
	raw = append(resize(nil, len(raw))[:0], raw...)
	var b cellBlock
	return b.parse(raw)
}

// Lists that contradict each other are refused when a block is opened.
func TestCellBlockRefuses(t *testing.T) {
	if err := parseBlock(builtBlock(func(b *cellBuilder) {}).appendPlain(nil)); err != nil {
		t.Fatalf("the block as built: %v", err)
	}
	for name, test := range map[string]struct {
		change func(b *cellBuilder)
		want   error
	}{
		"small blocks out of order":   {func(b *cellBuilder) { b.smallBlocks[0].end = 70 }, errSmall},
		"small block of nothing":      {func(b *cellBuilder) { b.smallBlocks[0].end = 66 }, errSmall},
		"small blocks too short":      {func(b *cellBuilder) { b.smallBlocks[2].end-- }, errSmall},
		"small blocks too long":       {func(b *cellBuilder) { b.smallBlocks[2].end++ }, errSmall},
		"large cells out of order":    {func(b *cellBuilder) { b.largeCells[1] = 11 }, errLarge},
		"large cell twice":            {func(b *cellBuilder) { b.largeCells[1] = 3 }, errLarge},
		"large cell outside":          {func(b *cellBuilder) { b.largeCells[2] = 12 }, errLarge},
		"reference to no block":       {func(b *cellBuilder) { b.references[2].block = 3 }, errReference},
		"large without list":          {func(b *cellBuilder) { b.largeCells, b.references, b.largeBlocks = nil, nil, nil }, errKind},
		"unknown kind":                {func(b *cellBuilder) { b.columns.kinds[1] = byte(cell.KindCount) << kindShift }, errKind},
		"unknown type":                {func(b *cellBuilder) { b.columns.kinds[1] = byte(cell.TypeCount) }, errKind},
		"large tombstone":             {func(b *cellBuilder) { b.columns.kinds[1] = kindLarge | byte(cell.DeleteRow)<<kindShift }, errKind},
		"value ends descend":          {func(b *cellBuilder) { b.valueEnds[1] = 9 }, errValueEnds},
		"value ends short of the row": {func(b *cellBuilder) { b.valueEnds[3]-- }, errValueEnds},
		"row values descend":          {func(b *cellBuilder) { b.rowValues[1] = 70 }, errValueEnds},
		"row without cells":           {func(b *cellBuilder) { b.rowStarts[1] = 0 }, errRowArray},
		"row starts descend":          {func(b *cellBuilder) { b.rowStarts[1] = 9 }, errRowArray},
		"version out of range":        {func(b *cellBuilder) { b.versionIDs[5] = 3 }, errVersionID},
	} {
		if err := parseBlock(builtBlock(test.change).appendPlain(nil)); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// An index with impossible handles is refused when it is opened.
func TestIndexRefuses(t *testing.T) {
	built := func(small bool, values ...int) []byte {
		var b cellBuilder
		b.reset()
		for r, n := range values {
			b.addRow([]byte{'a' + byte(r)})
			c := headCell()
			c.Value = make([]byte, n)
			b.addCell(&c)
		}
		if small {
			b.smallBlocks = []smallBlock{{handle{0, 10}, len(b.values)}}
		}
		return b.appendPlain(nil)
	}
	for name, test := range map[string]struct {
		raw  []byte
		want error
	}{
		"one place of no bytes": {built(false, indexEntrySize), nil},
		"short values":          {built(false, indexEntrySize-1, indexEntrySize-1), errIndexValue},
		"values that differ":    {built(false, indexEntrySize, indexEntrySize+1), errIndexValue},
		"values elsewhere":      {built(true, indexEntrySize, indexEntrySize), errIndexValue},
		"same block twice":      {built(false, indexEntrySize, indexEntrySize), errIndexOrder},
		"no block":              {nil, errCellHeader},
	} {
		var x index
		raw := append(resize(nil, len(test.raw))[:0], test.raw...)
		if err := x.parse(raw, 100); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// Properties end exactly after their last string.
func TestPropertiesRefuse(t *testing.T) {
	_, info, _ := smallFile(t, testID, None)
	good := info.append(nil)
	var p Info
	for n := range good {
		if err := p.parse(good[:n], formatVersion); err != errProperties {
			t.Fatalf("first %d bytes: got %v, want %v", n, err, errProperties)
		}
	}
	if err := p.parse(append(good, 0), formatVersion); err != errProperties {
		t.Errorf("a byte too many: got %v, want %v", err, errProperties)
	}
	if err := p.parse(good, formatVersion); err != nil || p.numbers() != info.numbers() {
		t.Errorf("the properties as written: got %v, %+v, want %+v", err, p, info)
	}
}

func TestMemoryOfViews(t *testing.T) {
	var b cellBlock
	if size := int(unsafe.Sizeof(b)); size > b.Memory() || size < b.Memory()*3/4 {
		t.Errorf("an open cell block takes %d bytes, counted as %d", size, b.Memory())
	}
}

func TestBytesBelow(t *testing.T) {
	for limit := uint64(1); limit <= 256; limit++ {
		for n := range 20 {
			for _, v := range []uint64{0, limit - 1, limit, limit + 1, 127, 128, 255} {
				if v > 255 {
					continue
				}
				p := make([]byte, n+1)
				p[n*7%(n+1)] = byte(v)
				if got := bytesBelow(p, limit); got != (v < limit) {
					t.Fatalf("%v below %d: %v", p, limit, got)
				}
			}
		}
	}
}

// tamper changes the raw bytes of a block of a file and recomputes the checksums.
func tamper(t *testing.T, file []byte, number int, change func(raw []byte)) []byte {
	t.Helper()
	blocks := blocksOf(t, file, testID)
	if number < 0 {
		number += len(blocks)
	}
	h := blocks[number]
	file = bytes.Clone(file)
	change(file[h.offset:][:h.length])
	seal(file, testID, blocks)
	return file
}

// Damage of the only small block of a cell block, which is read with it, is reported at its
// own offset, and nothing of it is cached. So is one with another length than the cell block
// says.
func TestDamagedValuesReadWithTheirBlock(t *testing.T) {
	var list []entry
	for i := range 8 {
		c := set(fmt.Sprint("f\x00", i), 1, 1)
		c.Value = bytes.Repeat([]byte{'v'}, 400)
		list = append(list, entry{[]byte("row"), c})
	}
	file, info := build(t, list, WriterOptions{ID: testID})
	if info.CellBlocks != 1 || info.ValueBlocks != 1 {
		t.Fatalf("%d cell blocks and %d value blocks, want one of each", info.CellBlocks, info.ValueBlocks)
	}
	blocks := blocksOf(t, file, testID)
	flipped := bytes.Clone(file)
	flipped[blocks[0].offset] ^= 1
	longer := tamper(t, file, 1, func(raw []byte) { // claims one more byte for each value
		length := binary.LittleEndian.AppendUint32(nil, 8*400)
		raw[bytes.Index(raw, length)] += 8
		raw[bytes.LastIndex(raw, length)] += 8
	})
	for name, test := range map[string]struct {
		file []byte
		want string
	}{"flipped": {flipped, "checksum mismatch in a block of 3200 bytes"}, "longer": {longer, errSmall.Error()}} {
		for _, fill := range []bool{false, true} {
			cache := new(testCache)
			it := open(t, test.file, testID, cache).NewIterator(ReadOptions{FillCache: fill})
			it.SeekRow([]byte("row"))
			var damage *CorruptError
			if !errors.As(it.Err(), &damage) || damage.Offset != int64(blocks[0].offset) || !strings.Contains(damage.Reason, test.want) {
				t.Errorf("%s, fill %v: got %v, want %q at %d", name, fill, it.Err(), test.want, blocks[0].offset)
			}
			if cache.Get(Key{testID.Number, blocks[1].offset}) != nil {
				t.Errorf("%s, fill %v: the block is in the cache", name, fill)
			}
			it.Close()
		}
	}
}

// Verify finds what checksums cannot: an intact file with wrong contents.
func TestVerifyMeaning(t *testing.T) {
	file, _, _ := smallFile(t, testID, None)
	flip := func(at int) func([]byte) { return func(raw []byte) { raw[at] ^= 1 } }
	index := func(old, new string) func([]byte) {
		return func(raw []byte) { copy(raw[bytes.LastIndex(raw, []byte(old)):], new) }
	}
	for name, test := range map[string]struct {
		block  int
		change func(raw []byte)
		want   string
	}{
		"filter without rows": {-4, func(raw []byte) { clear(raw[filterHeaderSize:]) }, "filter"},
		"number of cells":     {-1, flip(0), "properties"},
		"number of rows":      {-1, flip(8), "properties"},
		"raw bytes":           {-1, flip(16), "properties"},
		"tombstones":          {-1, flip(32), "properties"},
		"smallest sequence":   {-1, flip(64), "properties"},
		"largest sequence":    {-1, flip(72), "properties"},
		"smallest time":       {-1, flip(80), "properties"},
		"largest time":        {-1, flip(88), "properties"},
		"value blocks":        {-1, flip(104), "properties"},
		"largest row":         {-1, func(raw []byte) { copy(raw[bytes.LastIndex(raw, []byte("row09")):], "row19") }, "properties"},
		"family":              {-1, func(raw []byte) { raw[len(raw)-1]++ }, "properties"},
		"start of times":      {-1, flip(136), "properties"},
		"end of times":        {-1, flip(144), "properties"},
		"base of times":       {-2, flip(0), "times"},
		"units of times":      {-2, flip(timesHeaderSize), "times"},
		"width of times":      {-2, flip(9), "times"},
		"bound too high":      {-3, index("row", "sow"), "bound"},
	} {
		broken := tamper(t, file, test.block, test.change)
		err := open(t, broken, testID, nil).Verify(0)
		if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Cells out of order pass every check of a reader, and need not change any number of the
// properties. Verify checks the order.
func TestVerifyOrder(t *testing.T) {
	var list []entry
	for i := range 4 {
		list = append(list,
			entry{[]byte{'a' + byte(i)}, set("f\x00p", 7, 1)},
			entry{[]byte("e"), set("f\x00"+string("pqrs"[i]), 7, 1)},
			entry{[]byte("f"), set("f\x00p", 7-int64(i), 1)})
	}
	list = sortEntries(list)
	file, _ := build(t, list, WriterOptions{ID: testID})
	for name, change := range map[string][2]string{
		"rows":       {"abcd", "acbd"},
		"dictionary": {"f\x00pf\x00qf\x00rf\x00s", "f\x00pf\x00rf\x00qf\x00s"},
		"columns":    {"\x00\x01\x02\x03", "\x00\x02\x01\x03"}, // ids of row e
		"versions":   {"\x03\x02\x01\x00", "\x03\x01\x02\x00"}, // times
	} {
		broken := tamper(t, file, 0, func(raw []byte) {
			copy(raw[bytes.LastIndex(raw, []byte(change[0])):], change[1])
		})
		if err := open(t, broken, testID, nil).Verify(0); !errors.As(err, new(*CorruptError)) {
			t.Errorf("%s out of order: %v", name, err)
		}
	}
}

// Value blocks and the cells that refer to them must agree to the last byte. A block that
// does not can be opened; Verify reports it.
func TestVerifyValues(t *testing.T) {
	var list []entry
	add := func(column string, size int) {
		c := set("f\x00"+column, 1, 1)
		c.Value = bytes.Repeat([]byte{'v'}, size)
		list = append(list, entry{[]byte("row"), c})
	}
	for i := range 8 {
		add(fmt.Sprint("a", i), 800+i)
	}
	for i, size := range []int{20 << 10, 10 << 10, 8 << 10} { // one block of its own, and one for two
		add(fmt.Sprint("b", i), size)
	}
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 18 << 10, smallBlock: 2 << 10})
	if info.CellBlocks != 1 || info.ValueBlocks < 4 {
		t.Fatalf("%d cell blocks and %d value blocks, want 1 and 2 of each kind", info.CellBlocks, info.ValueBlocks)
	}
	add32 := func(p []byte, n int) { binary.LittleEndian.PutUint32(p, binary.LittleEndian.Uint32(p)+uint32(n)) }
	blocks := blocksOf(t, file, testID) // two large, the small, the cell block and four more
	place := len(blocks) - 5
	for name, test := range map[string]struct {
		change func(b *cellBlock)
		at     handle
		want   string
	}{
		"small block ends late":  {func(b *cellBlock) { add32(b.raw[b.smallAt+handleSize:], 1) }, blocks[2], errSmall.Error()},
		"small block ends early": {func(b *cellBlock) { add32(b.raw[b.smallAt+handleSize:], -1) }, blocks[2], "claims"},
		"value over two small blocks": {func(b *cellBlock) {
			i, last := 0, b.smallEnd(0)
			for b.valueEnd(i, 0) != last {
				i++
			}
			b.raw[int(b.valueEnds.offset)+i*int(b.valueEnds.width)]++
		}, blocks[place], errSmall.Error()},
		"large blocks out of order": {func(b *cellBlock) { add32(b.raw[b.referencesAt:], 1) }, blocks[place], errReference.Error()},
		"large block used twice": {func(b *cellBlock) {
			add32(b.raw[b.referencesAt+referenceSize+8:], 8<<10)
		}, blocks[place], errReference.Error()},
		"end of a large block unused": {func(b *cellBlock) {
			add32(b.raw[b.referencesAt+(b.largeCount-1)*referenceSize+8:], -1)
		}, blocks[place], "not all of its value blocks are in use"},
	} {
		broken := tamper(t, file, place, func(raw []byte) {
			var b cellBlock
			if err := b.parse(raw); err != nil {
				t.Fatal(err)
			}
			test.change(&b)
			if err := b.parse(raw); err != nil {
				t.Errorf("%s: the block is not opened: %v", name, err)
			}
		})
		var damage *CorruptError
		err := open(t, broken, testID, nil).Verify(0)
		if !errors.As(err, &damage) || damage.Offset != int64(test.at.offset) || !strings.Contains(damage.Reason, test.want) {
			t.Errorf("%s: got %v, want %q at %d", name, err, test.want, test.at.offset)
		}
	}
	if err := open(t, file, testID, nil).Verify(info.Checksum); err != nil {
		t.Errorf("the file as written: %v", err)
	}
}

// A value of a row of one cell that extends beyond its small block is damage. It never has
// bytes of another value.
func TestValueBehindSmallBlock(t *testing.T) {
	var list []entry
	for i := range 8 {
		c := set("f\x00a", 1, 1)
		c.Value = bytes.Repeat([]byte{'v'}, 800+i)
		list = append(list, entry{fmt.Appendf(nil, "row%d", i), c})
	}
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 18 << 10, smallBlock: 2 << 10})
	if info.CellBlocks != 1 || info.ValueBlocks < 2 {
		t.Fatalf("%d cell blocks and %d value blocks, want 1 and several", info.CellBlocks, info.ValueBlocks)
	}
	place := blocksOf(t, file, testID)[info.ValueBlocks] // of the cell block
	row := 0                                             // the last in the first small block
	broken := tamper(t, file, int(info.ValueBlocks), func(raw []byte) {
		var b cellBlock
		if err := b.parse(append(resize(nil, len(raw))[:0], raw...)); err != nil {
			t.Fatal(err)
		}
		for b.rowValues.int(b.raw, row+1) != b.smallEnd(0) {
			row++
		}
		ends, starts := b.valueEnds.span(raw, row, row+2), b.rowValues.span(raw, row+1, row+2)
		ends[0]++ // one more byte for this row, one less for the next
		starts[0]++
		ends[b.valueEnds.width]--
	})
	it := open(t, broken, testID, nil).NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekRow(list[row].row)
	var damage *CorruptError
	if cells := it.Cells(nil); len(cells) > 0 || !errors.As(it.Err(), &damage) || damage.Offset != int64(place.offset) || damage.Reason != errSmall.Error() {
		t.Errorf("cells %v and error %v, want %q at %d", cells, it.Err(), errSmall, place.offset)
	}
}

// A row with damage is not reported as whole, although earlier cells of it were returned,
// and no row follows it.
func TestDamageAmongUnwantedCells(t *testing.T) {
	large := set("f\x00b", 1, 1)
	large.Value = bytes.Repeat([]byte{'v'}, 20<<10)
	next := set("f\x00a", 1, 1)
	next.Value = bytes.Repeat([]byte{'v'}, 500)
	list := []entry{{[]byte("row"), set("f\x00a", 1, 1)}, {[]byte("row"), large}, {[]byte("row2"), next}}
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 200})
	if info.CellBlocks != 2 {
		t.Fatalf("%d cell blocks, want one for each row", info.CellBlocks)
	}
	for name, change := range map[string]func(b *cellBlock){
		"none":                        func(*cellBlock) {},
		"reference of the other cell": func(b *cellBlock) { b.raw[b.largeCells.offset]-- },
	} {
		broken := tamper(t, file, 1, func(raw []byte) {
			var b cellBlock
			if err := b.parse(raw); err != nil {
				t.Fatal(err)
			}
			change(&b)
		})
		o := ReadOptions{Columns: cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("a")))}
		it := open(t, broken, testID, nil).NewIterator(o)
		it.SeekRow(nil)
		cells := it.Cells(nil)
		if len(cells) != 1 || (it.Err() == nil) != (name == "none") || it.Run().EndOfRow != (name == "none") {
			t.Errorf("%s: %d cells, error %v, last %v", name, len(cells), it.Err(), it.Run().EndOfRow)
		}
		it.Close()

		it = open(t, broken, testID, nil).NewIterator(ReadOptions{})
		it.SeekRow(nil)
		if it.NextRow(); (it.Row() != nil) != (name == "none") || (it.Err() == nil) != (name == "none") {
			t.Errorf("%s: row %q and error %v behind cells that were skipped", name, it.Row(), it.Err())
		}
		it.Close()
	}
}

// Every byte before the filter belongs to a block that the index refers to.
func TestVerifyStrayBlock(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{ID: testID})
	c := set("f\x00q", 1, 1)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Add([]byte("row"), []cell.Cell{c}))
	must(w.finishBlock())
	stray, err := w.out.addBlock([]byte("stray"), None, nil)
	must(err)
	w.info.end(w.row)
	f := footer{id: testID}
	must(w.finishTail(&f))
	f.size = w.out.offset + footerSize
	must(w.out.end(f.append(nil)))
	var damage *CorruptError
	err = open(t, out.Bytes(), testID, nil).Verify(0)
	if !errors.As(err, &damage) || damage.Offset != int64(stray.offset) || !strings.Contains(damage.Reason, "and the filter") {
		t.Errorf("got %v, want the bytes at %d", err, stray.offset)
	}
}

func TestVerifyChecksum(t *testing.T) {
	file, info, _ := smallFile(t, testID, S2)
	r := open(t, file, testID, nil)
	if err := r.Verify(info.Checksum); err != nil {
		t.Error(err)
	}
	if err := r.Verify(info.Checksum + 1); !errors.As(err, new(*CorruptError)) {
		t.Errorf("another checksum: %v", err)
	}
}

func TestVerifyBytes(t *testing.T) {
	file, info, _ := smallFile(t, testID, S2)
	if err := open(t, file, testID, nil).VerifyBytes(info.Checksum); err != nil {
		t.Error(err)
	}
	for at := 0; at < len(file); at += 7 {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		r, err := Open(bytes.NewReader(damaged), int64(len(damaged)), testID, nil)
		if err == nil {
			err = r.VerifyBytes(info.Checksum)
		}
		if !errors.As(err, new(*CorruptError)) {
			t.Fatalf("flip of byte %d: %v", at, err)
		}
	}
}

// A search for an existing row reads one cell block.
func TestSeekReadsOneBlock(t *testing.T) {
	seekEach(t, benchEntries(300), 4<<10)
	var list []entry // with whole keys as bounds
	for i := range 500 {
		list = append(list, entry{fmt.Appendf(nil, "%03d", i), set("f\x00q", 1, 1)})
	}
	seekEach(t, list, 1)
}

func seekEach(t *testing.T, list []entry, blockSize int) {
	t.Helper()
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: blockSize})
	r, c := openCounting(t, file, nil)
	var before []byte
	for _, e := range list {
		if bytes.Equal(e.row, before) {
			continue
		}
		before = e.row
		c.calls.Store(0)
		it := r.NewIterator(ReadOptions{})
		it.SeekRow(e.row)
		if !bytes.Equal(it.Row(), e.row) || c.calls.Load() != 1 {
			t.Fatalf("seek %q in %d blocks: row %q, %d reads", e.row, info.CellBlocks, it.Row(), c.calls.Load())
		}
		it.Close()
	}
}

// The engine knows the length of a file. A file of another length is refused, with the
// reason.
func TestOpenSize(t *testing.T) {
	file, _, _ := smallFile(t, testID, None)
	size := int64(len(file))
	for name, test := range map[string]struct {
		file []byte
		size int64
		want string
	}{
		"shorter than said":       {file[:size-10], size, "ends after"},
		"end missing":             {file[:size-10], size - 10, "not the end"},
		"longer than said":        {append(slices.Clone(file), 0), size + 1, "not the end"},
		"beginning missing":       {file[100:], size - 100, "opened with"},
		"something before":        {append(make([]byte, 100), file...), size + 100, "opened with"},
		"empty":                   {nil, 0, "not the end"},
		"shorter than the footer": {file[size-footerSize+1:], footerSize - 1, "impossible length"},
		"negative":                {file, -1, "not the end"},
	} {
		_, err := Open(bytes.NewReader(test.file), test.size, testID, nil)
		if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := ID{Store: testID.Store, Number: 78}
	_, err := Open(bytes.NewReader(file), size, other, nil)
	if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "opened as file 78") {
		t.Errorf("another number: %v", err)
	}
}
