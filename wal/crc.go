package wal

import "hash/crc32"

// A CRC is the remainder of a polynomial over GF(2), and the registers below
// are such remainders: bit 31 is the coefficient of 1, bit 0 that of x^31, and
// a zero byte read is a multiplication by x^8. That makes it linear: registers
// of parts of a file combine to registers of other parts, and a flipped bit
// changes a checksum by an amount that depends only on how far it lies from
// the end.
//
// A register is a checksum without its inversion at both ends.

// rangeSums computes the Castagnoli checksum of any range of a file behind base,
// in a time that does not depend on the length of the range: from registers at
// fixed steps, which are computed as far as they are asked for.
type rangeSums struct {
	src   source
	base  int64
	marks []uint32 // marks[i] is the register after i steps, from zero at base
	buf   []byte
}

// step is the distance of two marks: 64 MiB have 512 KiB of marks.
const step = 512

// crc returns the checksum of the bytes from one offset up to another,
// continued from the checksum init.
func (r *rangeSums) crc(init uint32, from, to int64) (uint32, error) {
	a, err := r.register(from)
	if err != nil {
		return 0, err
	}
	b, err := r.register(to)
	if err != nil {
		return 0, err
	}
	return ^(b ^ shift(a^^init, to-from)), nil
}

// register returns the register after the bytes from r.base up to off.
func (r *rangeSums) register(off int64) (uint32, error) {
	if r.marks == nil {
		r.marks = []uint32{0}
		r.buf = make([]byte, 64<<10)
	}
	i := int((off - r.base) / step)
	for len(r.marks) <= i {
		done := r.base + int64(len(r.marks)-1)*step
		b := r.buf[:min(int64(len(r.buf)), (r.src.size-done)/step*step)]
		if err := r.src.read(b, done); err != nil {
			return 0, err
		}
		for ; len(b) > 0; b = b[step:] {
			r.marks = append(r.marks, advance(r.marks[len(r.marks)-1], b[:step]))
		}
	}
	mark := r.base + int64(i)*step
	b := r.buf[:off-mark]
	if err := r.src.read(b, mark); err != nil {
		return 0, err
	}
	return advance(r.marks[i], b), nil
}

// advance returns the register reg after the bytes of b.
func advance(reg uint32, b []byte) uint32 {
	return ^crc32.Update(^reg, castagnoli, b)
}

// shift returns the register reg after n zero bytes.
func shift(reg uint32, n int64) uint32 {
	for i := 0; n > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			reg = multiply(reg, zeroBytes[i])
		}
	}
	return reg
}

// zeroBytes[i] is x to the power of 8·2^i: what 2^i zero bytes multiply by.
var zeroBytes = func() (t [63]uint32) {
	t[0] = 1 << (31 - 8)
	for i := 1; i < len(t); i++ {
		t[i] = multiply(t[i-1], t[i-1])
	}
	return t
}()

// multiply returns the product of two registers.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		low := b & 1
		b = b>>1 ^ crc32.Castagnoli&-low
	}
	return product
}

// locateFlip returns which bit among n bytes changes their checksum by diff: a
// bit of the byte that is back bytes before their end, the last being 1 before it.
// The mask is zero if there is none. It takes back the bytes of the register
// one by one, as if they were zeros, until only a bit in the next byte can
// explain it.
func locateFlip(diff uint32, n int64) (back int64, mask byte) {
	reg := diff
	for back = 1; back <= n; back++ {
		reg = reg<<8 ^ unstep[reg>>24]
		if reg < 1<<8 && reg&(reg-1) == 0 {
			return back, byte(reg)
		}
	}
	return 0, 0
}

// unstep inverts the step of a zero byte: the byte that leaves the register is
// known by the highest byte of what it was replaced with.
var unstep = func() (t [256]uint32) {
	for i, v := range castagnoli {
		t[v>>24] = v<<8 ^ uint32(i)
	}
	return t
}()
