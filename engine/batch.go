package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/internal/poison"
	"github.com/colonnade-db/colonnade/memtable"
	"github.com/colonnade-db/colonnade/sstable"
)

// CommitTime as the time of a cell in a Batch means the time of its commit.
const CommitTime int64 = -1

// PartitionID identifies a partition. It is never used again for another one.
type PartitionID = manifest.PartitionID

// Batch is a set of entries, for any partitions, that Commit applies together. All its entries get one
// sequence number. Its tombstones hide what was there before the batch, and nothing in it. Of two
// entries for the same version of the same cell the later one wins.
//
// A Batch is for one goroutine. After Commit it must be Reset before it is filled again, whatever
// Commit returned: the log and the memtables may still read a batch whose outcome is unknown, and Reset
// then leaves them its memory.
//
// The encoding is the payload of a log record, part of the on-disk format:
//
//	+---------+------+-------+-------+-----
//	| version | time | entry | entry | …      until the end of the record
//	+---------+------+-------+-------+-----
//	   1 byte   8
//
//	entry:
//	+-------+-----------+--------------+-----+-----------------+--------+
//	| flags | partition | row length   | row | column length   | column |
//	+-------+-----------+--------------+-----+-----------------+--------+
//	  1 byte  uvarint *   uvarint **     **    uvarint
//	+------+-------+--------------+-------+
//	| time | type  | value length | value |
//	+------+-------+--------------+-------+
//	  8 ***  1 ****  uvarint ****   ****
//
//	flags  bits 0 to 2 the kind; bit 3: the row of the entry before, ** is
//	       left out; bit 4: its partition, * is left out; bit 5: the time is the
//	       batch's, *** is left out
//	***    only for the kinds Set and DeleteVersion
//	****   only for the kind Set
//
// The kind 5 is a range tombstone: row and column are the first row, which may be empty, and the first row
// after the range, empty for the end of the partition. A batch that has one has version 2, any other
// version 1.
//
// Fixed-width numbers are little endian. The time of the batch is its commit time.
type Batch struct {
	buf    []byte
	count  int
	ranges int64  // bytes of the range tombstones among the entries, as rangedel.Tombstone.Bytes
	row    []byte // of the last entry, within buf; nil after a range tombstone
	last   PartitionID
	parts  []batchPart

	// Inserted, if it is not nil, is called once for each Commit: when the entries are in the memtables and
	// TakeEntered sees them, or when the batch was refused. Another goroutine may call it, even after
	// Commit has returned an *UnknownError. It must not block.
	Inserted func()
	// InsertNow has the entries inserted at once, and not together with those of other small batches, for
	// which these wait until the log can be written. Commit may set it.
	InsertNow bool
	// After is a time that the time of the commit is above. It must be none that is still to come.
	After int64

	stall stallTimer // of the Commit under way
	seq   uint64     // set by Commit
	lent  bool       // the group of the last Commit may still use buf and parts
	err   error      // from the first entry that Add refused
}

// batchPart is a partition that a batch touches.
type batchPart struct {
	id  PartitionID
	mem *memTable // set by Commit
	ins memtable.Inserter
}

const (
	batchVersion  = 1
	rangesVersion = 2 // of a batch with range tombstones
	batchHeader   = 1 + 8

	kindDeleteRange = cell.KindCount // of a range tombstone

	flagKind      = 0x07
	flagSameRow   = 0x08
	flagSamePart  = 0x10
	flagBatchTime = 0x20
)

// Reset empties the batch for reuse.
func (b *Batch) Reset() {
	if b.lent {
		b.buf, b.parts, b.lent = nil, nil, false
	}
	poison.Bytes(b.buf)
	b.buf, b.count, b.ranges, b.row, b.last = b.buf[:0], 0, 0, nil, 0
	for i := range b.parts {
		b.parts[i].mem = nil
		b.parts[i].ins.Reset()
	}
	b.parts = b.parts[:0]
	b.seq, b.err = 0, nil
	b.Inserted, b.InsertNow, b.After = nil, false, 0
}

// inserted says that the entries are in the memtables, or that they will not be.
func (b *Batch) inserted() {
	if b.Inserted != nil {
		b.Inserted()
	}
}

// Len returns the number of entries.
func (b *Batch) Len() int { return b.count }

// Bytes returns the size of the encoded batch.
func (b *Batch) Bytes() int { return len(b.buf) }

