package widecol

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExactSum compares sums of floats of all sizes with rational numbers, whatever their order and the parts they were
// added in.
func TestExactSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		want := new(big.Rat)
		var parts [3]exactSum
		var last float64
		for range 1 + rng.IntN(60) {
			f := math.Float64frombits(rng.Uint64())
			switch rng.IntN(4) {
			case 0:
				f = float64(rng.IntN(100)) * 0.1
			case 1:
				f = -last // cancels
			case 2:
				f = math.Float64frombits(rng.Uint64N(1<<53) | rng.Uint64N(2)<<63) // the smallest
			}
			if math.IsNaN(f) || math.IsInf(f, 0) {
				continue
			}
			last = f
			want.Add(want, new(big.Rat).SetFloat64(f))
			part := &parts[rng.IntN(3)]
			part.add(f)
			if rng.IntN(10) == 0 {
				part.carry()
			}
		}
		parts[1].merge(&parts[2])
		parts[0].merge(&parts[1])
		got := new(big.Rat).SetFrac(parts[0].big(), new(big.Int).Lsh(big.NewInt(1), unitsOf1))
		if got.Cmp(want) != 0 {
			t.Fatalf("got %s, want %s", got.FloatString(30), want.FloatString(30))
		}
	}
}

// TestExactSumCarries: carries come before a chunk is full, also of many sums of full ones.
func TestExactSumCarries(t *testing.T) {
	var s, full exactSum
	for i := range full.chunks[:66] {
		full.chunks[i] = math.MaxUint32 * (mostWaiting - 1)
	}
	full.waiting = mostWaiting - 1
	want := new(big.Int)
	for range 5 {
		o := full
		want.Add(want, o.big())
		s.merge(&o)
	}
	if s.big().Cmp(want) != 0 {
		t.Error("the sum of full sums is wrong")
	}
}

func TestInt128(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		var n int128
		want := new(big.Int)
		for range 1 + rng.IntN(20) {
			v := rng.Int64() - rng.Int64()
			switch rng.IntN(3) {
			case 0:
				v = math.MinInt64
			case 1:
				v = math.MaxInt64
			}
			n.add(v)
			want.Add(want, big.NewInt(v))
			if n.big().Cmp(want) != 0 || n.fits() != want.IsInt64() {
				t.Fatalf("got %s, fits %t, want %s", n.big(), n.fits(), want)
			}
		}
	}
}
