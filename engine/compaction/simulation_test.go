package compaction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// simStore is a partition whose files are slices. It can apply what Pick chooses and check the
// rows. Several compactions run at a time, and end in any order.
type simStore struct {
	rng      *rand.Rand
	v        *manifest.Version
	o        Options
	rows     map[*manifest.File][]simEntry
	model    map[int]simEntry // the content that reads must find
	busy     map[*manifest.File]bool
	running  []Choice
	lastFile uint64
	lastSeq  uint64

	flushed, written int64 // bytes written by flushes and by compactions
	largest          int64 // input of a compaction below level 0
	steps            int
}

// simEntry is the only entry of its row in a file.
type simEntry struct {
	row  int
	seq  uint64
	dead bool // a tombstone
}

const simEntrySize, simTombstoneSize = 100, 20

func (e simEntry) size() int64 {
	if e.dead {
		return simTombstoneSize
	}
	return simEntrySize
}

func newSimStore(seed uint64, o Options) *simStore {
	return &simStore{
		rng: rand.New(rand.NewPCG(seed, 8)), v: new(manifest.Version), o: o,
		rows: make(map[*manifest.File][]simEntry), model: make(map[int]simEntry), busy: make(map[*manifest.File]bool),
	}
}

// rowKey returns a key for a row number, in the same order.
func rowKey(row int) []byte { return fmt.Appendf(nil, "%08d", row) }

// addFile returns a file of entries in row order.
func (s *simStore) addFile(entries []simEntry) *manifest.File {
	s.lastFile++
	f := &manifest.File{
		Number: s.lastFile, Entries: uint64(len(entries)), MinSeq: entries[0].seq,
		Smallest: rowKey(entries[0].row), Largest: rowKey(entries[len(entries)-1].row),
		Times: cell.AllTimes,
	}
	for _, e := range entries {
		f.Size += e.size()
		f.MinSeq, f.MaxSeq = min(f.MinSeq, e.seq), max(f.MaxSeq, e.seq)
		if e.dead {
			f.Tombstones++
		}
	}
	s.rows[f] = entries
	return f
}

// flush writes rows, each with a sequence number of its own.
func (s *simStore) flush(rows []int, dead func(row int) bool) {
	slices.Sort(rows)
	var entries []simEntry
	for _, row := range slices.Compact(rows) {
		s.lastSeq++
		e := simEntry{row: row, seq: s.lastSeq, dead: dead(row)}
		entries = append(entries, e)
		s.model[row] = e
	}
	f := s.addFile(entries)
	s.flushed += f.Size
	next := *s.v
	next.Levels[0] = append([]*manifest.File{f}, s.v.Levels[0]...)
	s.v = &next
}

func (s *simStore) isBusy(f *manifest.File) bool { return s.busy[f] }

// planned returns the options with the next run merges.
func (s *simStore) planned() Options {
	s.o.RunMerges = s.o.RunMerges.Next(s.v, s.isBusy, s.o)
	return s.o
}

func (s *simStore) pick() Choice { return Pick(s.v, s.isBusy, s.planned()) }

// start begins a compaction.
func (s *simStore) start(c Choice) {
	s.steps++
	for _, f := range c.Files() {
		if s.busy[f] {
			panic(fmt.Sprintf("file %d is busy", f.Number))
		}
		s.busy[f] = true
	}
	s.running = append(s.running, c)
}

// finish ends one of the compactions under way.
func (s *simStore) finish() {
	i := s.rng.IntN(len(s.running))
	c := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	var outputs []*manifest.File
	if c.Kind == Merge {
		if len(c.Inputs[0]) == 0 {
			s.largest = max(s.largest, manifest.TotalSize(c.Files()))
		}
		outputs = s.merge(&c)
	}
	s.v = c.Apply(s.v, outputs)
	for _, f := range c.Files() {
		delete(s.busy, f)
		if c.Kind == Merge {
			delete(s.rows, f)
		}
	}
}

// merge writes the newest entry of each row of the inputs. It drops tombstones that have nothing
// below them.
func (s *simStore) merge(c *Choice) []*manifest.File {
	newest := make(map[int]simEntry)
	for _, f := range c.Files() {
		for _, e := range s.rows[f] {
			if e.seq >= newest[e.row].seq {
				newest[e.row] = e
			}
		}
	}
	var outputs []*manifest.File
	var entries []simEntry
	size := int64(0)
	split := NewSplitter(s.v, c, nil, s.o)
	for _, row := range slices.Sorted(maps.Keys(newest)) {
		e := newest[row]
		if e.dead && e.seq <= s.o.Visible && s.bottom(c.Output, row) {
			continue
		}
		if splits := split.StartsFile(rowKey(row), size); len(entries) > 0 && splits {
			outputs = append(outputs, s.addFile(entries))
			entries, size = nil, 0
		}
		entries = append(entries, e)
		size += e.size()
	}
	if len(entries) > 0 {
		outputs = append(outputs, s.addFile(entries))
	}
	s.written += manifest.TotalSize(outputs)
	return outputs
}

