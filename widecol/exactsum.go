package widecol

import (
	"math"
	"math/big"
)

// exactSum is the exact sum of floats, so it does not depend on their order. Every finite float is an integer in units
// of the smallest one, 2^-1074, of at most 2098 bits. The sum is such an integer, in chunks of 32 bits:
//
//	sum = chunks[0] + chunks[1]<<32 + chunks[2]<<64 + …
//
// A chunk is signed and has room for 2^31 values of 32 bits. So an add changes three chunks at most, and carries
// wait.
type exactSum struct {
	chunks  [68]int64
	waiting int // adds since the last carry

	nan, positive, negative bool // NaN and the infinities were added
}

const (
	chunkBits = 32
	// unitsOf1 is the logarithm of how many units 1 has.
	unitsOf1 = 1074
	// mostWaiting is how many adds a chunk has room for.
	mostWaiting = 1 << 30
)

func (s *exactSum) add(f float64) {
	b := math.Float64bits(f)
	exponent, mantissa := int(b>>52&0x7ff), b&(1<<52-1)
	switch exponent {
	case 0x7ff:
		s.nan = s.nan || mantissa != 0
		s.positive = s.positive || f > math.MaxFloat64
		s.negative = s.negative || f < -math.MaxFloat64
		return
	case 0:
		exponent = 1
	default:
		mantissa |= 1 << 52
	}
	at, shift := (exponent-1)/chunkBits, uint(exponent-1)%chunkBits
	low := mantissa << shift
	high := mantissa >> (64 - shift) // 0 if shift is 0
	c := s.chunks[at : at+3]
	if b>>63 == 0 {
		c[0] += int64(low & math.MaxUint32)
		c[1] += int64(low >> chunkBits)
		c[2] += int64(high)
	} else {
		c[0] -= int64(low & math.MaxUint32)
		c[1] -= int64(low >> chunkBits)
		c[2] -= int64(high)
	}
	if s.waiting++; s.waiting == mostWaiting {
		s.carry()
	}
}

// carry leaves 32 bits in each chunk but the last, which has the sign.
func (s *exactSum) carry() {
	last := len(s.chunks) - 1
	for i := range last {
		s.chunks[i+1] += s.chunks[i] >> chunkBits
		s.chunks[i] &= math.MaxUint32
	}
	s.waiting = 1
}

func (s *exactSum) merge(o *exactSum) {
	s.carry()
	o.carry()
	for i := range s.chunks {
		s.chunks[i] += o.chunks[i]
	}
	s.waiting++
	s.nan = s.nan || o.nan
	s.positive = s.positive || o.positive
	s.negative = s.negative || o.negative
}

// special returns the sum if it has no exact value: NaN or an infinity.
func (s *exactSum) special() (sum float64, ok bool) {
	switch {
	case s.nan || s.positive && s.negative:
		return math.NaN(), true
	case s.positive:
		return math.Inf(1), true
	case s.negative:
		return math.Inf(-1), true
	}
	return 0, false
}

// big returns the sum in units.
func (s *exactSum) big() *big.Int {
	sum := new(big.Int)
	for i := len(s.chunks) - 1; i >= 0; i-- {
		sum.Lsh(sum, chunkBits)
		sum.Add(sum, big.NewInt(s.chunks[i]))
	}
	return sum
}
