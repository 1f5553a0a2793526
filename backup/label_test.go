package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// labelled is a repository of a client's backups.
type labelled struct {
	*testing.T
	*Repository
	dir   string
	clock *clock.Manual
	files *files
}

func newLabelled(t *testing.T) *labelled {
	opt := options()
	l := &labelled{T: t, dir: filepath.Join(t.TempDir(), "repository"), clock: opt.Clock.(*clock.Manual), files: newFiles()}
	l.Repository = mustMake(t, NewDir(l.dir), opt)
	return l
}

func (l *labelled) in(d time.Duration) time.Time { return l.now().Add(d) }

// create makes a backup that expires after d, of files of its own.
func (l *labelled) create(name string, d time.Duration) *Backup {
	l.Helper()
	l.files.put("partitions/00000001/00000010.sst", "of "+name)
	made, err := l.CreateNamed(l.Context(), Label{Name: name, Expires: l.in(d), Note: map[string]string{"of": name}}, l.files.source().take)
	if err != nil {
		l.Fatal(err)
	}
	return made.Backup
}

// names returns the names of the backups with a label.
func (l *labelled) names() string {
	l.Helper()
	list, err := l.Named(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	var names []string
	for _, b := range list {
		names = append(names, b.Label.Name)
	}
	return strings.Join(names, " ")
}

// all returns how many descriptions there are.
func (l *labelled) all() int {
	l.Helper()
	list, err := l.List(l.Context(), func(d *Damage) { l.Error(d) })
	if err != nil {
		l.Fatal(err)
	}
	return len(list)
}

// TestLabels: a backup with a label is found by its name, keeps what its client has noted, and is gone once it has expired.
func TestLabels(t *testing.T) {
	l := newLabelled(t)
	made := l.create("b", 8*time.Hour)
	l.create("a", 9*time.Hour)
	if got := l.names(); got != "a b" {
		t.Errorf("there are %q", got)
	}
	if _, err := l.CreateNamed(t.Context(), Label{Name: "b"}, l.files.source().take); !errors.Is(err, ErrNameTaken) {
		t.Errorf("a name that is taken: %v", err)
	}
	again, err := Open(t.Context(), NewDir(l.dir), l.opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Repository{l.Repository, again} {
		b, err := r.FindNamed(t.Context(), "b")
		if err != nil || b.ID != made.ID || !b.Label.Expires.Equal(l.in(8*time.Hour)) || !b.Label.Started.Equal(l.now()) || !b.Label.Ended.Equal(l.now()) || b.Label.Note["of"] != "b" {
			t.Errorf("found %+v, %v", b, err)
		}
		if b, err := r.Find(t.Context(), "b"); err != nil || b.ID != made.ID {
			t.Errorf("restore --backup b: %v", err)
		}
	}
	wantSound(t, l.Repository, 2)
	l.clock.Advance(8 * time.Hour)
	if got := l.names(); got != "a" {
		t.Errorf("when one has expired, there are %q", got)
	}
	if _, err := l.FindNamed(t.Context(), "b"); !errors.Is(err, ErrNoName) {
		t.Errorf("the one that has expired: %v", err)
	}
	l.create("b", time.Hour)
	if got := l.names(); got != "a b" {
		t.Errorf("with a new one of its name, there are %q", got)
	}
}

// TestRelabel: another expiry and note replace those before, and the content stays.
func TestRelabel(t *testing.T) {
	l := newLabelled(t)
	made := l.create("a", 8*time.Hour)
	l.clock.Advance(time.Minute)
	b, err := l.Relabel(t.Context(), "a", func(b *Backup, label *Label) error {
		label.Expires, label.Note = l.in(100*time.Hour), map[string]string{"of": b.Label.Name + " again"}
		return nil
	})
	if err != nil || b.ID == made.ID || !b.Label.Started.Equal(made.Label.Started) || !slices.Equal(b.Files, made.Files) {
		t.Errorf("relabelled %+v, %v", b, err)
	}
	if made.Label.Note["of"] != "a" {
		t.Error("the label before has changed")
	}
	if got := l.all(); got != 1 {
		t.Errorf("there are %d descriptions", got)
	}
	found, err := l.FindNamed(t.Context(), "a")
	if err != nil || !found.Label.Expires.Equal(l.in(100*time.Hour)) || found.Label.Note["of"] != "a again" {
		t.Errorf("found %+v, %v", found, err)
	}
	broken := errors.New("broken")
	if _, err := l.Relabel(t.Context(), "a", func(*Backup, *Label) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a change that fails: %v", err)
	}
	if _, err := l.Relabel(t.Context(), "b", nil); !errors.Is(err, ErrNoName) {
		t.Errorf("of no backup: %v", err)
	}
	wantRestored(t, l.Repository, found, l.files)
}

// TestRelabelKilled: of a change that is cut off at any operation there is the label before it or the new one; a removal
// afterwards leaves neither.
func TestRelabelKilled(t *testing.T) {
	old, changed := 0, 0
	for left := 0; ; left++ {
		l := newLabelled(t)
		made := l.create("a", 8*time.Hour)
		killed, err := Open(t.Context(), &failingStorage{Storage: NewDir(l.dir), left: left}, l.opt)
		if err != nil {
			t.Fatal(err)
		}
		_, err = killed.Relabel(t.Context(), "a", func(_ *Backup, label *Label) error { label.Expires = l.in(100 * time.Hour); return nil })
		b, e := l.FindNamed(t.Context(), "a")
		switch {
		case e != nil:
			t.Fatalf("killed at operation %d: %v", left, e)
		case b.ID == made.ID:
			old++
		case b.Label.Expires.Equal(l.in(100 * time.Hour)):
			changed++
		default:
			t.Errorf("killed at operation %d: %+v", left, b.Label)
		}
		wantRestored(t, l.Repository, b, l.files)
		if e := l.RemoveNamed(t.Context(), "a"); e != nil || l.all() != 0 {
			t.Errorf("killed at operation %d: %d descriptions are left by a removal, %v", left, l.all(), e)
		}
		if err == nil {
			break
		}
	}
	if old == 0 || changed < 2 {
		t.Errorf("%d times the label before, %d times the new one", old, changed)
	}
}

// TestCopyNamed: a copy shares the objects, and outlives what it is a copy of.
func TestCopyNamed(t *testing.T) {
	l := newLabelled(t)
	l.create("a", 8*time.Hour)
	objects := len(contents(t, filepath.Join(l.dir, "objects")))
	if _, err := l.CopyNamed(t.Context(), "a", Label{Name: "b", Expires: l.in(20 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.CopyNamed(t.Context(), "a", Label{Name: "b", Expires: l.in(20 * time.Hour)}); !errors.Is(err, ErrNameTaken) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := l.CopyNamed(t.Context(), "c", Label{Name: "d"}); !errors.Is(err, ErrNoName) {
		t.Errorf("a copy of nothing: %v", err)
	}
	if err := l.RemoveNamed(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(contents(t, filepath.Join(l.dir, "objects"))); got != objects || l.names() != "b" {
		t.Errorf("%d objects of %d are left, and the backups %q", got, objects, l.names())
	}
	b, err := l.FindNamed(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	wantRestored(t, l.Repository, b, l.files)
}

// TestPruneLabels: a prune keeps as many backups without a label as it is told, and those with one until they expire. A sweep
// removes only what has expired, and what nothing needs.
func TestPruneLabels(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		l := newLabelled(t)
		l.create("long", 100*time.Hour)
		l.create("short", 8*time.Hour)
		for range 3 {
			l.clock.Advance(time.Second)
			l.files.put("partitions/00000001/00000010.sst", fmt.Sprint("at ", l.now()))
			mustCreate(t, l.Repository, l.files.source())
		}
		newest, err := l.Find(t.Context(), "")
		if err != nil || newest.Label != nil {
			t.Errorf("the newest backup is %+v, %v", newest, err)
		}
		remove := func() (Pruned, error) { return l.Prune(context.Background(), 1) }
		unlabelled := 1
		if sweep {
			remove, unlabelled = func() (Pruned, error) { return l.Sweep(context.Background()) }, 3
		}
		p, err := remove()
		if err != nil || len(p.Backups) != 3-unlabelled || l.names() != "long short" || l.all() != 2+unlabelled {
			t.Errorf("sweep %t: removed %+v, %v; left are %d, with labels %q", sweep, p, err, l.all(), l.names())
		}
		l.clock.Advance(8 * time.Hour)
		p, err = remove()
		if err != nil || len(p.Backups) != 1 || p.Objects != 1 || l.names() != "long" || l.all() != 1+unlabelled {
			t.Errorf("sweep %t, when one has expired: removed %+v, %v; left are %d, with labels %q", sweep, p, err, l.all(), l.names())
		}
		wantSound(t, l.Repository, 1+unlabelled)
	}
}

// TestLabelsOfOldPrograms: a backup without a label has the format that programs before labels know, and one with a label
// does not: their prune would count it.
func TestLabelsOfOldPrograms(t *testing.T) {
	l := newLabelled(t)
	if b := mustCreate(t, l.Repository, l.files.source()); b.Format != 1 {
		t.Errorf("a backup without a label has format %d", b.Format)
	}
	b := l.create("a", time.Hour)
	name := filepath.Join(l.dir, filepath.FromSlash(b.object()))
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), `"format": 2`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestNamedReadsOnce: descriptions that were read before are not read again, and those that have gone are forgotten. A
// damaged one keeps no other from being found.
func TestNamedReadsOnce(t *testing.T) {
	l := newLabelled(t)
	mustCreate(t, l.Repository, l.files.source())
	b := l.create("a", time.Hour)
	if got := l.names(); got != "a" {
		t.Fatal(got)
	}
	path := filepath.Join(l.dir, filepath.FromSlash(b.object()))
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := l.names(); got != "a" {
		t.Errorf("it was read again: %q", got)
	}
	other := l.create("b", time.Hour)
	again, err := Open(t.Context(), NewDir(l.dir), l.opt)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := again.Named(t.Context()); err != nil || len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("beside a damaged one: %v, %v", list, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := l.names(); got != "b" {
		t.Errorf("after its removal: %q", got)
	}
	if got := slices.Sorted(maps.Keys(l.labelled)); len(got) != 2 {
		t.Errorf("it remembers %q", got)
	}
}

// TestCopyToExpiredName: a copy takes over a name whose backup has expired and was created after what is copied.
func TestCopyToExpiredName(t *testing.T) {
	l := newLabelled(t)
	l.create("a", 100*time.Hour)
	l.clock.Advance(time.Hour)
	l.create("b", 7*time.Hour)
	l.clock.Advance(7 * time.Hour)
	if _, err := l.CopyNamed(t.Context(), "a", Label{Name: "b", Expires: l.in(20 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.names(); got != "a b" || l.all() != 2 {
		t.Errorf("there are %q, %d descriptions", got, l.all())
	}
	wantSound(t, l.Repository, 2)
}

// beside does something after an operation of a storage, once.
type beside struct {
	Storage
	listed, put func()
}

func (s *beside) List(ctx context.Context, prefix string) ([]Object, error) {
	list, err := s.Storage.List(ctx, prefix)
	if f := s.listed; f != nil && prefix == backupsDir {
		s.listed = nil
		f()
	}
	return list, err
}

// Put loses its answer, if something is to be done.
func (s *beside) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	err := s.Storage.Put(ctx, name, content, size)
	if f := s.put; f != nil && strings.HasPrefix(name, backupsDir) {
		s.put = nil
		f()
		return errors.Join(err, ctx.Err())
	}
	return err
}

// TestCreateBesideRemoval: a backup is made while a client removes another one that has the same files.
func TestCreateBesideRemoval(t *testing.T) {
	l := newLabelled(t)
	l.create("a", 8*time.Hour)
	storage := &beside{Storage: NewDir(l.dir)}
	r, err := Open(t.Context(), storage, l.opt)
	if err != nil {
		t.Fatal(err)
	}
	made, err := r.Create(t.Context(), func(ctx context.Context) (*Source, error) {
		storage.listed = func() {
			if err := l.RemoveNamed(ctx, "a"); err != nil {
				t.Error(err)
			}
		}
		return l.files.source(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.all() != 1 || storage.listed != nil {
		t.Errorf("there are %d backups", l.all())
	}
	wantRestored(t, r, made.Backup, l.files)
}

// TestPutWithoutAnswer: a backup whose creation is cancelled while its description is written is not there.
func TestPutWithoutAnswer(t *testing.T) {
	l := newLabelled(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Open(ctx, &beside{Storage: NewDir(l.dir), put: cancel}, l.opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CreateNamed(ctx, Label{Name: "a", Expires: l.in(time.Hour)}, l.files.source().take); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if l.all() != 0 {
		t.Error("it is there")
	}
}

// TestSweepOfKilled: a sweep removes what a killed process was writing, and nothing that may still be written.
func TestSweepOfKilled(t *testing.T) {
	l := newLabelled(t)
	l.create("a", 8*time.Hour)
	for name, age := range map[string]time.Duration{"put-old": leftAfter + time.Second, "put-new": leftAfter - time.Second} {
		path := filepath.Join(l.dir, tempDir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, l.in(-age), l.in(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(l.dir, tempDir)); err != nil || len(left) != 1 || left[0].Name() != "put-new" {
		t.Errorf("left are %v, %v", left, err)
	}
	wantSound(t, l.Repository, 1)
}