func (s *simStore) bottom(level, row int) bool {
	for level++; level < manifest.NumLevels; level++ {
		if len(s.v.Overlapping(level, rowKey(row), rowKey(row))) > 0 {
			return false
		}
	}
	return true
}

// check returns an error if the version is wrong: its levels, the order of a row's entries, or the
// content that a read finds.
func (s *simStore) check() error {
	if err := s.v.Check(); err != nil {
		return err
	}
	found := make(map[int]simEntry)
	for level, files := range s.v.Levels {
		for _, f := range files {
			for _, e := range s.rows[f] {
				newer, twice := found[e.row]
				if twice && newer.seq <= e.seq {
					return fmt.Errorf("row %d: entry %d in level %d lies below entry %d", e.row, e.seq, level, newer.seq)
				}
				if !twice {
					found[e.row] = e
				}
			}
		}
	}
	for row, want := range s.model {
		if got, ok := found[row]; got != want && !(want.dead && !ok) {
			return fmt.Errorf("row %d: found %v, want %v", row, got, want)
		}
	}
	return nil
}

// settle runs all compactions that are due.
func (s *simStore) settle(t *testing.T) {
	t.Helper()
	for limit := s.steps + 10000; ; {
		c := s.pick()
		if c.Kind != Nothing {
			s.start(c)
		}
		if len(s.running) == 0 {
			return
		}
		s.finish()
		if s.steps > limit {
			t.Fatalf("no end after %d compactions: %s", s.steps, s)
		}
	}
}

// compactAll runs a manual compaction.
func (s *simStore) compactAll(t *testing.T, meanwhile func()) {
	t.Helper()
	var full Manual
	for limit := s.steps + 10000; ; {
		c, done := full.Next(s.v, s.isBusy, s.planned())
		if done {
			return
		}
		if c.Kind != Nothing {
			s.start(c)
		} else if len(s.running) == 0 {
			t.Fatalf("a full compaction waits for nothing: %s", s)
		}
		if c.Kind == Nothing || s.rng.IntN(2) == 0 {
			s.finish()
		}
		meanwhile()
		if s.steps > limit {
			t.Fatalf("a full compaction has no end after %d steps: %s", s.steps, s)
		}
	}
}

func (s *simStore) String() string {
	var b strings.Builder
	for level, files := range s.v.Levels {
		if len(files) > 0 {
			fmt.Fprintf(&b, "level %d: %d files, %d bytes; ", level, len(files), s.v.Size(level))
		}
	}
	fmt.Fprintf(&b, "%d compactions, write amplification %.2f", s.steps, s.amplification())
	return b.String()
}

// amplification returns how often a byte is written to files.
func (s *simStore) amplification() float64 { return float64(s.flushed+s.written) / float64(s.flushed) }

// randomRows returns rows of a random range, from one row to all.
func (s *simStore) randomRows() []int {
	const space = 300
	first := s.rng.IntN(space)
	width := 1 + s.rng.IntN(1+s.rng.IntN(space))
	rows := make([]int, 1+s.rng.IntN(40))
	for i := range rows {
		rows[i] = first + s.rng.IntN(width)
	}
	return rows
}

