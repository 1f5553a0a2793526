package rowmerge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"colonnade/cell"
)

// keepRow is what a Filter leaves of one row.
func keepRow(k *Filter, rng *rand.Rand, cells []cell.Cell) []cell.Cell {
	k.BeginRow([]byte("row"))
	return inChunks(rng, cells, k.Keep)
}

func newFilter(oldest uint64, now int64, p *Policies, bottom bool) *Filter {
	k := new(Filter)
	k.Init(oldest, now, p, func([]byte) bool { return bottom })
	return k
}

// TestFilter has, per case, the entries of a row and what stays of them above the
// bottom and at it. The oldest snapshot is at 10, now is 100 s.
func TestFilter(t *testing.T) {
	check := func(name string, p *Policies, above, bottom []string, texts ...string) {
		t.Helper()
		for _, want := range []struct {
			bottom bool
			texts  []string
		}{{false, above}, {true, bottom}} {
			for split := range len(texts) + 1 {
				k := newFilter(10, 100*second, p, want.bottom)
				k.BeginRow([]byte("row"))
				var got []string
				for i, texts := range [][]string{texts[:split], texts[split:]} {
					chunk := parseEntries(texts...)
					run := runOf(chunk)
					run.EndOfRow = i == 1
					got = append(got, entryTexts(k.Keep(chunk, &run))...)
				}
				if !slices.Equal(got, want.texts) {
					t.Errorf("%s, bottom %t, in two chunks from entry %d:\n got %q\nwant %q", name, want.bottom, split, got, want.texts)
				}
				if in, out := len(texts), len(got)+int(k.Dropped()); in != out {
					t.Errorf("%s, bottom %t: %d entries went in, %d are accounted for", name, want.bottom, in, out)
				}
			}
		}
	}
	entries := func(texts ...string) []string { return append([]string{}, texts...) }
	one := func(policy Policy) *Policies { return NewPolicies(20, map[string]Policy{"f": policy}) }
	limit := one(Policy{GC: cell.GC{VersionLimit: 1}})
	ttl := one(Policy{GC: cell.GC{TTLSecs: 10}})

	check("all of different times stay, settled ones at 0", nil,
		entries("f:a @5 #12 x", "f:a @4 #10 y", "f:b @5 #3 z"),
		entries("f:a @5 #12 x", "f:a @4 #0 y", "f:b @5 #0 z"),
		"f:a @5 #12 x", "f:a @4 #10 y", "f:b @5 #3 z")
	check("the highest settled one of a time stays, and all above", nil,
		entries("f:a @5 #12 w", "f:a @5 #11 x", "f:a @5 #10 y"),
		entries("f:a @5 #12 w", "f:a @5 #11 x", "f:a @5 #0 y"),
		"f:a @5 #12 w", "f:a @5 #11 x", "f:a @5 #10 y", "f:a @5 #9 z")
	check("damage: two at the same place", nil,
		entries("f:a @5 #0 x"),
		entries("f:a @5 #0 x"),
		"f:a @5 #0 x", "f:a @5 #0 y")

	check("a row tombstone covers what else is one version of each column", nil,
		entries("!row #5", "f:b @5 #7 y"),
		entries("f:b @5 #0 y"),
		"!row #5", "f:a @5 #4 x", "f:b @5 #7 y")
	check("a settled tombstone does its work, and at the bottom goes", nil,
		entries("!row #5", "f:a @5 #11 w", "f:a @4 #5 x"),
		entries("f:a @5 #11 w", "f:a @4 #0 x"),
		"!row #5", "f:a @5 #11 w", "f:a @4 #5 x", "f:a @3 #4 y", "g:a @5 #4 z")
	check("family", nil,
		entries("!f #5", "f:a @5 #6 x", "f-:a @5 #4 z"),
		entries("f:a @5 #0 x", "f-:a @5 #0 z"),
		"!f #5", "f:a @5 #6 x", "f:a @4 #4 y", "f-:a @5 #4 z")
	check("column", nil,
		entries("!f:a #5", "f:a @5 #6 x", "f:b @5 #4 z"),
		entries("f:a @5 #0 x", "f:b @5 #0 z"),
		"!f:a #5", "f:a @5 #6 x", "f:a @4 #4 y", "f:b @5 #4 z")
	check("version", nil,
		entries("f:a @6 #4 w", "!f:a @5 #5", "f:a @4 #4 x"),
		entries("f:a @6 #0 w", "f:a @4 #0 x"),
		"f:a @6 #4 w", "!f:a @5 #5", "f:a @5 #4 y", "f:a @4 #4 x")
	check("a tombstone that some do not see stays, and what it covers", nil,
		entries("!row #11", "f:a @5 #9 x"),
		entries("!row #11", "f:a @5 #0 x"),
		"!row #11", "f:a @5 #9 x", "f:a @5 #8 y")
	check("the same of a version", nil,
		entries("!f:a @5 #11", "f:a @5 #9 x"),
		entries("!f:a @5 #11", "f:a @5 #0 x"),
		"!f:a @5 #11", "f:a @5 #9 x", "!f:a @5 #8", "f:a @5 #7 y")
	check("a tombstone below a settled one of a larger scope", nil,
		entries("!row #9", "!f #12", "!f:a #11"),
		entries("!f #12", "!f:a #11"),
		"!row #9", "!row #8", "!f #12", "!f #9", "!f:a #11", "!f:a #9", "!f:a @5 #9", "f:a @5 #8 x")
	check("but not below one that is not settled", nil,
		entries("!row #12", "!row #11", "!row #9", "!f #10"),
		entries("!row #12", "!row #11"),
		"!row #12", "!row #11", "!row #9", "!f #10")
	check("written again over a tombstone of its version", nil,
		entries("f:a @5 #8 x"),
		entries("f:a @5 #0 x"),
		"f:a @5 #8 x", "!f:a @5 #7", "f:a @5 #6 y")

	check("limit: a tombstone for those past it, nothing at the bottom", limit,
		entries("f:a @5 #9 x", "!f:a @4 #8", "f:b @3 #9 z"),
		entries("f:a @5 #0 x", "f:b @3 #0 z"),
		"f:a @5 #9 x", "f:a @4 #8 y", "f:a @4 #7 overwritten", "f:b @3 #9 z")
	check("limit: only settled ones fill it", limit,
		entries("f:a @5 #11 x", "f:a @4 #9 y", "!f:a @3 #11", "!f:a @2 #3"),
		entries("f:a @5 #11 x", "f:a @4 #0 y"),
		"f:a @5 #11 x", "f:a @4 #9 y", "f:a @3 #11 z", "f:a @2 #3 z")
	check("limit: no tombstone beside one that covers the same, none for 0", limit,
		entries("!f:a #5", "f:a @5 #9 x", "f:b @5 #9 x"),
		entries("f:a @5 #0 x", "f:b @5 #0 x"),
		"!f:a #5", "f:a @5 #9 x", "f:a @4 #5 y", "f:b @5 #9 x", "f:b @3 #0 z")
	check("ttl, at its edge, without an age, in the future", ttl,
		entries("f:a @101000000 #9 u", "f:a @90000001 #9 v", "!f:a @90000000 #9", "!f:a @3 #11", "f:a @0 #9 z"),
		entries("f:a @101000000 #0 u", "f:a @90000001 #0 v", "f:a @0 #0 z"),
		"f:a @101000000 #9 u", "f:a @90000001 #9 v", "f:a @90000000 #9 w", "f:a @3 #11 x", "f:a @0 #9 z")

	check("a family that is not listed", one(Policy{}),
		entries("e:a @5 #21 x", "f:a @5 #9 x", "!g #22", "!g:a #21"),
		entries("e:a @5 #21 x", "f:a @5 #0 x", "!g #22", "!g:a #21"),
		"!e #20", "!e:a #20", "e:a @5 #21 x", "e:a @4 #20 y", "e:b @4 #0 y", "f:a @5 #9 x", "!g #22", "!g:a #21")
	check("a family that is newer than the list is not set to 0", NewPolicies(3, nil),
		entries("f:a @5 #9 x", "f:b @5 #12 y"),
		entries("f:a @5 #9 x", "f:b @5 #12 y"),
		"f:a @5 #9 x", "f:a @5 #8 y", "f:a @4 #3 z", "f:b @5 #12 y")
	check("before the families are known nothing is set to 0", NoPolicies,
		entries("!f:a #3", "f:a @5 #12 x", "f:a @4 #10 y"),
		entries("f:a @5 #12 x", "f:a @4 #10 y"),
		"!f:a #3", "f:a @5 #12 x", "f:a @4 #10 y", "f:a @4 #9 z", "f:a @3 #2 z")
	check("an earlier family", one(Policy{Since: 5}),
		entries("!row #3", "f:a @5 #11 x", "f:a @4 #6 y"),
		entries("f:a @5 #11 x", "f:a @4 #6 y"),
		"!row #3", "!f #5", "!f:a #4", "f:a @5 #11 x", "f:a @4 #6 y", "f:a @3 #5 z", "f:b @3 #0 z")
}

