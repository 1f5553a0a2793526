package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// oracle is what a file of a Mem has to do, kept byte by byte.
type oracle struct {
	live, durable []byte
	pending       []oracleByte
}

type oracleByte struct {
	write int // running number of the write it belongs to
	off   int
	val   byte
	lost  bool
}

func putByte(b []byte, off int, val byte) []byte {
	for len(b) <= off {
		b = append(b, 0)
	}
	b[off] = val
	return b
}

func (o *oracle) write(n, off int, p []byte) {
	for i, val := range p {
		o.live = putByte(o.live, off+i, val)
		o.pending = append(o.pending, oracleByte{write: n, off: off + i, val: val})
	}
}

// sync reaches the first n dirty bytes; what is older at the same place is gone.
func (o *oracle) sync(n int) {
	var kept []oracleByte
	for _, b := range o.pending {
		if b.lost || n == 0 {
			b.lost = true
			kept = append(kept, b)
			continue
		}
		n--
		o.durable = putByte(o.durable, b.off, b.val)
		older := kept
		kept = nil
		for _, k := range older {
			if k.off != b.off {
				kept = append(kept, k)
			}
		}
	}
	o.pending = kept
}

func (o *oracle) dirty() (n int) {
	for _, b := range o.pending {
		if !b.lost {
			n++
		}
	}
	return n
}

// crash returns the content if the first n pending bytes are kept.
func (o *oracle) crash(n int) []byte {
	out := bytes.Clone(o.durable)
	for _, b := range o.pending[:n] {
		out = putByte(out, b.off, b.val)
	}
	return out
}

// pieces returns where in pending each run of bytes of one write starts.
func (o *oracle) pieces() (starts []int) {
	for i, b := range o.pending {
		if i == 0 || b.write != o.pending[i-1].write || b.off != o.pending[i-1].off+1 {
			starts = append(starts, i)
		}
	}
	return starts
}

// A random life of one file, with failed syncs and with reuse while writes are
// pending, against the oracle.
func TestMemAgainstOracle(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, o := NewMem(), &oracle{}
		name := func(i int) string { return fmt.Sprintf("/f%d", i) }
		generation, off, writes := 0, 0, 0
		f := create(t, m, name(0), "")
		must(t, m.SyncDir("/"))
		for step := range 80 {
			what := ""
			switch n := r.IntN(10); {
			case n < 5:
				p := make([]byte, 1+r.IntN(40))
				for i := range p {
					p[i] = byte(1 + r.IntN(255))
				}
				writeTo(t, f, string(p))
				o.write(writes, off, p)
				off += len(p)
				writes++
				what = "write"
			case n < 7:
				effect := []Effect{None, Half, Full}[r.IntN(3)]
				must(t, f.(*memFile).sync(effect))
				o.sync([]int{0, o.dirty() / 2, o.dirty()}[effect])
				what = fmt.Sprint("sync with effect ", effect)
			case n < 8:
				must(t, f.Close())
				var err error
				f, err = m.Reuse(name(generation), name(generation+1))
				must(t, err)
				generation++
				must(t, m.SyncDir("/"))
				off = 0
				what = "reuse"
			default:
				m = m.Clone()
				reopened := &memFile{m: m, f: m.root.live[name(generation)[1:]].file, name: name(generation), writes: true, off: int64(off)}
				reopened.f.handles++
				f = reopened
				what = "clone"
			}
			check := func(model Model, want []byte) {
				t.Helper()
				if got := get(m.Crash(model, 0), name(generation)); got != string(want) {
					t.Fatalf("seed %d, step %d (%s), %v: got %q, want %q", seed, step, what, model, got, want)
				}
			}
			wantContent(t, m, name(generation), string(o.live))
			check(KeepAll, o.live)
			check(DropAll, o.durable)
			all := m.Pending()
			check(Prefix(len(all), 0), o.live)
			starts := o.pieces()
			if len(all) != len(starts) {
				t.Fatalf("seed %d, step %d (%s): got %d pending writes, want %d", seed, step, what, len(all), len(starts))
			}
			for i, n := range starts {
				check(Prefix(i, 0), o.crash(n))
				check(Prefix(i, 1), o.crash(n+1))
			}
		}
	}
}

