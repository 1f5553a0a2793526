package webtable

import "math/bits"

// random is a small generator of random numbers. Its state is set for each row, so a row depends only
// on the seed and its number.
type random uint64

func newRandom(seed, stream uint64) random {
	return random(mix(seed ^ mix(stream+0x9e3779b97f4a7c15)))
}

// next returns 64 bits. The constants are those of the splitmix64 generator.
func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// below returns a number from 0 to n-1; n must not be 0.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// permutation is a permutation of the numbers 0 to n-1: a Feistel network over the smallest even number
// of bits that holds them, applied again while the result is too large.
type permutation struct {
	n    uint64
	half uint // bits in a half
	seed uint64
}

func newPermutation(n, seed uint64) permutation {
	return permutation{n: n, half: uint(bits.Len64(n)+1) / 2, seed: seed}
}

func (p *permutation) at(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		left, right := i>>p.half, i&mask
		for round := range uint64(4) {
			left, right = right, left^mix(right^p.seed+round<<56)&mask
		}
		i = left<<p.half | right
		if i < p.n {
			return i
		}
	}
}
