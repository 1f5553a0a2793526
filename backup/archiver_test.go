package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// archived is a store whose log is archived.
type archived struct {
	t       *testing.T
	fs      *vfs.Mem
	db      *engine.DB
	r       *Repository
	storage Storage
	times   []int64 // of the commits; commit n writes row n
}

func openArchived(t *testing.T, fs *vfs.Mem, s Storage, opt Options) *archived {
	t.Helper()
	a := &archived{t: t, fs: fs, storage: s, r: mustMake(t, s, opt)}
	a.open(true)
	t.Cleanup(func() { a.db.Close() })
	return a
}

func (a *archived) open(archive bool) {
	a.t.Helper()
	a.openReserving(archive, -1)
}

func (a *archived) openReserving(archive bool, reserve int64) {
	a.t.Helper()
	db, err := engine.Open("store", engine.Options{FS: a.fs, Clock: clock.System, ArchiveLog: archive, SegmentBytes: 64 << 10, ReserveBytes: reserve})
	if err != nil {
		a.t.Fatal(err)
	}
	a.db = db
}

func (a *archived) close() {
	a.t.Helper()
	if err := a.db.Close(); err != nil {
		a.t.Fatal(err)
	}
}

// write commits n batches of a row each.
func (a *archived) write(n int) {
	a.t.Helper()
	if len(a.db.Partitions()) == 0 {
		if _, err := a.db.CreatePartitions("a"); err != nil {
			a.t.Fatal(err)
		}
	}
	for range n {
		var b engine.Batch
		row := fmt.Sprintf("%06d", len(a.times))
		b.Add(1, []byte(row), &cell.Cell{Column: cell.AppendColumn(nil, []byte("f"), nil), Type: cell.String, Value: []byte(row), Time: engine.CommitTime})
		c, err := a.db.Commit(context.Background(), &b)
		if err != nil {
			a.t.Fatal(err)
		}
		a.times = append(a.times, c.Time)
	}
}

func (a *archived) start() *Archiver {
	return NewArchiver(a.db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: clock.System, Interval: time.Hour})
}

// ship archives all that was written.
func (a *archived) ship() ArchiverStats {
	a.t.Helper()
	archiver := a.start()
	archiver.Close(context.Background())
	s := archiver.Stats()
	if s.Lag != 0 && !s.Stopped {
		a.t.Errorf("after a close the archive lags: %+v", s)
	}
	return s
}

var checkpoints int

// backup makes a backup.
func (a *archived) backup() *Backup {
	a.t.Helper()
	s, remove := a.checkpoint()
	defer remove()
	a.r.opt.Clock.(*clock.Manual).Advance(time.Second) // backups are sorted by the second
	made, err := a.r.Create(context.Background(), s.take)
	if err != nil {
		a.t.Fatal(err)
	}
	return made.Backup
}

// checkpoint makes a checkpoint.
func (a *archived) checkpoint() (s *Source, remove func()) {
	a.t.Helper()
	var ids []engine.PartitionID
	for _, p := range a.db.Partitions() {
		ids = append(ids, p.ID)
	}
	snap, err := a.db.NewSnapshot(ids...)
	if err != nil {
		a.t.Fatal(err)
	}
	defer snap.Close()
	id := a.db.ID()
	checkpoints++
	name := fmt.Sprint("c", checkpoints)
	s = &Source{Store: fmt.Sprintf("%x", id[:]), Place: Place{Whole: true, Timeline: timelineText(a.db.Timeline()), Sequence: snap.Seq(), Time: a.db.LastTime()}}
	files, err := snap.Checkpoint(context.Background(), name)
	if err != nil {
		a.t.Fatal(err)
	}
	s.Open = func(_ context.Context, file string) (io.ReadCloser, error) {
		f, err := a.db.OpenCheckpoint(name, file)
		if err != nil {
			return nil, err
		}
		size, err := f.Size()
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, size), f}, err
	}
	for _, f := range files {
		s.Files = append(s.Files, SourceFile{Name: f.Name, Size: f.Size, XXH64: fmt.Sprintf("%016x", f.Checksum)})
	}
	return s, func() {
		if err := a.db.RemoveCheckpoint(name); err != nil {
			a.t.Error(err)
		}
	}
}

