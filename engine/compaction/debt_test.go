package compaction

import (
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// TestDebt: what is due counts, each file once.
func TestDebt(t *testing.T) {
	for _, test := range []struct {
		want   int64
		merges RunMerges
		levels []string
	}{
		{0, RunMerges{}, nil},
		{0, RunMerges{}, []string{"0: 9[a-b] 8[a-b] 7[a-b]", "7: 1[a-b]"}},
		{40, RunMerges{}, []string{"0: 9[a-b] 8[a-b] 7[a-b] 6[a-b]", "7: 1[a-b]"}},
		{0, RunMerges{}, []string{"5: 8[a-b]:1000", "7: 1[a-b]:500"}},
		{1010, RunMerges{}, []string{"5: 8[a-b]:1000", "6: 7[a-b]", "7: 1[a-b]:500"}},
		{1010, RunMerges{Bottommost: RunMerge{From: 6, To: 7, Last: 8}}, []string{"5: 8[a-b]:1000", "6: 7[a-b]", "7: 1[a-b]:500"}},
		{10, RunMerges{Intermediate: RunMerge{From: 1, To: 5, Last: 8}}, []string{"1: 8[a-b] 9[c-d]", "5: 7[a-b]", "7: 1[a-b]:500"}},
	} {
		o := testPickOptions
		o.RunMerges = test.merges
		if got := Debt(manifesttest.Version(test.levels...), o); got != test.want {
			t.Errorf("%q with %+v: got %d, want %d", test.levels, test.merges, got, test.want)
		}
	}
}
