package flip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// class is the result of a case. Its text is the name of a figure.
type class string

const (
	harmless class = "harmless"     // all answers are right
	detected class = "detected"     // by a read, which names the file
	refused  class = "refused_open" // by Open, which names the file

	lost       class = "lost"             // an answer lacks something
	wrong      class = "wrong"            // an answer has something else
	unnamed    class = "unnamed"          // an error does not say where the damage is
	spread     class = "spread"           // what is not damaged suffers
	touched    class = "evidence_touched" // what is damaged was changed
	overlooked class = "overlooked"       // check says otherwise
	panicked   class = "panics"
	hung       class = "hangs"
	excessive  class = "over_allocations"
)

// good reports whether a case may end so.
func (c class) good() bool { return c == harmless || c == detected || c == refused }

// verdict is how a case ended.
type verdict struct {
	class
	why string
}

func verdictf(c class, format string, args ...any) verdict {
	return verdict{c, fmt.Sprintf(format, args...)}
}

// judgement is a case under way.
type judgement struct {
	*store
	d   *damage
	fs  *vfs.Mem
	met bool // with an error that names the damage

	gone string // the partition that the move has left, empty for none
}

// judge damages a copy of the store and judges the result.
func (st *store) judge(d *damage) (v verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = verdictf(panicked, "%v\n%s", p, debug.Stack())
		}
	}()
	j := &judgement{store: st, d: d, fs: st.fs.Clone()}
	if d.online {
		return j.online()
	}
	if err := d.apply(j.fs); err != nil {
		return verdictf(unnamed, "the case is broken: %v", err)
	}
	damaged := j.fs.Clone()
	s, err := j.open()
	if err != nil {
		return j.refused(damaged, err)
	}
	return j.opened(s)
}

func (j *judgement) open() (*lsmstore.Store, error) {
	return lsmstore.Open(options(j.fs, new(timers), nil))
}

// online damages the files of an open store.
func (j *judgement) online() verdict {
	s, err := j.open()
	if err != nil {
		return verdictf(wrong, "the sound store does not open: %v", err)
	}
	if j.d.warm {
		for _, t := range j.tables {
			if _, err := read(s, t.name, nil, nil); err != nil {
				return verdictf(wrong, "the sound store is not read: %v", err)
			}
		}
	}
	if err := j.d.apply(j.fs); err != nil {
		return verdictf(unnamed, "the case is broken: %v", err)
	}
	return j.opened(s)
}

// refused judges a store that does not open: the error must say why, repeat, and agree with check, and nothing
// may have changed.
func (j *judgement) refused(before *vfs.Mem, err error) verdict {
	if !j.names(err) {
		return verdictf(unnamed, "open: %v", err)
	}
	s, again := j.open()
	if again == nil {
		s.Close()
		return verdictf(wrong, "open said: %v; and then nothing", err)
	}
	if again.Error() != err.Error() {
		return verdictf(touched, "open said: %v; and then: %v", err, again)
	}
	if name := changed(before, j.fs); name != "" {
		return verdictf(touched, "open said: %v; but it has changed %s", err, name)
	}
	if v := j.check(true); v.class != harmless {
		return v
	}
	return verdictf(refused, "%v", err)
}

// names reports whether an error names the place of the damage.
func (j *judgement) names(err error) bool {
	var c *engine.CorruptError
	if !errors.As(err, &c) {
		return false
	}
	switch {
	case j.d.files == nil:
		return true
	case slices.Contains(j.d.files, c.File):
		return c.Partition == j.partition[path.Dir(c.File)]
	}
	// A removed manifest has no name any more.
	return c.File == dir && j.d.files[0] == j.manifest().name
}

// changed names a file that is not as it was.
func changed(before, after *vfs.Mem) string {
	names, err := walk(before)
	if err != nil {
		return err.Error()
	}
	for _, name := range names {
		if path.Base(name) != "LOCK" && !same(before, after, name) {
			return name
		}
	}
	return ""
}

