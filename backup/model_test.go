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
	"testing"
	"time"

	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
	"colonnade/widecol/storetest"
)

// restored is a store for the random tester whose Reopen loses it, and restores it from a backup and its archived log.
type restored struct {
	t       testing.TB
	env     *storetest.Env
	rnd     *rand.Rand
	fs      *vfs.Mem
	store   *lsmstore.Store
	r       *Repository
	backups []*Backup // of the present timeline
}

func (s *restored) open() error {
	var err error
	s.store, err = lsmstore.Open(lsmstore.Options{Dir: "data", MaxValue: s.env.MaxValue, StepMoves: true, Engine: engine.Options{
		FS: s.fs, Clock: testClock{s.env.Now}, ArchiveLog: true, SegmentBytes: 4 << 10, MemtableBytes: 64 << 10, FileBytes: 16 << 10, ReserveBytes: -1,
	}})
	return err
}

// testClock has the time of the random tester. Its timers are real.
type testClock struct{ now func() int64 }

func (c testClock) Now() int64 { return c.now() }

func (c testClock) AfterFunc(d time.Duration, f func()) func() bool {
	return clock.System.AfterFunc(d, f)
}

// flush flushes, and sometimes archives what there is, or makes a backup.
func (s *restored) flush() error {
	switch s.rnd.IntN(4) {
	case 0:
		return s.backup()
	case 1:
		s.ship()
	}
	return s.store.Engine().Flush(context.Background())
}

func (s *restored) ship() {
	a := NewArchiver(s.store.Engine(), func(context.Context) (*Repository, error) { return s.r, nil }, ArchiverOptions{Clock: clock.System, Interval: time.Hour})
	a.Close(context.Background())
	if got := a.Stats(); got.Gaps != 0 || got.Stopped || got.Failures != 0 || got.Lag != 0 {
		s.t.Errorf("archived: %+v", got)
	}
}

func (s *restored) backup() error {
	c, err := s.store.Checkpoint(context.Background(), nil)
	if err != nil {
		return err
	}
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
	made, err := s.r.Create(context.Background(), from)
	if err != nil {
		return err
	}
	s.backups = append(s.backups, made.Backup)
	return s.store.RemoveCheckpoint(c.ID)
}

func (s *restored) reopen() (widecol.Store, error) {
	if s.rnd.IntN(3) > 0 {
		if err := s.store.Close(); err != nil {
			return nil, err
		}
		err := s.open()
		return s.store, err
	}
	s.ship()
	if err := s.store.Close(); err != nil {
		return nil, err
	}
	b := s.backups[s.rnd.IntN(len(s.backups))]
	p, err := s.r.FindPoint(context.Background(), b.ID, Latest)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.t.TempDir(), "restored")
	if err := s.r.Restore(context.Background(), p, nil, dir); err != nil {
		return nil, err
	}
	if s.fs, err = loadDir(dir); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.backups = nil
	return s.store, errors.Join(s.backup(), os.RemoveAll(dir))
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

// crash opens what a loss of power leaves. What was archived stays archived.
func (s *restored) crash() (widecol.Store, error) {
	image := s.fs.Crash([]vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage}[s.rnd.IntN(4)], s.rnd.Uint64())
	s.store.Close() // on the old file system
	s.fs = image
	err := s.open()
	return s.store, err
}

// TestRestoredStoreIsTheStore: a store that is again and again restored from a backup and its archived log does all that
// the model of the random tester does: tables, families and groups come and go, and families move.
func TestRestoredStoreIsTheStore(t *testing.T) {
	for seed := range uint64(6) {
		storetest.Random(t, func(env *storetest.Env) (*storetest.Subject, error) {
			r, err := Create(context.Background(), NewDir(t.TempDir()), options())
			if err != nil {
				return nil, err
			}
			s := &restored{t: t, env: env, rnd: rand.New(rand.NewPCG(env.Seed, 5)), fs: vfs.NewMem(), r: r}
			if err := errors.Join(s.open(), s.backup()); err != nil {
				return nil, err
			}
			return &storetest.Subject{
				Store: s.store, Flush: s.flush, Reopen: s.reopen, Crash: s.crash,
				Step: func() (bool, error) { return s.store.MoveStep(context.Background()) },
			}, nil
		}, seed, 300)
	}
}