// wantRows restores a time and compares the rows.
func (a *archived) wantRows(id string, until int64, rows int) {
	a.t.Helper()
	p, err := a.r.FindPoint(context.Background(), id, until)
	if err != nil {
		a.t.Errorf("to %d: %v", until, err)
		return
	}
	dir := filepath.Join(a.t.TempDir(), "restored")
	if err := a.r.Restore(context.Background(), p, nil, dir); err != nil {
		a.t.Errorf("restore to %d: %v", until, err)
		return
	}
	if _, err := engine.Check(vfs.OS, dir, func(e *engine.CorruptError) { a.t.Errorf("check of a restored store: %v", e) }); err != nil {
		a.t.Error(err)
	}
	db, err := engine.Open(dir, engine.Options{FS: vfs.OS, Clock: clock.System})
	if err != nil {
		a.t.Error(err)
		return
	}
	defer db.Close()
	if got := rowsOf(a.t, db); len(got) != rows || rows > 0 && got[rows-1] != fmt.Sprintf("%06d", rows-1) {
		a.t.Errorf("restored to %d: %d rows, want %d", until, len(got), rows)
	}
	if db.Timeline() == a.db.Timeline() {
		a.t.Error("the restored store has the timeline of the old one")
	}
}

func rowsOf(t *testing.T, db *engine.DB) (rows []string) {
	t.Helper()
	snap, err := db.NewSnapshot(1)
	if errors.Is(err, engine.ErrNoPartition) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	scan, err := snap.Scan(1, engine.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	for scan.NextRow() {
		rows = append(rows, string(scan.Row()))
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// wantError asks for a time that cannot be restored.
func (a *archived) wantError(id string, until int64, want string) {
	a.t.Helper()
	if p, err := a.r.FindPoint(context.Background(), id, until); err == nil || !strings.Contains(err.Error(), want) {
		a.t.Errorf("to %d: got %+v, %v, want %q", until, p, err, want)
	}
}

func (a *archived) logObjects() []Object {
	a.t.Helper()
	list, err := a.storage.List(context.Background(), logDir)
	if err != nil {
		a.t.Fatal(err)
	}
	return list
}

// TestArchive: each commit can be restored to, from each backup before, also after a stop and a restore; encrypted or not.
func TestArchive(t *testing.T) {
	secret, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys([]string{secret.Recipient().String()}, secret.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []*Keys{nil, keys} {
		opt := options()
		opt.Keys = keys
		a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), opt)
		a.wantError("", Latest, "no backup of all tables")
		a.write(10)
		first := a.backup()
		a.wantRows("", Latest, 10) // nothing is archived yet, and nothing is missing
		a.wantError("", a.times[9]+1_000_000, "none after it is known")
		a.write(40)
		if s := a.ship(); s.Segments == 0 || s.Bytes == 0 || s.Failures+s.Gaps != 0 || s.Stopped {
			t.Errorf("archived: %+v", s)
		}
		a.write(200)
		second := a.backup()
		a.write(50)
		a.close() // what was not archived stays
		a.open(true)
		a.write(50)
		a.ship()
		a.wantRows("", Latest, 350)
		a.wantRows(first.ID, Latest, 350)
		for _, n := range []int{10, 11, 49, 50, 51, 249, 250, 300, 301, 349} {
			a.wantRows("", a.times[n], n+1)
			a.wantRows(first.ID, max(a.times[n]-1, first.Time), n)
		}
		a.wantError("", a.times[9]-1, "no earlier time can be restored")
		a.wantError(second.ID, a.times[11], "choose an earlier one")
		a.wantError("", a.times[349]+1, "use --until latest")
		a.wantError("2020", Latest, "there is no backup 2020")
		spans, err := a.r.Spans(context.Background(), []*Backup{first, second})
		if err != nil || len(spans) != 1 || spans[0].From.UnixMicro() != first.Time || spans[0].To.UnixMicro() != a.times[349] {
			t.Errorf("spans: %+v, %v", spans, err)
		}
		wantSound(t, a.r, 2)
		a.damaged(keys)
		a.pruned(first, second)
	}
}

// damaged: a bit that flips anywhere in an object of the log is found, and stops a restore.
func (a *archived) damaged(keys *Keys) {
	a.t.Helper()
	root := a.storage.String()
	objects := a.logObjects()
	name := filepath.Join(root, objects[len(objects)/2].Name)
	good, err := os.ReadFile(name)
	if err != nil {
		a.t.Fatal(err)
	}
	var blind, wrong *Repository // without the secret key, with another one
	if keys != nil {
		blind, wrong = a.keyed(new(Keys)), a.keyed(withKeys(a.t, nil, otherKey(a.t)).Keys)
	}
	for at := 0; at < len(good); at += 1 + len(good)/15 {
		bad := bytes.Clone(good)
		bad[at] ^= 4
		os.WriteFile(name, bad, 0o600)
		for _, r := range []*Repository{a.r, blind, wrong} {
			if r == nil {
				continue
			}
			if list, _, err := damage(r); len(list) != 1 || !strings.Contains(list[0], path.Base(name)) || err != nil {
				a.t.Errorf("byte %d of %d: verify found %q, %v", at, len(good), list, err)
			}
		}
		p, err := a.r.FindPoint(context.Background(), "", Latest)
		if err != nil {
			a.t.Fatal(err)
		}
		p.log, _ = a.r.logOf(context.Background(), p.Backup.Store, p.Backup.Timeline)
		dir := filepath.Join(a.t.TempDir(), "bad")
		if err := a.r.Restore(context.Background(), p, nil, dir); err == nil || !strings.Contains(err.Error(), path.Base(name)) {
			a.t.Errorf("byte %d of %d: restore: %v", at, len(good), err)
		}
		if _, err := os.Stat(dir); err == nil {
			a.t.Error("a restore that failed has left a directory")
		}
	}
	os.WriteFile(name, good, 0o600)
	os.WriteFile(filepath.Join(filepath.Dir(name), "foreign"), nil, 0o600)
	if list, _, _ := damage(a.r); len(list) != 1 || !strings.Contains(list[0], "no name of an object") {
		a.t.Errorf("verify of another file: %q", list)
	}
	os.Remove(filepath.Join(filepath.Dir(name), "foreign"))
}

// keyed opens the repository with keys that decrypt nothing: all that is there is sound.
func (a *archived) keyed(keys *Keys) *Repository {
	a.t.Helper()
	opt := a.r.opt
	opt.Keys = keys
	r, err := Open(context.Background(), a.storage, opt)
	if err != nil {
		a.t.Fatal(err)
	}
	if list, v, err := damage(r); len(list) > 0 || v.Closed == 0 || err != nil {
		a.t.Errorf("verify without the right key: %q, %+v, %v", list, v, err)
	}
	return r
}

func otherKey(t *testing.T) string {
	_, identity := keysFor(t)
	return identity
}

// pruned: what the kept backup needs of the log stays, and no more.
func (a *archived) pruned(first, second *Backup) {
	a.t.Helper()
	before := len(a.logObjects())
	p, err := a.r.Prune(context.Background(), 1)
	if err != nil || len(p.Backups) != 1 {
		a.t.Fatalf("prune: %+v, %v", p, err)
	}
	if after := len(a.logObjects()); after == 0 || after >= before {
		a.t.Errorf("%d objects of the log, %d before", after, before)
	}
	a.wantRows("", Latest, 350)
	a.wantRows("", second.Time, 250)
	a.wantError("", a.times[20], "no earlier time can be restored")
}

// failing storage for logs: Put waits and fails as a test says.
type faulty struct {
	Storage
	mu   sync.Mutex
	fail error
	puts int
	hang chan struct{} // a Put of the log waits for it; nil for none
	deaf bool          // also when its context has ended
}

func (f *faulty) set(fail error, hang chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.hang = fail, hang
}

func (f *faulty) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if !strings.HasPrefix(name, logDir) {
		return f.Storage.Put(ctx, name, content, size)
	}
	f.mu.Lock()
	f.puts++
	fail, hang := f.fail, f.hang
	f.mu.Unlock()
	if hang != nil && f.deaf {
		<-hang
	} else if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fail != nil {
		return fail
	}
	return f.Storage.Put(ctx, name, content, size)
}

func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.puts
}

