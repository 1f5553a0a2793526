package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// Manifest is the state of a store as of one edit: its partitions, the files of each,
// and where the log begins. It is immutable once it is written.
//
// The file format:
//
//	+-------+---------+--------+------+----------+
//	| magic | version | length | body | checksum |
//	+-------+---------+--------+------+----------+
//	  8       4         8               8
//
//	length    of the body; the file ends with the checksum
//	checksum  xxhash64 of all before it
//
//	body:
//	+-------+------+----------+---------------+----------+--------+---------+
//	| store | edit | nextFile | nextPartition | logStart | copied | settled |
//	+-------+------+----------+---------------+----------+--------+---------+
//	  16      uvarint …
//	+----------+-----------+----------+-------+---------+---------+-----
//	| last seq | last time | timeline | count | dropped | dropped | …
//	+----------+-----------+----------+-------+---------+---------+-----
//	+-------+-----------+-----------+-----
//	| count | partition | partition | …
//	+-------+-----------+-----------+-----
//
//	dropped:
//	+----+-------------+------+------+
//	| id | name length | name | time |
//	+----+-------------+------+------+
//
//	partition:
//	+----+-------------+------+---------+-------+------+------+-----
//	| id | name length | name | flushed | count | file | file | …
//	+----+-------------+------+---------+-------+------+------+-----
//	+-------+-----------------+-----------------+-----
//	| count | range tombstone | range tombstone | …
//	+-------+-----------------+-----------------+-----
//
//	file:
//	+-------+--------+------+----------+-----------------+----------+---------+
//	| level | number | size | checksum | smallest length | smallest | largest |
//	+-------+--------+------+----------+-----------------+----------+---------+
//	+---------+---------+---------+------------+-----------+-----------+
//	| min seq | max seq | entries | tombstones | raw bytes | clean seq |
//	+---------+---------+---------+------------+-----------+-----------+
//	+----------------+--------------+
//	| start of times | end of times |
//	+----------------+--------------+
//
//	range tombstone:
//	+--------------+-------+------------+-----+-----+
//	| start length | start | end length | end | seq |
//	+--------------+-------+------------+-----+-----+
//
//	end  the first row after the range; empty for the end of the partition
//
// Numbers of the body are uvarints; checksums are 8 bytes; fixed-width numbers are little
// endian. Files stand level by level, in the order of the level.
//
// Versions 1 to 5 have no timeline, which is 0, and no list of what was dropped. Versions 1 to 4 have no times: all times are assumed. Versions 1 to 3 have no range tombstones and no field clean
// seq. Versions 1 and 2 have one level less: what they have below level 0 is read as one level further down, so that
// level 1 is free. Version 1 has no field settled.
type Manifest struct {
	Store         [16]byte    // the identity of the store
	Edit          uint64      // counts edits from 1
	NextFile      uint64      // above every number of a sorted file in use
	NextPartition PartitionID // above every partition in use or dropped
	LogStart      uint64      // the lowest segment with a batch that is not flushed
	Copied        uint64      // the highest segment that a finished recovery wrote for what it found
	// Settled is one more than the highest sequence number whose batch, like all before
	// it, need not be in the log: its segment has gone, or was there when the last
	// recovery finished, or an unfinished recovery has flushed it. 0 if not known.
	Settled  uint64
	LastSeq  uint64 // at least the sequence number of every entry in a file
	LastTime int64  // at least the commit time of every entry in a file
	// Timeline tells the logs of stores apart that have grown from one: 0, and a new random number after each
	// restore.
	Timeline uint64
	// Dropped has the partitions that were dropped and that no archived segment of the log tells of yet.
	Dropped []Dropped

	Partitions map[PartitionID]*Partition
}

// Dropped is a partition that was dropped.
type Dropped struct {
	ID   PartitionID
	Name string
	Time int64 // later than every commit before the drop, earlier than every one after it
}