// Add appends an entry. It copies everything, and ignores Seq. The time of a Set or DeleteVersion may be
// CommitTime. Otherwise the entry must pass cell.Check, and row and column must not be longer than
// sstable.MaxKey; if not, Commit refuses the batch.
//
// Batches are smallest and fastest when the entries of a row follow each other.
func (b *Batch) Add(id PartitionID, row []byte, c *cell.Cell) {
	if b.err == nil {
		b.err = checkEntry(row, c)
	}
	b.begin()
	flags := byte(c.Kind)
	samePart := b.count > 0 && id == b.last
	sameRow := b.count > 0 && string(row) == string(b.row)
	timed := c.Kind == cell.Set || c.Kind == cell.DeleteVersion
	if samePart {
		flags |= flagSamePart
	}
	if sameRow {
		flags |= flagSameRow
	}
	if timed && c.Time == CommitTime {
		flags |= flagBatchTime
	}
	buf := append(b.buf, flags)
	if !samePart {
		buf = binary.AppendUvarint(buf, uint64(id))
		b.touch(id)
		b.last = id
	}
	if !sameRow {
		buf = binary.AppendUvarint(buf, uint64(len(row)))
		start := len(buf)
		buf = append(buf, row...)
		b.row = buf[start:]
	}
	buf = binary.AppendUvarint(buf, uint64(len(c.Column)))
	buf = append(buf, c.Column...)
	if timed && c.Time != CommitTime {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(c.Time))
	}
	if c.Kind == cell.Set {
		buf = append(buf, byte(c.Type))
		buf = binary.AppendUvarint(buf, uint64(len(c.Value)))
		buf = append(buf, c.Value...)
	}
	b.buf = buf
	b.count++
}

// DeleteRange appends a range tombstone: it deletes the rows from start up to end, end not included, as
// they were before the batch. A nil end is the end of the partition. It copies both. The range must not be
// empty, and neither key longer than sstable.MaxKey; if not, Commit refuses the batch. A batch can have
// some ten thousand of them.
//
// It takes the same time for any number of rows. A reader asks the range tombstones about each row, so
// tombstones of rows are better for a few rows.
func (b *Batch) DeleteRange(id PartitionID, start, end []byte) {
	if b.err == nil {
		b.err = checkRange(start, end)
	}
	b.begin()
	b.buf[0] = rangesVersion
	flags := byte(kindDeleteRange)
	samePart := b.count > 0 && id == b.last
	if samePart {
		flags |= flagSamePart
	}
	buf := append(b.buf, flags)
	if !samePart {
		buf = binary.AppendUvarint(buf, uint64(id))
		b.touch(id)
		b.last = id
	}
	for _, key := range [][]byte{start, end} {
		buf = binary.AppendUvarint(buf, uint64(len(key)))
		buf = append(buf, key...)
	}
	b.buf, b.row = buf, nil
	b.count++
	b.ranges += (&rangedel.Tombstone{Start: start, End: end}).Bytes()
}

// begin writes the header before the first entry.
func (b *Batch) begin() {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, batchVersion, 0, 0, 0, 0, 0, 0, 0, 0)
	}
}

// checkRange returns why a range tombstone cannot be in a batch, nil if it can. A nil end is open.
func checkRange(start, end []byte) error {
	switch {
	case len(start) > sstable.MaxKey || len(end) > sstable.MaxKey:
		return fmt.Errorf("range tombstone has row keys of %d and %d bytes: allowed are %d", len(start), len(end), sstable.MaxKey)
	case end != nil && bytes.Compare(start, end) >= 0:
		return fmt.Errorf("range tombstone from row %q up to %q is of no rows", start, end)
	}
	return nil
}

// checkEntry returns why an entry cannot be in a batch, nil if it can.
func checkEntry(row []byte, c *cell.Cell) error {
	if len(row) == 0 || len(row) > sstable.MaxKey || len(c.Column) > sstable.MaxKey {
		return fmt.Errorf("row key of %d bytes with a column of %d: allowed are 1 and 0 to %d", len(row), len(c.Column), sstable.MaxKey)
	}
	if c.Time == CommitTime && (c.Kind == cell.Set || c.Kind == cell.DeleteVersion) {
		timed := *c
		timed.Time = 0
		return timed.Check()
	}
	return c.Check()
}

// touch adds the partition to parts unless it is there, and returns its index.
func (b *Batch) touch(id PartitionID) int {
	for i := range b.parts {
		if b.parts[i].id == id {
			return i
		}
	}
	n := len(b.parts)
	if n < cap(b.parts) { // keep the inserter's memory
		b.parts = b.parts[:n+1]
		b.parts[n].id = id
	} else {
		b.parts = append(b.parts, batchPart{id: id})
	}
	return n
}