func TestFilterReasons(t *testing.T) {
	p := NewPolicies(20, map[string]Policy{"f": {GC: cell.GC{VersionLimit: 1}}})
	k := newFilter(10, 0, p, true)
	k.BeginRow([]byte("row"))
	k.Keep(parseEntries("!row #3", "!row #2", "e:a @5 #9 x", "f:a @9 #9 x", "f:a @8 #9 x", "f:a @7 #9 x", "f:a @6 #9 x",
		"!f:b @9 #9", "f:b @9 #8 x", "f:b @9 #7 x", "f:c @1 #1 x", "f:d @1 #1 x", "f:e @1 #1 x", "f:f @1 #1 x"), &UnknownRun)
	want := [reasonCount]uint64{shadowed: 2, deleted: 5, garbage: 3, orphaned: 1, obsolete: 2}
	if k.dropped != want {
		t.Errorf("got %v, want %v", k.dropped, want)
	}
	k.Init(10, 0, p, nil)
	if k.Dropped() != 0 {
		t.Error("init does not reset the counts")
	}
	k.BeginRow([]byte("row"))
	if got := k.Keep(parseEntries("!row #3", "f:a @9 #9 x"), &UnknownRun); len(got) != 2 || got[1].Seq != 9 {
		t.Errorf("nil for bottom is not never: %q", entryTexts(got))
	}
}

