package rowmerge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// keepRow returns what a Filter keeps of one row.
func keepRow(f *Filter, rng *rand.Rand, cells []cell.Cell) []cell.Cell {
	f.BeginRow([]byte("row"))
	return inChunks(rng, cells, f.Keep)
}

func newFilter(oldest uint64, now int64, p *Policies, bottom bool) *Filter {
	f := new(Filter)
	f.Init(oldest, now, p, func([]byte) bool { return bottom })
	return f
}

// TestFilterAsks checks that isBottommost is asked once for every row, and that nil is never.
func TestFilterAsks(t *testing.T) {
	var asked []string
	var f Filter
	keepRows := func() (kept []string) {
		for _, row := range []string{"a", "b", "c"} {
			f.BeginRow([]byte(row))
			kept = append(kept, entryTexts(f.Keep(parseEntries("f:a @5 #9 x"), &UnknownRun))...)
			kept = append(kept, entryTexts(f.Keep(parseEntries("f:b @5 #9 x"), &UnknownRun))...)
		}
		return kept
	}
	f.Init(10, 0, nil, func(row []byte) bool {
		asked = append(asked, string(row))
		return string(row) == "b"
	})
	got := keepRows()
	if want := []string{"a", "b", "c"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	want := []string{"f:a @5 #9 x", "f:b @5 #9 x", "f:a @5 #0 x", "f:b @5 #0 x", "f:a @5 #9 x", "f:b @5 #9 x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Init(10, 0, nil, nil)
	want = []string{"f:a @5 #9 x", "f:b @5 #9 x", "f:a @5 #9 x", "f:b @5 #9 x", "f:a @5 #9 x", "f:b @5 #9 x"}
	if got := keepRows(); !slices.Equal(got, want) {
		t.Errorf("with nil: got %q, want %q", got, want)
	}
}

// keptBy returns what a Filter must keep of a row: it applies the rules to one entry after the other.
func keptBy(cells []cell.Cell, oldest uint64, now int64, p *Policies, bottom bool) []string {
	texts := []string{}
	newer := make(map[string]int64)
	for i := range cells {
		c := cells[i]
		family, _ := cell.SplitColumn(c.Column)
		policy, listed := p.family(family)
		settled, tombstone := c.Seq <= oldest, c.Kind != cell.Set
		orphan := c.Kind != cell.DeleteRow && (!listed && c.Seq <= p.asOf || policy.Since > 0 && c.Seq <= policy.Since)
		if orphan || superseded(cells, i, oldest) || settled && tombstone && bottom {
			continue
		}
		if !tombstone {
			key := string(c.Column)
			switch {
			case listed && policy.GC.Gone(c.Time, now, newer[key]):
				if bottom || c.Seq == 0 || coverOf(cells, &c, oldest) >= c.Seq {
					continue
				}
				c.Kind, c.Type, c.Value = cell.DeleteVersion, cell.None, nil
			case settled:
				newer[key]++
				if bottom && listed && p.declared() && policy.Since == 0 {
					c.Seq = 0
				}
			}
		}
		texts = append(texts, entryText(&c))
	}
	return texts
}

// superseded reports whether a settled entry shadows or covers entry i.
func superseded(cells []cell.Cell, i int, oldest uint64) bool {
	c := &cells[i]
	for j := range cells {
		d := &cells[j]
		if d.Seq <= oldest && d.Seq > c.Seq && bytes.Equal(c.Column, d.Column) && c.Time == d.Time {
			return true
		}
	}
	cover := coverOf(cells, c, oldest)
	return cover > c.Seq || cover == c.Seq && c.Kind != cell.Set
}

// coverOf returns the highest settled tombstone of a larger scope than c.
func coverOf(cells []cell.Cell, c *cell.Cell, oldest uint64) uint64 {
	cover := uint64(0)
	for i := range cells {
		d := &cells[i]
		larger := d.Kind > c.Kind && d.Kind != cell.DeleteVersion || c.Kind == cell.DeleteVersion && d.Kind > cell.DeleteVersion
		if larger && d.Seq <= oldest && covers(d, c) {
			cover = max(cover, d.Seq)
		}
	}
	return cover
}

// history is a row in a store: entries newer than a compaction's inputs, the inputs, and older
// entries outside them.
type history struct {
	upper, inputs, rest []cell.Cell
	oldest              uint64
	policies            *Policies
	bottom              bool
}

const historySeqs, historyNow = 14, 100 * second

func randomHistory(rng *rand.Rand) history {
	h := history{oldest: rng.Uint64N(historySeqs + 2), policies: randomPolicies(rng, historySeqs)}
	above, below := rng.Uint64N(historySeqs+2), rng.Uint64N(historySeqs)
	for _, c := range randomRow(rng, rng.IntN(40), historySeqs) {
		switch {
		case c.Seq > above:
			h.upper = append(h.upper, c)
		case c.Seq > below:
			h.inputs = append(h.inputs, c)
		case rng.IntN(2) == 0 || below < 4:
			h.rest = append(h.rest, c)
		}
	}
	if rng.IntN(3) == 0 { // an earlier compaction wrote the rest, when oldest and now were lower
		f := newFilter(rng.Uint64N(h.oldest+1), historyNow-second, h.policies, true)
		h.rest = keepRow(f, rng, h.rest)
	}
	if rng.IntN(3) == 0 {
		h.rest = nil
	}
	h.bottom = len(h.rest) == 0 && rng.IntN(4) > 0
	return h
}

func (h *history) String() string {
	list := ""
	if h.policies != nil {
		list = fmt.Sprintf("%+v", *h.policies)
	}
	return fmt.Sprintf("oldest %d, bottom %t, policies %s\n upper  %q\n inputs %q\n rest   %q",
		h.oldest, h.bottom, list, entryTexts(h.upper), entryTexts(h.inputs), entryTexts(h.rest))
}

// limited reports whether a family has a version limit.
func (h *history) limited() bool {
	if h.policies == nil {
		return false
	}
	for _, p := range h.policies.families {
		if p.GC.VersionLimit > 0 {
			return true
		}
	}
	return false
}

// close removes from a history what leads to the cases that cell.GC leaves open: tombstones
// outside the inputs or not settled, and versions without an age.
func (h *history) close() {
	open := func(c cell.Cell) bool {
		return c.Kind != cell.Set && c.Seq > h.oldest || c.Kind == cell.Set && c.Time == 0
	}
	h.inputs = slices.DeleteFunc(h.inputs, open)
	h.rest = slices.DeleteFunc(h.rest, open)
	h.upper = slices.DeleteFunc(h.upper, func(c cell.Cell) bool { return c.Kind != cell.Set || open(c) })
}

// read returns what a reader sees of the row, with these inputs.
func (h *history) read(rng *rand.Rand, inputs []cell.Cell, seq uint64, now int64, p *Policies) []string {
	all := slices.Concat(h.upper, inputs, h.rest)
	sortEntries(all)
	var v Visibility
	v.Init(seq, now, p, nil)
	return seen(&v, rng, all)
}

// TestFilterRandom compares a Filter with keptBy, and checks what must hold for every output.
func TestFilterRandom(t *testing.T) {
	var f Filter // one for all seeds: no row may depend on the one before
	for seed := range uint64(8000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		h := randomHistory(rng)
		f.Init(h.oldest, historyNow, h.policies, func([]byte) bool { return h.bottom })
		kept := keepRow(&f, rng, h.inputs)
		want := keptBy(h.inputs, h.oldest, historyNow, h.policies, h.bottom)
		if got := entryTexts(kept); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\n got    %q\n want   %q", seed, &h, got, want)
		}
		if in, out := len(h.inputs), len(kept)+int(f.Dropped()); in != out {
			t.Fatalf("seed %d: %s\n%d entries went in, %d are accounted for", seed, &h, in, out)
		}
		for i := 1; i < len(kept); i++ {
			if kept[i-1].Compare(&kept[i]) >= 0 {
				t.Fatalf("seed %d: %s\n not in order: %q", seed, &h, want)
			}
		}
		for i := range kept {
			if err := kept[i].Check(); err != nil {
				t.Fatalf("seed %d: %s\n%s: %v", seed, &h, entryText(&kept[i]), err)
			}
		}
		if again := entryTexts(keepRow(&f, rng, kept)); !slices.Equal(again, want) {
			t.Fatalf("seed %d: %s\n once   %q\n twice  %q", seed, &h, want, again)
		}
	}
}

// TestFilterReaders checks that no reader can tell the inputs of a compaction from its output:
// with any snapshot from oldest on, at any time from now on, with the same policies or with a
// later list that has the missing families again.
func TestFilterReaders(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		h := randomHistory(rng)
		if h.limited() {
			h.close()
		}
		kept := keepRow(newFilter(h.oldest, historyNow, h.policies, h.bottom), rng, h.inputs)
		for _, p := range []*Policies{h.policies, recreated(rng, h.policies)} {
			for _, now := range []int64{historyNow, historyNow + rng.Int64N(12*second), historyNow + 5000*second} {
				for seq := h.oldest; seq <= historySeqs+1; seq += 1 + rng.Uint64N(4) {
					before, after := h.read(rng, h.inputs, seq, now, p), h.read(rng, kept, seq, now, p)
					if !slices.Equal(before, after) {
						t.Fatalf("seed %d: %s\n kept   %q\nsnapshot %d at %d with %+v\n before %q\n after  %q",
							seed, &h, entryTexts(kept), seq, now, p, before, after)
					}
				}
			}
		}
	}
}

