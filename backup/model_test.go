package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// lived is a store of tables whose log is archived, and what it had at some moments.
type lived struct {
	t       *testing.T
	rnd     *rand.Rand
	fs      *vfs.Mem
	store   *lsmstore.Store
	r       *Repository
	tables  []string // that there are
	made    int      // tables that there ever were
	moments []moment
}

// moment is what a store had at a time.
type moment struct {
	time    int64
	content string
}

func (s *lived) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *lived) open() {
	s.t.Helper()
	s.store = openTables(s.t, s.fs)
}

func openTables(t *testing.T, fs *vfs.Mem) *lsmstore.Store {
	t.Helper()
	store, err := lsmstore.Open(lsmstore.Options{Dir: "data", StepMoves: true, MoveBytes: 300, Engine: engine.Options{
		FS: fs, Clock: clock.System, ArchiveLog: true, SegmentBytes: 4 << 10, MemtableBytes: 64 << 10, FileBytes: 16 << 10, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// contentOf returns all that a store has: its tables, their families and groups, and all versions.
func contentOf(t *testing.T, s *lsmstore.Store) string {
	t.Helper()
	var b strings.Builder
	tables, err := s.Tables(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		fmt.Fprintln(&b, table.Name, table.Families, table.Groups)
		view, err := s.View(context.Background(), table.Name)
		if err != nil {
			t.Fatal(err)
		}
		q := widecol.NewQuery()
		rows, err := view.Scan(context.Background(), &q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			for _, c := range rows.Cells() {
				fmt.Fprintf(&b, "%s %q=%s@%d\n", rows.Row(), c.Column, c.Value, c.Time)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
		view.Close()
	}
	return b.String()
}

func (s *lived) table() string { return s.tables[s.rnd.IntN(len(s.tables))] }

// act does something at random.
func (s *lived) act() {
	s.t.Helper()
	ctx := context.Background()
	at := s.rnd.IntN(100)
	if len(s.tables) == 0 {
		at = 0
	}
	switch {
	case at < 6:
		name := fmt.Sprint("table", s.rnd.IntN(6))
		if slices.Contains(s.tables, name) {
			return
		}
		s.must(s.store.CreateTable(ctx, name, widecol.TableSpec{Families: []widecol.Family{{Name: "f"}, {Name: "g"}}, Groups: [][]string{{"g"}}}))
		s.tables = append(s.tables, name)
		s.made++
	case at < 9:
		name := s.table()
		s.must(s.store.DropTable(ctx, name))
		s.tables = slices.DeleteFunc(s.tables, func(n string) bool { return n == name })
	case at < 14:
		_, err := s.store.MoveFamily(ctx, s.table(), []string{"f", "g"}[s.rnd.IntN(2)], widecol.NewGroup)
		if err != nil && widecol.KindOf(err) != widecol.Conflict {
			s.must(err)
		}
	case at < 24:
		_, err := s.store.MoveStep(ctx)
		s.must(err)
	case at < 30:
		_, err := s.store.Delete(ctx, s.table(), widecol.RowDeletion(s.row(), widecol.Filter{}), "")
		s.must(err)
	case at < 34:
		s.ship()
	case at < 37:
		s.backup()
	case at < 40:
		s.must(s.store.Engine().Flush(ctx))
	case at < 42:
		image := s.fs.Crash([]vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage}[s.rnd.IntN(4)], s.rnd.Uint64())
		s.store.Close() // on the old file system
		s.fs = image
		s.open()
	case at < 44:
		s.must(s.store.Close())
		s.open()
	default:
		var list []widecol.Mutation
		for _, family := range []string{"f", "g"} {
			list = append(list, widecol.Mutation{Op: widecol.Set, Row: s.row(), Family: []byte(family), Type: cell.String, Value: fmt.Append(nil, s.rnd.IntN(1000)), Time: widecol.CommitTime})
		}
		key := ""
		if s.rnd.IntN(4) == 0 {
			key = fmt.Sprint("key", s.rnd.Uint64())
		}
		_, err := s.store.Write(ctx, s.table(), list, key)
		s.must(err)
	}
}

func (s *lived) row() []byte { return fmt.Append(nil, "row", s.rnd.IntN(30)) }
func (s *lived) ship() {
	a := NewArchiver(s.store.Engine(), func(context.Context) (*Repository, error) { return s.r, nil }, ArchiverOptions{Clock: clock.System, Interval: time.Hour})
	a.Close(context.Background())
	if got := a.Stats(); got.Gaps != 0 || got.Stopped || got.Failures != 0 || got.Lag != 0 {
		s.t.Errorf("archived: %+v", got)
	}
}

func (s *lived) backup() {
	s.t.Helper()
	c, err := s.store.Checkpoint(context.Background(), nil)
	s.must(err)
	from := &Source{Store: c.Store, Place: Place{Whole: true, Timeline: c.Timeline, Sequence: c.Sequence, Time: c.Time}}
	for _, t := range c.Tables {
		from.Tables = append(from.Tables, Table(t))
	}
	for _, f := range c.Files {
		from.Files = append(from.Files, SourceFile{f.Name, f.Size, fmt.Sprintf("%016x", f.Checksum)})
	}
	from.Open = func(_ context.Context, name string) (io.ReadCloser, error) {
		f, err := s.store.OpenCheckpoint(c.ID, name)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, 1<<40), f}, nil
	}
	_, err = s.r.Create(context.Background(), from.take)
	s.must(err)
	s.must(s.store.RemoveCheckpoint(c.ID))
}

// loadDir returns a file system with the directory data, which has the files of a directory.
func loadDir(dir string) (*vfs.Mem, error) {
	mem := vfs.NewMem()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(dir, name)
		to := filepath.ToSlash(filepath.Join("data", rest))
		if err != nil || entry.IsDir() {
			return errors.Join(err, mem.MkdirAll(to))
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := mem.Create(to)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Sync(), f.Close())
	})
	return mem.Crash(vfs.KeepAll, 0), err // all of it is durable
}

// TestRestoreToAnyMoment: tables come and go, are written and deleted from, and their families move, while the store is
// flushed, closed, crashed, backed up, and its log archived, all at random. A restore to the time of any moment has what
// the store had at that moment.
func TestRestoreToAnyMoment(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &lived{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), fs: vfs.NewMem(), r: mustMake(t, NewDir(t.TempDir()), options())}
			s.open()
			s.backup()
			for range 300 {
				s.act()
				if s.rnd.IntN(5) == 0 {
					s.moments = append(s.moments, moment{s.store.Engine().LastTime(), contentOf(t, s.store)})
				}
			}
			for len(s.tables) == 0 {
				s.act()
			}
			_, err := s.store.Write(context.Background(), s.table(), []widecol.Mutation{{Op: widecol.Set, Row: []byte("end"), Family: []byte("f"), Type: cell.String, Time: widecol.CommitTime}}, "")
			s.must(err)
			s.ship()
			s.moments = append(s.moments, moment{Latest, contentOf(t, s.store)})
			s.must(s.store.Close())
			for i := range 15 {
				m := s.moments[s.rnd.IntN(len(s.moments))]
				if i == 0 {
					m = s.moments[len(s.moments)-1]
				}
				s.compare(m)
			}
		})
	}
}

// compare restores the time of a moment.
func (s *lived) compare(m moment) {
	s.t.Helper()
	p, err := s.r.FindPoint(context.Background(), "", m.time)
	s.must(err)
	dir := filepath.Join(s.t.TempDir(), "restored")
	s.must(s.r.Restore(context.Background(), p, nil, dir))
	fs, err := loadDir(dir)
	s.must(err)
	got := openTables(s.t, fs)
	defer got.Close()
	if got := contentOf(s.t, got); got != m.content {
		s.t.Errorf("restored to %d from backup %d with %d objects:\n%s\nwant\n%s", m.time, p.Backup.Sequence, len(p.log), got, m.content)
	}
}