// setTime sets the commit time.
func (b *Batch) setTime(t int64) {
	binary.LittleEndian.PutUint64(b.buf[1:], uint64(t))
}

// time returns the commit time.
func (b *Batch) time() int64 { return batchTime(b.buf) }

// batchTime returns the commit time of an encoded batch with a good header.
func batchTime(payload []byte) int64 { return int64(binary.LittleEndian.Uint64(payload[1:])) }

// batchReader reads an encoded batch. The slices of its entries point into the batch.
type batchReader struct {
	rest []byte
	time int64

	partition PartitionID
	row       []byte
	cell      cell.Cell // without Seq
	err       error

	left int // the length of rest after row
}

// init starts to read a batch. A batch with a bad header has no entries, and an error.
func (r *batchReader) init(payload []byte) {
	*r = batchReader{}
	switch {
	case len(payload) < batchHeader:
		r.err = fmt.Errorf("batch of %d bytes has no header", len(payload))
	case payload[0] < batchVersion || payload[0] > rangesVersion:
		r.err = fmt.Errorf("batch has version %d, this program reads %d and %d", payload[0], batchVersion, rangesVersion)
	default:
		r.time = batchTime(payload)
		r.rest = payload[batchHeader:]
	}
}

// deletesRange reports whether the entry is a range tombstone.
func (r *batchReader) deletesRange() bool { return r.cell.Kind == kindDeleteRange }

// deleted returns the range tombstone that the entry is, as one of the batch with a sequence number. It
// has keys of its own.
func (r *batchReader) deleted(seq uint64) rangedel.Tombstone {
	t := rangedel.Tombstone{Start: bytes.Clone(r.row), Seq: seq}
	if len(r.cell.Column) > 0 {
		t.End = bytes.Clone(r.cell.Column)
	}
	return t
}

// next moves to the next entry. It returns false at the end and on an error.
func (r *batchReader) next() bool {
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	flags := r.rest[0]
	r.rest = r.rest[1:]
	r.cell = cell.Cell{Kind: cell.Kind(flags & flagKind)}
	if flags&flagSamePart == 0 {
		r.partition = PartitionID(r.uvarint())
	}
	if flags&flagSameRow == 0 {
		r.row = r.bytes()
		r.left = len(r.rest)
	}
	r.cell.Column = r.bytes()
	switch {
	case r.cell.Kind > cell.DeleteVersion:
		r.cell.Time = cell.TombstoneTime
	case flags&flagBatchTime != 0:
		r.cell.Time = r.time
	default:
		if b := r.take(8); b != nil {
			r.cell.Time = int64(binary.LittleEndian.Uint64(b))
		}
	}
	if r.cell.Kind == cell.Set {
		if b := r.take(1); b != nil {
			r.cell.Type = cell.Type(b[0])
		}
		r.cell.Value = r.bytes()
	}
	return r.err == nil
}

func (r *batchReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *batchReader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail("length")
		return nil
	}
	return r.take(int(n))
}

func (r *batchReader) take(n int) []byte {
	if n > len(r.rest) {
		r.fail("field")
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *batchReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("batch has a bad %s %d bytes before its end", what, len(r.rest))
	}
	r.rest = nil
}

// checkBatch checks all of an encoded batch, so that its entries can be used without checks. It calls begin
// at the first entry of each run for one row of one partition, with the entry's offset in payload. It
// returns the first error, also of begin.
func checkBatch(payload []byte, begin func(r *batchReader, at int) error) error {
	var r batchReader
	r.init(payload)
	last, left := PartitionID(0), 0 // no partition has this one
	for at := batchHeader; r.next(); at = len(payload) - len(r.rest) {
		ranged := r.deletesRange() && payload[0] == rangesVersion
		if len(r.row) == 0 && !ranged {
			return errors.New("batch has an entry without a row key")
		}
		if r.partition != last || r.left != left {
			if err := begin(&r, at); err != nil {
				return err
			}
			last, left = r.partition, r.left
		}
		if err := r.check(ranged); err != nil {
			return err
		}
	}
	return r.err
}

// check returns why the entry cannot be in a batch, nil if it can.
func (r *batchReader) check(ranged bool) error {
	if ranged {
		t := r.deleted(0)
		return checkRange(t.Start, t.End)
	}
	return r.cell.Check()
}