// recreated returns a later list, in which the families that p does not have were created
// again. If p does not know the families, they may have been created at any time.
func recreated(rng *rand.Rand, p *Policies) *Policies {
	if p == nil {
		return nil
	}
	list := make(map[string]Policy)
	for _, name := range randomFamilies {
		policy, listed := p.family([]byte(name))
		switch {
		case !p.declared():
			policy = Policy{Since: rng.Uint64N(historySeqs), GC: randomGC(rng)}
		case !listed:
			policy = Policy{Since: p.asOf + rng.Uint64N(3), GC: randomGC(rng)}
		}
		list[name] = policy
	}
	return NewPolicies(historySeqs, list)
}

// TestFilterOpenCases is TestFilterReaders without history.close. A reader may then miss a
// version that was past the limits when it was compacted, and nothing else. It must never see
// a version that it did not see before, one overwritten or deleted, even with all limits lifted
// and at an earlier time.
func TestFilterOpenCases(t *testing.T) {
	missed := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 6))
		h := randomHistory(rng)
		kept := keepRow(newFilter(h.oldest, historyNow, h.policies, h.bottom), rng, h.inputs)
		lifted := h.policies
		if lifted != nil && lifted.declared() {
			list := make(map[string]Policy)
			for name, p := range h.policies.families {
				list[name] = Policy{Since: p.Since}
			}
			lifted = NewPolicies(h.policies.asOf, list)
		}
		for seq := h.oldest; seq <= historySeqs+1; seq++ {
			before, after := h.read(rng, h.inputs, seq, 0, lifted), h.read(rng, kept, seq, 0, lifted)
			for _, text := range after {
				if !slices.Contains(before, text) {
					t.Fatalf("seed %d: %s\n kept   %q\nsnapshot %d sees %s, which it did not before", seed, &h, entryTexts(kept), seq, text)
				}
			}
			for _, text := range before {
				if slices.Contains(after, text) {
					continue
				}
				missed++
				if !h.pastLimits(text) {
					t.Fatalf("seed %d: %s\n kept   %q\nsnapshot %d does not see %s any more", seed, &h, entryTexts(kept), seq, text)
				}
			}
		}
	}
	if missed < 500 {
		t.Errorf("only %d versions were missed: the test shows little", missed)
	}
}

