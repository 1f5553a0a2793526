package flip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// dir is the store's directory in its file system.
const dir = "store"

// layout is the tables of a store: each has a partition for the families of the
// first list and one for those of each further list.
var layout = []struct {
	table  string
	groups [][]string
}{
	{"pages", [][]string{{"title"}, {"body"}, {"link"}}},
	{"users", [][]string{{"name", "age"}, {"mail"}}},
}

// A family is on its way from a partition of its own to that of the first list.
const movingTable, movingFamily = "users", "mail"

// options are the options of the store. Blocks and segments are small, so that a small store has many of them.
// The cache is tiny, so that damaged data is read.
func options(fs vfs.FS, c clock.Clock, random io.Reader) lsmstore.Options {
	return lsmstore.Options{Dir: dir, StepMoves: true, MoveBytes: 400, Engine: engine.Options{
		FS: fs, Clock: c, Rand: random,
		MemtableBytes: 1 << 20, CacheBytes: 1, SegmentBytes: 6 << 10, LogBytes: 1 << 20,
		BlockBytes: 512, ReserveBytes: -1,
	}}
}

// group is a partition of data: a table's cells in some families.
type group struct {
	families []string
	name     string // of the partition
	dir      string
	from     string   // that of the partition that its family comes from, empty if it does not move
	want     []string // what it answers, in order
}

// table is a table and what it answers.
type table struct {
	name   string
	meta   string // directory of the partition of its metadata
	groups []group
	want   []string
	rows   [][]byte            // every row ever written, and one that never was
	row    map[string][]string // what each answers
}

// file is a file of the store.
type file struct {
	name  string
	data  []byte
	older [][]byte // what it or another file held under this name or number, each once
}

// store is a small store, not closed, with files in several levels, a log of
// many groups that ends in a seal, and a manifest of many edits.
type store struct {
	fs        *vfs.Mem
	id        [16]byte
	files     []file
	manifests []file // of the edits before the last
	retired   []file // segments of the log that are gone
	tables    []table
	partition map[string]string // names, by directory
}

// builder makes a store.
type builder struct {
	*lsmstore.Store
	fs     *vfs.Mem
	timers timers
	random *rand.Rand
	older  map[string][][]byte // by name, every synced or renamed content
}