// Partition is a partition in a manifest. It is immutable, except for its cached encoding.
type Partition struct {
	ID      PartitionID
	Name    string
	Flushed uint64 // every batch up to this sequence number is in files
	Version *Version

	encoded []byte // what encode returned; one edit at a time uses it
}

const (
	Magic         = "COLMANIF" // part of the format
	FormatVersion = 6          // part of the format; lower versions are read too
	HeaderSize    = 8 + 4 + 8
	MaxSize       = 1 << 30 // of a manifest file, in bytes
)

// With returns the partition after a flush or compaction.
func (p *Partition) With(flushed uint64, v *Version) *Partition {
	return &Partition{ID: p.ID, Name: p.Name, Flushed: flushed, Version: v}
}

// Next returns a copy for the next edit. It shares partitions and versions with m.
func (m *Manifest) Next() *Manifest {
	c := *m
	c.Edit++
	c.Partitions = maps.Clone(m.Partitions)
	return &c
}

// Encode returns the content of the manifest's file. It caches the encoding of each partition,
// because an edit changes only some of them. Calls must not be concurrent.
func (m *Manifest) Encode() []byte {
	ids := slices.Sorted(maps.Keys(m.Partitions))
	size := HeaderSize + 16 + 11*binary.MaxVarintLen64 + 8
	for _, d := range m.Dropped {
		size += len(d.Name) + 3*binary.MaxVarintLen64
	}
	for _, id := range ids {
		size += len(m.Partitions[id].encode())
	}
	buf := append(make([]byte, 0, size), Magic...)
	buf = binary.LittleEndian.AppendUint32(buf, FormatVersion)
	buf = binary.LittleEndian.AppendUint64(buf, 0)
	buf = append(buf, m.Store[:]...)
	for _, n := range []uint64{m.Edit, m.NextFile, uint64(m.NextPartition), m.LogStart, m.Copied, m.Settled, m.LastSeq, uint64(m.LastTime), m.Timeline, uint64(len(m.Dropped))} {
		buf = binary.AppendUvarint(buf, n)
	}
	for _, d := range m.Dropped {
		buf = appendBytes(binary.AppendUvarint(buf, uint64(d.ID)), []byte(d.Name))
		buf = binary.AppendUvarint(buf, uint64(d.Time))
	}
	buf = binary.AppendUvarint(buf, uint64(len(m.Partitions)))
	for _, id := range ids {
		buf = append(buf, m.Partitions[id].encode()...)
	}
	binary.LittleEndian.PutUint64(buf[12:], uint64(len(buf)-HeaderSize))
	return binary.LittleEndian.AppendUint64(buf, xxhash.Sum64(buf))
}

func (p *Partition) encode() []byte {
	if p.encoded != nil {
		return p.encoded
	}
	buf := binary.AppendUvarint(nil, uint64(p.ID))
	buf = appendBytes(buf, []byte(p.Name))
	buf = binary.AppendUvarint(buf, p.Flushed)
	n := 0
	for _, files := range p.Version.Levels {
		n += len(files)
	}
	buf = binary.AppendUvarint(buf, uint64(n))
	for level, files := range p.Version.Levels {
		for _, f := range files {
			buf = f.append(binary.AppendUvarint(buf, uint64(level)))
		}
	}
	buf = binary.AppendUvarint(buf, uint64(p.Version.RangeTombstones.Len()))
	for _, t := range p.Version.RangeTombstones.List() {
		buf = appendBytes(appendBytes(buf, t.Start), t.End)
		buf = binary.AppendUvarint(buf, t.Seq)
	}
	p.encoded = buf
	return buf
}

func (f *File) append(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, f.Number)
	buf = binary.AppendUvarint(buf, uint64(f.Size))
	buf = binary.LittleEndian.AppendUint64(buf, f.Checksum)
	buf = appendBytes(buf, f.Smallest)
	buf = appendBytes(buf, f.Largest)
	for _, n := range []uint64{f.MinSeq, f.MaxSeq, f.Entries, f.Tombstones, f.RawBytes, f.CleanSeq, uint64(f.Times.Start), uint64(f.Times.End)} {
		buf = binary.AppendUvarint(buf, n)
	}
	return buf
}

