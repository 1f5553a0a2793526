package rowmerge

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// seenBy returns what a reader must see of a row, straight from the definition: a version is
// visible if no other entry hides it.
func seenBy(cells []cell.Cell, seq uint64, now int64, p *Policies, columns *cell.Columns) []string {
	var live []*cell.Cell
	for i := range cells {
		c := &cells[i]
		family, _ := cell.SplitColumn(c.Column)
		policy, listed := p.family(family)
		against := c.Kind != cell.Set || c.Seq > seq || !columns.Contains(c.Column) ||
			!listed || policy.Since > 0 && c.Seq <= policy.Since
		for j := range cells {
			d := &cells[j]
			higher := d.Seq <= seq && d.Seq > c.Seq
			same := d.Seq == c.Seq && j < i
			if covers(d, c) && higher || bytes.Equal(d.Column, c.Column) && d.Time == c.Time && (higher || same) {
				against = true
			}
		}
		if !against {
			live = append(live, c)
		}
	}
	slices.SortFunc(live, func(c, d *cell.Cell) int { return c.Compare(d) })
	texts := []string{}
	newer := int64(0)
	for i, c := range live {
		if i == 0 || !bytes.Equal(c.Column, live[i-1].Column) {
			newer = 0
		}
		family, _ := cell.SplitColumn(c.Column)
		policy, _ := p.family(family)
		if !policy.GC.Gone(c.Time, now, newer) {
			newer++
			texts = append(texts, seenText(c))
		}
	}
	return texts
}

// covers reports whether c is in the scope of a tombstone, whatever the sequence numbers.
func covers(tombstone, c *cell.Cell) bool {
	family, _ := cell.SplitColumn(c.Column)
	switch tombstone.Kind {
	case cell.DeleteRow:
		return true
	case cell.DeleteFamily:
		return bytes.Equal(tombstone.Column, family)
	case cell.DeleteColumn:
		return bytes.Equal(tombstone.Column, c.Column)
	case cell.DeleteVersion:
		return bytes.Equal(tombstone.Column, c.Column) && tombstone.Time == c.Time
	}
	return false
}

// inChunks sends a row through f in chunks of random size and returns what comes back. Like a
// Source it overwrites a chunk before the next, lets some neighbours share the memory of their
// column, takes some chunks from dictionaries, and describes a chunk in its Run, or not.
func inChunks(rng *rand.Rand, cells []cell.Cell, f func([]cell.Cell, *cell.Run) []cell.Cell) []cell.Cell {
	var all []cell.Cell
	for len(cells) > 0 {
		var chunk []cell.Cell
		dictionary := rng.Uint64N(4)
		for _, c := range cells[:1+rng.IntN(len(cells))] {
			if n := len(chunk); n > 0 && bytes.Equal(chunk[n-1].Column, c.Column) && rng.IntN(2) == 0 {
				c.Column = chunk[n-1].Column
			} else {
				c.Column = bytes.Clone(c.Column)
			}
			c.Value = bytes.Clone(c.Value)
			c.ColumnID = placeIn(rng, dictionary, c.Column)
			chunk = append(chunk, c)
		}
		cells = cells[len(chunk):]
		lent := slices.Clone(chunk)
		run := runOf(chunk)
		run.SingleVersion = run.SingleVersion && rng.IntN(4) > 0
		run.DictionaryID, run.EndOfRow = dictionary, len(cells) == 0 && rng.IntN(4) > 0
		for _, c := range f(chunk, &run) {
			c.Column, c.Value, c.ColumnID = bytes.Clone(c.Column), bytes.Clone(c.Value), 0
			all = append(all, c)
		}
		for _, c := range lent {
			spoil(c.Column)
			spoil(c.Value)
		}
	}
	return all
}

// runOf returns the Run of entries, straight from the definition, but for DictionaryID, EndOfRow
// and AllSelected.
func runOf(cells []cell.Cell) cell.Run {
	run := cell.Run{SingleVersion: true, MinSeq: math.MaxUint64, MinTime: math.MaxInt64}
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set || i > 0 && bytes.Equal(c.Column, cells[i-1].Column) {
			run.SingleVersion = false
		}
		run.MinSeq, run.MaxSeq = min(run.MinSeq, c.Seq), max(run.MaxSeq, c.Seq)
		run.MinTime = min(run.MinTime, c.Time)
	}
	return run
}

// placeIn returns the index of a column of orderedColumns in the dictionary of that number. It
// returns any index for 0, no dictionary, and for other columns.
func placeIn(rng *rand.Rand, dictionary uint64, column []byte) uint32 {
	i, found := slices.BinarySearch(orderedColumns(), string(column))
	if !found || dictionary == 0 {
		return 1 + rng.Uint32N(50)
	}
	return 1 + uint32(i)*uint32(dictionary)
}

