package widecol

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestSelectIsMatches: Select takes what Matches does, into other memory and in place, and stops at a value that does
// not fit its type.
func TestSelectIsMatches(t *testing.T) {
	numbers := []int64{math.MinInt64, -1, 0, 1, 2, math.MaxInt64}
	encoded := func(n int64, typ cell.Type) []byte {
		if typ == cell.I32 {
			return binary.LittleEndian.AppendUint32(nil, uint32(n))
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	selected := 0
	for range 2_000 {
		f := ValueFilter{Op: Equal + Comparison(rnd.IntN(6)), Type: []cell.Type{cell.I64, cell.I32, cell.F64}[rnd.IntN(3)]}
		f.Value = encoded(numbers[rnd.IntN(len(numbers))], f.Type)
		var cells, want []cell.Cell
		misfit := -1
		for i := range rnd.IntN(12) {
			c := cell.Cell{Type: []cell.Type{cell.I64, cell.I32, cell.F64}[rnd.IntN(3)], Time: int64(i)}
			c.Value = encoded(numbers[rnd.IntN(len(numbers))], c.Type)
			if rnd.IntN(30) == 0 {
				c.Value = c.Value[1:]
			}
			cells = append(cells, c)
			if misfit >= 0 {
				continue
			}
			if c.Type == f.Type && !c.Type.Fits(c.Value) {
				misfit = i
			} else if f.Matches(c.Type, c.Value) {
				want = append(want, c)
			}
		}
		selected += len(want)
		check := func(how string, got []cell.Cell, bad *cell.Cell) {
			t.Helper()
			if bad != nil && bad.Time != int64(misfit) || bad == nil && misfit >= 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s, %+v selects %v of %v up to %v, should be %v up to %d", how, f, got, cells, bad, want, misfit)
			}
		}
		before := slices.Clone(cells)
		got, bad := f.Select(nil, cells)
		check("into other memory", got, bad)
		if fmt.Sprint(cells) != fmt.Sprint(before) {
			t.Fatalf("%+v has changed what it selects from", f)
		}
		got, bad = f.Select(cells[:0], cells)
		check("in place", got, bad)
	}
	if selected < 1_000 {
		t.Errorf("%d versions were selected: the test shows little", selected)
	}
}
