package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// life is a store, its archive, and what it had at some moments.
type life struct {
	rnd     *rand.Rand
	rand    *rand.ChaCha8 // for ids
	dir     string        // of the repository, and of what is restored
	section *report.Section
	fs      *vfs.Mem
	store   *lsmstore.Store
	clock   *clock.Manual // of the repository: each backup has a second of its own
	r       *backup.Repository
	tables  []string // that there are
	moments []moment
}

// moment is what a store had at a time.
type moment struct {
	time    int64
	content string
}

func newLife(seed uint64, dir string, s *report.Section) *life {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return &life{rnd: rand.New(rand.NewPCG(seed, 6)), rand: rand.NewChaCha8(key), dir: dir, section: s, fs: vfs.NewMem(), clock: clock.NewManual(1)}
}

func (l *life) run(ctx context.Context) (err error) {
	l.r, err = backup.Create(ctx, backup.NewDir(filepath.Join(l.dir, "repository")), backup.Options{Clock: l.clock, Rand: l.rand})
	if err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	defer func() { l.store.Close() }()
	if err := l.backup(ctx); err != nil {
		return err
	}
	for range actions {
		if err := l.act(ctx); err != nil {
			return err
		}
		if l.rnd.IntN(5) == 0 {
			content, err := contentOf(ctx, l.store)
			if err != nil {
				return err
			}
			l.moments = append(l.moments, moment{l.store.Engine().LastTime(), content})
			l.section.Add("moments", 1)
		}
	}
	if err := l.create(ctx, "last"); err != nil { // a commit after the last moment
		return err
	}
	if err := l.ship(); err != nil {
		return err
	}
	l.section.Add("lives", 1)
	for range points {
		if err := l.restore(ctx, l.moments[l.rnd.IntN(len(l.moments))]); err != nil {
			return err
		}
	}
	return os.RemoveAll(l.dir)
}

func (l *life) open() (err error) {
	l.store, err = openStore(l.fs, "data", true)
	return err
}

func openStore(fs vfs.FS, dir string, archived bool) (*lsmstore.Store, error) {
	return lsmstore.Open(lsmstore.Options{Dir: dir, StepMoves: true, MoveBytes: 300, Engine: engine.Options{
		FS: fs, Clock: clock.System, ArchiveLog: archived, SegmentBytes: 4 << 10, MemtableBytes: 64 << 10, FileBytes: 16 << 10, ReserveBytes: -1,
	}})
}

// act does something at random.
func (l *life) act(ctx context.Context) error {
	at := l.rnd.IntN(100)
	if len(l.tables) == 0 {
		at = 0
	}
	switch {
	case at < 8:
		return l.create(ctx, fmt.Sprint("table", l.rnd.IntN(6)))
	case at < 11:
		l.section.Add("tables_dropped", 1)
		name := l.table()
		l.tables = slices.DeleteFunc(l.tables, func(n string) bool { return n == name })
		return l.store.DropTable(ctx, name)
	case at < 16:
		l.section.Add("moves", 1)
		_, err := l.store.MoveFamily(ctx, l.table(), []string{"f", "g"}[l.rnd.IntN(2)], widecol.NewGroup)
		if widecol.KindOf(err) == widecol.Conflict {
			return nil
		}
		return err
	case at < 24:
		_, err := l.store.MoveStep(ctx)
		return err
	case at < 30:
		_, err := l.store.Delete(ctx, l.table(), widecol.RowDeletion(l.row(), widecol.Filter{}), "")
		return err
	case at < 34:
		return l.ship()
	case at < 37:
		return l.backup(ctx)
	case at < 40:
		return l.store.Engine().Flush(ctx)
	case at < 43:
		l.section.Add("crashes", 1)
		image := l.fs.Crash([]vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage}[l.rnd.IntN(4)], l.rnd.Uint64())
		l.store.Close() // on the old file system
		l.fs = image
		return l.open()
	case at < 45:
		return errors.Join(l.store.Close(), l.open())
	}
	return l.write(ctx)
}