// pastLimits reports whether a version among the inputs was garbage for a reader at oldest.
func (h *history) pastLimits(text string) bool {
	i := slices.IndexFunc(h.inputs, func(c cell.Cell) bool { return c.Kind == cell.Set && seenText(&c) == text })
	if i < 0 {
		return false
	}
	c := &h.inputs[i]
	family, _ := cell.SplitColumn(c.Column)
	policy, listed := h.policies.family(family)
	newer := int64(0)
	for _, text := range seenBy(h.inputs, h.oldest, historyNow, h.policies, nil) {
		for j := range h.inputs {
			d := &h.inputs[j]
			if d.Kind == cell.Set && seenText(d) == text && bytes.Equal(c.Column, d.Column) && d.Time > c.Time {
				newer++
			}
		}
	}
	return listed && policy.GC.Gone(c.Time, historyNow, newer)
}

// TestRowsOfGarbage checks that entries that no store writes, out of order, cause a wrong result at
// most.
func TestRowsOfGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	columns := []string{"", "\x00", "\x00x", "f", "f\x00", "g\x00\x00", strings.Repeat("f", 300) + "\x00"}
	for range 2000 {
		var cells []cell.Cell
		for range rng.IntN(20) {
			c := cell.Cell{Time: rng.Int64N(4) - 2, Seq: rng.Uint64N(4) - 1, Kind: cell.Kind(rng.IntN(8)), Type: cell.Type(rng.IntN(12))}
			if s := columns[rng.IntN(len(columns))]; s != "" || rng.IntN(2) == 0 {
				c.Column = []byte(s)
			}
			cells = append(cells, c)
		}
		p := randomPolicies(rng, 4)
		var v Visibility
		v.Init(rng.Uint64N(4), 0, p, nil)
		seen(&v, rng, cells)
		f := newFilter(rng.Uint64N(4), 0, p, rng.IntN(2) == 0)
		kept := keepRow(f, rng, cells)
		if len(kept)+int(f.Dropped()) != len(cells) {
			t.Fatalf("%d entries, %d kept, %d dropped", len(cells), len(kept), f.Dropped())
		}
	}
}

func TestFilterAllocs(t *testing.T) {
	for _, load := range readLoads() {
		var f Filter
		row, buf := []byte("row"), make([]cell.Cell, 0, len(load.cells))
		bottom := func([]byte) bool { return true }
		got := testing.AllocsPerRun(10, func() {
			f.Init(9, 0, load.policies, bottom)
			f.BeginRow(row)
			f.Keep(append(buf, load.cells...), &UnknownRun)
		})
		if got != 0 {
			t.Errorf("%s: %v allocations, want 0", load.name, got)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, load := range readLoads() {
		b.Run(load.name, func(b *testing.B) {
			var f Filter
			f.Init(9, 0, load.policies, func([]byte) bool { return true })
			row, buf := []byte("row"), make([]cell.Cell, 0, len(load.cells))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				f.BeginRow(row)
				f.Keep(append(buf, load.cells...), &UnknownRun)
				n += len(load.cells)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/cell")
		})
	}
}
