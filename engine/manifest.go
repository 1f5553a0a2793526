package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"colonnade/vfs"
)

// manifest is the state of a store as of one edit: which partitions there are,
// the files of each, and where the log begins. It is immutable.
//
// Every edit is written as a whole file of its own, under a temporary name,
// synced, then renamed; only then the file of the edit before is removed. So a
// manifest that carries its name is complete, the one with the highest number
// is the state, and damage to it can never be mistaken for an older state.
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
//	+-------+------+----------+-----------+----------+----------+-----------+
//	| store | edit | nextFile | nextPart  | logStart | copied   | settled   |
//	+-------+------+----------+-----------+----------+----------+-----------+
//	  16      uvarint …
//	+----------+-----------+-------+-----------+-----------+-----
//	| last seq | last time | count | partition | partition | …
//	+----------+-----------+-------+-----------+-----------+-----
//
//	partition:
//	+----+-------------+------+---------+-------+------+------+-----
//	| id | name length | name | flushed | count | file | file | …
//	+----+-------------+------+---------+-------+------+------+-----
//
//	file:
//	+-------+--------+------+----------+-----------------+----------+---------+
//	| level | number | size | checksum | smallest length | smallest | largest |
//	+-------+--------+------+----------+-----------------+----------+---------+
//	+---------+---------+-------+---------+-----------+
//	| min seq | max seq | cells | deletes | raw bytes |
//	+---------+---------+-------+---------+-----------+
//
// Numbers of the body are uvarints; checksums are 8 bytes; fixed-width numbers
// are little endian. Files stand level by level, in the order of the level.
// Version 1 has no field settled. Up to version 2 there was one level less: what lay below
// level 0 lies one further down now, so that the first level is free.
type manifest struct {
	store    [16]byte
	edit     uint64
	nextFile uint64      // above every number of a sorted file in use
	nextPart PartitionID // above every partition in use or dropped
	logStart uint64      // lowest segment that holds a batch which is not flushed
	copied   uint64      // highest segment that a finished recovery made of what it found; see recover.go
	// settled is one more than the seq of the last batch that the log need not have, nor
	// those before: it was in a segment that has gone, or was there when the last recovery
	// finished, or one that has not finished since flushed all up to it. 0 if not known.
	settled  uint64
	lastSeq  uint64 // at least the seq of every entry in a file
	lastTime int64  // at least the commit time of every entry in a file

	parts map[PartitionID]*partRecord
}

// partRecord is a partition in a manifest. It is immutable but for encoded.
type partRecord struct {
	id      PartitionID
	name    string
	flushed uint64 // every batch up to this sequence number is in files
	version *version

	encoded []byte // its form in a manifest, once there was one; guarded by DB.installMu
}

const (
	manifestMagic   = "COLMANIF" // part of the format
	manifestVersion = 3          // part of the format; older ones are read as well
	manifestHead    = 8 + 4 + 8
	manifestMax     = 1 << 30
)

// changed returns what the partition is after a flush or compaction.
func (p *partRecord) changed(flushed uint64, v *version) *partRecord {
	return &partRecord{id: p.id, name: p.name, flushed: flushed, version: v}
}

// clone returns a copy for the next edit; records and versions are shared.
func (m *manifest) clone() *manifest {
	c := *m
	c.edit++
	c.parts = maps.Clone(m.parts)
	return &c
}

// encode returns the content of the manifest's file. Of all partitions an edit changes one
// or some, so what the others are encoded to is kept.
func (m *manifest) encode() []byte {
	ids := slices.Sorted(maps.Keys(m.parts))
	size := manifestHead + 16 + 9*binary.MaxVarintLen64 + 8
	for _, id := range ids {
		size += len(m.parts[id].encode())
	}
	buf := append(make([]byte, 0, size), manifestMagic...)
	buf = binary.LittleEndian.AppendUint32(buf, manifestVersion)
	buf = binary.LittleEndian.AppendUint64(buf, 0)
	buf = append(buf, m.store[:]...)
	for _, n := range []uint64{m.edit, m.nextFile, uint64(m.nextPart), m.logStart, m.copied, m.settled, m.lastSeq, uint64(m.lastTime)} {
		buf = binary.AppendUvarint(buf, n)
	}
	buf = binary.AppendUvarint(buf, uint64(len(m.parts)))
	for _, id := range ids {
		buf = append(buf, m.parts[id].encode()...)
	}
	binary.LittleEndian.PutUint64(buf[12:], uint64(len(buf)-manifestHead))
	return binary.LittleEndian.AppendUint64(buf, xxhash.Sum64(buf))
}

func (p *partRecord) encode() []byte {
	if p.encoded != nil {
		return p.encoded
	}
	buf := binary.AppendUvarint(nil, uint64(p.id))
	buf = appendBytes(buf, []byte(p.name))
	buf = binary.AppendUvarint(buf, p.flushed)
	n := 0
	for _, files := range p.version.levels {
		n += len(files)
	}
	buf = binary.AppendUvarint(buf, uint64(n))
	for level, files := range p.version.levels {
		for _, f := range files {
			buf = f.append(binary.AppendUvarint(buf, uint64(level)))
		}
	}
	p.encoded = buf
	return buf
}

func (f *file) append(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, f.number)
	buf = binary.AppendUvarint(buf, uint64(f.size))
	buf = binary.LittleEndian.AppendUint64(buf, f.checksum)
	buf = appendBytes(buf, f.smallest)
	buf = appendBytes(buf, f.largest)
	for _, n := range []uint64{f.minSeq, f.maxSeq, f.cells, f.deletes, f.rawBytes} {
		buf = binary.AppendUvarint(buf, n)
	}
	return buf
}