// TestPickRandom flushes random ranges, runs compactions side by side that end in any order, and
// checks every version on the way.
func TestPickRandom(t *testing.T) {
	steps := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s := newSimStore(seed, Options{
			Level0Files: 1 + rng.IntN(6), SmallBytes: 250 + rng.Int64N(5000), FileSize: 300 + rng.Int64N(2000),
		})
		deletes := []int{0, 10, 60, 100}[rng.IntN(4)] // of 100 entries
		dead := func(int) bool { return rng.IntN(100) < deletes }
		check := func(what string) {
			t.Helper()
			if err := s.check(); err != nil {
				t.Fatalf("seed %d, after %s: %v\n%s", seed, what, err, s)
			}
		}
		for range 150 {
			switch rng.IntN(5) {
			case 0, 1:
				s.flush(s.randomRows(), dead)
				check("a flush")
			case 2, 3:
				if c := s.pick(); c.Kind != Nothing && len(s.running) < 3 {
					checkChoice(t, seed, s, &c)
					s.start(c)
				}
			case 4:
				s.o.Visible = max(s.o.Visible, rng.Uint64N(s.lastSeq+1))
				s.o.Early = rng.IntN(2) == 0
				if len(s.running) > 0 {
					s.finish()
					check("a compaction")
				}
			}
		}
		s.settle(t)
		check("all compactions")
		if p := newPicker(s.v, s.isBusy, s.o); p.level0Full() || p.compactLevel0().Kind != Nothing && s.o.Early || p.top == 1 || p.top < manifest.LastLevel && p.upperLevelsFull() {
			t.Fatalf("seed %d: nothing to do, but levels are full: %s", seed, s)
		}
		steps += s.steps
		checkFull(t, seed, s, dead)
	}
	t.Logf("%d compactions", steps)
}

// checkChoice checks the promises of Pick for a choice.
func checkChoice(t *testing.T, seed uint64, s *simStore, c *Choice) {
	t.Helper()
	files := c.Files()
	for level, inputs := range c.Inputs {
		if len(inputs) > 0 && level > c.Output {
			t.Fatalf("seed %d: input of level %d for level %d", seed, level, c.Output)
		}
	}
	// The inputs overlap: their ranges have no gap between them.
	slices.SortFunc(files, func(f, g *manifest.File) int { return strings.Compare(string(f.Smallest), string(g.Smallest)) })
	last := files[0].Largest
	for _, f := range files[1:] {
		if string(f.Smallest) > string(last) {
			t.Fatalf("seed %d: no input from %q to %q: %s", seed, last, f.Smallest, c.String())
		}
		if string(f.Largest) > string(last) {
			last = f.Largest
		}
	}
}

// checkFull runs a manual compaction, sometimes with flushes and other compactions meanwhile.
func checkFull(t *testing.T, seed uint64, s *simStore, dead func(int) bool) {
	t.Helper()
	beforeFile, flushes := s.lastFile, s.rng.IntN(2)*20
	quiet := flushes == 0
	s.o.Visible = s.lastSeq
	s.compactAll(t, func() {
		if flushes > 0 {
			flushes--
			s.flush(s.randomRows(), dead)
			if c := s.pick(); c.Kind != Nothing {
				s.start(c)
			}
		}
		if err := s.check(); err != nil {
			t.Fatalf("seed %d, in a full compaction: %v\n%s", seed, err, s)
		}
	})
	for level, files := range s.v.Levels {
		for _, f := range files {
			if f.Number <= beforeFile {
				t.Fatalf("seed %d: file %d of level %d was not written again", seed, f.Number, level)
			}
			if quiet && (level < manifest.NumLevels-1 || f.Tombstones > 0) {
				t.Fatalf("seed %d: file %d of level %d, with %d tombstones, is left: %s", seed, f.Number, level, f.Tombstones, s)
			}
		}
	}
}

// The loads of TestPickAmplification: loadFlushes flushes of perFlush rows.
const loadFlushes, perFlush = 150, 512

// TestPickAmplification loads a partition in several ways. The bytes written by compactions must
// stay in proportion, also if reads have paid for level 0 after each flush. -v shows the figures.
func TestPickAmplification(t *testing.T) {
	const space = 4 * loadFlushes * perFlush
	for _, load := range []struct {
		name  string
		row   func(rng *rand.Rand, flush, i int) int
		limit float64
		early float64 // the limit when level 0 is always compacted early
	}{
		{"in row order", func(_ *rand.Rand, flush, i int) int { return flush*perFlush + i }, 1, 1},
		{"random", func(rng *rand.Rand, _, _ int) int { return rng.IntN(space) }, 5, 9},
		{"half in a tenth", func(rng *rand.Rand, _, i int) int { return rng.IntN(space) / (1 + i%2*9) }, 5, 9},
		{"overwritten", func(rng *rand.Rand, _, _ int) int { return rng.IntN(8 * perFlush) }, 2.5, 3.5},
		{"little that is overwritten", func(rng *rand.Rand, _, _ int) int { return rng.IntN(4 * perFlush) }, 2.5, 6},
		{"random and in order", func(rng *rand.Rand, flush, i int) int {
			if i%2 == 0 {
				return flush*perFlush + i
			}
			return rng.IntN((flush + 1) * perFlush)
		}, 5, 7},
		{"16 writers in order", func(_ *rand.Rand, flush, i int) int { return i%16*(space/16) + flush*perFlush/16 + i/16 }, 3, 5},
	} {
		simulateLoad(t, load.name, load.row, false, load.limit)
		simulateLoad(t, load.name+", early", load.row, true, load.early)
	}
}