func (l *life) table() string { return l.tables[l.rnd.IntN(len(l.tables))] }

func (l *life) row() []byte { return fmt.Append(nil, "row", l.rnd.IntN(30)) }

func (l *life) create(ctx context.Context, name string) error {
	if slices.Contains(l.tables, name) {
		return nil
	}
	l.tables = append(l.tables, name)
	return l.store.CreateTable(ctx, name, widecol.TableSpec{Families: []widecol.Family{{Name: "f"}, {Name: "g"}}, Groups: [][]string{{"g"}}})
}

func (l *life) write(ctx context.Context) error {
	var list []widecol.Mutation
	for _, family := range []string{"f", "g"} {
		list = append(list, widecol.Mutation{Op: widecol.Set, Row: l.row(), Family: []byte(family), Type: cell.String, Value: fmt.Append(nil, l.rnd.IntN(1000)), Time: widecol.CommitTime})
	}
	_, err := l.store.Write(ctx, l.table(), list, "")
	return err
}

// ship archives all that there is.
func (l *life) ship() error {
	a := backup.NewArchiver(l.store.Engine(), func(context.Context) (*backup.Repository, error) { return l.r, nil }, backup.ArchiverOptions{Clock: clock.System, Interval: time.Hour})
	a.Close(context.Background())
	if got := a.Stats(); got.Gaps != 0 || got.Stopped || got.Failures != 0 || got.Lag != 0 {
		return fmt.Errorf("the archive reports %+v", got)
	}
	return nil
}

func (l *life) backup(ctx context.Context) error {
	l.section.Add("backups", 1)
	l.clock.Advance(time.Second)
	c, err := l.store.Checkpoint(ctx, nil)
	if err != nil {
		return err
	}
	from := &backup.Source{Store: c.Store, Place: backup.Place{Whole: true, Timeline: c.Timeline, Sequence: c.Sequence, Time: c.Time}}
	for _, f := range c.Files {
		from.Files = append(from.Files, backup.SourceFile{Name: f.Name, Size: f.Size, XXH64: fmt.Sprintf("%016x", f.Checksum)})
	}
	from.Open = func(_ context.Context, name string) (io.ReadCloser, error) {
		f, err := l.store.OpenCheckpoint(c.ID, name)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, 1<<40), f}, nil
	}
	_, err = l.r.Create(ctx, func(context.Context) (*backup.Source, error) { return from, nil })
	return errors.Join(err, l.store.RemoveCheckpoint(c.ID))
}

// restore restores the time of a moment, and compares.
func (l *life) restore(ctx context.Context, m moment) error {
	l.section.Add("restores", 1)
	dir := filepath.Join(l.dir, "restored")
	p, err := l.r.FindPoint(ctx, "", m.time)
	if err == nil {
		err = l.r.Restore(ctx, p, nil, dir)
	}
	if err != nil {
		return err
	}
	got, err := openStore(vfs.OS, dir, false)
	if err != nil {
		return err
	}
	content, err := contentOf(ctx, got)
	if err := errors.Join(err, got.Close(), os.RemoveAll(dir)); err != nil {
		return err
	}
	if content != m.content {
		return fmt.Errorf("restored to %d from the backup at batch %d:\n%s\nwant\n%s", m.time, p.Backup.Sequence, content, m.content)
	}
	return nil
}

// contentOf returns all that a store has: its tables, their families and groups, and all versions.
func contentOf(ctx context.Context, s *lsmstore.Store) (string, error) {
	var b strings.Builder
	tables, err := s.Tables(ctx)
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		fmt.Fprintln(&b, table.Name, table.Families, table.Groups)
		if err := appendTable(ctx, s, table.Name, &b); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func appendTable(ctx context.Context, s *lsmstore.Store, name string, b *strings.Builder) error {
	view, err := s.View(ctx, name)
	if err != nil {
		return err
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			fmt.Fprintf(b, "%s %q=%s@%d\n", rows.Row(), c.Column, c.Value, c.Time)
		}
	}
	return rows.Err()
}