func appendBytes(buf, b []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(b)))
	return append(buf, b...)
}

// Decode decodes and checks the content of a manifest file. It returns a *VersionError when
// the content is sound but of a higher version: in every version the first twelve bytes and
// the checksum mean the same.
func Decode(data []byte) (*Manifest, error) {
	if len(data) < HeaderSize+8 {
		return nil, fmt.Errorf("%d bytes are too few", len(data))
	}
	body, sum := data[:len(data)-8], data[len(data)-8:]
	if xxhash.Sum64(body) != binary.LittleEndian.Uint64(sum) {
		return nil, errors.New("checksum does not match")
	}
	if string(data[:8]) != Magic {
		return nil, errors.New("not a manifest")
	}
	version := binary.LittleEndian.Uint32(data[8:])
	if version < 1 || version > FormatVersion {
		return nil, &VersionError{Version: version}
	}
	if n := binary.LittleEndian.Uint64(data[12:]); n != uint64(len(data)-HeaderSize-8) {
		return nil, fmt.Errorf("length is %d, the file says %d", len(data)-HeaderSize-8, n)
	}
	d := decoder{rest: body[HeaderSize:]}
	m := d.manifest(version)
	if d.err == nil && len(d.rest) != 0 {
		d.fail("end")
	}
	if d.err != nil {
		return nil, d.err
	}
	return m, m.Check()
}

// decoder decodes the body of a manifest. Its error is sticky, so that the methods read as
// lists of fields.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) manifest(version uint32) *Manifest {
	m := &Manifest{Partitions: make(map[PartitionID]*Partition)}
	copy(m.Store[:], d.take(16))
	m.Edit, m.NextFile, m.NextPartition = d.uvarint(), d.uvarint(), PartitionID(d.uvarint())
	m.LogStart, m.Copied = d.uvarint(), d.uvarint()
	if version > 1 {
		m.Settled = d.uvarint()
	}
	m.LastSeq, m.LastTime = d.uvarint(), int64(d.uvarint())
	if version > 5 {
		m.Timeline = d.uvarint()
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			m.Dropped = append(m.Dropped, Dropped{ID: PartitionID(d.uvarint()), Name: string(d.bytes()), Time: int64(d.uvarint())})
		}
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		p := d.partition(version)
		if _, twice := m.Partitions[p.ID]; twice {
			d.fail("partition")
		}
		m.Partitions[p.ID] = p
	}
	return m
}

func (d *decoder) partition(format uint32) *Partition {
	p := &Partition{ID: PartitionID(d.uvarint()), Name: string(d.bytes()), Flushed: d.uvarint(), Version: &Version{}}
	added := uint64(0) // levels, since
	if format < 3 {
		added = 1
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		level := d.uvarint()
		if level >= NumLevels-added {
			d.fail("level")
			break
		}
		if level > 0 {
			level += added
		}
		p.Version.Levels[level] = append(p.Version.Levels[level], d.file(format))
	}
	if format > 3 {
		p.Version.RangeTombstones = d.rangeTombstones()
	}
	return p
}

func (d *decoder) rangeTombstones() *rangedel.Set {
	var list []rangedel.Tombstone
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		t := rangedel.Tombstone{Start: slices.Clone(d.bytes())}
		if end := d.bytes(); len(end) > 0 {
			t.End = slices.Clone(end)
		}
		t.Seq = d.uvarint()
		list = append(list, t)
	}
	return rangedel.New(list)
}