// orderedColumns are all the columns of randomRow and of TestVisibilityFamilies, in order.
var orderedColumns = sync.OnceValue(func() []string {
	list := []string{""} // of a row tombstone
	for _, family := range randomFamilies {
		list = append(list, family)
		for _, qualifier := range randomQualifiers {
			list = append(list, string(cell.AppendColumn(nil, []byte(family), []byte(qualifier))))
		}
	}
	for i := range 2 * maxFamilies {
		list = append(list, fmt.Sprintf("f%03d\x00a", i))
	}
	slices.Sort(list)
	return list
})

// seen returns what a Visibility leaves of a row, as text.
func seen(v *Visibility, rng *rand.Rand, cells []cell.Cell) []string {
	v.BeginRow()
	texts := []string{}
	chunks := inChunks(rng, cells, func(chunk []cell.Cell, run *cell.Run) []cell.Cell {
		run.AllSelected = rng.IntN(4) > 0 && !slices.ContainsFunc(chunk, func(c cell.Cell) bool { return !v.columns.Contains(c.Column) })
		return v.Visible(chunk, run)
	})
	for _, c := range chunks {
		texts = append(texts, seenText(&c))
	}
	return texts
}

// Rows take from few families, qualifiers and times, so that entries meet. Some families begin
// alike, and some qualifiers look like structure.
var (
	randomFamilies   = []string{"a", "a#", "b", "bb"}
	randomQualifiers = []string{"", "q", "q\x00", "q\x00r"}
	randomTimes      = []int64{0, 1, 89 * second, 90*second - 1, 90 * second, 90*second + 1, 99 * second, 100 * second, 105 * second, cell.MaxTime}
)

// randomRow returns the entries of a row in order, no two of the same column, time and sequence
// number, with sequence numbers from 1 to maxSeq.
func randomRow(rng *rand.Rand, entries int, maxSeq uint64) []cell.Cell {
	var cells []cell.Cell
	families := randomFamilies[:1+rng.IntN(len(randomFamilies))]
	qualifiers := randomQualifiers[:1+rng.IntN(len(randomQualifiers))]
	tombstones := rng.IntN(60) // of 100 entries
	for i := range entries {
		family := []byte(families[rng.IntN(len(families))])
		c := cell.Cell{
			Column: cell.AppendColumn(nil, family, []byte(qualifiers[rng.IntN(len(qualifiers))])),
			Time:   randomTimes[rng.IntN(len(randomTimes))],
			Seq:    1 + rng.Uint64N(maxSeq),
			Type:   cell.String,
			Value:  fmt.Appendf(nil, "v%d", i),
		}
		if rng.IntN(100) < tombstones {
			c.Kind = []cell.Kind{
				cell.DeleteVersion, cell.DeleteVersion, cell.DeleteVersion, cell.DeleteColumn, cell.DeleteFamily, cell.DeleteRow,
			}[rng.IntN(6)]
			c.Type, c.Value = cell.None, nil
			if c.Kind != cell.DeleteVersion {
				c.Time = cell.TombstoneTime
			}
			switch c.Kind {
			case cell.DeleteFamily:
				c.Column = family
			case cell.DeleteRow:
				c.Column = nil
			}
		}
		cells = append(cells, c)
	}
	sortEntries(cells)
	return slices.CompactFunc(cells, func(a, b cell.Cell) bool { return a.Compare(&b) == 0 })
}

func sortEntries(cells []cell.Cell) {
	slices.SortStableFunc(cells, func(a, b cell.Cell) int { return a.Compare(&b) })
}

// randomPolicies returns policies for rows of randomRow.
func randomPolicies(rng *rand.Rand, maxSeq uint64) *Policies {
	switch rng.IntN(10) {
	case 0:
		return nil
	case 1:
		return NoPolicies
	}
	asOf := rng.Uint64N(maxSeq + 2)
	list := make(map[string]Policy)
	for _, name := range randomFamilies {
		if rng.IntN(6) == 0 {
			continue
		}
		var p Policy
		if rng.IntN(3) == 0 {
			p.Since = rng.Uint64N(asOf + 1)
		}
		p.GC = randomGC(rng)
		list[name] = p
	}
	return NewPolicies(asOf, list)
}

func randomGC(rng *rand.Rand) cell.GC {
	g := cell.GC{
		TTLSecs:      []int64{0, 0, 1, 10, 1000}[rng.IntN(5)],
		VersionLimit: []int64{0, 0, 1, 2, 3}[rng.IntN(5)],
	}
	g.Intersection = g.TTLSecs > 0 && g.VersionLimit > 0 && rng.IntN(2) == 0
	return g
}

