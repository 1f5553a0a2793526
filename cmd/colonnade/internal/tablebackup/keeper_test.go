package tablebackup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/bigtable"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// kept is a store in memory, with a Keeper of its backups.
type kept struct {
	*testing.T
	*Keeper
	fs         *vfs.Mem
	store      *lsmstore.Store
	clock      *clock.Manual
	repository string
	temp       string
	log        *lockedBuffer
}

// lockedBuffer is a buffer that goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newKept(t *testing.T) *kept {
	return newKeptIn(t, filepath.Join(t.TempDir(), "repository"))
}

func newKeptIn(t *testing.T, repository string) *kept {
	t.Helper()
	k := &kept{T: t, clock: clock.NewManual(1_700_000_000_000_000), repository: repository, temp: t.TempDir(), log: new(lockedBuffer), fs: vfs.NewMem()}
	var err error
	if k.store, err = lsmstore.Open(lsmstore.Options{Dir: "/data", Engine: engine.Options{FS: k.fs, Clock: clock.System, ReserveBytes: -1}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.store.Close() })
	k.Keeper = New(k.store, Options{
		Clock: k.clock, Log: slog.New(slog.NewTextHandler(k.log, nil)),
		Open: func(ctx context.Context) (*backup.Repository, error) {
			return backup.Create(ctx, backup.NewDir(repository), backup.Options{Clock: k.clock, Rand: rand.Reader})
		},
		Temp: func() (string, func(), error) {
			dir := filepath.Join(k.temp, "restoring")
			return dir, func() { os.RemoveAll(dir) }, nil
		},
	})
	t.Cleanup(k.Keeper.Close)
	return k
}

var spec = widecol.TableSpec{
	Families: []widecol.Family{
		{Name: "f", GC: widecol.GC{VersionLimit: 2}, Annotation: "note"}, {Name: "g", GC: widecol.GC{TTLSecs: 3600, VersionLimit: 3, Intersection: true}}, {Name: "sum", Merge: widecol.MergeSum},
	},
	Groups: [][]string{{"g"}},
}

// create creates a table with rows of all kinds of cells, in files and in memory.
func (k *kept) create(table string, rows int) {
	k.Helper()
	ctx := k.Context()
	if err := k.store.CreateTable(ctx, table, spec); err != nil {
		k.Fatal(err)
	}
	gc := widecol.GC{TTLSecs: 77}
	if err := k.store.AlterTable(ctx, table, widecol.TableChange{DefaultGC: &gc}); err != nil {
		k.Fatal(err)
	}
	number := binary.LittleEndian.AppendUint64(nil, 5)
	for n := range rows {
		row := fmt.Appendf(nil, "row%05d", n)
		list := []widecol.Mutation{
			{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Time: 1, Type: cell.String, Value: []byte("older")},
			{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Time: 2, Type: cell.Bytes, Value: []byte("old")},
			{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Time: 3, Type: cell.String, Value: bytes.Repeat([]byte("x"), n)},
			{Row: row, Family: []byte("f"), Qualifier: []byte{}, Time: 4, Type: cell.I64, Value: number},
			{Row: row, Family: []byte("g"), Qualifier: []byte{0, 255}, Time: 5, Type: cell.Bool, Value: []byte{1}},
			{Row: row, Family: []byte("sum"), Qualifier: []byte("n"), Time: 6, Type: cell.I64, Value: number, Op: widecol.Merge},
			{Row: row, Family: []byte("sum"), Qualifier: []byte("n"), Time: 6, Type: cell.I64, Value: number, Op: widecol.Merge},
		}
		if _, err := k.store.Write(ctx, table, list, ""); err != nil {
			k.Fatal(err)
		}
		if n == rows/2 {
			if err := k.store.Engine().Flush(ctx); err != nil {
				k.Fatal(err)
			}
		}
	}
	if _, err := k.store.Write(ctx, table, []widecol.Mutation{{Op: widecol.DeleteRow, Row: []byte("row00001")}}, ""); err != nil {
		k.Fatal(err)
	}
}