// TestArchiveIsDown: while the repository cannot be written, the store goes on; then all is archived.
func TestArchiveIsDown(t *testing.T) {
	s := &faulty{Storage: NewDir(t.TempDir())}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.write(1)
	a.backup()
	manual := clock.NewManual(time.Now().UnixMicro())
	s.set(errors.New("no route"), nil)
	opens := 0
	archiver := NewArchiver(a.db, func(context.Context) (*Repository, error) {
		if opens++; opens < 3 {
			return nil, errors.New("no such host")
		}
		return a.r, nil
	}, ArchiverOptions{Clock: manual, Interval: time.Second})
	a.write(100)
	for s.count() < 3 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	manual.Advance(time.Hour)
	if got := archiver.Stats(); got.Failures < 4 || got.Segments != 0 || got.Lag < time.Minute {
		t.Errorf("while nothing can be written: %+v", got)
	}
	a.write(100)
	s.set(nil, nil)
	for archiver.Stats().Segments == 0 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	archiver.Close(context.Background())
	if got := archiver.Stats(); got.Lag != 0 || got.Gaps != 0 {
		t.Errorf("at the end: %+v", got)
	}
	a.wantRows("", Latest, 201)
}

// TestGapIsToldWhileDown: segments that are given up for want of room are a gap at once, not only when the archive can be
// reached again, and one gap then.
func TestGapIsToldWhileDown(t *testing.T) {
	const reserve = 1 << 20
	s := &faulty{Storage: NewDir(t.TempDir())}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.close()
	a.openReserving(true, reserve)
	a.write(1)
	a.backup()
	s.set(errors.New("no route"), nil)
	manual := clock.NewManual(time.Now().UnixMicro())
	archiver := NewArchiver(a.db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: manual, Interval: time.Hour})
	for range 10 {
		a.write(10)
		if err := errors.Join(a.db.FinishLogSegment(), a.db.Flush(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
	for s.count() == 0 { // one is in hand
		runtime.Gosched()
	}
	free, _ := a.fs.FreeSpace("store")
	a.fs.SetCapacity(1<<40 - int64(free) + reserve - 1)
	if got := archiver.Stats(); got.Gaps != 0 {
		t.Errorf("before the disk is full: %+v", got)
	}
	for a.db.LostLog() == 0 {
		a.write(10)
	}
	if got := archiver.Stats(); got.Gaps != 1 || got.Segments != 0 {
		t.Errorf("while nothing can be written: %+v", got)
	}
	a.fs.SetCapacity(1 << 40)
	s.set(nil, nil)
	for archiver.Stats().Segments == 0 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	archiver.Close(context.Background())
	if got := archiver.Stats(); got.Gaps != 1 || got.Lag != 0 {
		t.Errorf("at the end: %+v", got)
	}
	a.backup()
	a.write(10)
	a.ship()
	a.wantRows("", Latest, len(a.times))
}

// TestLagAfterAStepBack of the clock goes on with the time that passes.
func TestLagAfterAStepBack(t *testing.T) {
	manual := clock.NewManual(time.Now().UnixMicro())
	s := &faulty{Storage: NewDir(t.TempDir()), fail: errors.New("no route")}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.close()
	db, err := engine.Open("store", engine.Options{FS: a.fs, Clock: manual, ArchiveLog: true, SegmentBytes: 64 << 10, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	a.db = db
	archiver := NewArchiver(db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: manual, Interval: time.Hour})
	a.write(1)
	manual.Advance(-24 * time.Hour)
	a.write(1)
	manual.Advance(time.Minute)
	if got := archiver.Stats(); got.Lag != time.Minute {
		t.Errorf("a minute after the first commit, and a step back: %+v", got)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	archiver.Close(ended)
}

// TestArchiverCloses in time, although the repository does not answer; nothing is lost.
func TestArchiverCloses(t *testing.T) {
	s := &faulty{Storage: NewDir(t.TempDir())}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.write(10)
	a.backup()
	a.write(10)
	s.set(nil, make(chan struct{}))
	archiver := a.start()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for s.count() == 0 {
			runtime.Gosched()
		}
		cancel()
	}()
	archiver.Close(ctx)
	if got := archiver.Stats(); got.Segments != 0 || got.Lag == 0 {
		t.Errorf("closed early: %+v", got)
	}
	a.close()
	s.set(nil, nil)
	a.open(true)
	a.ship()
	a.wantRows("", Latest, 20)
}

// TestArchiverClosesBesideADeafStorage that heeds no context, and says what is left. That is archived after the next
// start, whatever becomes of the call that hangs.
func TestArchiverClosesBesideADeafStorage(t *testing.T) {
	hang := make(chan struct{})
	s := &faulty{Storage: NewDir(t.TempDir()), deaf: true}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.write(10)
	a.backup()
	a.write(10)
	s.set(errors.New("no route"), hang)
	manual := clock.NewManual(time.Now().UnixMicro())
	var log bytes.Buffer
	archiver := NewArchiver(a.db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: manual, Interval: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := a.db.FinishLogSegment(); err != nil {
		t.Fatal(err)
	}
	for s.count() == 0 {
		runtime.Gosched()
	}
	manual.Advance(time.Hour)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	closed := make(chan struct{})
	go func() { archiver.Close(ended); close(closed) }()
	for open := true; open; {
		select {
		case <-closed:
			open = false
		default:
			manual.Advance(time.Second)
			runtime.Gosched()
		}
	}
	if !strings.Contains(log.String(), "stays in the directory") {
		t.Errorf("what is left is not said: %s", log.String())
	}
	a.close()
	a.open(true)
	s.set(nil, nil)
	close(hang)
	a.ship()
	a.wantRows("", Latest, 20)
}

// TestArchiveHangs: an attempt that gets no answer is given up, and made again.
func TestArchiveHangs(t *testing.T) {
	s := &faulty{Storage: NewDir(t.TempDir())}
	a := openArchived(t, vfs.NewMem(), s, options())
	s.set(nil, make(chan struct{}))
	manual := clock.NewManual(time.Now().UnixMicro())
	archiver := NewArchiver(a.db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: manual, Interval: time.Hour})
	a.write(10)
	if err := a.db.FinishLogSegment(); err != nil {
		t.Fatal(err)
	}
	for archiver.Stats().Failures == 0 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	s.set(nil, nil)
	for archiver.Stats().Segments == 0 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	archiver.Close(context.Background())
}

// TestArchiveIsOpenedAtOnce: its owner need not write something to hear that it cannot be opened.
func TestArchiveIsOpenedAtOnce(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	opened := make(chan struct{})
	archiver := NewArchiver(a.db, func(context.Context) (*Repository, error) { close(opened); return a.r, nil }, ArchiverOptions{Clock: clock.System, Interval: time.Hour})
	<-opened
	archiver.Close(context.Background())
}

// TestArchivedAgain: a segment that comes again after a crash has its object already. Another one of the same number
// stops the archive.
func TestArchivedAgain(t *testing.T) {
	s := &faulty{Storage: NewDir(t.TempDir())}
	a := openArchived(t, vfs.NewMem(), s, options())
	a.write(10)
	a.backup()
	a.write(200)
	before := a.fs.Crash(vfs.KeepAll, 1)
	a.ship()
	puts, objects := s.count(), len(a.logObjects())
	a.close()
	a.fs = before
	a.open(true)
	if got := a.ship(); got.Stopped || got.Gaps != 0 {
		t.Errorf("again: %+v", got)
	}
	if s.count() == puts {
		t.Error("the segments after the crash are not archived")
	}
	names := make(map[string]int)
	for _, o := range a.logObjects() {
		l, err := parseLogName(o)
		if err != nil {
			t.Fatal(err)
		}
		if names[fmt.Sprint(l.number)]++; names[fmt.Sprint(l.number)] > 1 {
			t.Errorf("segment %d has two objects", l.number)
		}
	}
	if len(names) < objects {
		t.Errorf("%d objects, %d before", len(names), objects)
	}
	a.wantRows("", Latest, 210)

	// Two servers go on from here, with the same directory.
	twin := &archived{t: t, fs: a.fs.Crash(vfs.KeepAll, 2), storage: s, r: a.r, times: slices.Clone(a.times)}
	twin.open(true)
	defer twin.close()
	twin.write(7)
	a.write(5)
	a.ship()
	if got := twin.ship(); !got.Stopped {
		t.Errorf("a copy of the directory archives to the same place: %+v", got)
	}
	a.wantRows("", Latest, 215)
	objectsNow := a.logObjects()
	last, _ := parseLogName(objectsNow[len(objectsNow)-1])
	last.content = strings.Repeat("0", 16)
	last.setName("")
	if err := s.Storage.Put(context.Background(), last.name, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	a.wantError("", Latest, "two servers with the same directory")
	whole, _ := parseLogName(objectsNow[len(objectsNow)-2])
	fork, _ := slices.BinarySearch(a.times, whole.time+1)
	a.wantRows("", whole.time, fork)
	if spans, err := a.r.Spans(context.Background(), mustList(t, a.r)); err != nil || len(spans) != 1 || spans[0].To.UnixMicro() != whole.time {
		t.Errorf("spans up to a fork: %+v, %v, want %d", spans, err, whole.time)
	}
	a.write(1)
	if got := a.ship(); !got.Stopped {
		t.Errorf("the archive goes on behind a fork: %+v", got)
	}
	a.backup()
	a.wantRows("", Latest, len(a.times))
}

// TestBroughtBackBehindPrune: an archived segment whose file a crash brings back, and whose object a prune has removed, is
// no gap. A directory that was set back behind the prune is not archived.
func TestBroughtBackBehindPrune(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	finish := func() {
		a.write(10)
		if err := errors.Join(a.db.FinishLogSegment(), a.db.Flush(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
	finish()
	back := a.fs.Crash(vfs.KeepAll, 1)
	for range 20 {
		finish()
	}
	a.ship()
	a.backup()
	if _, err := a.r.Prune(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	a.close()
	copyFile(t, back, a.fs, "store/wal/00000001.log")
	a.open(true)
	a.write(10)
	before := len(a.logObjects())
	if got := a.ship(); got.Gaps != 0 || got.Stopped {
		t.Errorf("with a segment that a crash has brought back: %+v", got)
	}
	for _, o := range a.logObjects() {
		if l, _ := parseLogName(o); l.number == 1 {
			t.Errorf("the segment has an object again, of now %d, %d before", len(a.logObjects()), before)
		}
	}
	a.wantRows("", Latest, len(a.times))

	set := &archived{t: t, fs: back, storage: a.storage, r: a.r}
	set.open(true)
	defer set.close()
	set.write(3)
	if got := set.ship(); !got.Stopped {
		t.Errorf("a directory that was set back: %+v", got)
	}
}

// copyFile copies a file to another file system.
func copyFile(t *testing.T, from, to vfs.FS, name string) {
	t.Helper()
	in, err := from.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	size, _ := in.Size()
	data := make([]byte, size)
	if _, err := in.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	out, err := to.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(data); err != nil {
		t.Fatal(err)
	}
	out.Close()
}

func mustList(t *testing.T, r *Repository) []*Backup {
	t.Helper()
	list, err := r.List(context.Background(), func(d *Damage) { t.Error(d) })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDropBeforeArchive: a partition that was dropped between a backup and the start of the archive does not return with
// the commits of the archive.
func TestDropBeforeArchive(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	a.close()
	a.open(false)
	a.write(10)
	ids, err := a.db.CreatePartitions("gone")
	if err != nil {
		t.Fatal(err)
	}
	a.backup()
	if err := a.db.DropPartitions(ids...); err != nil {
		t.Fatal(err)
	}
	a.close()
	a.open(true)
	a.write(5)
	a.ship()
	a.wantRows("", Latest, 15)
	p, err := a.r.FindPoint(context.Background(), "", Latest)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := a.r.Restore(context.Background(), p, nil, dir); err != nil {
		t.Fatal(err)
	}
	db, err := engine.Open(dir, engine.Options{FS: vfs.OS, Clock: clock.System})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Partitions(); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("partitions: %+v", got)
	}
}

// TestArchiveOfTwins: of two servers with the same directory that archive at the same time, the one that comes second to
// a segment stops, and keeps no log for it.
func TestArchiveOfTwins(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	a.write(10)
	a.backup()
	archiver := a.start() // it has looked at the archive before the twin comes
	defer func() { archiver.Close(context.Background()) }()
	next := func(a *archived, archiver *Archiver) ArchiverStats {
		a.write(3)
		if err := a.db.FinishLogSegment(); err != nil {
			t.Fatal(err)
		}
		for archiver.Stats().Lag != 0 && !archiver.Stats().Stopped {
			runtime.Gosched()
		}
		return archiver.Stats()
	}
	next(a, archiver)
	twin := &archived{t: t, fs: a.fs.Crash(vfs.KeepAll, 2), storage: a.storage, r: a.r, times: slices.Clone(a.times)}
	twin.open(true)
	defer twin.close()
	others := twin.start()
	defer others.Close(context.Background())
	if got := next(twin, others); got.Stopped {
		t.Fatalf("the first that goes on: %+v", got)
	}
	got := next(a, archiver)
	for range 10 { // its next segment may still be one that both have
		got = next(a, archiver)
	}
	if !got.Stopped {
		t.Errorf("the second archives, too: %+v", got)
	}
	if m := a.db.Metrics(); m.LogHeldBytes != 0 {
		t.Errorf("%d bytes of log are held for an archive that is stopped", m.LogHeldBytes)
	}
	twin.wantRows("", Latest, 16)
}

// TestArchiveGap: without its log for a while, a store can be restored to times before and to backups after it.
func TestArchiveGap(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	a.write(10)
	first := a.backup()
	a.write(10)
	a.ship()
	a.close()
	a.open(false) // serve without --archive
	a.write(5)
	during := a.backup()
	a.write(5)
	a.close()
	a.open(true)
	a.write(10)
	if got := a.ship(); got.Gaps != 1 {
		t.Errorf("after a time without an archive: %+v", got)
	}
	a.wantRows("", a.times[15], 16)
	a.wantError("", a.times[35], "has a gap after")
	a.wantError("", Latest, "has a gap after")
	a.wantError(during.ID, Latest, "has a gap after")
	second := a.backup()
	a.write(10)
	a.ship()
	a.wantRows("", Latest, 50)
	a.wantError(first.ID, Latest, "has a gap after")
	spans, err := a.r.Spans(context.Background(), []*Backup{first, second})
	if err != nil || len(spans) != 2 || spans[0].To.UnixMicro() != a.times[19] {
		t.Errorf("spans: %+v, %v", spans, err)
	}
}

// TestArchiveOfDamage: a segment that is damaged, or gone, leaves a gap, and what comes after is archived.
func TestArchiveOfDamage(t *testing.T) {
	for _, remove := range []bool{false, true} {
		a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
		a.write(10)
		if err := a.db.FinishLogSegment(); err != nil {
			t.Fatal(err)
		}
		name := "store/wal/00000001.log"
		f, err := a.fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		data := make([]byte, size)
		f.ReadAt(data, 0)
		f.Close()
		data[200] ^= 1
		a.fs.Remove(name)
		if !remove {
			out, err := a.fs.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(data)
			out.Close()
		}
		a.write(10)
		if got := a.ship(); got.Gaps != 1 || got.Segments == 0 {
			t.Errorf("removed %v: %+v", remove, got)
		}
	}
}

// TestUnreadableSegment: a segment that cannot be read holds up the others for a while, and is a gap then.
func TestUnreadableSegment(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	a.close()
	fs := vfs.Inject(a.fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpOpen && op.Name == "store/wal/00000001.log" {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	db, err := engine.Open("store", engine.Options{FS: fs, Clock: clock.System, ArchiveLog: true, SegmentBytes: 64 << 10, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	a.db = db
	for range 3 {
		a.write(10)
		if err := db.FinishLogSegment(); err != nil {
			t.Fatal(err)
		}
	}
	manual := clock.NewManual(time.Now().UnixMicro())
	archiver := NewArchiver(db, func(context.Context) (*Repository, error) { return a.r, nil }, ArchiverOptions{Clock: manual, Interval: time.Hour})
	for archiver.Stats().Segments < 2 {
		manual.Advance(time.Second)
		runtime.Gosched()
	}
	archiver.Close(context.Background())
	if got := archiver.Stats(); got.Gaps != 1 || got.Failures < 5 {
		t.Errorf("with a segment that cannot be read: %+v", got)
	}
}

// TestPartialBackupHasNoLog: the log cannot follow a backup of some tables.
func TestPartialBackupHasNoLog(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	made := mustCreate(t, a.r, newFiles().source())
	a.wantError(made.ID, Latest, "has not all tables")
	a.wantError("", Latest, "no backup of all tables")
}

// TestChain: what follows a batch begins with the object that has it, even as its last one: partitions may have been
// dropped after it. That is also what a prune keeps.
func TestChain(t *testing.T) {
	object := func(number, after, last uint64) logObject {
		return logObject{store: "a", timeline: "b", number: number, after: after, last: last}
	}
	log := []logObject{object(1, 0, 10), object(2, 10, 20), object(3, 20, 20), object(5, 30, 40), object(6, 40, 50)}
	for _, c := range []struct {
		seq    uint64
		want   string // the numbers
		stop   chainStop
		pruned int // objects that a backup there does not need
	}{
		{0, "[1 2 3]", atGap, 0}, {9, "[1 2 3]", atGap, 0}, {10, "[1 2 3]", atGap, 0}, {11, "[2 3]", atGap, 1}, {20, "[2 3]", atGap, 1},
		{21, "[]", atGap, 3}, {30, "[5 6]", atEnd, 3}, {40, "[5 6]", atEnd, 3}, {41, "[6]", atEnd, 4}, {50, "[6]", atEnd, 4}, {51, "[]", atEnd, 5},
	} {
		chain, stop := chainFrom(log, c.seq)
		numbers := []uint64{}
		for _, o := range chain {
			numbers = append(numbers, o.number)
		}
		if got := fmt.Sprint(numbers); got != c.want || stop != c.stop {
			t.Errorf("behind batch %d: %s, stop %v, want %s, %v", c.seq, got, stop, c.want, c.stop)
		}
		kept := oldestPlaces([]*Backup{
			{Store: "a", Place: Place{Whole: true, Timeline: "b", Sequence: c.seq}}, {Store: "a", Place: Place{Whole: true, Timeline: "b", Sequence: 90}},
			{Store: "a", Place: Place{Timeline: "b", Sequence: 0}},
		})
		pruned := 0
		for _, o := range log {
			if !kept.need(Object{Name: fmt.Sprintf("log/a/b/%012d-%d-%d-0-0-0.zst", o.number, o.after, o.last)}) {
				pruned++
			}
		}
		if pruned != c.pruned {
			t.Errorf("behind batch %d: %d objects are pruned, want %d", c.seq, pruned, c.pruned)
		}
	}
	broken := []logObject{object(1, 0, 10), object(2, 11, 20)}
	if chain, stop := chainFrom(broken, 5); len(chain) != 1 || stop != atGap {
		t.Errorf("behind an object that does not follow: %v, %v", chain, stop)
	}
	log[1].forked = true
	for seq, want := range map[uint64]int{5: 1, 10: 1, 11: 0, 20: 0} {
		if chain, stop := chainFrom(log, seq); len(chain) != want || stop != atFork {
			t.Errorf("behind batch %d, before a fork: %v, %v, want %d objects", seq, chain, stop, want)
		}
	}
	if chain, stop := chainFrom(log, 30); len(chain) != 2 || stop != atEnd {
		t.Errorf("behind a fork: %v, %v", chain, stop)
	}
	if oldestPlaces(nil).need(Object{Name: "log/a/b/1-0-10-0-0-0.zst"}) || !oldestPlaces(nil).need(Object{Name: "log/other"}) {
		t.Error("a log that no backup can be followed by stays, or a file of others goes")
	}
}

// TestPruneBesideFirstBackup: a prune removes nothing of the log that follows the first backup, which nothing protects until
// it is whole.
func TestPruneBesideFirstBackup(t *testing.T) {
	a := openArchived(t, vfs.NewMem(), NewDir(t.TempDir()), options())
	ctx := context.Background()
	opt := options()
	opt.Clock = impatient{opt.Clock, 3 * 5 * time.Second}
	a.write(10)
	a.ship()
	_, err := a.r.Create(ctx, func(context.Context) (*Source, error) {
		s, remove := a.checkpoint()
		t.Cleanup(remove)
		a.write(10)
		a.ship()
		locks, err := a.storage.List(ctx, locksDir)
		if err != nil || len(locks) != 1 {
			t.Fatalf("locks of a backup: %v, %v", locks, err)
		}
		beside, err := Open(ctx, &renewing{Storage: a.storage, name: locks[0].Name}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := beside.Prune(ctx, 1); err == nil {
			t.Errorf("a prune has removed %d objects", p.Objects)
		}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.write(10)
	a.ship()
	a.wantRows("", Latest, 30)
}

// TestFirstLost: a segment that is not there, and was not archived before, is lost.
func TestFirstLost(t *testing.T) {
	a := &Archiver{previous: 5, known: map[uint64]logObject{5: {}, 6: {}, 7: {}}}
	for number, want := range map[uint64]uint64{6: 0, 7: 0, 8: 0, 9: 8, 12: 8} {
		if got := a.firstLost(number); got != want {
			t.Errorf("before segment %d: segment %d is lost, want %d", number, got, want)
		}
	}
	a.previous = 0 // connect looks at what is before the first one
	if got := a.firstLost(9); got != 0 {
		t.Errorf("before the first segment: %d is lost", got)
	}
}

func TestLogNames(t *testing.T) {
	o := logObject{store: "00ff", timeline: "0000000000000007", number: 12, after: 1<<64 - 2, last: 1<<64 - 1, time: 1_700_000_000_000_000, content: "0123456789abcdef", sum: "fedcba9876543210"}
	for _, key := range []string{"", "aabbccdd"} {
		o.setName(key)
		got, err := parseLogName(Object{Name: o.name})
		if err != nil || got != o {
			t.Errorf("%s: got %+v, %v", o.name, got, err)
		}
	}
	for _, name := range []string{"log/a/b/c", "log/a/b/1-2-3-4-5-6", "log/a/1-2-3-4-5-6.zst", "log/a/b/x-2-3-4-5-6.zst", "log/a/b/1-2-3-x-5-6.zst", "log/a/b/1-2-3-4-5.zst"} {
		if got, err := parseLogName(Object{Name: name}); err == nil {
			t.Errorf("%s is taken: %+v", name, got)
		}
	}
}