func (d *decoder) file(format uint32) *File {
	f := &File{Number: d.uvarint(), Size: int64(d.uvarint())}
	if b := d.take(8); b != nil {
		f.Checksum = binary.LittleEndian.Uint64(b)
	}
	f.Smallest, f.Largest = slices.Clone(d.bytes()), slices.Clone(d.bytes())
	f.MinSeq, f.MaxSeq = d.uvarint(), d.uvarint()
	f.Entries, f.Tombstones, f.RawBytes = d.uvarint(), d.uvarint(), d.uvarint()
	if format > 3 {
		f.CleanSeq = d.uvarint()
	}
	f.Times = cell.AllTimes
	if format > 4 {
		f.Times = cell.TimeRange{Start: int64(d.uvarint()), End: int64(d.uvarint())}
	}
	return f
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail("length")
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.fail("field")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("bad %s %d bytes before the end of the body", what, len(d.rest))
	}
	d.rest = nil
}

// Check returns an error if the manifest contradicts itself.
func (m *Manifest) Check() error {
	seen := make(map[uint64]bool)
	for _, p := range m.Partitions {
		if p.ID >= m.NextPartition {
			return fmt.Errorf("partition %d is above the highest given out", p.ID)
		}
		if err := p.Version.Check(); err != nil {
			return fmt.Errorf("partition %s: %w", p.Name, err)
		}
		for _, files := range p.Version.Levels {
			for _, f := range files {
				if f.Number >= m.NextFile || seen[f.Number] {
					return fmt.Errorf("partition %s: file number %d is used twice or above the highest given out", p.Name, f.Number)
				}
				seen[f.Number] = true
				if f.CleanSeq > p.Flushed {
					return fmt.Errorf("partition %s: file %d is free of what batch %d deletes, but batches are flushed up to %d", p.Name, f.Number, f.CleanSeq, p.Flushed)
				}
			}
		}
		if seq := p.Version.RangeTombstones.MaxSeq(); seq > p.Flushed {
			return fmt.Errorf("partition %s: a range tombstone has sequence number %d, but batches are flushed up to %d", p.Name, seq, p.Flushed)
		}
	}
	for _, d := range m.Dropped {
		if d.ID >= m.NextPartition || m.Partitions[d.ID] != nil || d.Time > m.LastTime || d.Time < 0 {
			return fmt.Errorf("partition %d is said to be dropped, which contradicts other fields", d.ID)
		}
	}
	if m.LogStart == 0 || m.LastTime < 0 {
		return errors.New("numbers contradict each other")
	}
	return nil
}

// Follows returns an error unless m can be the next edit after old: no counter has gone
// back, and no range tombstone is missing that a file needs.
func (m *Manifest) Follows(old *Manifest) error {
	switch {
	case m.Edit != old.Edit+1:
		return fmt.Errorf("edit %d of the manifest follows edit %d", m.Edit, old.Edit)
	case m.Store != old.Store, m.Timeline != old.Timeline,
		m.NextFile < old.NextFile, m.NextPartition < old.NextPartition, m.LogStart < old.LogStart,
		m.Copied < old.Copied, m.Settled < old.Settled, m.LastSeq < old.LastSeq, m.LastTime < old.LastTime:
		return fmt.Errorf("edit %d of the manifest takes back what edit %d gave out", m.Edit, old.Edit)
	}
	for id, r := range m.Partitions {
		if before := old.Partitions[id]; before != nil && r.Flushed < before.Flushed || before == nil && id < old.NextPartition {
			return fmt.Errorf("edit %d of the manifest sets partition %s back", m.Edit, r.Name)
		}
		if before := old.Partitions[id]; before != nil && before.Version != r.Version {
			if err := r.Version.keepsRangeTombstones(before.Version); err != nil {
				return fmt.Errorf("edit %d of the manifest, partition %s: %w", m.Edit, r.Name, err)
			}
		}
	}
	return nil
}

// PartitionID names a partition for ever: it is not given to another one.
type PartitionID uint64

// VersionError says that a store has a format that this program does not know.
// Nothing of it was changed.
type VersionError struct {
	File    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("file %s has format version %d, and this program reads versions up to %d: use the program that wrote it", e.File, e.Version, FormatVersion)
}
