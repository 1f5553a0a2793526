package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// Info describes a file. Its slices must not be changed.
type Info struct {
	Size     int64
	Checksum uint64 // xxHash64 of the file, from Finish; 0 from a Reader

	Cells      uint64 // all entries, tombstones included
	Tombstones uint64 // entries other than cell.Set
	Kinds      [cell.KindCount]uint64
	Rows       uint64
	RawBytes   uint64 // sum of cell.Cell.RawSize

	Smallest, Largest []byte // row keys
	MinSeq, MaxSeq    uint64
	MinTime, MaxTime  int64 // of cell.Set entries; both 0 if there are none
	// Times has every time of which the file says something: a reader of other times does not need it.
	// They are cell.Cell.Times of all entries, and all times of a file before version 3.
	Times    cell.TimeRange
	Families []string // of all entries but row tombstones, ascending

	CellBlocks, ValueBlocks uint64

	// WriterOptions of the file.
	Compression Compression
	BlockSize   int
	FilterBits  int
}

// emptyInfo returns the Info of a file without cells.
func emptyInfo() Info {
	return Info{MinSeq: math.MaxUint64, MinTime: math.MaxInt64}
}

// beginRow counts a row, before its cells.
func (p *Info) beginRow(row []byte) {
	if p.Rows == 0 {
		p.Smallest = bytes.Clone(row)
	}
	p.Rows++
}

// count counts a cell.
func (p *Info) count(row []byte, c *cell.Cell) {
	p.Cells++
	p.Kinds[c.Kind]++
	p.RawBytes += uint64(c.RawSize(row))
	p.MinSeq, p.MaxSeq = min(p.MinSeq, c.Seq), max(p.MaxSeq, c.Seq)
	if c.Kind == cell.Set {
		p.MinTime, p.MaxTime = min(p.MinTime, c.Time), max(p.MaxTime, c.Time)
	}
}

// covering counts the tombstones that cover versions of any time.
func (p *Info) covering() uint64 {
	return p.Kinds[cell.DeleteColumn] + p.Kinds[cell.DeleteFamily] + p.Kinds[cell.DeleteRow]
}

// addFamily adds the family of a column and returns its index. Columns of a family are
// adjacent, so that is mostly last, the index returned before. A row tombstone has no
// family.
func (p *Info) addFamily(column []byte, last int) int {
	if last < len(p.Families) && ofFamily(column, p.Families[last]) {
		return last
	}
	name, _ := cell.SplitColumn(column)
	if len(name) == 0 {
		return last
	}
	at, found := slices.BinarySearch(p.Families, string(name))
	if !found {
		p.Families = slices.Insert(p.Families, at, string(name))
	}
	return at
}

// ofFamily reports whether a column belongs to a family.
func ofFamily(column []byte, family string) bool {
	n := len(family)
	return len(column) > n && column[n] == 0 && string(column[:n]) == family
}

// end completes the Info after the last cell, which is in this row.
func (p *Info) end(row []byte) {
	p.Largest = bytes.Clone(row)
	p.Tombstones = p.Cells - p.Kinds[cell.Set]
	if p.Kinds[cell.Set] == 0 {
		p.MinTime = 0
	}
}

// The properties are one block, stored without compression. First come numbers of 8
// bytes each, in this order:
//
//	+-------+------+-----------+-------------------------+---------+---------+
//	| cells | rows | raw bytes | cells of kind 0 1 2 3 4 | min seq | max seq |
//	+-------+------+-----------+-------------------------+---------+---------+
//	| min time | max time | cell blocks | value blocks |
//	+----------+----------+-------------+--------------+
//	| compression | block size | filter bits |              as created
//	+-------------+------------+-------------+
//	| start of times | end of times |                       not before version 3
//	+----------------+--------------+
//
// Then strings, each after its length in 4 bytes:
//
//	+--------------+-------------+------------+----------+-----+----------+
//	| smallest row | largest row | families 4 | family 1 | ... | family n |
//	+--------------+-------------+------------+----------+-----+----------+
//
// The number of tombstones is the sum of kinds 1 to 4. Everything but compression, block
// size and filter bits can be computed from the cells, and Verify does.

var errProperties = errors.New("properties: lengths do not fit")

// numbers returns the numbers of the properties in the order of the format.
func (p *Info) numbers() [propertyNumbers]uint64 {
	return [propertyNumbers]uint64{
		p.Cells, p.Rows, p.RawBytes, p.Kinds[0], p.Kinds[1], p.Kinds[2], p.Kinds[3], p.Kinds[4],
		p.MinSeq, p.MaxSeq, uint64(p.MinTime), uint64(p.MaxTime), p.CellBlocks, p.ValueBlocks,
		uint64(p.Compression), uint64(p.BlockSize), uint64(p.FilterBits),
		uint64(p.Times.Start), uint64(p.Times.End),
	}
}

// Parts of the format.
const (
	propertyNumbers = olderProperties + 2
	olderProperties = 17 // before timesVersion
)

// addBlock counts a cell block with these times.
func (p *Info) addBlock(times cell.TimeRange) {
	p.CellBlocks++
	p.Times = p.Times.Union(times)
}

func (p *Info) append(dst []byte) []byte {
	for _, n := range p.numbers() {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	dst = appendBytes(dst, p.Smallest)
	dst = appendBytes(dst, p.Largest)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Families)))
	for _, f := range p.Families {
		dst = appendBytes(dst, f)
	}
	return dst
}

func appendBytes[T []byte | string](dst []byte, s T) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// parse reads stored properties of a file of a version. It does not keep raw.
func (p *Info) parse(raw []byte, version uint32) error {
	numbers := propertyNumbers
	if version < timesVersion {
		numbers = olderProperties
	}
	if len(raw) < 8*numbers {
		return errProperties
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(raw[8*i:]) }
	*p = Info{
		Cells: n(0), Rows: n(1), RawBytes: n(2), Kinds: [cell.KindCount]uint64{n(3), n(4), n(5), n(6), n(7)},
		MinSeq: n(8), MaxSeq: n(9), MinTime: int64(n(10)), MaxTime: int64(n(11)),
		CellBlocks: n(12), ValueBlocks: n(13),
		Compression: Compression(n(14)), BlockSize: int(n(15)), FilterBits: int(n(16)),
		Times: cell.AllTimes,
	}
	if version >= timesVersion {
		p.Times = cell.TimeRange{Start: int64(n(17)), End: int64(n(18))}
	}
	p.Tombstones = p.Cells - p.Kinds[cell.Set]
	d := decoder{b: raw[8*numbers:]}
	p.Smallest, p.Largest = []byte(d.string()), []byte(d.string())
	families := d.length()
	for i := 0; i < families && !d.failed; i++ {
		p.Families = append(p.Families, d.string())
	}
	if d.failed || len(d.b) != 0 {
		return errProperties
	}
	return nil
}

// A decoder reads strings with length prefixes. After an error it returns nothing more.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) length() int {
	if d.failed || len(d.b) < 4 {
		d.failed = true
		return 0
	}
	n := binary.LittleEndian.Uint32(d.b)
	d.b = d.b[4:]
	if uint64(n) > uint64(len(d.b)) {
		d.failed = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.length()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}