// The caller may use its buffer again as soon as Write has returned.
func TestWriteKeepsNothing(t *testing.T) {
	m := NewMem()
	f, err := m.Create("/a")
	must(t, err)
	p := []byte("abc")
	_, err = f.Write(p)
	must(t, err)
	copy(p, "###")
	wantContent(t, m, "/a", "abc")
	wantDump(t, "create and write", m.Crash(Prefix(2, 0), 0), "a=abc")
}

// After a failed sync the data is there to read, but no later sync saves it.
func TestFailedSync(t *testing.T) {
	for _, test := range []struct {
		effect Effect
		after  string // what is durable after the failure
		later  string // and after a later success
	}{
		{None, "", "....efgh"},
		{Half, "ab", "ab..efgh"},
		{Full, "abcd", "abcdefgh"},
	} {
		fault := Fault{Err: syscall.EIO, Effect: test.effect}
		m := NewMem()
		fsys := Inject(m, (&Failure{Fault: fault, Match: func(op Op) bool { return op.Kind == OpSync }}).Rule)
		f := create(t, fsys, "/a", "abcd")
		must(t, fsys.SyncDir("/"))
		wantIs(t, "Sync", f.Sync(), syscall.EIO)
		wantContent(t, m, "/a", "abcd")
		wantDump(t, "durable after the failure", m.Crash(DropAll, 0), "a="+test.after)
		must(t, f.Sync())
		wantDump(t, "durable after a retry", m.Crash(DropAll, 0), "a="+test.after)
		writeTo(t, f, "efgh")
		must(t, f.Sync())
		wantDump(t, "durable after more", m.Crash(DropAll, 0), "a="+test.later)
		wantDump(t, "luck", m.Crash(KeepAll, 0), "a=abcdefgh")

		restarted := m.Clone()
		wantContent(t, restarted, "/a", "abcdefgh")
		r, err := restarted.Open("/a")
		must(t, err)
		must(t, r.Sync())
		wantDump(t, "durable after a restart and a sync", restarted.Crash(DropAll, 0), "a="+test.later)
	}
}

func TestFailedSyncDir(t *testing.T) {
	for _, test := range []struct {
		effect Effect
		after  string
		later  string
	}{
		{None, "a=A", "a=A d="},
		{Half, "b=A", "b=A d="},
		{Full, "b=A c=", "b=A c= d="},
	} {
		m := NewMem()
		durable(t, m, "/a", "A")
		fault := Fault{Err: syscall.EIO, Effect: test.effect}
		fsys := Inject(m, (&Failure{Fault: fault, Match: func(op Op) bool { return op.Kind == OpSyncDir }}).Rule)
		must(t, fsys.Rename("/a", "/b"))
		put(t, fsys, "/c", "C")
		wantIs(t, "SyncDir", fsys.SyncDir("/"), syscall.EIO)
		wantDump(t, "durable after the failure", m.Crash(DropAll, 0), test.after)
		must(t, fsys.SyncDir("/"))
		wantDump(t, "durable after a retry", m.Crash(DropAll, 0), test.after)
		put(t, fsys, "/d", "D")
		must(t, fsys.SyncDir("/"))
		wantDump(t, "durable after more", m.Crash(DropAll, 0), test.later)
		wantDump(t, "to read", m, "b=A c=C d=D")
	}
}

// A name that was lost by a failed sync stays lost, but what replaces it on disk
// cannot be undone by it.
func TestFailedSyncDirReplaced(t *testing.T) {
	m := NewMem()
	durable(t, m, "/a", "A")
	must(t, m.Rename("/a", "/b"))
	must(t, m.syncDir("/", None))
	put(t, m, "/a", "new")
	must(t, m.SyncDir("/"))
	wantDump(t, "DropAll", m.Crash(DropAll, 0), "a=")
	wantDump(t, "the lost name reappears", m.Crash(OnlyOne(0), 0), "a= b=A")
	must(t, m.Remove("/b"))
	must(t, m.SyncDir("/"))
	for _, op := range m.Pending() {
		if op.Kind != OpWrite {
			t.Errorf("Pending: got %v, want writes only", op)
		}
	}
	wantDump(t, "KeepAll", m.Crash(KeepAll, 0), "a=new")
}