func same(before, after *vfs.Mem, name string) bool {
	was, err := content(before, name)
	is, err2 := content(after, name)
	return err == nil && err2 == nil && bytes.Equal(was, is)
}

// opened judges a store that has opened, or was open. Every second one ends with a kill.
func (j *judgement) opened(s *lsmstore.Store) verdict {
	v := j.answers(s)
	if v.class == harmless {
		v = j.writes(s)
	}
	if v.class == harmless {
		v = j.moves(s)
	}
	// An orderly stop empties the log. A kill leaves it, often behind the content of an older segment.
	killed := j.fs.Crash(vfs.KeepAll, 0)
	if err := s.Close(); err != nil && v.class == harmless {
		return verdictf(spread, "close: %v", err)
	}
	if j.d.turn%2 == 0 {
		j.fs = killed
	}
	if v.class != harmless {
		return v
	}
	inTable := slices.ContainsFunc(j.d.files, func(name string) bool { return path.Ext(name) == ".sst" && path.Dir(name) != j.gone })
	if v := j.check(inTable); v.class != harmless {
		return v
	}
	if j.met {
		return verdict{class: detected}
	}
	return v
}

// moves goes on with the move. It ends with every answer as before, or meets damage where the family comes from or
// goes to, and says so. Then every second one is sent back.
func (j *judgement) moves(s *lsmstore.Store) verdict {
	at := slices.IndexFunc(j.tables, func(t table) bool { return t.name == movingTable })
	t := &j.tables[at]
	g := &t.groups[len(t.groups)-1]
	harmed := j.harms(g)
	if j.damages(t.meta) || !harmed && j.d.turn%movesEvery != 0 {
		return verdict{class: harmless}
	}
	err := arrive(s)
	switch {
	case err == nil:
		j.gone = g.from
	case !harmed:
		return verdictf(spread, "move: %v", err)
	case !j.names(err):
		return verdictf(unnamed, "move: %v", err)
	default:
		j.met = true
		if v := j.heldUp(s); v.class != harmless {
			return v
		}
	}
	got, err := read(s, t.name, nil, nil)
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, after+" ") })
	return j.answer(got, err, t.want, harmed, "after the move, "+t.name)
}

// movesEvery is how few cases without damage to the family that moves go on with the move.
const movesEvery = 4

func arrive(s *lsmstore.Store) error {
	for {
		if more, err := s.MoveStep(context.Background()); err != nil || !more {
			return err
		}
	}
}

// heldUp judges a move that has met damage.
func (j *judgement) heldUp(s *lsmstore.Store) verdict {
	d, err := s.Table(context.Background(), movingTable)
	if err != nil || len(d.Moves) != 1 || !j.names(d.Moves[0].Err) {
		return verdictf(overlooked, "the table with a move that has met damage is %+v, %v", d, err)
	}
	if j.d.turn%2 == 0 {
		return verdict{class: harmless}
	}
	if _, err := s.MoveFamily(context.Background(), movingTable, movingFamily, d.Moves[0].From); err != nil {
		return verdictf(spread, "send back: %v", err)
	}
	if err := arrive(s); err != nil && !j.names(err) {
		return verdictf(unnamed, "move back: %v", err)
	}
	return verdict{class: harmless}
}

// damages reports whether a partition has a damaged file.
func (j *judgement) damages(partitionDir string) bool {
	return slices.ContainsFunc(j.d.files, func(name string) bool { return path.Dir(name) == partitionDir })
}

// harms reports whether a partition that has cells of the group has a damaged file.
func (j *judgement) harms(g *group) bool {
	return j.damages(g.dir) || g.from != "" && j.damages(g.from)
}

// rowsAsked is how many rows of each table a case reads by key, different ones in each case.
const rowsAsked = 6

