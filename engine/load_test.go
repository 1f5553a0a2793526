package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// loaded is an entry of a load in a test.
type loaded struct {
	id         PartitionID
	row, value string
}

func mustBegin(t testing.TB, db *DB) *Load {
	t.Helper()
	l, err := db.NewLoad()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// add adds entries of one column with the time 1, in the order of their rows.
func (l *Load) addAll(list ...loaded) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b loaded) int { return strings.Compare(a.row, b.row) })
	for _, e := range list {
		r, c := set(e.row, "q", e.value)
		c.Time = 1
		if err := l.Add(e.id, r, []cell.Cell{*c}); err != nil {
			return err
		}
	}
	return nil
}

func mustLoad(t testing.TB, db *DB, list ...loaded) Commit {
	t.Helper()
	l := mustBegin(t, db)
	if err := l.addAll(list...); err != nil {
		t.Fatal(err)
	}
	c, err := l.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantContents(t testing.TB, db *DB, id PartitionID, want ...string) {
	t.Helper()
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("partition %d has %q, want %q", id, got, want)
	}
}

// putAt1 writes a version with the time 1, which a later one of the same time replaces.
func putAt1(t testing.TB, db *DB, id PartitionID, row, value string) {
	t.Helper()
	b := new(Batch)
	r, c := set(row, "q", value)
	c.Time = 1
	b.Add(id, r, c)
	if _, err := db.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func deleteRowOf(t testing.TB, db *DB, id PartitionID, row string) {
	t.Helper()
	b := new(Batch)
	b.Add(id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
	if _, err := db.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// TestLoadIsABatch: a load has its place in the order of batches. What is written while its files are is older, whether
// it is in memtables or files, what comes after is newer.
func TestLoadIsABatch(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	a, b := ids[0], ids[1]
	putAt1(t, db, a, "row1", "before")
	l := mustBegin(t, db)
	if err := l.addAll(loaded{a, "row1", "load"}, loaded{a, "row2", "load"}, loaded{b, "row1", "load"}, loaded{a, "row3", "load"}, loaded{a, "row4", "load"}); err != nil {
		t.Fatal(err)
	}
	putAt1(t, db, a, "row1", "during")
	deleteRowOf(t, db, a, "row2")
	mustDeleteRange(t, db, a, "row3", "row4")
	mustCompact(t, db, a) // drops the tombstones
	snap, err := db.NewSnapshot(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != 5 {
		t.Errorf("the load says that it has %d entries", l.Len())
	}
	c, err := l.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c.Seq == 0 || c.Time == 0 || db.LastSeq() != c.Seq {
		t.Errorf("the load is batch %+v, the last one is %d", c, db.LastSeq())
	}
	check := func(db *DB) {
		t.Helper()
		wantContents(t, db, a, "row1 q=load", "row2 q=load", "row3 q=load", "row4 q=load")
		wantContents(t, db, b, "row1 q=load")
	}
	check(db)
	if got, err := readWith(snap, a, nil); err != nil || !slices.Equal(got, []string{"row1 q=during"}) {
		t.Errorf("a snapshot from before sees %q, %v", got, err)
	}
	snap.Close()
	mustClose(t, db)
	db = mustOpen(t, fs)
	check(db)
	mustCompact(t, db, a)
	mustCompact(t, db, b)
	check(db)
	db.mu.Lock()
	version := manifestVersion(db)
	db.mu.Unlock()
	if version != 6 {
		t.Errorf("without files of a load, the manifest has version %d", version)
	}
	putAt1(t, db, a, "row1", "after")
	deleteRowOf(t, db, b, "row1")
	wantContents(t, db, a, "row1 q=after", "row2 q=load", "row3 q=load", "row4 q=load")
	wantContents(t, db, b)
	mustClose(t, db)
}

// manifestVersion returns the version in which the manifest is written.
func manifestVersion(db *DB) byte { return db.manifest.Encode()[8] }

// TestLoadGoesDeep: files go as deep as nothing of their rows is there, and to level 0 otherwise.
func TestLoadGoesDeep(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	levels := func() (n [manifest.NumLevels]int) {
		db.mu.Lock()
		defer db.mu.Unlock()
		for level, files := range db.partitions[id].version.Levels {
			n[level] = len(files)
		}
		return n
	}
	mustLoad(t, db, loaded{id, "b", "1"}, loaded{id, "d", "1"})
	mustLoad(t, db, loaded{id, "e", "1"})
	if n := levels(); n != [manifest.NumLevels]int{7: 2} {
		t.Errorf("levels have %v files", n)
	}
	mustLoad(t, db, loaded{id, "a", "2"}, loaded{id, "c", "2"})
	if n := levels(); n != [manifest.NumLevels]int{6: 1, 7: 2} {
		t.Errorf("levels have %v files", n)
	}
	db.mu.Lock()
	db.partitions[id].compactionStopped = true
	db.mu.Unlock()
	putAt1(t, db, id, "c", "3")
	mustLoad(t, db, loaded{id, "b", "4"}, loaded{id, "c", "4"}, loaded{id, "d", "4"})
	if n := levels(); n != [manifest.NumLevels]int{0: 2, 6: 1, 7: 2} {
		t.Errorf("levels have %v files", n)
	}
	wantContents(t, db, id, "a q=2", "b q=4", "c q=4", "d q=4", "e q=1")
	mustClose(t, db)
}

// TestLoadRefuses: what a load cannot have ends it, and leaves nothing.
func TestLoadRefuses(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	_, one := set("row", "q", "v")
	one.Time = 5
	with := func(change func(*cell.Cell)) []cell.Cell {
		c := *one
		change(&c)
		return []cell.Cell{c}
	}
	for name, add := range map[string]func(l *Load) error{
		"tombstone": func(l *Load) error {
			return l.Add(id, []byte("row"), []cell.Cell{{Kind: cell.DeleteRow, Time: cell.TombstoneTime}})
		},
		"commit time": func(l *Load) error { return l.Add(id, []byte("row"), with(func(c *cell.Cell) { c.Time = CommitTime })) },
		"no row":      func(l *Load) error { return l.Add(id, nil, with(func(c *cell.Cell) {})) },
		"no type":     func(l *Load) error { return l.Add(id, []byte("row"), with(func(c *cell.Cell) { c.Type = cell.None })) },
		"earlier row": func(l *Load) error {
			return errors.Join(l.addAll(loaded{id, "row1", "v"}), l.addAll(loaded{id, "row0", "v"}))
		},
		"no partition": func(l *Load) error { return l.Add(id+1, []byte("row"), with(func(c *cell.Cell) {})) },
		"later time": func(l *Load) error {
			l.Add(id, []byte("row"), with(func(c *cell.Cell) {}))
			return l.Add(id, []byte("row"), with(func(c *cell.Cell) { c.Time = 6 }))
		},
		"earlier column": func(l *Load) error {
			l.Add(id, []byte("row"), with(func(c *cell.Cell) {}))
			return l.Add(id, []byte("row"), with(func(c *cell.Cell) { c.Column = []byte("f\x00a") }))
		},
		"nothing": func(l *Load) error { _, err := l.Commit(context.Background()); return err },
	} {
		l := mustBegin(t, db)
		if err := add(l); err == nil {
			t.Errorf("%s: no error", name)
		}
		l.Abandon()
	}
	l := mustBegin(t, db)
	again := with(func(c *cell.Cell) { c.Value = []byte("again") })
	if err := errors.Join(l.Add(id, []byte("row"), append(with(func(*cell.Cell) {}), again...)), l.Add(id, []byte("row"), again)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantContents(t, db, id, "row q=v")
	l = mustBegin(t, db)
	if err := l.addAll(loaded{id, "row", "v"}); err != nil {
		t.Fatal(err)
	}
	if err := db.DropPartitions(id); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(context.Background()); !errors.Is(err, ErrNoPartition) {
		t.Errorf("into a dropped partition: %v", err)
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	mustClose(t, db)
	var left []string
	for name := range files(fs, "store/partitions") {
		left = append(left, name)
	}
	if len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	opt := testOptions(vfs.NewMem())
	opt.ArchiveLog = true
	archived, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archived.NewLoad(); err != ErrArchived {
		t.Errorf("with an archive: %v", err)
	}
	mustClose(t, archived)
}

// files returns the files below a directory.
func files(fs *vfs.Mem, dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		names, _ := fs.List(dir)
		for _, name := range names {
			name = dir + "/" + name
			if _, err := fs.Stat(name); err == nil {
				if !yield(name) {
					return
				}
				continue
			}
			for n := range files(fs, name) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// load loads random rows, with other steps between what is added and the switch.
func (m *rangeModel) load() {
	l := mustBegin(m.t, m.db)
	next := make(map[PartitionID]map[string]string)
	var list []loaded
	for range 1 + m.r.IntN(30) {
		m.n++
		list = append(list, loaded{m.ids[m.r.IntN(len(m.ids))], m.key(), fmt.Sprintf("load %d %s", m.n, strings.Repeat("x", m.r.IntN(900)))})
	}
	if err := l.addAll(list...); err != nil {
		m.t.Fatal(err)
	}
	for range m.r.IntN(6) {
		switch m.r.IntN(6) {
		case 0:
			if err := m.db.Compact(context.Background(), m.ids[m.r.IntN(len(m.ids))]); err != nil {
				m.t.Fatal(err)
			}
		case 1:
			if err := m.db.Flush(context.Background()); err != nil {
				m.t.Fatal(err)
			}
		default:
			m.write()
		}
	}
	if m.r.IntN(8) == 0 {
		l.Abandon()
		return
	}
	if _, err := l.Commit(context.Background()); err != nil {
		m.t.Fatal(err)
	}
	for id, rows := range m.rows {
		next[id] = make(map[string]string)
		for row, value := range rows {
			next[id][row] = value
		}
	}
	seen := make(map[string]bool) // of equal entries the first one stays
	for _, e := range list {
		if at := fmt.Sprint(e.id, e.row); !seen[at] {
			seen[at] = true
			next[e.id][e.row] = e.value
		}
	}
	m.rows = next
}

// TestLoadsAgainstModel mixes loads with batches, deletions, flushes, compactions, crashes, and snapshots that stay open,
// and compares what readers see with what they must see.
func TestLoadsAgainstModel(t *testing.T) {
	seeds, steps := uint64(30), 250
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		m := &rangeModel{t: t, r: rand.New(rand.NewPCG(seed, 2)), fs: vfs.NewMem(), rows: make(map[PartitionID]map[string]string)}
		m.open()
		m.ids = mustCreate(t, m.db, "a", "b")
		m.setPolicies()
		for _, id := range m.ids {
			m.rows[id] = make(map[string]string)
		}
		for range steps {
			if m.r.IntN(8) == 0 {
				m.load()
			}
			m.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		m.closeViews()
		snap := m.view()
		m.check(snap, m.rows)
		snap.Close()
		mustClose(t, m.db)
		m.checkOffline()
	}
}

// TestLoadsAreSeenWhole: while loads are switched in, and batches written between them, each snapshot has the same
// generation in all partitions, and none goes back. So has each checkpoint.
func TestLoadsAreSeenWhole(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	ids := mustCreate(t, db, "a", "b", "c")
	row := []byte("row")
	generation := func(snap *Snapshot) (found string) {
		for i, id := range ids {
			got, err := readWith(snap, id, nil)
			if err != nil {
				t.Error(err)
			}
			text := strings.Join(got, " ")
			if i > 0 && text != found {
				t.Errorf("partition %d has %q, another %q", id, text, found)
			}
			found = text
		}
		return found
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := ""
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap, err := db.NewSnapshot(ids...)
				if err != nil {
					t.Error(err)
					return
				}
				now := generation(snap)
				snap.Close()
				if now < last {
					t.Errorf("after %q comes %q", last, now)
				}
				last = now
			}
		})
	}
	for n := range 60 {
		_, c := set("row", "q", fmt.Sprintf("%06d", n))
		c.Time = 1
		if n%2 == 0 {
			b := new(Batch)
			for _, id := range ids {
				b.Add(id, row, c)
			}
			if _, err := db.Commit(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			continue
		}
		l := mustBegin(t, db)
		for _, id := range ids {
			if err := l.Add(id, row, []cell.Cell{*c}); err != nil {
				t.Fatal(err)
			}
		}
		checkpoint := make(chan struct{})
		go func() {
			defer close(checkpoint)
			if n%10 == 1 {
				name := fmt.Sprint("c", n)
				copied := openCheckpoint(t, fs, db, name, mustCheckpoint(t, db, name, ids...))
				snap, err := copied.NewSnapshot(ids...)
				if err != nil {
					t.Error(err)
					return
				}
				generation(snap)
				snap.Close()
				mustClose(t, copied)
			}
		}()
		if _, err := l.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		<-checkpoint
	}
	close(stop)
	readers.Wait()
	mustClose(t, db)
}

// TestLoadsBesideWriters: loads and batches of the same partitions at once, from several goroutines.
func TestLoadsBesideWriters(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	ids := mustCreate(t, db, "a", "b")
	var all sync.WaitGroup
	const rounds, writers = 60, 4
	for w := range writers {
		all.Go(func() {
			for n := range rounds {
				value := fmt.Sprintf("%d %s", n, strings.Repeat("x", 50*n%700))
				r, c := set(fmt.Sprintf("row%d", w), "q", value)
				c.Time = 1
				var err error
				if (n+w)%3 == 0 {
					l := mustBegin(t, db)
					for _, id := range ids {
						err = errors.Join(err, l.Add(id, r, []cell.Cell{*c}))
					}
					if err == nil {
						_, err = l.Commit(context.Background())
					}
				} else {
					b := new(Batch)
					for _, id := range ids {
						b.Add(id, r, c)
					}
					_, err = db.Commit(context.Background(), b)
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				snap, err := db.NewSnapshot(ids...)
				if err != nil {
					t.Error(err)
					return
				}
				for _, id := range ids {
					got, err := readWith(snap, id, nil)
					if want := fmt.Sprintf("row%d q=%s", w, value); err != nil || !slices.Contains(got, want) {
						t.Errorf("partition %d has %.300q, %v, without %.20q", id, got, err, want)
					}
				}
				snap.Close()
			}
		})
	}
	all.Wait()
	mustClose(t, db)
	if _, err := Check(fs, "store", func(e *CorruptError) { t.Error(e) }); err != nil {
		t.Error(err)
	}
}

// TestCrashOfALoadAtEveryOperation is TestCrashAtEveryOperation with loads among the batches.
func TestCrashOfALoadAtEveryOperation(t *testing.T) {
	const seed = 3
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c"), loads: true}
	stop := capture(fs, w, seed, 400)
	if err := w.run(db, 0, 40); err != nil {
		t.Fatal(err)
	}
	mustCompact(t, db, w.ids[1])
	mustClose(t, db)
	images := stop()
	for i := int64(0); i < int64(len(images)); i += stride(7) {
		im := images[i]
		if err := w.survive(t, im, uint64(i)); err != nil {
			t.Errorf("image %d of %d (seed %d): %s after %s: %v", i, len(images), seed, im.model, im.op, err)
		}
	}
	t.Logf("%d images", len(images))
}

// TestFlippedBitsOfALoad: a bit that is flipped in a file of a load is found by every read that needs it, and by a check.
func TestFlippedBitsOfALoad(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustLoad(t, db, loaded{id, "row1", "one"}, loaded{id, "row2", "two"})
	want := contents(t, db, id)
	mustClose(t, db)
	name := slices.Collect(files(fs, "store/partitions"))[0]
	data := readAll(t, fs, name)
	for i := range data {
		damaged := fs.Clone()
		flipped := bytes.Clone(data)
		flipped[i] ^= 1 << (i % 8)
		replaceFile(t, damaged, name, flipped)
		found := 0
		if _, err := Check(damaged, "store", func(*CorruptError) { found++ }); err != nil || found == 0 {
			t.Fatalf("byte %d: a check finds %d damages, %v", i, found, err)
		}
		db := mustOpen(t, damaged)
		if got, err := read(db, id, nil); err == nil && !slices.Equal(got, want) {
			t.Fatalf("byte %d: a read gives %q", i, got)
		}
		db.Close()
	}
}

func replaceFile(t testing.TB, fs *vfs.Mem, name string, data []byte) {
	t.Helper()
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLoadBesideACompaction: no file of a load comes between the inputs of a compaction that is under way, and none begins
// while a load is switched in.
func TestLoadBesideACompaction(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustLoad(t, db, loaded{id, "a", "1"})
	mustLoad(t, db, loaded{id, "z", "1"})
	db.mu.Lock()
	p := db.partitions[id]
	p.compactionStopped = true
	for f := range p.version.Files() {
		p.busy[f.Number] = true
	}
	db.mu.Unlock()
	putAt1(t, db, id, "q", "1") // there is something to compact
	mustFlush(t, db)
	edits := 0
	fs.SetHook(func(op vfs.Op, done bool) {
		if !strings.Contains(op.String(), manifest.FilePrefix) {
			return
		}
		db.mu.Lock()
		defer db.mu.Unlock()
		edits++
		p.compactionStopped, db.background.compactable[p] = false, true
		busy := p.busy
		p.busy, p.manual = map[uint64]bool{}, new(compaction.Manual)
		defer func() { p.compactionStopped, p.busy, p.manual = true, busy, nil }()
		if !p.loading || db.nextCompactionLocked() != nil {
			t.Error("a compaction can begin")
		}
	})
	mustLoad(t, db, loaded{id, "m", "1"})
	fs.SetHook(nil)
	db.mu.Lock()
	level0 := len(p.version.Levels[0])
	clear(p.busy)
	db.mu.Unlock()
	if level0 != 2 || edits == 0 {
		t.Errorf("%d files are in level 0, %d operations on the manifest", level0, edits)
	}
	mustClose(t, db)
}

// TestCheckpointBeforeALoad: a checkpoint of a snapshot that has the files of a load, and not yet its batch, is as of before.
func TestCheckpointBeforeALoad(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	putAt1(t, db, id, "a", "before")
	c := mustLoad(t, db, loaded{id, "a", "load"}, loaded{id, "b", "load"})
	snap, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	snap.seq = c.Seq - 1
	made, err := snap.Checkpoint(context.Background(), "c")
	if err != nil {
		t.Fatal(err)
	}
	snap.Close()
	before := openCheckpoint(t, fs, db, "c", made)
	wantContents(t, before, id, "a q=before")
	mustClose(t, before)
	after := openCheckpoint(t, fs, db, "d", mustCheckpoint(t, db, "d", id))
	wantContents(t, after, id, "a q=load", "b q=load")
	mustClose(t, after)
	mustClose(t, db)
}

// TestRestoreOverALoad: the log alone does not have a load, and a restoration says so.
func TestRestoreOverALoad(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	mustClose(t, db)
	r, err := NewRestoration(fs, "store")
	if err != nil {
		t.Fatal(err)
	}
	b := new(Batch)
	b.begin()
	if err := r.Add(db.LastSeq()+1, b.buf); err == nil || !strings.Contains(err.Error(), "load") {
		t.Errorf("no error about the load: %v", err)
	}
	r.Abandon()
}
