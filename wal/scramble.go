package wal

import (
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
)

// pad is what the payloads of a segment's batches are combined with, by
// exclusive or, on their way to the file and back. It is different for every
// segment, and repeats with every sector of the file.
//
// It hides nothing. It makes the bytes of a sector that was written differ in
// about half of their bits from the zeros or the older segment's bytes that
// are found there if it was not, however much alike the payloads are. And it
// keeps others from choosing what the file holds: a value made to look like a
// record does not look like one there.
type scrambler [sectorSize + 4096]byte // the pattern, repeated: a longer run for each start

// newPad returns the pad of a segment: the SHA-512 sums of the store's id, the
// segment's number and a counter. Part of the format.
func newScrambler(store [16]byte, number uint64) *scrambler {
	var p scrambler
	in := binary.LittleEndian.AppendUint64(store[:], number)
	for i := range sectorSize / sha512.Size {
		sum := sha512.Sum512(append(in, byte(i)))
		copy(p[i*sha512.Size:], sum[:])
	}
	for n := sectorSize; n < len(p); n += sectorSize {
		copy(p[n:], p[:sectorSize])
	}
	return &p
}

// apply scrambles b, or restores it, in place. It starts at offset off of the file.
func (p *scrambler) apply(b []byte, off int64) {
	for len(b) > 0 {
		n := subtle.XORBytes(b, b, p[off%sectorSize:])
		b = b[n:]
		off += int64(n)
	}
}
