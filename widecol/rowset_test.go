package widecol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNewRowSet compares sets of random ranges with the ranges, key by key, and checks that their ranges
// ascend and do not touch.
func TestNewRowSet(t *testing.T) {
	var keys []string
	for _, a := range []string{"", "a", "b", "c"} {
		for _, b := range []string{"", "\x00", "a", "b", "\xff"} {
			keys = append(keys, a+b)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	pick := func() []byte { return []byte(keys[rnd.IntN(len(keys))]) }
	for range 20_000 {
		var ranges []RowRange
		for range rnd.IntN(6) {
			switch r := (RowRange{Start: pick()}); rnd.IntN(4) {
			case 0:
				ranges = append(ranges, KeyRange(pick()))
			case 1:
				ranges = append(ranges, PrefixRange(pick()))
			case 2:
				r.End = pick()
				fallthrough
			default:
				ranges = append(ranges, r)
			}
		}
		before := fmt.Sprintf("%q", ranges)
		set := NewRowSet(ranges...)
		if after := fmt.Sprintf("%q", ranges); after != before {
			t.Fatalf("NewRowSet has changed its ranges %s to %s", before, after)
		}
		for _, key := range keys {
			want := slices.ContainsFunc(ranges, func(r RowRange) bool { return r.Contains([]byte(key)) })
			if got := set.Contains([]byte(key)); got != want {
				t.Fatalf("%s as a set %q: %q is in it: %t, want %t", before, set, key, got, want)
			}
		}
		for i, r := range set {
			if r.empty() || i > 0 && (set[i-1].End == nil || string(set[i-1].End) >= string(r.Start)) {
				t.Fatalf("%s as a set: %q", before, set)
			}
		}
	}
}
