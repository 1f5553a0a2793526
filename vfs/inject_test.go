package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// operate performs one operation of a kind and returns its error and what it
// returned beside it.
func operate(kind Kind, fsys FS, w, r File) (result any, err error) {
	buf := make([]byte, 6)
	switch kind {
	case OpCreate:
		f, err := fsys.Create("/d/new")
		return f != nil, err
	case OpOpen:
		f, err := fsys.Open("/d/a")
		return f != nil, err
	case OpReuse:
		f, err := fsys.Reuse("/d/a", "/d/new")
		return f != nil, err
	case OpRename:
		return nil, fsys.Rename("/d/a", "/d/new")
	case OpLink:
		return nil, fsys.Link("/d/a", "/d/new")
	case OpRemove:
		return nil, fsys.Remove("/d/a")
	case OpList:
		names, err := fsys.List("/d")
		return len(names) > 0, err
	case OpMkdir:
		return nil, fsys.MkdirAll("/d/x/y")
	case OpSyncDir:
		return nil, fsys.SyncDir("/d")
	case OpLock:
		l, err := fsys.Lock("/d/new")
		return l != nil, err
	case OpStat:
		n, err := fsys.Stat("/d/a")
		return n > 0, err
	case OpFreeSpace:
		n, err := fsys.FreeSpace("/d")
		return n > 0, err
	case OpRead:
		n, err := r.ReadAt(buf, 0)
		return string(buf[:n]), err
	case OpWrite:
		n, err := w.Write([]byte("uvwxyz"))
		return n, err
	case OpSync:
		return nil, w.Sync()
	case OpSize:
		n, err := r.Size()
		return n > 0, err
	case OpClose:
		return nil, w.Close()
	}
	panic("a kind without a test")
}

// Every kind of operation, with each effect: what it returned, what readers see
// in /d, and what of that is durable where a sync is the operation.
func TestInjectEffects(t *testing.T) {
	const before = "a=abcdef w=1234"
	for _, test := range []struct {
		kind             Kind
		none, half, full string // effect on /d
		results          string // what is returned beside the error, if anything
	}{
		{OpCreate, before, before, "a=abcdef new= w=1234", "false false false"},
		{OpOpen, before, before, before, "false false false"},
		{OpReuse, before, before, "new=abcdef w=1234", "false false false"},
		{OpRename, before, before, "new=abcdef w=1234", ""},
		{OpLink, before, before, "a=abcdef new=abcdef w=1234", ""},
		{OpRemove, before, before, "w=1234", ""},
		{OpList, before, before, before, "false false false"},
		{OpMkdir, before, before + " x/", before + " x/ x/y/", ""},
		{OpSyncDir, "", "a=abcdef", "a=abcdef w=", ""},
		{OpLock, before, before, "a=abcdef new= w=1234", "false false false"},
		{OpStat, before, before, before, "false false false"},
		{OpFreeSpace, before, before, before, "false false false"},
		{OpRead, before, before, before, " abc abcdef"},
		{OpWrite, before, "a=abcdef w=1234uvw", "a=abcdef w=1234uvwxyz", "0 3 6"},
		{OpSync, "a=abcdef w=", "a=abcdef w=12", "a=abcdef w=1234", ""},
		{OpSize, before, before, before, "false false false"},
		{OpClose, before, before, before, ""},
	} {
		var results []string
		for effect, want := range []string{test.none, test.half, test.full} {
			what := fmt.Sprintf("%v with effect %d", test.kind, effect)
			m := NewMem()
			must(t, m.MkdirAll("/d"))
			must(t, m.SyncDir("/"))
			failure := &Failure{
				Fault: Fault{Err: syscall.EDQUOT, Effect: Effect(effect)},
				Match: func(op Op) bool { return op.Kind == test.kind },
				At:    map[Kind]int64{OpCreate: 2, OpOpen: 1, OpWrite: 2, OpSync: 1, OpClose: 1}[test.kind],
			}
			fsys := Inject(m, failure.Rule)
			a := create(t, fsys, "/d/a", "abcdef")
			must(t, a.Sync())
			must(t, a.Close())
			w := create(t, fsys, "/d/w", "1234")
			r, err := fsys.Open("/d/a")
			must(t, err)
			if test.kind == OpSync {
				must(t, fsys.SyncDir("/d"))
			}

			result, err := operate(test.kind, fsys, w, r)
			wantIs(t, what, err, syscall.EDQUOT)
			var named *fs.PathError
			if !errors.As(err, &named) || !strings.HasPrefix(named.Path, "/d") || named.Op != test.kind.String() {
				t.Errorf("%s: got error %v, want one that names operation and path", what, err)
			}
			if failure.Hits() != 1 {
				t.Errorf("%s: got %d hits, want 1", what, failure.Hits())
			}
			if result != nil {
				results = append(results, fmt.Sprint(result))
			}
			if test.kind == OpSync || test.kind == OpSyncDir {
				m = m.Crash(DropAll, 0)
			}
			got := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(dump(t, m), "d/"), " "), "d/", "")
			if got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		if got := strings.Join(results, " "); got != test.results {
			t.Errorf("%v: returned %q beside the errors, want %q", test.kind, got, test.results)
		}
	}
}

