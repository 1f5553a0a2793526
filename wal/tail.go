package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"
)

// tail is the rest of a segment from the first offset without a good record, at least as long as the
// shortest record. The package comment says how it is judged. The cost is at most a small multiple of
// the file's size, whatever the file holds.
type tail struct {
	src     source
	off     int64
	partial bool // it holds what may be a record of the segment, not whole
}

// classify returns io.EOF if the log ends at t.off, and otherwise the damage.
func (t *tail) classify() error {
	at, err := t.findProof()
	if err != nil {
		return err
	}
	if at > 0 {
		return t.src.corrupt(t.off, "no good record, though the one at offset %d proves that it was synced", at)
	}
	f, err := t.findBitFlip()
	if err != nil {
		return err
	}
	if f != noFlip {
		return t.src.corrupt(t.off, "one bit of the record has changed: mask %#02x of the byte at offset %d", f.mask, f.off)
	}
	return io.EOF
}

// findProof returns the offset of a record that proves that the bytes at t.off were synced, or 0. It
// looks at every offset: if a length is damaged, nothing tells where the next record starts.
func (t *tail) findProof() (int64, error) {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], t.src.number)
	sums := rangeSums{src: t.src, base: t.off}
	buf := make([]byte, min(chunkSize, t.src.size-t.off))
	for base := t.off + 1; t.src.size-base >= frameSize; base += int64(len(buf)) - headSize + 1 {
		b := buf[:min(t.src.size-base, int64(len(buf)))]
		if err := t.src.read(b, base); err != nil {
			return 0, err
		}
		for i := 0; i+headSize <= len(b); i++ {
			// Every head of this segment has the number in its place, and hardly anything else does.
			skip := bytes.Index(b[i+atNumber:], number[:])
			if skip < 0 || i+skip+headSize > len(b) {
				break
			}
			i += skip
			t.partial = true
			h := decodeHead(b[i:])
			if !t.proves(&h, base+int64(i)) {
				continue
			}
			end := base + int64(i) + headSize + int64(h.length)
			sum, err := sums.crc(0, base+int64(i)+atLength, end)
			if err != nil {
				return 0, err
			}
			if sum == h.sum {
				return base + int64(i), nil
			}
		}
	}
	return 0, nil
}

// proves reports whether h, if it is the head of a good record at offset at,
// proves that the bytes at t.off were synced.
func (t *tail) proves(h *head, at int64) bool {
	return typeBatch <= h.typ && h.typ <= typeFinal &&
		h.synced > uint64(t.off) && h.synced <= uint64(at) &&
		h.fits(t.src.number, at, t.src.size)
}

// findBitFlip returns the one bit that makes the record at t.off good, or noFlip.
func (t *tail) findBitFlip() (bitFlip, error) {
	var b [headSize]byte
	if err := t.src.read(b[:], t.off); err != nil {
		return noFlip, err
	}
	h := decodeHead(b[:])
	wrong := h.number ^ t.src.number
	switch bits.OnesCount64(wrong) {
	case 0:
		t.partial = true
		f, err := t.flipInLength(&h)
		if err != nil || f != noFlip {
			return f, err
		}
		return t.flipInRecord(&h)
	case 1:
		bit := bits.TrailingZeros64(wrong)
		f := bitFlip{t.off + atNumber + int64(bit/8), 1 << (bit % 8)}
		h.number = t.src.number
		return t.confirmFlip(&h, f)
	default:
		return noFlip, nil // zeros, old records, anything
	}
}

// flipInLength looks for the bit in the length, which decides where the record ends.
func (t *tail) flipInLength(h *head) (bitFlip, error) {
	sums := rangeSums{src: t.src, base: t.off}
	for bit := range 32 {
		g := *h
		g.length ^= 1 << bit
		if !g.fits(t.src.number, t.off, t.src.size) {
			continue
		}
		var length [4]byte
		binary.LittleEndian.PutUint32(length[:], g.length)
		sum, err := sums.crc(crc32.Checksum(length[:], castagnoli),
			t.off+atType, t.off+headSize+int64(g.length))
		if err != nil {
			return noFlip, err
		}
		if sum != h.sum {
			continue
		}
		f, err := t.confirmFlip(&g, bitFlip{t.off + atLength + int64(bit/8), 1 << (bit % 8)})
		if err != nil || f != noFlip {
			return f, err
		}
	}
	return noFlip, nil
}

// flipInRecord looks for the bit anywhere else.
func (t *tail) flipInRecord(h *head) (bitFlip, error) {
	if !h.fits(t.src.number, t.off, t.src.size) {
		return noFlip, nil
	}
	n := frameSize + int(h.length)
	s, _, err := t.src.recordSums(t.off, n, noFlip)
	if err != nil {
		return noFlip, err
	}
	body := int64(n - footSize - atLength)
	back, mask := locateFlip(s.head^h.sum, body)
	at := atLength + body - back
	if mask == 0 || at >= atNumber && at < atSeq {
		return noFlip, nil // with another number it is not of this segment
	}
	return t.confirmFlip(h, bitFlip{t.off + at, mask})
}

// confirmFlip returns f if flipping it makes both checksums of the record good. The head h has f
// applied already.
func (t *tail) confirmFlip(h *head, f bitFlip) (bitFlip, error) {
	if !h.fits(t.src.number, t.off, t.src.size) {
		return noFlip, nil
	}
	n := frameSize + int(h.length)
	s, foot, err := t.src.recordSums(t.off, n, f)
	if err != nil || s.head != h.sum || s.foot != foot {
		return noFlip, err
	}
	return f, nil
}
