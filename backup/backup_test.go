package backup

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// files are a store whose content a test chooses.
type files struct {
	content map[string]string
	mu      sync.Mutex
	opened  []string
}

var theManifest = string((&manifest.Manifest{Edit: 7, NextFile: 100, NextPartition: 3, LogStart: 3, Partitions: map[manifest.PartitionID]*manifest.Partition{
	1: {ID: 1, Name: "a", Version: &manifest.Version{}}, 2: {ID: 2, Name: "b", Version: &manifest.Version{}},
}}).Encode())

func newFiles() *files {
	f := &files{content: make(map[string]string)}
	f.put("manifest-00000007", theManifest)
	f.put("wal/00000003.log", strings.Repeat("log", 100))
	for i := range 5 {
		f.put(fmt.Sprintf("partitions/0000000%d/0000001%d.sst", i%2+1, i), strings.Repeat(fmt.Sprint("file", i), 1000*i))
	}
	return f
}

func (f *files) put(name, content string) { f.content[name] = content }

// source returns the files as a server has them that is not on this machine.
func (f *files) source() *Source {
	s := &Source{Store: "00ff", Tables: []Table{{"a", []uint64{1}}, {"b", []uint64{2}}}, Open: func(_ context.Context, name string) (io.ReadCloser, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.opened = append(f.opened, name)
		return io.NopCloser(strings.NewReader(f.content[name])), nil
	}}
	for name, content := range f.content {
		s.Files = append(s.Files, SourceFile{Name: name, Size: int64(len(content)), XXH64: fmt.Sprintf("%016x", xxhash.Sum64String(content))})
	}
	slices.SortFunc(s.Files, func(a, b SourceFile) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// takeOpened returns the files that were opened since it was called before.
func (f *files) takeOpened() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	opened := f.opened
	f.opened = nil
	slices.Sort(opened)
	return opened
}

func options() Options {
	return Options{Clock: clock.NewManual(1_700_000_000_000_000), Rand: crand.Reader}
}

func mustMake(t *testing.T, s Storage, opt Options) *Repository {
	t.Helper()
	r, err := Create(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustCreate(t *testing.T, r *Repository, s *Source) *Made {
	t.Helper()
	made, err := r.Create(context.Background(), s.take)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// take is a checkpoint that was taken already.
func (s *Source) take(context.Context) (*Source, error) { return s, nil }

// damage verifies everything and returns what is damaged.
func damage(r *Repository) (list []string, v Verified, err error) {
	v, err = r.Verify(context.Background(), nil, func(d *Damage) { list = append(list, d.Error()) })
	return list, v, err
}

func wantSound(t *testing.T, r *Repository, backups int) {
	t.Helper()
	list, v, err := damage(r)
	if len(list) > 0 || v.Backups != backups || err != nil {
		t.Errorf("verify found %q, %+v, %v, want %d sound backups", list, v, err, backups)
	}
}

// wantRestored restores a backup and compares it.
func wantRestored(t *testing.T, r *Repository, b *Backup, f *files) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := r.Restore(context.Background(), &Point{Backup: b}, nil, dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, content := range contents(t, dir) {
		got[name] = content
	}
	delete(got, "LOCK")
	m, err := manifest.Decode([]byte(got["manifest-00000008"]))
	if err != nil || m.Timeline == 0 || len(m.Partitions) != 2 {
		t.Errorf("the manifest of a restored store: %+v, %v", m, err)
	}
	delete(got, "manifest-00000008")
	got["manifest-00000007"] = theManifest
	if fmt.Sprint(got) != fmt.Sprint(f.content) {
		t.Errorf("restored %d files, want %d: they differ", len(got), len(f.content))
	}
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestIncremental: a file that the repository has is not read again, unless it is another one of the same name.
func TestIncremental(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "repository")
	r := mustMake(t, NewDir(dir), options())
	f := newFiles()
	first := mustCreate(t, r, f.source())
	if first.Copied != 7 || len(f.takeOpened()) != 7 {
		t.Errorf("the first backup: %+v, want seven files copied", first)
	}
	wantRestored(t, r, first.Backup, f)
	before := &files{content: make(map[string]string)}
	for name, content := range f.content {
		before.put(name, content)
	}
	f.put("partitions/00000001/00000020.sst", "new")
	f.put("partitions/00000001/00000012.sst", strings.Repeat("FILE2", 2000)) // as after a restore of another state
	delete(f.content, "partitions/00000002/00000011.sst")
	second := mustCreate(t, r, f.source())
	if got := f.takeOpened(); second.Copied != 2 || fmt.Sprint(got) != "[partitions/00000001/00000012.sst partitions/00000001/00000020.sst]" {
		t.Errorf("the second backup has opened %v: %+v", got, second)
	}
	wantRestored(t, r, first.Backup, before)
	wantRestored(t, r, second.Backup, f)
	wantSound(t, r, 2)
	if b, err := r.Find(context.Background(), first.ID[:len(first.ID)-3]); err != nil || b.ID != first.ID {
		t.Errorf("Find by the beginning of the id: %v, %v", b, err)
	}
	if _, err := r.Find(context.Background(), "2023"); err == nil || !strings.Contains(err.Error(), "2 backups") {
		t.Errorf("Find of two: %v", err)
	}
}

// TestLinks: files of the same file system are not copied.
func TestLinks(t *testing.T) {
	f, top := newFiles(), t.TempDir()
	s := f.source()
	s.Path = filepath.Join(top, "checkpoint")
	for name, content := range f.content {
		path := filepath.Join(s.Path, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := mustMake(t, NewDir(filepath.Join(top, "repository")), options())
	made := mustCreate(t, r, s)
	if made.Linked != 7 || made.Copied != 0 || len(f.takeOpened()) > 0 {
		t.Errorf("got %+v, want seven links", made)
	}
	os.RemoveAll(s.Path)
	wantSound(t, r, 1)
	wantRestored(t, r, made.Backup, f)
}

// failingStorage fails, and writes nothing any more, from some operation on: a killed process.
type failingStorage struct {
	Storage
	mu   sync.Mutex
	left int
}

var errKilled = errors.New("killed")

func (s *failingStorage) step() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 {
		return errKilled
	}
	return nil
}

func (s *failingStorage) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Storage.Put(ctx, name, content, size)
}

func (s *failingStorage) Remove(ctx context.Context, name string) error {
	if err := s.step(); err != nil {
		return err
	}
	return s.Storage.Remove(ctx, name)
}

// TestKilled: a backup, or a prune, ends at any step. The backups before it are whole, the next one takes over what
// was copied, and a prune removes the rest.
func TestKilled(t *testing.T) {
	ctx := context.Background()
	for _, prune := range []bool{false, true} {
		for at := 0; ; at++ {
			top := NewDir(t.TempDir())
			r := mustMake(t, top, options())
			f := newFiles()
			first := mustCreate(t, r, f.source())
			f.put("partitions/00000002/00000031.sst", "one")
			f.put("partitions/00000002/00000032.sst", "two")
			mustCreate(t, r, f.source())
			f.put("partitions/00000002/00000033.sst", "three")
			opt := options()
			killed, err := Open(ctx, &failingStorage{Storage: top, left: at}, opt)
			if err != nil {
				t.Fatal(err)
			}
			if prune {
				_, err = killed.Prune(ctx, 1)
			} else {
				_, err = killed.Create(ctx, f.source().take)
			}
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("step %d: %v", at, err)
			}
			list, v, verifyErr := damage(r)
			if len(list) > 0 || verifyErr != nil || v.Backups < 1 {
				t.Errorf("prune %v, step %d: verify: %q, %+v, %v", prune, at, list, v, verifyErr)
			}
			if _, err := r.Find(ctx, first.ID); err != nil && !prune {
				t.Errorf("step %d: the first backup: %v", at, err)
			}
			removeLocks(t, top) // TestLocks has those of dead processes
			made := mustCreate(t, r, f.source())
			wantRestored(t, r, made.Backup, f)
			removeLocks(t, top)
			if _, err := r.Prune(ctx, 1); err != nil {
				t.Fatal(err)
			}
			wantSound(t, r, 1)
			if objects, _ := top.List(ctx, objectsDir); len(objects) != len(f.content) {
				t.Errorf("prune %v, step %d: %d objects are left, want %d", prune, at, len(objects), len(f.content))
			}
			if err == nil && at > 3 {
				break
			}
		}
	}
}

func removeLocks(t *testing.T, s Storage) {
	t.Helper()
	list, err := s.List(context.Background(), locksDir)
	for _, o := range list {
		err = errors.Join(err, s.Remove(context.Background(), o.Name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keysFor returns a recipient, and the text of its identity.
func keysFor(t *testing.T) (recipient, identity string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), id.String()
}

func withKeys(t *testing.T, recipients []string, identities ...string) Options {
	t.Helper()
	keys, err := ParseKeys(recipients, identities...)
	if err != nil {
		t.Fatal(err)
	}
	opt := options()
	opt.Keys = keys
	return opt
}

// TestFlippedBits flips bits of each file of a repository, encrypted or not. Verify finds each.
func TestFlippedBits(t *testing.T) {
	ctx := context.Background()
	recipient, identity := keysFor(t)
	for _, test := range []struct {
		name      string
		make, see Options
	}{
		{"plain", options(), options()},
		{"encrypted, read without key", withKeys(t, []string{recipient}), options()},
		{"encrypted, read with key", withKeys(t, []string{recipient}), withKeys(t, nil, identity)},
	} {
		dir := t.TempDir()
		f := newFiles()
		r := mustMake(t, NewDir(dir), test.make)
		mustCreate(t, r, f.source())
		f.put("partitions/00000001/00000077.sst", "more")
		mustCreate(t, r, f.source())
		found := 0
		for name, content := range contents(t, dir) {
			path := filepath.Join(dir, name)
			rnd := rand.New(rand.NewPCG(1, uint64(len(content))))
			for range 20 {
				if len(content) == 0 {
					break
				}
				flipped := []byte(content)
				bit := rnd.IntN(8 * len(flipped))
				flipped[bit/8] ^= 1 << (bit % 8)
				os.WriteFile(path, flipped, 0o600)
				if r, err := Open(ctx, NewDir(dir), test.see); err != nil {
					found++
				} else if list, _, err := damage(r); err != nil || len(list) != 1 || !strings.HasPrefix(list[0], name+": ") {
					t.Errorf("%s: bit %d of %s: verify found %q, %v", test.name, bit, name, list, err)
				} else {
					found++
				}
			}
			for _, cut := range []int{0, len(content) / 2} {
				os.WriteFile(path, []byte(content[:cut]), 0o600)
				if r, err := Open(ctx, NewDir(dir), test.see); err == nil && cut < len(content) {
					if list, _, err := damage(r); err != nil || len(list) != 1 {
						t.Errorf("%s: %s cut to %d bytes: verify found %q, %v", test.name, name, cut, list, err)
					}
				}
			}
			os.Remove(path)
			if r, err := Open(ctx, NewDir(dir), test.see); err == nil {
				if list, v, err := damage(r); (err != nil || len(list) != 1) && !(strings.HasPrefix(name, backupsDir) && v.Backups == 1) {
					t.Errorf("%s: %s removed: verify found %q, %v", test.name, name, list, err)
				}
			}
			os.WriteFile(path, []byte(content), 0o600)
		}
		if found < 100 {
			t.Errorf("%s: only %d bits were flipped", test.name, found)
		}
	}
}

// TestEncrypted: what is stored shows nothing of the content, and only its key opens it.
func TestEncrypted(t *testing.T) {
	ctx := context.Background()
	recipient, identity := keysFor(t)
	other, otherIdentity := keysFor(t)
	dir := t.TempDir()
	f := newFiles()
	f.put("partitions/00000001/00000050.sst", strings.Repeat("a secret, ", 20_000))
	r := mustMake(t, NewDir(dir), withKeys(t, []string{recipient}))
	made := mustCreate(t, r, f.source())
	for name, content := range contents(t, dir) {
		if strings.Contains(content, "a secret, a secret") || strings.HasPrefix(name, objectsDir) && !strings.HasSuffix(name, encrypted) {
			t.Errorf("%s is in the clear", name)
		}
	}
	f.takeOpened()
	if again := mustCreate(t, r, f.source()); again.Copied != 0 || len(f.takeOpened()) > 0 {
		t.Errorf("the same again: %+v, want nothing copied", again)
	}
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{options(), "--identity FILE must name"},
		{withKeys(t, nil, otherIdentity), "for another key"},
		{withKeys(t, nil, otherIdentity, identity), ""},
	} {
		r, err := Open(ctx, NewDir(dir), c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			wantRestored(t, r, made.Backup, f)
			wantSound(t, r, 1) // two of the same second with the same content are one
			continue
		}
		if list, v, err := damage(r); len(list) > 0 || v.Closed != v.Objects || err != nil {
			t.Errorf("verify without the right key: %q, %+v, %v, want no damage", list, v, err)
		}
		target := filepath.Join(t.TempDir(), "data")
		if err := r.Restore(ctx, &Point{Backup: made.Backup}, nil, target); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("restore: got %v, want %q", err, c.want)
		}
		if left, _ := filepath.Glob(target + "*"); len(left) > 0 {
			t.Errorf("a restore that failed left %q", left)
		}
	}
	r, err := Open(ctx, NewDir(dir), withKeys(t, []string{recipient, other}))
	if err != nil {
		t.Fatal(err)
	}
	made = mustCreate(t, r, f.source())
	if made.Copied != len(f.content) {
		t.Errorf("for other recipients: %d files copied, want all %d", made.Copied, len(f.content))
	}
	if r, err = Open(ctx, NewDir(dir), withKeys(t, nil, otherIdentity)); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, r, made.Backup, f)
	if _, err := ParseKeys([]string{"age1nonsense"}); err == nil {
		t.Error("a recipient that is none is taken")
	}
	if _, err := ParseKeys(nil, "nonsense"); err == nil {
		t.Error("an identity that is none is taken")
	}
}

// TestDamagedSource: a file that is not what its checksum says ends the backup.
func TestDamagedSource(t *testing.T) {
	f := newFiles()
	r := mustMake(t, NewDir(t.TempDir()), options())
	for _, content := range []string{"", strings.ToLower(theManifest), theManifest + " and more"} {
		s := f.source()
		f.put("manifest-00000007", content)
		if _, err := r.Create(context.Background(), s.take); err == nil || !strings.Contains(err.Error(), "manifest-00000007") {
			t.Errorf("%q: got %v", content, err)
		}
		f.put("manifest-00000007", theManifest)
		wantSound(t, r, 0)
	}
	mustCreate(t, r, f.source())
}

// TestErrorsOfFilesSayWhatToDo: what the file system says is followed by what to do about it.
func TestErrorsOfFilesSayWhatToDo(t *testing.T) {
	d := dir{"/repository"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{d.explain(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), "write x: no space left on device: make room on the disk of /repository"},
		{d.explain(&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}), "make room"},
		{d.explain(&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}), "open x: permission denied: a repository is for the user alone who made it"},
		{forTarget("/target", syscall.ENOSPC), "restore to another disk than that of /target"},
		{forTarget("/target", syscall.EACCES), "restore as a user who may write there"},
	} {
		if !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	other := errors.New("other")
	if d.explain(other) != other || forTarget("/target", other) != other || d.explain(nil) != nil {
		t.Error("an error of another kind is changed")
	}
}

// TestLocks: a prune and a backup exclude each other. A lock that nobody renews is that of a dead process.
func TestLocks(t *testing.T) {
	ctx := context.Background()
	f := newFiles()
	s := NewDir(t.TempDir())
	opt := options()
	opt.Clock = impatient{opt.Clock, 3 * 5 * time.Second}
	r := mustMake(t, s, opt)
	mustCreate(t, r, f.source())
	waiting, err := Open(ctx, s, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		holds string
		run   func() error
	}{
		{lockCreate, func() error { _, err := waiting.Prune(ctx, 1); return err }},
		{lockPrune, func() error { _, err := waiting.Prune(ctx, 1); return err }},
		{lockPrune, func() error { _, err := waiting.Create(ctx, f.source().take); return err }},
	} {
		// Dead: nobody renews it.
		name := locksDir + c.holds + "00.json"
		s.Put(ctx, name, strings.NewReader("{}"), 2)
		if err := c.run(); err != nil {
			t.Errorf("beside a dead %s: %v", c.holds, err)
		}
		if _, err := s.Get(ctx, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the lock of a dead %s is left: %v", c.holds, err)
		}
		// Alive: it is renewed while the other waits.
		s.Put(ctx, name, strings.NewReader("{}"), 2)
		alive, err := Open(ctx, &renewing{Storage: s, name: name}, opt)
		if err != nil {
			t.Fatal(err)
		}
		was := waiting
		waiting = alive
		if err := c.run(); err == nil || !strings.Contains(err.Error(), "wait for its end") {
			t.Errorf("beside a living %s: %v", c.holds, err)
		}
		waiting = was
		s.Remove(ctx, name)
	}
	if locks, _ := s.List(ctx, locksDir); len(locks) > 0 {
		t.Errorf("locks are left: %v", locks)
	}
	// A backup whose lock was removed does not become one.
	slept := &failingStorage{Storage: s, left: 1 << 30}
	r, err = Open(ctx, &unlocking{slept}, options())
	if err != nil {
		t.Fatal(err)
	}
	f.put("partitions/00000001/00000060.sst", "new")
	if _, err := r.Create(ctx, f.source().take); err == nil || !strings.Contains(err.Error(), "took it for dead") {
		t.Errorf("a backup without its lock: %v", err)
	}
	if list, err := r.List(ctx, nil); len(list) != 1 || err != nil {
		t.Errorf("%d backups, %v, want one", len(list), err)
	}
}

// impatient is a clock for which waits of one length are over at once.
type impatient struct {
	clock.Clock
	wait time.Duration
}

func (c impatient) AfterFunc(d time.Duration, f func()) func() bool {
	if d == c.wait {
		go f()
		return func() bool { return false }
	}
	return c.Clock.AfterFunc(d, f)
}

// renewing is a storage in which another process renews a lock: each read of it is different.
type renewing struct {
	Storage
	name string
	mu   sync.Mutex
	n    int
}

func (s *renewing) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if name != s.name {
		return s.Storage.Get(ctx, name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return io.NopCloser(strings.NewReader(fmt.Sprint(s.n))), nil
}

// unlocking is a storage in which others remove all locks when the first object comes.
type unlocking struct{ Storage }

func (s *unlocking) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if strings.HasPrefix(name, objectsDir) {
		list, _ := s.List(ctx, locksDir)
		for _, o := range list {
			s.Remove(ctx, o.Name)
		}
	}
	return s.Storage.Put(ctx, name, content, size)
}

// TestPrune: what the kept backups need stays, and a damaged description keeps everything.
func TestPrune(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	f := newFiles()
	opt := options()
	r := mustMake(t, NewDir(dir), opt)
	for i := range 4 {
		opt.Clock.(*clock.Manual).Advance(1_000_000_000_000)
		f.put("partitions/00000001/00000090.sst", fmt.Sprint("version ", i))
		mustCreate(t, r, f.source())
	}
	os.WriteFile(filepath.Join(dir, "tmp", "put-123"), []byte("left"), 0o600)
	p, err := r.Prune(ctx, 2)
	if err != nil || len(p.Backups) != 2 || p.Objects != 3 {
		t.Errorf("got %+v, %v, want two backups, two objects and what was left", p, err)
	}
	wantSound(t, r, 2)
	list, _ := r.List(ctx, nil)
	name := filepath.Join(dir, backupsDir, list[0].ID+".json")
	text, _ := os.ReadFile(name)
	os.WriteFile(name, bytes.Replace(text, []byte("manifest"), []byte("manifesT"), 1), 0o600)
	before := len(contents(t, dir))
	if _, err := r.Prune(ctx, 1); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("with a damaged description: %v", err)
	}
	if after := len(contents(t, dir)); after != before {
		t.Errorf("%d files, %d before", after, before)
	}
}

// TestMaxRate: a backup takes as long as its bytes at the rate, but for those that were read last.
func TestMaxRate(t *testing.T) {
	f, opt := newFiles(), options()
	opt.MaxRate = 1000
	now := opt.Clock.(*clock.Manual)
	r := mustMake(t, NewDir(t.TempDir()), opt)
	done := make(chan error)
	go func() {
		_, err := r.Create(context.Background(), f.source().take)
		done <- err
	}()
	begin, total, largest := now.Elapsed(), 0, 0
	for _, content := range f.content {
		total, largest = total+len(content), max(largest, len(content))
	}
	for {
		select {
		case err := <-done:
			if took := now.Elapsed() - begin; err != nil || took < time.Duration(total-largest)*time.Millisecond {
				t.Errorf("%d bytes in %v, %v, want a thousand a second", total, took, err)
			}
			return
		default:
			if now.Pending() > 1 { // besides the renewal of the lock
				now.Advance(100 * time.Millisecond)
			}
			runtime.Gosched()
		}
	}
}

// TestPruneKeepsNewest: of backups that were made within a second the newest is kept, whatever their names are.
func TestPruneKeepsNewest(t *testing.T) {
	ctx := context.Background()
	f := newFiles()
	opt := options()
	r := mustMake(t, NewDir(t.TempDir()), opt)
	for i := range 10 {
		opt.Clock.(*clock.Manual).Advance(1000)
		f.put("partitions/00000001/00000090.sst", fmt.Sprint("version ", i))
		newest := mustCreate(t, r, f.source())
		if got, err := r.Find(ctx, ""); err != nil || got.ID != newest.ID {
			t.Fatalf("the newest after %d backups: %v, %v, want %s", i+1, got, err, newest.ID)
		}
		if i%3 < 2 {
			continue
		}
		if _, err := r.Prune(ctx, 1); err != nil {
			t.Fatal(err)
		}
		wantRestored(t, r, newest.Backup, f)
	}
}

// TestRestoreTo: a restore takes no directory that is in use, and replaces what a killed one has left.
func TestRestoreTo(t *testing.T) {
	ctx := context.Background()
	f := newFiles()
	r := mustMake(t, NewDir(t.TempDir()), options())
	made := mustCreate(t, r, f.source())
	top := t.TempDir()
	target := filepath.Join(top, "data")
	os.MkdirAll(target, 0o700)
	os.WriteFile(filepath.Join(target, "mine"), nil, 0o600)
	if err := r.Restore(ctx, &Point{Backup: made.Backup}, nil, target); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("to a directory with a file: %v", err)
	}
	os.Remove(filepath.Join(target, "mine"))
	os.MkdirAll(filepath.Join(target+restoringSuffix, "wal"), 0o700)
	os.WriteFile(filepath.Join(target+restoringSuffix, "wal", "half"), nil, 0o600)
	if err := r.Restore(ctx, &Point{Backup: made.Backup}, nil, target); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, target); len(got) != len(f.content)+1 {
		t.Errorf("restored the files %v", got)
	}
	if err := r.Restore(ctx, &Point{Backup: made.Backup}, []string{"c"}, filepath.Join(top, "c")); err == nil || !strings.Contains(err.Error(), `no table "c", but "a", "b"`) {
		t.Errorf("of a table that is not there: %v", err)
	}
}