// The way to make every operation a crash point in one run: the hook holds the
// operation, and the images show the moment before and after it.
func TestHook(t *testing.T) {
	m := NewMem()
	var got []string
	m.SetHook(func(op Op, done bool) {
		when := "before"
		if done {
			when = "after"
		}
		got = append(got, fmt.Sprintf("%s %v: drop %q keep %q", when, op,
			dump(t, m.Crash(DropAll, 0)), dump(t, m.Crash(KeepAll, 0))))
		if n := len(m.Pending()); n > 0 && dump(t, m.Crash(Prefix(n, 0), 0)) != dump(t, m.Clone()) {
			t.Errorf("%s %v: prefix of all operations and clone differ", when, op)
		}
	})
	f := create(t, m, "/a", "A")
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	if _, err := m.Create("/a"); err == nil {
		t.Error("Create of an existing file: got no error")
	}
	must(t, f.Close())
	m.SetHook(nil)
	must(t, m.Remove("/a"))
	want := []string{
		`before #0 create /a: drop "" keep ""`,
		`after #0 create /a: drop "" keep "a="`,
		`before #1 write /a 0+1: drop "" keep "a="`,
		`after #1 write /a 0+1: drop "" keep "a=A"`,
		`before #2 sync /a: drop "" keep "a=A"`,
		`after #2 sync /a: drop "" keep "a=A"`,
		`before #3 syncdir /: drop "" keep "a=A"`,
		`after #3 syncdir /: drop "a=A" keep "a=A"`,
		`before #4 create /a: drop "a=A" keep "a=A"`,
		`after #4 create /a: drop "a=A" keep "a=A"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := m.Ops(); n != 6 {
		t.Errorf("Ops: got %d, want 6", n)
	}
}

// A hook that panics must not leave a lock held.
func TestHookPanic(t *testing.T) {
	m := NewMem()
	m.SetHook(func(op Op, done bool) { panic("crash point") })
	func() {
		defer func() { recover() }()
		m.Create("/a")
	}()
	m.SetHook(nil)
	put(t, m, "/b", "B")
	wantDump(t, "after the panic", m, "b=B")
}

func TestMemConcurrent(t *testing.T) {
	m := NewMem()
	var images int
	m.SetHook(func(op Op, done bool) {
		if done && op.N%16 == 0 {
			im := m.Crash([]Model{DropAll, KeepAll, Subset, Garbage, AllButOne(0)}[op.N/16%5], uint64(op.N))
			dump(t, im)
			images++
		}
	})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			dir := fmt.Sprintf("/w%d", w)
			errs := []error{m.MkdirAll(dir), m.SyncDir("/")}
			for i := range 20 {
				name := path.Join(dir, fmt.Sprint(i))
				f, err := m.Create(name)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = f.Write(bytes.Repeat([]byte{byte(w)}, 300))
				errs = append(errs, err, f.Sync(), m.SyncDir(dir), f.Close())
				if i > 0 {
					_, err = m.List(dir)
					errs = append(errs, err, m.Remove(path.Join(dir, fmt.Sprint(i-1))))
				}
				if got := get(m, name); got != strings.Repeat(string(rune(w)), 300) {
					t.Errorf("%s: got %q", name, got)
				}
				m.Crash(Subset, uint64(i))
			}
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if images == 0 {
		t.Error("the hook took no image")
	}
}

// TestMemPads: of reused files some have zeros behind what is written and some have what was there, as
// Reuse allows both.
func TestMemPads(t *testing.T) {
	m := NewMem()
	var behind string
	for _, name := range []string{"/a", "/b"} {
		put(t, m, name, strings.Repeat("x", blockSize))
		f, err := m.Reuse(name, name+"2")
		must(t, err)
		writeTo(t, f, "begin")
		must(t, f.Close())
		behind += get(m, name+"2")[5:6]
	}
	if behind != "x\x00" && behind != "\x00x" {
		t.Errorf("behind what was written to two files there is %q, want one zero", behind)
	}
}
