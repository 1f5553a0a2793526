package flip

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

var shared = sync.OnceValues(func() (*store, error) { return newStore(0, false) })

func theStore(t *testing.T) *store {
	t.Helper()
	st, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestStore: the store is what the package comment says, and its sorted files are
// the same each time. Which old segment the log uses again is a matter of time.
func TestStore(t *testing.T) {
	st := theStore(t)
	again, err := newStore(0, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range st.tableFiles() {
		if !bytes.Equal(f.data, again.tableFiles()[i].data) {
			t.Errorf("%s is not the same the second time", f.name)
		}
	}
	levels := map[string]int{}
	for _, f := range st.tableFiles() {
		levels[f.name[:strings.LastIndexByte(f.name, '/')]]++
	}
	for _, table := range st.tables {
		for _, g := range table.groups {
			if levels[g.dir] < 3 || len(g.want) == 0 {
				t.Errorf("%s has %d files and %d cells", g.name, levels[g.dir], len(g.want))
			}
		}
	}
	if last, batches := st.log(); len(st.manifests) < 6 || last < 1 || batches < 40 {
		t.Errorf("%d manifests before the last, %d batches up to segment %d", len(st.manifests), batches, last)
	} else {
		// Far from the end, so that later records tell damage from a torn tail.
		lost := st.segments()[last].to(func(b []byte) []byte { clear(b[sector : 3*sector]); return b }, "two sectors")
		if v := st.judge(&lost); v.class != refused {
			t.Errorf("%s: %v, want it refused", lost.what, v)
		}
	}
}

// TestRoundsReachEveryBit: eight seeds in a row flip every bit once, and three cut
// at every length.
func TestRoundsReachEveryBit(t *testing.T) {
	f := &file{name: "f", data: make([]byte, 2000)}
	flipped, cut := map[string]bool{}, map[int]bool{}
	for seed := uint64(24); seed < 32; seed++ {
		for _, d := range f.flips(seed) {
			d.change(func(_ string, data []byte) { flipped[string(data)] = true })
		}
	}
	for seed := uint64(24); seed < 27; seed++ {
		for _, d := range f.cuts(seed) {
			d.change(func(_ string, data []byte) { cut[len(data)] = true })
		}
	}
	if len(flipped) != 8*len(f.data) || len(cut) != len(f.data) {
		t.Errorf("%d flips and %d cuts of %d bytes", len(flipped), len(cut), len(f.data))
	}
}

// TestSomeCases: a sample of a round finds nothing wrong, and has all kinds.
func TestSomeCases(t *testing.T) {
	st := theStore(t)
	list, err := st.round(0)
	if err != nil {
		t.Fatal(err)
	}
	list = chosen(list, report.Env{})
	count := map[class]int{}
	for i := 0; i < len(list); i += len(list) / 400 {
		v := st.judge(&list[i])
		count[v.class]++
		if !v.good() {
			t.Errorf("%s: %s: %s", list[i].what, v.class, v.why)
		}
	}
	if count[harmless] == 0 || count[detected] == 0 || count[refused] == 0 {
		t.Errorf("got %v", count)
	}
}

// TestMoveMeetsDamage: the store has a family that has moved in part. Damage where it comes from is met, and the
// move goes on without any.
func TestMoveMeetsDamage(t *testing.T) {
	st := theStore(t)
	g := st.tables[1].groups[1]
	f := st.tableFiles()[slices.IndexFunc(st.tableFiles(), func(f file) bool { return strings.HasPrefix(f.name, g.from+"/") })]
	for turn := range 2 {
		bad := f.flip(10, 3)
		bad.turn = turn
		if v := st.judge(&bad); v.class != detected {
			t.Errorf("%s, turn %d: %v", bad.what, turn, v)
		}
	}
	j := &judgement{store: st, d: new(damage), fs: st.fs.Clone()}
	s, err := j.open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d, err := s.Table(t.Context(), movingTable); err != nil || len(d.Moves) != 1 || comesFrom(&d).Path != g.from {
		t.Errorf("the table is %+v, %v", d, err)
	}
	if v := j.moves(s); v.class != harmless || j.gone != g.from {
		t.Errorf("the move ends as %v, and leaves %q", v, j.gone)
	}
}

// TestLies: the judge does not believe a store that lies.
func TestLies(t *testing.T) {
	st := theStore(t)
	nothing := &damage{change: func(func(string, []byte)) {}}
	if v := st.judge(nothing); v.class != harmless {
		t.Fatalf("without damage: %v", v)
	}
	lie := *st
	lie.tables = slices.Clone(st.tables)
	lie.tables[0].want = append(slices.Clone(st.tables[0].want), "row999 x")
	if v := lie.judge(nothing); v.class != lost {
		t.Errorf("a cell more was written: %v, want it lost", v)
	}
	lie.tables[0].want = st.tables[0].want[1:]
	if v := lie.judge(nothing); v.class != wrong {
		t.Errorf("a cell less was written: %v, want a wrong answer", v)
	}

	f := st.tableFiles()[2]
	bad := f.flip(10, 3)
	if v := st.judge(&bad); v.class != detected {
		t.Fatalf("a flip: %v", v)
	}
	for other, want := range map[string]class{
		st.segments()[0].name:   spread,  // of another part of the store
		st.tableFiles()[1].name: unnamed, // of the same partition
	} {
		d := bad
		d.files = []string{other}
		if v := st.judge(&d); v.class != want {
			t.Errorf("a flip in %s that is one of %s: %v, want %s", f.name, other, v, want)
		}
	}
	m := st.manifest().flip(30, 0)
	m.files = []string{f.name}
	if v := st.judge(&m); v.class != unnamed {
		t.Errorf("a flip in the manifest that is one of %s: %v", f.name, v)
	}
}

// TestBounds: a case that panics, hangs or takes too much memory is told from
// others, and a hang ends the round.
func TestBounds(t *testing.T) {
	var section report.Section
	never := make(chan struct{})
	r := &round{store: theStore(t), section: &section, longest: 100 * time.Millisecond, list: []damage{
		{what: "panic", change: func(func(string, []byte)) { panic("at the disco") }},
		{what: "greed", change: func(func(string, []byte)) { sink = make([]byte, most) }},
		{what: "hang", change: func(func(string, []byte)) { <-never }},
		{what: "never run"},
	}}
	r.work(context.Background())
	close(never)
	figures := section.Figures()
	for _, c := range []class{panicked, excessive, hung} {
		if figures[string(c)].Value != 1 {
			t.Errorf("got %v, want one of %s", figures, c)
		}
	}
	if figures["cases"].Value != 3 || !section.Failed() {
		t.Errorf("got %v, want 3 cases that fail", figures)
	}
}

var sink []byte