// newStore makes a store. The same seed makes the same one; a twin has the same
// shape and values, but is another store.
func newStore(seed uint64, twin bool) (*store, error) {
	b := &builder{
		fs: vfs.NewMem(), random: rand.New(rand.NewPCG(seed, 0)), older: map[string][][]byte{},
	}
	if err := b.fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	salt := byte(0)
	if twin {
		salt = 1
	}
	var err error
	id := rand.NewChaCha8([32]byte{salt, byte(seed), byte(seed >> 8), byte(seed >> 16)})
	b.Store, err = lsmstore.Open(options(b.fs, &b.timers, id))
	if err != nil {
		return nil, err
	}
	b.fs.SetHook(b.note)
	err = b.build()
	b.fs.SetHook(nil)
	if err != nil {
		return nil, err
	}
	st := &store{fs: b.fs.Crash(vfs.KeepAll, 0)}
	if err := st.describe(b.Store); err != nil {
		return nil, err
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	return st, st.list(b.older)
}

// note keeps the content of a file after each sync, for older states.
func (b *builder) note(op vfs.Op, done bool) {
	name := op.Name
	if op.Kind == vfs.OpRename || op.Kind == vfs.OpReuse {
		name = op.To
	}
	if !done || op.Kind != vfs.OpSync && op.Kind != vfs.OpRename && op.Kind != vfs.OpReuse {
		return
	}
	if data, err := content(b.fs, name); err == nil && len(data) > 0 {
		b.older[name] = append(b.older[name], data)
	}
}

func (b *builder) build() error {
	ctx := context.Background()
	for _, t := range layout {
		spec := widecol.TableSpec{Groups: t.groups[1:]}
		for _, f := range slices.Concat(t.groups...) {
			spec.Families = append(spec.Families, widecol.Family{Name: f, GC: widecol.GC{VersionLimit: 3}})
		}
		if err := b.CreateTable(ctx, t.table, spec); err != nil {
			return err
		}
	}
	if err := b.write(0, 36); err != nil {
		return err
	}
	for _, p := range b.Engine().Partitions() {
		if err := b.Engine().Compact(ctx, p.ID); err != nil {
			return err
		}
	}
	for _, part := range [][2]int{{8, 24}, {20, 44}} {
		if err := errors.Join(b.write(part[0], part[1]), b.remove(part[0]), b.Engine().Flush(ctx)); err != nil {
			return err
		}
	}
	return errors.Join(b.groups(4, 20), b.move(2), b.groups(20, 51), b.move(1), b.remove(30), b.removeRange(40, 43), b.seal())
}

// move moves the family that moves, some steps of its way. That is in the log alone: a file of tombstones would be
// compacted in the background, and not every store would be the same.
func (b *builder) move(steps int) error {
	_, err := b.MoveFamily(context.Background(), movingTable, movingFamily, "")
	for range steps {
		if err == nil {
			_, err = b.MoveStep(context.Background())
		}
	}
	return err
}

// write writes rows to each table.
func (b *builder) write(from, to int) error {
	for t := range layout {
		if err := b.commit(t, from, to); err != nil {
			return err
		}
	}
	return nil
}

// groups writes rows to the tables in turn, so that each is a group of the log.
func (b *builder) groups(from, to int) error {
	for i := from; i < to; i++ {
		if err := b.commit(i%len(layout), i, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) commit(t, from, to int) error {
	list := b.mutations(from, to, slices.Concat(layout[t].groups...))
	_, err := b.Write(context.Background(), layout[t].table, list, "")
	return err
}

// mutations have values of equal lengths that do not compress, so many blocks have the same size. One row in six
// has a large one, and one in twelve of the family that moves: the mover looks for rows without reading those.
func (b *builder) mutations(from, to int, families []string) []widecol.Mutation {
	var list []widecol.Mutation
	for i := from; i < to; i++ {
		for _, f := range families {
			n := 20
			switch one := to == from+1; {
			case f == "body" && i%6 == 0 && !one:
				n = 1200
			case f == movingFamily && i%12 == 0 && !one:
				n = 800
			}
			list = append(list, b.mutation(row(i), f, n))
		}
	}
	return list
}

func (b *builder) mutation(row, family string, n int) widecol.Mutation {
	m := widecol.Mutation{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Type: cell.Bytes, Time: widecol.CommitTime}
	if family == "age" {
		m.Type, n = cell.I64, 8
	}
	for len(m.Value) < n {
		m.Value = binary.LittleEndian.AppendUint64(m.Value, b.random.Uint64())
	}
	m.Value = m.Value[:n]
	return m
}

func row(i int) string { return fmt.Sprintf("row%03d", i) }

// remove deletes a row of each table, and a family of another.
func (b *builder) remove(i int) error {
	for _, t := range layout {
		filter, _ := widecol.ColumnsFilter(t.groups[1][0])
		_, whole := b.Delete(context.Background(), t.table, widecol.RowDeletion([]byte(row(i)), widecol.Filter{}), "")
		_, part := b.Delete(context.Background(), t.table, widecol.RowDeletion([]byte(row(i+2)), filter), "")
		if err := errors.Join(whole, part); err != nil {
			return err
		}
	}
	return nil
}

// removeRange deletes rows of all tables with range tombstones.
func (b *builder) removeRange(from, to int) error {
	var batch engine.Batch
	for _, p := range b.Engine().Partitions() {
		if strings.HasPrefix(p.Name, "_dat_") || strings.HasPrefix(p.Name, "_lg_") {
			batch.DeleteRange(p.ID, []byte(row(from)), []byte(row(to)))
		}
	}
	_, err := b.Engine().Commit(context.Background(), &batch)
	return err
}

// seal lets the log become idle, so that it is sealed. If a segment has no room for the seal, some more groups
// start the next one.
func (b *builder) seal() error {
	for i := range 20 {
		if b.sealed() {
			return nil
		}
		if err := b.groups(i, i+1); err != nil {
			return err
		}
	}
	return errors.New("the log was not sealed")
}

// sealed reports whether the log was sealed after all timers had fired.
func (b *builder) sealed() bool {
	before := b.fs.Ops()
	for b.timers.fire() {
	}
	return b.fs.Ops() > before
}

// describe reads the whole store, and derives the content of each part.
func (st *store) describe(s *lsmstore.Store) error {
	ctx := context.Background()
	st.partition = map[string]string{}
	for _, p := range s.Engine().Partitions() {
		st.partition[p.Path] = p.Name
	}
	for _, l := range layout {
		d, err := s.Table(ctx, l.table)
		if err != nil {
			return err
		}
		t := table{name: l.table, meta: d.Partitions[0].Path, row: map[string][]string{}}
		if t.want, err = read(s, t.name, nil, nil); err != nil {
			return err
		}
		for _, families := range l.groups {
			at := slices.IndexFunc(d.Groups, func(g widecol.Group) bool { return slices.Contains(g.Families, families[0]) })
			p := d.Partitions[2+at] // the partition of the default families stands before those of the groups
			g := group{families: families, name: p.Name, dir: p.Path, want: ofFamilies(t.want, families)}
			if families[0] == movingFamily {
				g.from = comesFrom(&d).Path
			}
			t.groups = append(t.groups, g)
		}
		for i := range 50 {
			t.rows = append(t.rows, []byte(row(i)))
			t.row[row(i)] = ofRow(t.want, row(i))
		}
		st.tables = append(st.tables, t)
	}
	return nil
}

// comesFrom returns the partition that the family that moves comes from.
func comesFrom(d *widecol.Table) widecol.Partition {
	at := slices.IndexFunc(d.Groups, func(g widecol.Group) bool { return g.ID == d.Moves[0].From })
	return d.Partitions[2+at]
}

// list reads the files and their older contents.
func (st *store) list(older map[string][][]byte) error {
	names, err := walk(st.fs)
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Base(name) == "LOCK" {
			continue
		}
		f := file{name: name}
		if f.data, err = content(st.fs, name); err != nil {
			return err
		}
		for _, data := range older[name] {
			if !bytes.Equal(data, f.data) && !slices.ContainsFunc(f.older, func(o []byte) bool { return bytes.Equal(o, data) }) {
				f.older = append(f.older, data)
			}
		}
		st.files = append(st.files, f)
	}
	for _, name := range slices.Sorted(maps.Keys(older)) {
		if slices.Contains(names, name) {
			continue
		}
		f := file{name: name, data: older[name][len(older[name])-1]}
		switch {
		case strings.HasSuffix(name, ".log"):
			st.retired = append(st.retired, f)
		case strings.HasPrefix(path.Base(name), "manifest-") && path.Ext(name) == "":
			st.manifests = append(st.manifests, f)
		}
	}
	const inSegment = 33 + 24 // where a segment has the id; see docs/formats.md
	copy(st.id[:], st.segments()[0].data[inSegment:])
	return nil
}

func (st *store) manifest() *file {
	i := slices.IndexFunc(st.files, func(f file) bool { return strings.HasPrefix(path.Base(f.name), "manifest-") })
	return &st.files[i]
}

func (st *store) segments() []file { return st.with(".log") }
func (st *store) tableFiles() []file {
	return st.with(".sst")
}

func (st *store) with(suffix string) []file {
	var list []file
	for _, f := range st.files {
		if strings.HasSuffix(f.name, suffix) {
			list = append(list, f)
		}
	}
	return list
}