// TestOpen: what is no repository, or one of a newer program, is not touched.
func TestOpen(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := Open(ctx, NewDir(dir), options()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("an empty directory: %v", err)
	}
	os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)
	if _, err := Create(ctx, NewDir(dir), options()); err == nil || !strings.Contains(err.Error(), "holds other things") {
		t.Errorf("a directory of others: %v", err)
	}
	os.Remove(filepath.Join(dir, "other"))
	mustMake(t, NewDir(dir), options())
	os.WriteFile(filepath.Join(dir, markerName), []byte(`{"format":2}`), 0o600)
	if _, err := Create(ctx, NewDir(dir), options()); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("a newer format: %v", err)
	}
}

// TestOnlyLife: of the backups of a store and of one that was restored from it, none is taken for the other.
func TestOnlyLife(t *testing.T) {
	of := func(id, store, timeline string) *Backup {
		return &Backup{ID: id, Store: store, Place: Place{Timeline: timeline}}
	}
	for _, c := range []struct {
		list []*Backup
		want string
	}{
		{[]*Backup{of("a", "s", "0")}, "a"},
		{[]*Backup{of("a", "s", "0"), of("b", "s", "0")}, "b"},
		{[]*Backup{of("a", "s", "0"), of("b", "s", "1")}, "name the one to begin with by --backup, such as b"},
		{[]*Backup{of("a", "s", "0"), of("b", "other", "0"), of("c", "s", "0")}, "or b (store other"},
	} {
		got, err := onlyLife(c.list)
		if err == nil && got.ID != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v, want %s", got, err, c.want)
		}
	}
}