// randomReader returns what a reader sees by: policies, columns, which may be all, and a snapshot.
func randomReader(rng *rand.Rand, maxSeq uint64) (policies *Policies, columns *cell.Columns, seq uint64) {
	policies = randomPolicies(rng, maxSeq)
	if rng.IntN(4) == 0 {
		columns = cell.NewColumns(cell.FamilyRange([]byte("a#")), cell.ColumnRange([]byte("a"), []byte("q")))
	}
	return policies, columns, rng.Uint64N(maxSeq + 2)
}

func TestVisibilityRandom(t *testing.T) {
	var v Visibility // one for all seeds: no row may depend on the one before
	for seed := range uint64(10000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		const maxSeq = 12
		policies, columns, seq := randomReader(rng, maxSeq)
		v.Init(seq, 100*second, policies, columns)
		for range 2 {
			cells := randomRow(rng, rng.IntN(40), maxSeq)
			for i := range cells {
				if cells[i].Kind == cell.Set && rng.IntN(10) == 0 {
					cells[i].Seq = 0
				}
			}
			sortEntries(cells)
			want := seenBy(cells, seq, 100*second, policies, columns)
			if got := seen(&v, rng, cells); !slices.Equal(got, want) {
				t.Fatalf("seed %d, snapshot %d, policies %+v, row %q:\n got %q\nwant %q", seed, seq, policies, entryTexts(cells), got, want)
			}
		}
	}
}

// TestVisibilityFamilies has more families than a tracker remembers, and rows with different
// families.
func TestVisibilityFamilies(t *testing.T) {
	list := make(map[string]Policy)
	for i := range 2 * maxFamilies {
		if i%3 != 0 {
			list[fmt.Sprintf("f%03d", i)] = Policy{Since: uint64(i % 5)}
		}
	}
	p := NewPolicies(100, list)
	var v Visibility
	v.Init(9, 0, p, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for row := range 30 {
		var cells []cell.Cell
		for i := range 2 * maxFamilies {
			if rng.IntN(row+1) == 0 {
				cells = append(cells, parseEntry(fmt.Sprintf("f%03d:a @5 #3 x", i)))
			}
		}
		if got, want := seen(&v, rng, cells), seenBy(cells, 9, 0, p, nil); !slices.Equal(got, want) {
			t.Fatalf("row %d:\n got %q\nwant %q", row, got, want)
		}
		if len(v.families) > maxFamilies {
			t.Fatalf("row %d: %d families are remembered, at most %d may be", row, len(v.families), maxFamilies)
		}
	}
}

// readRows is the load of a benchmark: the entries of a row, as a Source returns them.
type readRows struct {
	name     string
	policies *Policies
	cells    []cell.Cell
}

func readLoads() []readRows {
	plain := func(families, columns, versions int) (cells []cell.Cell) {
		for f := range families {
			for q := range columns {
				c := parseEntry(fmt.Sprintf("family%d:column%03d @5 #5 value", f, q))
				for v := range versions {
					c.Time = int64(versions-v) * 10
					cells = append(cells, c)
				}
			}
		}
		return cells
	}
	list := func(p Policy) *Policies {
		return NewPolicies(100, map[string]Policy{"family0": p, "family1": p, "family2": p, "family3": p})
	}
	deleted := append(parseEntries("!row #4", "!family0 #5"), plain(1, 10, 1)...)
	return []readRows{
		{"10 columns", list(Policy{}), plain(1, 10, 1)},
		{"4 families", list(Policy{}), plain(4, 3, 1)},
		{"100 versions", list(Policy{}), plain(1, 1, 100)},
		{"limit 1 of 10", list(Policy{GC: cell.GC{VersionLimit: 1}}), plain(1, 10, 10)},
		{"tombstones", list(Policy{}), deleted},
		{"1 column", nil, plain(1, 1, 1)},
	}
}

func TestVisibilityAllocs(t *testing.T) {
	for _, load := range readLoads() {
		var v Visibility
		buf := make([]cell.Cell, 0, len(load.cells))
		run := runOf(load.cells)
		run.EndOfRow = true
		got := testing.AllocsPerRun(10, func() {
			v.Init(9, 0, load.policies, nil)
			v.BeginRow()
			v.Visible(append(buf, load.cells...), &run)
			v.Init(9, 0, nil, nil) // another partition
			v.BeginRow()
			v.Visible(append(buf, load.cells...), &run)
		})
		if got != 0 {
			t.Errorf("%s: %v allocations, want 0", load.name, got)
		}
	}
}

func BenchmarkVisibility(b *testing.B) {
	for _, load := range readLoads() {
		b.Run(load.name, func(b *testing.B) {
			var v Visibility
			v.Init(9, 0, load.policies, nil)
			buf := make([]cell.Cell, 0, len(load.cells))
			run := runOf(load.cells)
			run.EndOfRow = true
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				v.BeginRow()
				v.Visible(append(buf, load.cells...), &run)
				n += len(load.cells)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/cell")
		})
	}
}
