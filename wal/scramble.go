package wal

import (
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
)

// scrambler is a pattern that is XORed with the payloads of a segment's batches when they are written
// and read. It differs from segment to segment, and repeats with every sector of the file.
//
// It is no encryption. It makes a written sector differ in about half of its bits from what lies there
// if the write is lost: zeros or an older segment's bytes, however alike the payloads are. And clients
// cannot choose the bytes of the file, so a value made to look like a record does not look like one
// there.
type scrambler [sectorSize + 4096]byte // the pattern, repeated: a longer run for each start

// newScrambler returns the scrambler of a segment: SHA-512 sums of the store's id, the segment's
// number and a counter. Part of the format.
func newScrambler(store [16]byte, number uint64) *scrambler {
	var s scrambler
	in := binary.LittleEndian.AppendUint64(store[:], number)
	for i := range sectorSize / sha512.Size {
		sum := sha512.Sum512(append(in, byte(i)))
		copy(s[i*sha512.Size:], sum[:])
	}
	for n := sectorSize; n < len(s); n += sectorSize {
		copy(s[n:], s[:sectorSize])
	}
	return &s
}

// apply scrambles b, or restores it, in place. It starts at offset off of the file.
func (s *scrambler) apply(b []byte, off int64) {
	for len(b) > 0 {
		n := subtle.XORBytes(b, b, s[off%sectorSize:])
		b = b[n:]
		off += int64(n)
	}
}
