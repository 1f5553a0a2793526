package sstable

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The footer ends a file. It has no trailer but a checksum of its own:
//
//	+-------------+---------------+-------------+
//	| store id 16 | file number 8 | file size 8 |
//	+-------------+--+-----------++-------------+--+
//	| filter handle 12 | index handle 12 | properties handle 12 |
//	+------------------+-----------------+----------------------+
//	| times handle 12 |                        not before version 3
//	+---------------+-+----------+------------------+---------+
//	| footer size 4 | checksum 4 | format version 4 | magic 8 |
//	+---------------+------------+------------------+---------+
//
// The last line is the same in every format version. The checksum is a CRC-32C of
// the whole footer, as long as footer size says, with zeros in place of the
// checksum. So a file of a later version is not taken for a damaged one.

// Constants that are part of the format.
const (
	formatVersion  = 3 // version 2 has no times, version 1 no encoded blocks either
	oldestVersion  = 1
	timesVersion   = 3 // the first one with times
	footerMagic    = "cellfile"
	footerSize     = olderFooter + handleSize
	olderFooter    = 32 + 3*handleSize + footerTailSize // before timesVersion
	footerTailSize = 20
	maxFooterSize  = 4 << 10 // in any later version
)

type footer struct {
	id                        ID
	size                      uint64 // of the file
	filter, index, properties handle
	times                     handle // zero if there are none
	version                   uint32 // as parse found it; append writes formatVersion
}

func (f *footer) append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, f.id.Store[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, f.id.Number)
	dst = binary.LittleEndian.AppendUint64(dst, f.size)
	dst = f.filter.append(dst)
	dst = f.index.append(dst)
	dst = f.properties.append(dst)
	dst = f.times.append(dst)
	dst = binary.LittleEndian.AppendUint32(dst, footerSize)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, formatVersion)
	dst = append(dst, footerMagic...)
	binary.LittleEndian.PutUint32(dst[len(dst)-16:], crc32.Checksum(dst[from:], castagnoli))
	return dst
}

// parse reads the footer of the file with this id from tail, the last bytes of the
// file, at most maxFooterSize.
func (f *footer) parse(tail []byte, id ID, size int64) error {
	corrupt := func(reason string) error {
		return &CorruptError{id.Number, max(size-footerSize, 0), "footer: " + reason}
	}
	n := len(tail)
	if n < footerTailSize || string(tail[n-8:]) != footerMagic {
		return corrupt("not the end of a sorted file")
	}
	length := binary.LittleEndian.Uint32(tail[n-20:])
	if length < footerTailSize || uint64(length) > uint64(n) {
		return corrupt("impossible length")
	}
	p := append([]byte(nil), tail[n-int(length):]...)
	sum := binary.LittleEndian.Uint32(p[len(p)-16:])
	clear(p[len(p)-16 : len(p)-12])
	if crc32.Checksum(p, castagnoli) != sum {
		return corrupt("checksum mismatch")
	}
	f.version = binary.LittleEndian.Uint32(p[len(p)-12:])
	if f.version < oldestVersion || f.version > formatVersion {
		return &VersionError{id.Number, f.version}
	}
	if len(p) != f.length() {
		return corrupt("impossible length")
	}
	copy(f.id.Store[:], p)
	f.id.Number = binary.LittleEndian.Uint64(p[16:])
	f.size = binary.LittleEndian.Uint64(p[24:])
	f.filter = parseHandle(p[32:])
	f.index = parseHandle(p[32+handleSize:])
	f.properties = parseHandle(p[32+2*handleSize:])
	if f.version >= timesVersion {
		f.times = parseHandle(p[32+3*handleSize:])
	}
	switch {
	case f.id != id:
		return corrupt(fmt.Sprintf("file %d of store %x was opened as file %d of store %x",
			f.id.Number, f.id.Store, id.Number, id.Store))
	case f.size != uint64(size):
		return corrupt(fmt.Sprintf("written with %d bytes, opened with %d", f.size, size))
	}
	return f.checkHandles(corrupt)
}

// length returns the length of the footer.
func (f *footer) length() int {
	if f.version < timesVersion {
		return olderFooter
	}
	return footerSize
}

// checkHandles checks that filter, index, times, properties and footer are adjacent.
func (f *footer) checkHandles(corrupt func(string) error) error {
	at, end := f.filter.offset, f.size-uint64(f.length())
	blocks := []handle{f.filter, f.index, f.times, f.properties}
	if f.version < timesVersion {
		blocks = []handle{f.filter, f.index, f.properties}
	}
	for _, h := range blocks {
		if h.offset != at || !h.within(end) {
			return corrupt("blocks do not stand side by side")
		}
		at = h.end()
	}
	if at != end {
		return corrupt("blocks do not stand side by side")
	}
	return nil
}