// Whatever an operation opened before it failed is closed again.
func TestInjectLeavesNothingOpen(t *testing.T) {
	m := NewMem()
	failure := &Failure{Sticky: true, Fault: Fault{Err: syscall.EIO, Effect: Full}}
	fsys := Inject(m, failure.Rule)
	if _, err := fsys.Lock("/LOCK"); err == nil {
		t.Error("Lock: got no error")
	}
	if _, err := fsys.Create("/a"); err == nil {
		t.Error("Create: got no error")
	}
	failure.Heal()
	l, err := fsys.Lock("/LOCK")
	must(t, err)
	must(t, l.Close())
	f := create(t, fsys, "/b", "12345")
	must(t, fsys.Remove("/b"))
	failing := Inject(m, func(op Op) Fault { return Fault{Err: syscall.EIO} })
	if err := (&injectedFile{i: failing, f: f, name: "/b"}).Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: got %v, want EIO", err)
	}
	if got := freeOf(t, m); got != 1<<40 {
		t.Errorf("free after the failed close of a removed file: got %d, want all", got)
	}
}

func TestInjectNumbersOperations(t *testing.T) {
	var got []string
	fsys := Inject(NewMem(), func(op Op) Fault {
		got = append(got, op.String())
		return Fault{}
	})
	f := create(t, fsys, "/a", "abc")
	writeTo(t, f, "defg")
	must(t, f.Sync())
	must(t, f.Close())
	r, err := fsys.Open("/a")
	must(t, err)
	if n, err := r.ReadAt(make([]byte, 2), 5); n != 2 || err != nil {
		t.Errorf("ReadAt: got %d, %v", n, err)
	}
	must(t, fsys.Rename("/a", "/b"))
	want := []string{"#0 create /a", "#1 write /a 0+3", "#2 write /a 3+4", "#3 sync /a", "#4 close /a",
		"#5 open /a", "#6 read /a 5+2", "#7 rename /a /b"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := fsys.Ops(); n != int64(len(want)) {
		t.Errorf("Ops: got %d, want %d", n, len(want))
	}
}

func TestFailure(t *testing.T) {
	run := func(f *Failure) (outcome string) {
		fsys := Inject(NewMem(), f.Rule)
		for i := range 6 {
			_, err := fsys.List("/")
			if i == 4 {
				f.Heal()
			}
			outcome += map[bool]string{true: "-", false: "x"}[err == nil]
			if err := fsys.SyncDir("/"); err != nil {
				outcome += "!"
			}
		}
		return outcome
	}
	lists := func(op Op) bool { return op.Kind == OpList }
	fault := Fault{Err: syscall.EIO}
	for _, test := range []struct {
		name string
		f    *Failure
		want string
		hits int64
	}{
		{"first", &Failure{Fault: fault, Match: lists}, "x-----", 1},
		{"third", &Failure{At: 2, Fault: fault, Match: lists}, "--x---", 1},
		{"from the third", &Failure{At: 2, Sticky: true, Fault: fault, Match: lists}, "--xxx-", 3},
		{"of all operations", &Failure{At: 3, Fault: fault}, "--!----", 1},
		{"too late", &Failure{At: 12, Fault: fault}, "------", 0},
	} {
		if got := run(test.f); got != test.want || test.f.Hits() != test.hits {
			t.Errorf("%s: got %s with %d hits, want %s with %d", test.name, got, test.f.Hits(), test.want, test.hits)
		}
	}
}

// A held operation has done nothing yet, and does it when it is let go.
func TestHold(t *testing.T) {
	m := NewMem()
	hold, reached := make(chan struct{}), make(chan struct{})
	fsys := Inject(m, func(op Op) Fault {
		if op.Kind != OpSync {
			return Fault{}
		}
		close(reached)
		return Fault{Hold: hold}
	})
	f := create(t, fsys, "/a", "abc")
	must(t, m.SyncDir("/"))
	done := make(chan error)
	go func() { done <- f.Sync() }()
	<-reached
	select {
	case err := <-done:
		t.Fatalf("Sync returned %v while held", err)
	default:
	}
	wantDump(t, "while held", m.Crash(DropAll, 0), "a=")
	close(hold)
	must(t, <-done)
	wantDump(t, "after", m.Crash(DropAll, 0), "a=abc")
}

// Faults of an outer wrapper reach the Mem below an inner one.
func TestInjectNested(t *testing.T) {
	m := NewMem()
	inner := Inject(m, func(Op) Fault { return Fault{} })
	outer := Inject(inner, (&Failure{Fault: Fault{Err: syscall.EIO, Effect: None},
		Match: func(op Op) bool { return op.Kind == OpSync || op.Kind == OpSyncDir }, Sticky: true}).Rule)
	f := create(t, outer, "/a", "abc")
	wantIs(t, "Sync", f.Sync(), syscall.EIO)
	wantIs(t, "SyncDir", outer.SyncDir("/"), syscall.EIO)
	must(t, inner.SyncDir("/"))
	wantDump(t, "durable", m.Crash(DropAll, 0), "")
	if inner.Ops() != outer.Ops()+1 {
		t.Errorf("operations: got %d inner, %d outer, want one more", inner.Ops(), outer.Ops())
	}
}

// The hook of a Mem is called for the kinds that Changes names.
func TestChanges(t *testing.T) {
	for kind := OpCreate; kind <= OpClose; kind++ {
		m := NewMem()
		must(t, m.MkdirAll("/d"))
		put(t, m, "/d/a", "abcdef")
		w := create(t, m, "/d/w", "1234")
		r, err := m.Open("/d/a")
		must(t, err)
		hooked := false
		m.SetHook(func(op Op, done bool) {
			hooked = true
			if op.Kind != kind {
				t.Errorf("hook of %v: got %v", kind, op)
			}
		})
		if _, err := operate(kind, m, w, r); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		if kind.Changes() != hooked {
			t.Errorf("%v: got Changes %v, want %v", kind, kind.Changes(), hooked)
		}
	}
}

// Without the help of a Mem a failed sync either happens or does not; the data
// is there to read in any case.
func TestInjectSyncOnOS(t *testing.T) {
	for _, effect := range []Effect{None, Half, Full} {
		dir := t.TempDir()
		fsys := Inject(OS, (&Failure{Fault: Fault{Err: syscall.EIO, Effect: effect}, Sticky: true,
			Match: func(op Op) bool { return op.Kind == OpSync || op.Kind == OpSyncDir }}).Rule)
		f := create(t, fsys, dir+"/a", "abc")
		wantIs(t, "Sync", f.Sync(), syscall.EIO)
		wantIs(t, "SyncDir", fsys.SyncDir(dir), syscall.EIO)
		must(t, f.Close())
		wantContent(t, fsys, dir+"/a", "abc")
	}
}

// A sync of a directory that gets no handle has done no harm: the next one makes
// everything durable.
func TestSyncDirWithoutHandle(t *testing.T) {
	m := NewMem()
	failure := &Failure{Fault: Fault{Err: syscall.EMFILE}, Match: func(op Op) bool { return op.Kind == OpSyncDir }}
	fsys := Inject(m, failure.Rule)
	must(t, create(t, fsys, "/a", "").Close())
	wantIs(t, "SyncDir", fsys.SyncDir("/"), syscall.EMFILE)
	if got := dump(t, m.Crash(DropAll, 0)); got != "" {
		t.Errorf("durable after the failure: %q", got)
	}
	must(t, fsys.SyncDir("/"))
	if got := dump(t, m.Crash(DropAll, 0)); got != "a=" {
		t.Errorf("durable after the next sync: %q, want a", got)
	}
}