func appendBytes(buf, b []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(b)))
	return append(buf, b...)
}

// decodeManifest decodes and verifies the content of a manifest file. It fails with a
// *VersionError when the content is sound but of another version: whatever changes,
// the first twelve bytes and the checksum do not.
func decodeManifest(data []byte) (*manifest, error) {
	if len(data) < manifestHead+8 {
		return nil, fmt.Errorf("%d bytes are too few", len(data))
	}
	body, sum := data[:len(data)-8], data[len(data)-8:]
	if xxhash.Sum64(body) != binary.LittleEndian.Uint64(sum) {
		return nil, errors.New("checksum does not match")
	}
	if string(data[:8]) != manifestMagic {
		return nil, errors.New("not a manifest")
	}
	version := binary.LittleEndian.Uint32(data[8:])
	if version < 1 || version > manifestVersion {
		return nil, &VersionError{Version: version}
	}
	if n := binary.LittleEndian.Uint64(data[12:]); n != uint64(len(data)-manifestHead-8) {
		return nil, fmt.Errorf("length is %d, the file says %d", len(data)-manifestHead-8, n)
	}
	d := fields{rest: body[manifestHead:]}
	m := d.manifest(version)
	if d.err == nil && len(d.rest) != 0 {
		d.fail("end")
	}
	if d.err != nil {
		return nil, d.err
	}
	return m, m.check()
}

// fields decodes the body of a manifest with a sticky error, so that the
// decoders read as lists of fields.
type fields struct {
	rest []byte
	err  error
}

func (d *fields) manifest(version uint32) *manifest {
	m := &manifest{parts: make(map[PartitionID]*partRecord)}
	copy(m.store[:], d.take(16))
	m.edit, m.nextFile, m.nextPart = d.uvarint(), d.uvarint(), PartitionID(d.uvarint())
	m.logStart, m.copied = d.uvarint(), d.uvarint()
	if version > 1 {
		m.settled = d.uvarint()
	}
	m.lastSeq, m.lastTime = d.uvarint(), int64(d.uvarint())
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		p := d.partition(version)
		if _, twice := m.parts[p.id]; twice {
			d.fail("partition")
		}
		m.parts[p.id] = p
	}
	return m
}

func (d *fields) partition(format uint32) *partRecord {
	p := &partRecord{id: PartitionID(d.uvarint()), name: string(d.bytes()), flushed: d.uvarint(), version: &version{}}
	added := uint64(0) // levels, since
	if format < 3 {
		added = 1
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		level := d.uvarint()
		if level >= numLevels-added {
			d.fail("level")
			break
		}
		if level > 0 {
			level += added
		}
		p.version.levels[level] = append(p.version.levels[level], d.file())
	}
	return p
}

func (d *fields) file() *file {
	f := &file{number: d.uvarint(), size: int64(d.uvarint())}
	if b := d.take(8); b != nil {
		f.checksum = binary.LittleEndian.Uint64(b)
	}
	f.smallest, f.largest = slices.Clone(d.bytes()), slices.Clone(d.bytes())
	f.minSeq, f.maxSeq = d.uvarint(), d.uvarint()
	f.cells, f.deletes, f.rawBytes = d.uvarint(), d.uvarint(), d.uvarint()
	return f
}

func (d *fields) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *fields) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail("length")
		return nil
	}
	return d.take(int(n))
}

func (d *fields) take(n int) []byte {
	if n > len(d.rest) {
		d.fail("field")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *fields) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("bad %s %d bytes before the end of the body", what, len(d.rest))
	}
	d.rest = nil
}

// check reports a manifest that contradicts itself.
func (m *manifest) check() error {
	seen := make(map[uint64]bool)
	for _, p := range m.parts {
		if p.id >= m.nextPart {
			return fmt.Errorf("partition %d is above the highest given out", p.id)
		}
		if err := p.version.check(); err != nil {
			return fmt.Errorf("partition %s: %w", p.name, err)
		}
		for _, files := range p.version.levels {
			for _, f := range files {
				if f.number >= m.nextFile || seen[f.number] {
					return fmt.Errorf("partition %s: file number %d is used twice or above the highest given out", p.name, f.number)
				}
				seen[f.number] = true
			}
		}
	}
	if m.logStart == 0 || m.lastTime < 0 {
		return errors.New("numbers contradict each other")
	}
	return nil
}

// readManifest reads the manifest with the highest number. It returns nil when
// the directory holds none.
func readManifest(fs vfs.FS, dir string) (m *manifest, name string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", dir, err)
	}
	var highest uint64
	for _, n := range names {
		if number, ok := parseName(n, manifestPrefix, ""); ok && (name == "" || number > highest) {
			highest, name = number, n
		}
	}
	if name == "" {
		return nil, "", nil
	}
	name = dir + "/" + name
	data, err := readFile(fs, name)
	if err != nil {
		return nil, "", err
	}
	m, err = decodeManifest(data)
	if err == nil && m.edit != highest {
		err = fmt.Errorf("edit %d does not go with the name", m.edit)
	}
	var version *VersionError
	switch {
	case errors.As(err, &version):
		version.File = name
		return nil, "", err
	case err != nil:
		return nil, "", &CorruptError{File: name, Offset: -1, Reason: err.Error()}
	}
	return m, name, nil
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > manifestMax {
		return nil, &CorruptError{File: name, Offset: -1, Reason: fmt.Sprintf("%d bytes are too many", size)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