// answers reads everything: by table, by some rows, and in a damaged table by partition.
func (j *judgement) answers(s *lsmstore.Store) verdict {
	for i := range j.tables {
		t := &j.tables[i]
		tainted := j.damages(t.meta)
		for _, g := range t.groups {
			tainted = tainted || j.harms(&g)
		}
		got, err := read(s, t.name, nil, nil)
		if v := j.answer(got, err, t.want, tainted, t.name); v.class != harmless {
			return v
		}
		for i := range rowsAsked {
			key := t.rows[(j.d.turn+i*len(t.rows)/rowsAsked)%len(t.rows)]
			got, err := read(s, t.name, key, nil)
			if v := j.answer(got, err, t.row[string(key)], tainted, string(key)); v.class != harmless {
				return v
			}
		}
		if !tainted || j.damages(t.meta) {
			continue
		}
		for _, g := range t.groups {
			got, err := read(s, t.name, nil, g.families)
			if v := j.answer(got, err, g.want, j.harms(&g), g.name); v.class != harmless {
				return v
			}
		}
	}
	return verdict{class: harmless}
}

// answer judges one result. Only a read of damaged data may fail, and the lines before its error must be right.
func (j *judgement) answer(got []string, err error, want []string, tainted bool, what string) verdict {
	if err == nil {
		if c := differ(got, want); c != harmless {
			return verdictf(c, "%s: %d cells instead of %d", what, len(got), len(want))
		}
		return verdict{class: harmless}
	}
	switch {
	case !tainted:
		return verdictf(spread, "%s: %v", what, err)
	case !j.names(err):
		return verdictf(unnamed, "%s: %v (%v)", what, err, errors.Unwrap(err))
	}
	if i := common(got, want); i < len(got) {
		return verdictf(wrong, "%s: cell %d is %.40q instead of %.40q, then %v", what, i, got[i:i+1], want[i:min(i+1, len(want))], err)
	}
	j.met = true
	return verdict{class: harmless}
}

// after is the row that a case writes.
const after = "zz"

// writes writes to everything that is not damaged, and reads it back.
func (j *judgement) writes(s *lsmstore.Store) verdict {
	for i := range j.tables {
		t := &j.tables[i]
		if j.damages(t.meta) {
			continue
		}
		for _, g := range t.groups {
			if j.harms(&g) {
				continue
			}
			m := widecol.Mutation{Row: []byte(after), Family: []byte(g.families[0]), Value: []byte("after"), Type: cell.String, Time: widecol.CommitTime}
			if _, err := s.Write(context.Background(), t.name, []widecol.Mutation{m}, ""); err != nil {
				return verdictf(spread, "write to %s: %v", g.name, err)
			}
			if got, err := read(s, t.name, m.Row, g.families[:1]); err != nil || len(got) != 1 {
				return verdictf(spread, "read of %s after a write: %d cells, %v", g.name, len(got), err)
			}
		}
	}
	return verdict{class: harmless}
}

// check runs the checker, which must find all damage and nothing else.
func (j *judgement) check(damaged bool) verdict {
	var found []string
	var strange error
	_, err := engine.Check(j.fs, dir, func(c *engine.CorruptError) {
		found = append(found, c.File)
		if !j.names(c) {
			strange = c
		}
	})
	switch {
	case err != nil:
		return verdictf(overlooked, "check: %v", err)
	case strange != nil && damaged:
		return verdictf(unnamed, "check: %v", strange)
	case !damaged && len(found) > 0:
		return verdictf(overlooked, "check finds damage in %v", found)
	case damaged && len(found) == 0:
		return verdictf(overlooked, "check finds no damage")
	}
	if damaged && found[0] != dir { // a removed manifest has no name any more
		for _, name := range j.d.files {
			if path.Dir(name) != j.gone && !slices.Contains(found, name) {
				return verdictf(overlooked, "check finds damage in %v, but not in %s", found, name)
			}
		}
	}
	return verdict{class: harmless}
}