func simulateLoad(t *testing.T, name string, row func(rng *rand.Rand, flush, i int) int, early bool, limit float64) {
	s := newSimStore(1, Options{Level0Files: 4, SmallBytes: 4 * perFlush * simEntrySize, FileSize: perFlush / 4 * simEntrySize, Early: early})
	for flush := range loadFlushes {
		rows := make([]int, perFlush)
		for i := range rows {
			rows[i] = row(s.rng, flush, i)
		}
		s.flush(rows, func(int) bool { return false })
		s.settle(t)
	}
	if err := s.check(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if got := s.amplification(); got > limit {
		t.Errorf("%s: write amplification %.2f, want at most %v", name, got, limit)
	}
	if most := mostFiles * s.o.FileSize; s.largest > most {
		t.Errorf("%s: a compaction of %d bytes, want at most %d", name, s.largest, most)
	}
	if l0, full := s.v.Size(0), fullBytes*s.o.SmallBytes; l0 >= full {
		t.Errorf("%s: level 0 has %d bytes, and is full with %d", name, l0, full)
	}
	upper := int64(0)
	for level := 1; level < manifest.LastLevel; level++ {
		upper += s.v.Size(level)
	}
	if last := s.v.Size(manifest.LastLevel); float64(upper) > upperFactor*float64(last) {
		t.Errorf("%s: upper levels have %d bytes, want at most %v times the %d of the last level", name, upper, upperFactor, last)
	}
	t.Logf("%s: %s; largest step %d", name, s, s.largest)
}

// TestPickGrowth loads a partition at random, with sizes in proportion to the defaults, where a
// flush writes 15 MB. The bytes written for each byte, the number of runs and the size of a step
// must grow slowly. -v shows the figures.
func TestPickGrowth(t *testing.T) {
	o := Options{Level0Files: Level0Files, SmallBytes: 128 << 20, FileSize: 32 << 20}
	scaled := func(n int64) int64 { return n * perFlush * simEntrySize / 15_000_000 }
	file := scaled(o.FileSize)
	s := newSimStore(1, Options{Level0Files: o.Level0Files, SmallBytes: scaled(o.SmallBytes), FileSize: file})
	var sum, runs, sizes float64
	for flush := 1; flush <= 600; flush++ {
		rows := make([]int, perFlush)
		for i := range rows {
			rows[i] = s.rng.IntN(24000 * perFlush)
		}
		s.flush(rows, func(int) bool { return false })
		s.settle(t)
		if flush > 60 && flush <= 500 {
			sizes++
			sum += s.amplification()
			for _, files := range s.v.Levels[1:] {
				if len(files) > 0 {
					runs++
				}
			}
		}
		if slices.Contains([]int{14, 70, 140, 300, 600}, flush) {
			t.Logf("%d flushes: write amplification %.2f, largest step %.1f files", flush, s.amplification(), float64(s.largest)/float64(file))
		}
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
	if got := sum / sizes; got > 3.15 {
		t.Errorf("write amplification %.2f in the mean of sizes, want at most 3.15", got)
	}
	if got := runs / sizes; got > 4 {
		t.Errorf("%.2f runs in the mean of sizes, want at most 4", got)
	}
	if s.largest > 2*maxBelow*file {
		t.Errorf("a compaction of %d bytes, want at most %d", s.largest, 2*maxBelow*file)
	}
	t.Logf("mean of sizes: write amplification %.2f, runs %.2f", sum/sizes, runs/sizes)
}

// TestPickDeletes deletes everything. No row must be left, though no level is full.
func TestPickDeletes(t *testing.T) {
	const rows = 20000
	s := newSimStore(1, Options{Level0Files: 4, SmallBytes: 250 * simEntrySize, FileSize: 250 * simEntrySize})
	for _, dead := range []bool{false, true} {
		order := s.rng.Perm(rows)
		for chunk := range slices.Chunk(order, 1000) {
			s.flush(slices.Clone(chunk), func(int) bool { return dead })
			s.o.Visible = s.lastSeq
			s.settle(t)
		}
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		t.Log(s)
	}
	total := int64(0)
	for level := range manifest.NumLevels {
		total += s.v.Size(level)
	}
	if total > 0 {
		t.Errorf("%d bytes are left: %s", total, s)
	}
}