// text is all that a table has but its name, as text.
func (k *kept) text(table string) string {
	k.Helper()
	info, err := k.store.Table(k.Context(), table)
	if err != nil {
		k.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %+v", info.Families, info.Settings)
	for _, g := range info.Groups {
		fmt.Fprintf(&b, " %q", g.Families)
	}
	view, err := k.store.View(k.Context(), table)
	if err != nil {
		k.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(k.Context(), &q)
	if err != nil {
		k.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			fmt.Fprintf(&b, "\n%s %q@%d %v %q", rows.Row(), c.Column, c.Time, c.Type, c.Value)
		}
	}
	if err := rows.Err(); err != nil {
		k.Fatal(err)
	}
	return b.String()
}

func (k *kept) in(d time.Duration) time.Time { return time.UnixMicro(k.clock.Now()).Add(d) }

func (k *kept) backup(name, table string, d time.Duration) {
	k.Helper()
	if _, err := k.Create(k.Context(), bigtable.Backup{Name: name, Table: table, Expires: k.in(d), Note: map[string]string{"a": "b"}}); err != nil {
		k.Fatal(err)
	}
}

func (k *kept) names() string {
	k.Helper()
	list, err := k.List(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

// TestRestore: a table that is restored has the families, settings, groups and cells of the moment of its backup.
func TestRestore(t *testing.T) {
	k := newKept(t)
	k.create("t", 3000) // more than a batch of bytes
	k.create("other", 1)
	want := k.text("t")
	k.backup("one", "t", 8*time.Hour)
	if _, err := k.store.Write(t.Context(), "t", []widecol.Mutation{{Op: widecol.DeleteRow, Row: []byte("row00002")}}, ""); err != nil {
		t.Fatal(err)
	}
	if err := k.Restore(t.Context(), "one", "new"); err != nil {
		t.Fatal(err)
	}
	if got := k.text("new"); got != want || len(want) < batchBytes {
		t.Errorf("restored are %d bytes of text, want %d", len(got), len(want))
	}
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Table != "t" || list[0].Size < 1000 || list[0].Note["a"] != "b" || !list[0].Expires.Equal(k.in(8*time.Hour)) {
		t.Errorf("backups %+v, %v", list, err)
	}
	if err := k.Restore(t.Context(), "one", "t"); widecol.KindOf(err) != widecol.Exists {
		t.Errorf("to a table that is there: %v", err)
	}
	if err := k.Restore(t.Context(), "none", "x"); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("of no backup: %v", err)
	}
	if left, _ := os.ReadDir(k.temp); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestRestoreElsewhere: another store with the repository restores the table.
func TestRestoreElsewhere(t *testing.T) {
	k := newKept(t)
	k.create("t", 50)
	k.backup("one", "t", 8*time.Hour)
	other := newKeptIn(t, k.repository)
	if err := other.Restore(t.Context(), "one", "t"); err != nil {
		t.Fatal(err)
	}
	if got, want := other.text("t"), k.text("t"); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
}

// TestRestoreFails: a restore of damaged files, one that is cancelled, and one without room leave no table and no files.
func TestRestoreFails(t *testing.T) {
	k := newKept(t)
	k.create("t", 50)
	k.backup("one", "t", 8*time.Hour)
	none := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: it works", what)
		}
		if _, err := k.store.Table(t.Context(), "new"); widecol.KindOf(err) != widecol.NotFound {
			t.Errorf("%s: the table: %v", what, err)
		}
		if left, _ := os.ReadDir(k.temp); len(left) > 0 {
			t.Errorf("%s: left are %v", what, left)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	none("cancelled", k.Restore(cancelled, "one", "new"))
	k.opt.Reserve = 1 << 62
	err := k.Restore(t.Context(), "one", "new")
	if none("no room", err); widecol.KindOf(err) != widecol.DiskFull {
		t.Errorf("without room: %v", err)
	}
	k.opt.Reserve = 0
	err = filepath.WalkDir(filepath.Join(k.repository, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".sst") {
			return err
		}
		text, err := os.ReadFile(path)
		text[len(text)/2] ^= 1
		return errors.Join(err, os.WriteFile(path, text, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	none("damaged", k.Restore(t.Context(), "one", "new"))
}

// TestCreateFails: a backup that fails leaves no checkpoint and no backup, and frees its name.
func TestCreateFails(t *testing.T) {
	k := newKept(t)
	if _, err := k.Create(t.Context(), bigtable.Backup{Name: "one", Table: "none", Expires: k.in(time.Hour)}); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("of no table: %v", err)
	}
	k.create("t", 5)
	free, err := k.claim("one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Create(t.Context(), bigtable.Backup{Name: "one", Table: "t", Expires: k.in(time.Hour)}); widecol.KindOf(err) != widecol.Exists {
		t.Errorf("while one of the name is being made: %v", err)
	}
	free()
	k.backup("one", "t", time.Hour)
	if _, err := k.Create(t.Context(), bigtable.Backup{Name: "one", Table: "t", Expires: k.in(time.Hour)}); widecol.KindOf(err) != widecol.Exists {
		t.Errorf("when there is one of the name: %v", err)
	}
	if list, err := k.fs.List("/data/checkpoints"); len(list) > 0 || err != nil {
		t.Errorf("checkpoints are left: %q, %v", list, err)
	}
}

// TestChangeAndCopy: a change replaces expiry and note, and a copy is one more backup.
func TestChangeAndCopy(t *testing.T) {
	k := newKept(t)
	k.create("t", 5)
	k.backup("one", "t", 8*time.Hour)
	b, err := k.Change(t.Context(), "one", func(b *bigtable.Backup) error {
		b.Expires, b.Note["c"] = k.in(9*time.Hour), "d"
		return nil
	})
	if err != nil || !b.Expires.Equal(k.in(9*time.Hour)) || len(b.Note) != 2 {
		t.Errorf("changed to %+v, %v", b, err)
	}
	refused := widecol.Errorf(widecol.Invalid, "no", "no")
	if _, err := k.Change(t.Context(), "one", func(*bigtable.Backup) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a change that is refused: %v", err)
	}
	if _, err := k.Copy(t.Context(), "one", bigtable.Backup{Name: "two", Expires: k.in(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(t.Context(), "one"); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("removed twice: %v", err)
	}
	if got := k.names(); got != "two" {
		t.Errorf("there are %q", got)
	}
	if err := k.Restore(t.Context(), "two", "new"); err != nil {
		t.Error(err)
	}
}

// objects returns the objects in the repository.
func (k *kept) objects() (names []string) {
	filepath.WalkDir(filepath.Join(k.repository, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	return names
}

// TestSweep: what has expired goes with its objects, not while a backup is being made or restored.
func TestSweep(t *testing.T) {
	k := newKept(t)
	k.create("t", 5)
	k.backup("short", "t", 7*time.Hour)
	k.create("u", 5)
	k.backup("long", "u", 70*time.Hour)
	before := k.objects()
	if !k.sweep(t.Context()) || !slices.Equal(k.objects(), before) {
		t.Errorf("a sweep before anything has expired leaves %q of %q", k.objects(), before)
	}
	k.clock.Advance(7 * time.Hour) // which lets the sweep come that is due, too
	if got := k.names(); got != "long" {
		t.Errorf("there are %q", got)
	}
	done := k.use()
	if k.sweep(t.Context()) {
		t.Error("a sweep runs beside a backup")
	}
	done()
	for !k.sweep(t.Context()) {
		runtime.Gosched()
	}
	after := k.objects()
	if len(after) >= len(before) || len(after) == 0 {
		t.Errorf("%d objects are left of %d", len(after), len(before))
	}
	if err := k.Restore(t.Context(), "long", "new"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(k.log.String(), "removed backups that have expired") {
		t.Errorf("the log says %q", k.log)
	}
}

// TestSweepGivesWay: a sweep that waits to see whether another process is alive holds no backup up.
func TestSweepGivesWay(t *testing.T) {
	k := newKept(t)
	k.create("t", 5)
	k.backup("one", "t", 7*time.Hour)
	lock := filepath.Join(k.repository, "locks", "create-00.json")
	if err := os.WriteFile(lock, []byte("of a dead process"), 0o600); err != nil {
		t.Fatal(err)
	}
	swept := make(chan bool)
	go func() { swept <- k.sweep(t.Context()) }()
	for k.idle() {
		runtime.Gosched()
	}
	k.backup("two", "t", 7*time.Hour)
	if <-swept {
		t.Error("the sweep has not waited")
	}
	if left, _ := filepath.Glob(filepath.Join(k.repository, "locks", "prune-*")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// idle reports whether no sweep is under way.
func (k *kept) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sweeping == nil
}

// TestSweepComesByItself: nobody has to ask for a sweep.
func TestSweepComesByItself(t *testing.T) {
	k := newKept(t)
	k.create("t", 5)
	k.backup("one", "t", 7*time.Hour)
	k.clock.Advance(8 * time.Hour)
	for len(k.objects()) > 0 {
		k.clock.Advance(sweepFirst)
		runtime.Gosched()
	}
	k.backup("two", "t", 7*time.Hour)
	if err := k.Remove(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	for len(k.objects()) > 0 { // without the clock
		runtime.Gosched()
	}
}

// TestNoRepository: a repository that cannot be opened is told at the start, and to each client.
func TestNoRepository(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKeptIn(t, file)
	if _, err := k.List(t.Context()); err == nil || !strings.Contains(err.Error(), "the repository of backups cannot be opened") {
		t.Errorf("list: %v", err)
	}
	for !strings.Contains(k.log.String(), "no backups can be made") {
		runtime.Gosched()
	}
}
