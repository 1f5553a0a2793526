package sstable

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/colonnade-db/colonnade/cell"
)

// The times block says of which times each cell block has something, so that a read of a range of times
// can leave out the others. It stands between index and properties:
//
//	+--------+---------+---------+------------------------+-----------------------+
//	| base 8 | shift 1 | width 1 | first units, packed    | last units, packed    |
//	+--------+---------+---------+------------------------+-----------------------+
//	                               one for each entry of the index, in its order
//
// The time t of a version, or of the tombstone of one, is in the unit 1 + (t - base) >> shift. A cell
// block has such times in the units from its first to its last one. Both are 0 if it has a tombstone of a
// column, a family or a row: every read needs it, since that covers versions of any time.
//
// base is the lowest of the times. The Writer takes the smallest shift with which no unit needs more than
// maxUnitWidth bytes. So a block costs at most 8 bytes. In a file that holds a day a unit is 32 µs, and
// if one version in it has the time 0, half a second.
//
// Files before version 3 have no such block.

const (
	timesHeaderSize = 10
	maxUnitWidth    = 4
	maxTimes        = timesHeaderSize + 2*maxUnitWidth*maxIndex/indexEntrySize // of the raw block
)

var errTimes = errors.New("times: not one for each cell block, or out of order")

// appendTimes appends the times block for the times of all cell blocks.
func appendTimes(dst []byte, times []cell.TimeRange) []byte {
	var all cell.TimeRange
	for _, r := range times {
		if r != cell.AllTimes {
			all = all.Union(r)
		}
	}
	shift := max(bits.Len64(uint64(all.End-all.Start))-8*maxUnitWidth, 0)
	unit := func(time int64) uint64 { return 1 + uint64(time-all.Start)>>shift }
	if all.End > 0 && unit(all.End-1)>>(8*maxUnitWidth) != 0 { // by the 1
		shift++
	}
	width := 0
	if all.End > 0 {
		width = widthOf(unit(all.End - 1))
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(all.Start))
	dst = append(dst, byte(shift), byte(width))
	for _, last := range []bool{false, true} {
		for _, r := range times {
			switch {
			case r == cell.AllTimes:
				dst = appendPacked(dst, width, 0)
			case last:
				dst = appendPacked(dst, width, unit(r.End-1))
			default:
				dst = appendPacked(dst, width, unit(r.Start))
			}
		}
	}
	return dst
}

// blockTimes is an open times block. It is immutable.
type blockTimes struct {
	raw           []byte // with the guard
	base          uint64
	shift         byte
	firsts, lasts packed // units
}

// Memory implements Block.
func (t *blockTimes) Memory() int { return 96 + cap(t.raw) }

// parse opens the times of a number of blocks. raw must have the guard after it and is kept.
func (t *blockTimes) parse(raw []byte, blocks int) error {
	if len(raw) < timesHeaderSize || raw[8] > 63 || raw[9] > maxUnitWidth || len(raw) != timesHeaderSize+2*blocks*int(raw[9]) {
		return errTimes
	}
	width := int(raw[9])
	t.raw, t.base, t.shift = raw[:len(raw)+guard], binary.LittleEndian.Uint64(raw), raw[8]
	t.firsts = packed{timesHeaderSize, uint32(width), widthMask(width)}
	t.lasts = packed{uint32(timesHeaderSize + blocks*width), uint32(width), widthMask(width)}
	if t.base > uint64(cell.MaxTime) {
		return errTimes
	}
	for e := range blocks {
		if first, last := t.firsts.at(t.raw, e), t.lasts.at(t.raw, e); first > last || first == 0 && last > 0 {
			return errTimes
		}
	}
	return nil
}

// timeFilter says which blocks a read of a range of times needs. The zero value says all.
type timeFilter struct {
	times  *blockTimes
	lo, hi uint64 // units of the range
}

// filter returns the filter of a range.
func (t *blockTimes) filter(r cell.TimeRange) timeFilter {
	f := timeFilter{times: t, lo: 1}
	if base := int64(t.base); r.Start > base {
		f.lo = 1 + uint64(r.Start-base)>>t.shift
	}
	if base := int64(t.base); r.End > base { // else hi is below all units
		f.hi = 1 + uint64(r.End-1-base)>>t.shift
	}
	return f
}

// active reports whether there are blocks that the read may not need.
func (f *timeFilter) active() bool { return f.times != nil }

// wants reports whether the read needs the block of an entry.
func (f *timeFilter) wants(entry int) bool {
	if f.times == nil {
		return true
	}
	first := f.times.firsts.at(f.times.raw, entry)
	return first <= f.hi && f.times.lasts.at(f.times.raw, entry) >= f.lo || first == 0
}

// next returns the first entry from e on that the read needs, at most end.
func (f *timeFilter) next(e, end int) int {
	for e < end && !f.wants(e) {
		e++
	}
	return e
}

// last returns the last entry up to e that the read needs, start - 1 if there is none from start on.
func (f *timeFilter) last(e, start int) int {
	for e >= start && !f.wants(e) {
		e--
	}
	return e
}

// count returns how many of the entries the read needs.
func (f *timeFilter) count(first, end int) int {
	if f.times == nil {
		return end - first
	}
	n := 0
	for e := first; e < end; e++ {
		if f.wants(e) {
			n++
		}
	}
	return n
}

// openTimes returns the times block, nil if the file has none.
func (t *Reader) openTimes(x *index) (*blockTimes, error) {
	if b := t.times.Load(); b != nil || t.footer.times.length == 0 {
		return b, nil
	}
	return loadOnce(t, &t.times, t.footer.times.offset, func() (*blockTimes, error) { return t.readTimes(x) })
}

func (t *Reader) readTimes(x *index) (*blockTimes, error) {
	h := t.footer.times
	raw, err := t.readOwned(h, maxTimes, new(readBuffer))
	if err != nil {
		return nil, err
	}
	b := new(blockTimes)
	if err := b.parse(raw, x.cells); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	return b, nil
}