// TestFilterAsksForBottom checks that bottom gets every row, once.
func TestFilterAsksForBottom(t *testing.T) {
	var asked []string
	var k Filter
	k.Init(10, 0, nil, func(row []byte) bool {
		asked = append(asked, string(row))
		return string(row) == "b"
	})
	var got []string
	for _, row := range []string{"a", "b", "c"} {
		k.BeginRow([]byte(row))
		got = append(got, entryTexts(k.Keep(parseEntries("f:a @5 #9 x"), &UnknownRun))...)
		got = append(got, entryTexts(k.Keep(parseEntries("f:b @5 #9 x"), &UnknownRun))...)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	want := []string{"f:a @5 #9 x", "f:b @5 #9 x", "f:a @5 #0 x", "f:b @5 #0 x", "f:a @5 #9 x", "f:b @5 #9 x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// keptBy says what stays of the entries of a row, entry by entry, from the rules.
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

// superseded reports whether a settled entry replaces or covers entry i.
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

// history is a row as it lies in a store: entries above a compaction's inputs,
// its inputs, and what is older and below.
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
	if rng.IntN(3) == 0 { // the rest was compacted before, when oldest and now were lower
		k := newFilter(rng.Uint64N(h.oldest+1), historyNow-second, h.policies, true)
		h.rest = keepRow(k, rng, h.rest)
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

// close takes out of a history what makes the cases that cell.GC leaves open:
// tombstones that the compaction does not know of or cannot count on, and
// versions without an age.
func (h *history) close() {
	open := func(c cell.Cell) bool {
		return c.Kind != cell.Set && c.Seq > h.oldest || c.Kind == cell.Set && c.Time == 0
	}
	h.inputs = slices.DeleteFunc(h.inputs, open)
	h.rest = slices.DeleteFunc(h.rest, open)
	h.upper = slices.DeleteFunc(h.upper, func(c cell.Cell) bool { return c.Kind != cell.Set || open(c) })
}

// read returns what a reader sees of a row that lies in several places.
func (h *history) read(rng *rand.Rand, inputs []cell.Cell, seq uint64, now int64, p *Policies) []string {
	all := slices.Concat(h.upper, inputs, h.rest)
	sortEntries(all)
	var r Visibility
	r.Init(seq, now, p, nil)
	return resolve(&r, rng, all)
}

// TestFilterRandom compares with the rules taken entry by entry, and checks what
// has to hold of every result.
func TestFilterRandom(t *testing.T) {
	var k Filter // one for all: nothing may be left of the row before
	for seed := range uint64(8000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		h := randomHistory(rng)
		k.Init(h.oldest, historyNow, h.policies, func([]byte) bool { return h.bottom })
		kept := keepRow(&k, rng, h.inputs)
		want := keptBy(h.inputs, h.oldest, historyNow, h.policies, h.bottom)
		if got := entryTexts(kept); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\n got    %q\n want   %q", seed, &h, got, want)
		}
		if in, out := len(h.inputs), len(kept)+int(k.Dropped()); in != out {
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
		if again := entryTexts(keepRow(&k, rng, kept)); !slices.Equal(again, want) {
			t.Fatalf("seed %d: %s\n once   %q\n twice  %q", seed, &h, want, again)
		}
	}
}

// TestFilterReaders checks that no reader can tell a row before a compaction from
// the row after it: with any snapshot from the oldest on, at any time from now
// on, by the policies at hand or a list that has the missing families again.
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

// recreated returns a later list, in which the families that p does not have
// were created again. If p does not know the families, each may have been at any
// time.
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

// TestFilterOpenCases leaves in what the test before takes out. A reader may then
// miss a version that was past the limits when it was compacted, and nothing
// else. What it must never see, even with all limits lifted and at an earlier
// time, is a version that it did not see before: one overwritten or deleted.
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

// pastLimits reports whether a version among the inputs had gone for those who
// see only what is settled.
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

// TestRowsOfGarbage checks that entries that no store writes, in no order, do
// no harm beyond a wrong answer.
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
		var r Visibility
		r.Init(rng.Uint64N(4), 0, p, nil)
		resolve(&r, rng, cells)
		k := newFilter(rng.Uint64N(4), 0, p, rng.IntN(2) == 0)
		kept := keepRow(k, rng, cells)
		if len(kept)+int(k.Dropped()) != len(cells) {
			t.Fatalf("%d entries, %d kept, %d dropped", len(cells), len(kept), k.Dropped())
		}
	}
}

func TestFilterAllocs(t *testing.T) {
	for _, load := range readLoads() {
		var k Filter
		row, buf := []byte("row"), make([]cell.Cell, 0, len(load.cells))
		bottom := func([]byte) bool { return true }
		got := testing.AllocsPerRun(10, func() {
			k.Init(9, 0, load.policies, bottom)
			k.BeginRow(row)
			k.Keep(append(buf, load.cells...), &UnknownRun)
		})
		if got != 0 {
			t.Errorf("%s: %v allocations, want 0", load.name, got)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, load := range readLoads() {
		b.Run(load.name, func(b *testing.B) {
			var k Filter
			k.Init(9, 0, load.policies, func([]byte) bool { return true })
			row, buf := []byte("row"), make([]cell.Cell, 0, len(load.cells))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				k.BeginRow(row)
				k.Keep(append(buf, load.cells...), &UnknownRun)
				n += len(load.cells)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/cell")
		})
	}
}
