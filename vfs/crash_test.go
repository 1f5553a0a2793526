package vfs

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"
)

// dump returns all that readers see: "a=content sub/ sub/b=content".
func dump(t testing.TB, fsys FS) string {
	t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		names, err := fsys.List(dir)
		must(t, err)
		for _, name := range names {
			at := path.Join(dir, name)
			if _, err := fsys.Stat(at); err == nil {
				out = append(out, at[1:]+"="+strings.ReplaceAll(get(fsys, at), "\x00", "."))
				continue
			}
			out = append(out, at[1:]+"/")
			walk(at)
		}
	}
	walk("/")
	return strings.Join(out, " ")
}

func wantDump(t testing.TB, what string, fsys FS, want string) {
	t.Helper()
	if got := dump(t, fsys); got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// create makes a file with a content and leaves it open.
func create(t testing.TB, fsys FS, name, content string) File {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	writeTo(t, f, content)
	return f
}

// durable makes a file whose content and name no crash takes.
func durable(t testing.TB, fsys FS, name, content string) {
	t.Helper()
	f := create(t, fsys, name, content)
	must(t, f.Sync())
	must(t, f.Close())
	must(t, fsys.SyncDir(path.Dir(name)))
}

func TestCrashNothingPending(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d"))
	must(t, m.SyncDir("/"))
	durable(t, m, "/d/a", "A")
	if ops := m.Pending(); len(ops) != 0 {
		t.Fatalf("Pending: got %v, want none", ops)
	}
	for _, model := range append(m.Systematic(), AllButOne(0), OnlyOne(0), Prefix(0, 1), Prefix(9, 9), Subset, SizeNoData, Garbage) {
		wantDump(t, model.String(), m.Crash(model, 1), "d/ d/a=A")
	}
}

func TestCrashSyncIsNotEnough(t *testing.T) {
	m := NewMem()
	f := create(t, m, "/a", "A")
	must(t, f.Sync())
	wantDump(t, "file synced, name not", m.Crash(DropAll, 0), "")
	must(t, m.SyncDir("/"))
	wantDump(t, "both synced", m.Crash(DropAll, 0), "a=A")
	writeTo(t, f, "B")
	must(t, m.SyncDir("/"))
	wantDump(t, "name synced, more written", m.Crash(DropAll, 0), "a=A")

	create(t, m, "/b", "B")
	must(t, m.SyncDir("/"))
	wantDump(t, "name synced, file not", m.Crash(DropAll, 0), "a=A b=")

	must(t, m.MkdirAll("/x/y"))
	durable(t, m, "/x/y/c", "C")
	wantDump(t, "directories above not synced", m.Crash(DropAll, 0), "a=A b=")
	must(t, m.SyncDir("/"))
	wantDump(t, "only the first synced", m.Crash(DropAll, 0), "a=A b= x/")
	must(t, m.SyncDir("/x"))
	wantDump(t, "all synced", m.Crash(DropAll, 0), "a=A b= x/ x/y/ x/y/c=C")
}

func TestCrashNames(t *testing.T) {
	m := NewMem()
	durable(t, m, "/a", "A")
	durable(t, m, "/b", "B")
	must(t, m.Rename("/a", "/b"))
	wantDump(t, "rename dropped", m.Crash(DropAll, 0), "a=A b=B")
	wantDump(t, "rename kept", m.Crash(KeepAll, 0), "b=A")
	must(t, m.SyncDir("/"))
	wantDump(t, "rename synced", m.Crash(DropAll, 0), "b=A")

	must(t, m.Remove("/b"))
	wantDump(t, "removal dropped", m.Crash(DropAll, 0), "b=A")
	wantDump(t, "removal kept", m.Crash(KeepAll, 0), "")
	create(t, m, "/b", "new")
	wantDump(t, "removal and creation dropped", m.Crash(DropAll, 0), "b=A")
	wantDump(t, "creation dropped", m.Crash(Prefix(1, 0), 0), "")
	must(t, m.SyncDir("/"))
	wantDump(t, "removal synced", m.Crash(DropAll, 0), "b=")
}

// A rename between two directories can lose either half.
func TestCrashRenameAcross(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/x"))
	must(t, m.MkdirAll("/y"))
	must(t, m.SyncDir("/"))
	durable(t, m, "/x/a", "A")
	must(t, m.Rename("/x/a", "/y/b"))
	wantDump(t, "Prefix(0)", m.Crash(Prefix(0, 0), 0), "x/ x/a=A y/")
	wantDump(t, "Prefix(1)", m.Crash(Prefix(1, 0), 0), "x/ x/a=A y/ y/b=A")
	wantDump(t, "Prefix(2)", m.Crash(Prefix(2, 0), 0), "x/ y/ y/b=A")
	wantDump(t, "OnlyOne(1)", m.Crash(OnlyOne(1), 0), "x/ y/")
	both := m.Crash(Prefix(1, 0), 0)
	must(t, both.Remove("/x/a"))
	wantDump(t, "one of two names removed", both, "x/ y/ y/b=A")
	free, _ := both.FreeSpace("/")
	if want := uint64(1<<40 - 1); free != want {
		t.Errorf("free space after removing one of two names: got %d, want %d", free, want)
	}

	early := m.Clone()
	must(t, early.SyncDir("/x"))
	wantDump(t, "old directory synced first", early.Crash(DropAll, 0), "x/ y/")
	must(t, m.SyncDir("/y"))
	wantDump(t, "new directory synced first", m.Crash(DropAll, 0), "x/ x/a=A y/ y/b=A")
	must(t, m.SyncDir("/x"))
	wantDump(t, "both synced", m.Crash(DropAll, 0), "x/ y/ y/b=A")
}

// script leaves six pending operations over two files and a directory.
func script(t *testing.T) *Mem {
	m := NewMem()
	durable(t, m, "/a", "0123456789")
	f, err := m.Reuse("/a", "/b") // 0
	must(t, err)
	writeTo(t, f, "xyz")          // 1
	g := create(t, m, "/c", "CC") // 2 3
	writeTo(t, f, "uvw")          // 4
	writeTo(t, g, "DDD")          // 5
	must(t, m.Rename("/c", "/d")) // 6
	must(t, f.Close())            // nothing
	return m
}

func TestPending(t *testing.T) {
	m := script(t)
	var got []string
	for _, op := range m.Pending() {
		got = append(got, op.String())
	}
	want := []string{"#0 reuse /a /b", "#1 write /b 0+3", "#2 create /c", "#3 write /d 0+2",
		"#4 write /b 3+3", "#5 write /d 2+3", "#6 rename /c /d"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("Pending: got %q, want %q", got, want)
	}
	if got := m.Crash(KeepAll, 0).Pending(); len(got) != 0 {
		t.Errorf("Pending of an image: got %v, want none", got)
	}
}

func TestCrashSystematic(t *testing.T) {
	m := script(t)
	for _, test := range []struct {
		model Model
		want  string
	}{
		{DropAll, "a=0123456789"},
		{KeepAll, "b=xyzuvw6789 d=CCDDD"},
		{Prefix(0, 0), "a=0123456789"},
		{Prefix(0, 9), "a=0123456789"},
		{Prefix(1, 0), "b=0123456789"},
		{Prefix(1, 1), "b=x123456789"},
		{Prefix(1, 2), "b=xy23456789"},
		{Prefix(1, 3), "b=xyz3456789"},
		{Prefix(1, 4), "b=xyz3456789"},
		{Prefix(2, 1), "b=xyz3456789"},
		{Prefix(3, 0), "b=xyz3456789 c="},
		{Prefix(3, 1), "b=xyz3456789 c=C"},
		{Prefix(4, 0), "b=xyz3456789 c=CC"},
		{Prefix(4, 2), "b=xyzuv56789 c=CC"},
		{Prefix(5, 1), "b=xyzuvw6789 c=CCD"},
		{Prefix(6, 0), "b=xyzuvw6789 c=CCDDD"},
		{Prefix(7, 0), "b=xyzuvw6789 d=CCDDD"},
		{Prefix(99, 99), "b=xyzuvw6789 d=CCDDD"},
		{AllButOne(0), "a=xyzuvw6789 d=CCDDD"},
		{AllButOne(1), "b=012uvw6789 d=CCDDD"},
		{AllButOne(2), "b=xyzuvw6789 d=CCDDD"},
		{AllButOne(3), "b=xyzuvw6789 d=..DDD"},
		{AllButOne(4), "b=xyz3456789 d=CCDDD"},
		{AllButOne(5), "b=xyzuvw6789 d=CC"},
		{AllButOne(6), "b=xyzuvw6789 c=CCDDD"},
		{AllButOne(7), "b=xyzuvw6789 d=CCDDD"},
		{OnlyOne(0), "b=0123456789"},
		{OnlyOne(1), "a=xyz3456789"},
		{OnlyOne(2), "a=0123456789 c="},
		{OnlyOne(4), "a=012uvw6789"},
		{OnlyOne(6), "a=0123456789 d="},
		{OnlyOne(7), "a=0123456789"},
	} {
		wantDump(t, test.model.String(), m.Crash(test.model, 0), test.want)
	}
	// Of 26 models, 5 agree with others: two keep only a write to a file without a
	// name, two that omit or keep one operation are also a prefix, and the creation
	// of a file does not matter to its later rename.
	seen := map[string]bool{}
	for _, model := range m.Systematic() {
		seen[dump(t, m.Crash(model, 0))] = true
	}
	if len(seen) != 21 {
		t.Errorf("Systematic: got %d different images, want 21", len(seen))
	}
}

// sectorsOf cuts a content into pieces that end at multiples of the sector.
func sectorsOf(content string) []string {
	var out []string
	for len(content) > sectorSize {
		out, content = append(out, content[:sectorSize]), content[sectorSize:]
	}
	return append(out, content)
}

// The reused file has seven sectors and a bit, of which two writes touch five.
func TestCrashOverwrite(t *testing.T) {
	const size = 7*sectorSize + 100
	before := strings.Repeat("o", size)
	first := strings.Repeat("1", 2*sectorSize+200)
	second := strings.Repeat("2", 2*sectorSize)
	after := []string{before, first + before[len(first):], first + second + before[len(first)+len(second):]}

	for _, model := range []Model{Subset, SizeNoData, Garbage} {
		m := NewMem()
		durable(t, m, "/stale", strings.Repeat("s", size))
		durable(t, m, "/a", before)
		f, err := m.Reuse("/a", "/b")
		must(t, err)
		must(t, m.SyncDir("/"))
		must(t, m.Remove("/stale"))
		writeTo(t, f, first)
		writeTo(t, f, second)

		seen := map[string]int{}
		for seed := range uint64(300) {
			got := sectorsOf(get(m.Crash(model, seed), "/b"))
			if len(got) != 8 {
				t.Fatalf("%v, seed %d: got %d sectors, want 8", model, seed, len(got))
			}
			for i, sector := range got {
				moment := -1
				for k := range after {
					if sector == sectorsOf(after[k])[i] {
						moment = k
						break
					}
				}
				if moment < 0 {
					t.Fatalf("%v, seed %d, sector %d: got %q, which it never was", model, seed, i, sector)
				}
				seen[fmt.Sprint(i, " at ", moment)]++
			}
		}
		// Sectors 0 and 1 are of the first write, 2 of both, 3 and 4 of the second.
		for _, want := range []string{"0 at 0", "0 at 1", "1 at 0", "1 at 1", "2 at 0", "2 at 1", "2 at 2",
			"3 at 0", "3 at 2", "4 at 0", "4 at 2", "5 at 0", "7 at 0"} {
			if seen[want] == 0 {
				t.Errorf("%v: no image of 300 has sector %s", model, want)
			}
		}
		if len(seen) != 14 {
			t.Errorf("%v: got sectors %v, want 14 kinds", model, seen)
		}
	}
}

// appended returns a file with 700 durable bytes and 1848 pending ones in three
// writes, and a removed file, and the images of its content.
func appended(t *testing.T, model Model, seeds uint64, check func(seed uint64, got string)) (want string) {
	const stale, kept = 4000, 700
	m := NewMem()
	durable(t, m, "/stale", strings.Repeat("stale---", stale/8))
	f := create(t, m, "/a", strings.Repeat("d", kept))
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	must(t, m.Remove("/stale"))
	want = strings.Repeat("d", kept)
	for i, n := range []int{100, 1000, 748} {
		s := strings.Repeat(string(rune('x'+i)), n)
		writeTo(t, f, s)
		want += s
	}
	for seed := range seeds {
		got := get(m.Crash(model, seed), "/a")
		if !strings.HasPrefix(got, want[:kept]) {
			t.Fatalf("%v, seed %d: durable bytes are gone: %q", model, seed, got)
		}
		check(seed, got)
	}
	return want
}

func TestCrashSubset(t *testing.T) {
	var images []string
	want := appended(t, Subset, 300, func(_ uint64, got string) { images = append(images, got) })
	lengths, holes, whole := map[int]bool{}, 0, 0
	for seed, got := range images {
		if len(got) > len(want) {
			t.Fatalf("seed %d: got %d bytes, want at most %d", seed, len(got), len(want))
		}
		lengths[len(got)] = true
		for i := range len(got) {
			if got[i] != want[i] && got[i] != 0 {
				t.Fatalf("seed %d: byte %d: got %q, want %q or zero", seed, i, got[i], want[i])
			}
		}
		if len(got) > 700 && got[len(got)-1] == 0 {
			t.Fatalf("seed %d: the file ends in a hole at %d", seed, len(got))
		}
		if strings.Contains(got, "\x00") {
			holes++
		}
		if got == want {
			whole++
		}
	}
	// 700 nothing, 800 first write, 1024 1536 2048 2548 ends of sectors, 1800 of the second write.
	for _, n := range []int{700, 800, 1024, 1536, 1800, 2048, 2548} {
		if !lengths[n] {
			t.Errorf("no image of %d bytes in 300", n)
		}
	}
	if len(lengths) != 7 || holes < 30 || whole < 30 {
		t.Errorf("got lengths %v, %d holes, %d whole; want 7 lengths and some of each", lengths, holes, whole)
	}
}

func TestCrashSizeNoData(t *testing.T) {
	var images []string
	want := appended(t, SizeNoData, 200, func(_ uint64, got string) { images = append(images, got) })
	empty, some := 0, 0
	for seed, got := range images {
		if len(got) != len(want) {
			t.Fatalf("seed %d: got %d bytes, want %d", seed, len(got), len(want))
		}
		for i := range len(got) {
			if got[i] != want[i] && got[i] != 0 {
				t.Fatalf("seed %d: byte %d: got %q, want %q or zero", seed, i, got[i], want[i])
			}
		}
		if strings.Trim(got[700:], "\x00") == "" {
			empty++
		} else if got != want {
			some++
		}
	}
	if empty == 0 || some == 0 {
		t.Errorf("got %d images with no data, %d with some; want both", empty, some)
	}
}

func TestCrashGarbage(t *testing.T) {
	var images []string
	want := appended(t, Garbage, 200, func(_ uint64, got string) { images = append(images, got) })
	random, stale, mixed := 0, 0, 0
	for seed, got := range images {
		if len(got) != len(want) {
			t.Fatalf("seed %d: got %d bytes, want %d", seed, len(got), len(want))
		}
		switch {
		case strings.Contains(got[700:], "stale---") && strings.ContainsAny(got[700:], "xyz"):
			mixed++
		case strings.Contains(got[700:], "stale---"):
			stale++
		case got != want:
			random++
		}
	}
	if random == 0 || stale == 0 || mixed == 0 {
		t.Errorf("got %d images with random bytes, %d with stale ones, %d with data too; want some of each", random, stale, mixed)
	}
}

// Without order between names, every combination is possible; on one name the
// order is kept.
func TestCrashSubsetOfNames(t *testing.T) {
	m := NewMem()
	durable(t, m, "/a", "A")
	must(t, m.Rename("/a", "/b"))
	put(t, m, "/a", "")
	put(t, m, "/c", "")
	must(t, m.Remove("/c"))
	put(t, m, "/d", "")
	want := map[string]bool{}
	for _, ab := range []string{"a=A", "b=A", "a= b=A"} { // never a= alone: that would lose A
		for _, c := range []string{"", " c="} {
			for _, d := range []string{"", " d="} {
				want[ab+c+d] = true
			}
		}
	}
	got := map[string]bool{}
	for seed := range uint64(300) {
		s := dump(t, m.Crash(Subset, seed))
		if !want[s] {
			t.Errorf("seed %d: got %q", seed, s)
		}
		got[s] = true
	}
	if len(got) != len(want) {
		t.Errorf("got %d different images of 300, want %d", len(got), len(want))
	}
}

func TestCrashDeterministic(t *testing.T) {
	a, b := script(t), script(t)
	for _, model := range append(a.Systematic(), Subset, SizeNoData, Garbage) {
		for seed := range uint64(20) {
			x, y := a.Crash(model, seed), b.Crash(model, seed)
			if x.Fingerprint() != y.Fingerprint() || dump(t, x) != dump(t, y) {
				t.Errorf("%v, seed %d: got different images %q and %q", model, seed, dump(t, x), dump(t, y))
			}
		}
	}
}

// What happens in an image does not show in its source or in other images.
func TestCrashIndependent(t *testing.T) {
	m := script(t)
	before := dump(t, m)
	pending := len(m.Pending())
	copies := []*Mem{m.Crash(KeepAll, 0), m.Crash(DropAll, 0), m.Crash(Subset, 1), m.Clone(), m.Clone()}
	var want []string
	for _, c := range copies {
		want = append(want, dump(t, c))
	}
	for i, c := range copies {
		for _, name := range []string{"/a", "/b", "/d"} {
			if f, err := c.Reuse(name, name+"2"); err == nil {
				writeTo(t, f, "####")
				must(t, f.Sync())
			}
		}
		durable(t, c, "/new", "new")
		must(t, c.MkdirAll("/dir"))
		for j := i + 1; j < len(copies); j++ {
			wantDump(t, fmt.Sprintf("copy %d after a change of copy %d", j, i), copies[j], want[j])
		}
	}
	wantDump(t, "source", m, before)
	if got := len(m.Pending()); got != pending {
		t.Errorf("pending in the source: got %d, want %d", got, pending)
	}
	f, err := m.Reuse("/b", "/b2")
	must(t, err)
	writeTo(t, f, "source")
	must(t, f.Sync())
	if got := dump(t, copies[0]); strings.Contains(got, "source") {
		t.Errorf("image after a change of the source: got %q", got)
	}
}

// A second crash sees only what the first one left.
func TestCrashTwice(t *testing.T) {
	m := script(t).Crash(Prefix(4, 2), 0)
	wantDump(t, "first", m, "b=xyzuv56789 c=CC")
	put(t, m, "/e", "E")
	must(t, m.SyncDir("/"))
	must(t, m.Remove("/c"))
	wantDump(t, "second", m.Crash(DropAll, 0), "b=xyzuv56789 c=CC e=")
	wantDump(t, "second", m.Crash(AllButOne(0), 0), "b=xyzuv56789 e=")
}

// An image keeps what is durable in it apart from what is written to it.
func TestCrashImageOverwritten(t *testing.T) {
	for _, model := range []Model{KeepAll, DropAll, Prefix(5, 1), AllButOne(4), OnlyOne(0), Subset, Garbage} {
		im := script(t).Crash(model, 3)
		name := ""
		for _, n := range []string{"/a", "/b"} {
			if s := get(im, n); s != "<none>" {
				name = n
			}
		}
		want := get(im, name)
		f, err := im.Reuse(name, "/new")
		must(t, err)
		must(t, im.SyncDir("/"))
		writeTo(t, f, "####")
		if got := get(im.Crash(DropAll, 0), "/new"); got != want {
			t.Errorf("%v: durable after an overwrite: got %q, want %q", model, got, want)
		}
	}
}

// After the process has ended, readers see what a later loss of power takes.
func TestClone(t *testing.T) {
	m := script(t)
	lock, err := m.Lock("/LOCK")
	must(t, err)
	defer lock.Close()
	c := m.Clone()
	wantDump(t, "clone", c, dump(t, m))
	if got, want := fmt.Sprint(c.Pending()), fmt.Sprint(m.Pending()); got != want {
		t.Errorf("Pending of the clone: got %v, want %v", got, want)
	}
	for _, model := range append(m.Systematic(), Subset, SizeNoData, Garbage) {
		wantDump(t, model.String(), c.Crash(model, 7), dump(t, m.Crash(model, 7)))
	}
	again, err := c.Lock("/LOCK")
	must(t, err)
	must(t, again.Close())
	if free, want := freeOf(t, c), freeOf(t, m); free != want {
		t.Errorf("free space of the clone: got %d, want %d", free, want)
	}
}

func freeOf(t testing.TB, fsys FS) uint64 {
	t.Helper()
	n, err := fsys.FreeSpace("/")
	must(t, err)
	return n
}

func TestFingerprint(t *testing.T) {
	seen := map[uint64]string{}
	m := script(t)
	for _, model := range m.Systematic() {
		im := m.Crash(model, 0)
		sum, content := im.Fingerprint(), dump(t, im)
		if other, ok := seen[sum]; ok && other != content {
			t.Errorf("%q and %q have one fingerprint", other, content)
		}
		seen[sum] = content
	}
	if len(seen) != 21 {
		t.Errorf("got %d fingerprints, want 21", len(seen))
	}
	a, b := NewMem(), NewMem()
	put(t, a, "/a", string(make([]byte, 2*pageSize)))
	f := create(t, b, "/a", strings.Repeat("x", 2*pageSize))
	must(t, f.Close())
	f, err := b.Reuse("/a", "/b")
	must(t, err)
	writeTo(t, f, string(make([]byte, 2*pageSize)))
	must(t, b.Rename("/b", "/a"))
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("zeros that were written and zeros that never were differ")
	}
	must(t, a.MkdirAll("/d/e"))
	must(t, b.MkdirAll("/d"))
	if a.Fingerprint() == b.Fingerprint() {
		t.Error("an empty directory makes no difference")
	}
	must(t, b.MkdirAll("/d/e"))
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the same directories, made one by one, differ")
	}
	put(t, a, "/c", "c")
	put(t, b, "/c", "c\x00")
	if a.Fingerprint() == b.Fingerprint() {
		t.Error("a zero more at the end of a file makes no difference")
	}
}

func TestCapacity(t *testing.T) {
	m := NewMem()
	m.SetCapacity(10)
	f := create(t, m, "/a", "012345")
	n, err := f.Write([]byte("6789xy"))
	if n != 4 {
		t.Errorf("write of 6 bytes where 4 fit: got %d", n)
	}
	wantIs(t, "write that does not fit", err, syscall.ENOSPC)
	wantContent(t, m, "/a", "0123456789")
	n, err = f.Write([]byte("x"))
	if n != 0 {
		t.Errorf("write to a full disk: got %d, want 0", n)
	}
	wantIs(t, "write to a full disk", err, syscall.ENOSPC)
	_, err = m.Create("/b")
	wantIs(t, "Create on a full disk", err, syscall.ENOSPC)
	wantIs(t, "MkdirAll on a full disk", m.MkdirAll("/d"), syscall.ENOSPC)
	must(t, f.Sync())
	must(t, f.Close())

	g, err := m.Reuse("/a", "/c")
	must(t, err)
	writeTo(t, g, "overwrite!")
	must(t, m.SyncDir("/"))
	wantIs(t, "image on a full disk", m.Crash(KeepAll, 0).MkdirAll("/d"), syscall.ENOSPC)
	must(t, m.Remove("/c"))
	if got := freeOf(t, m); got != 0 {
		t.Errorf("free while a removed file is open: got %d, want 0", got)
	}
	if got := freeOf(t, m.Clone()); got != 10 {
		t.Errorf("free when the process that had it open is gone: got %d, want 10", got)
	}
	must(t, g.Close())
	if got := freeOf(t, m); got != 10 {
		t.Errorf("free after its close: got %d, want 10", got)
	}
	put(t, m, "/d", "1234")
	put(t, m, "/e", "56789")
	must(t, m.Rename("/e", "/d"))
	if got := freeOf(t, m); got != 5 {
		t.Errorf("free after a rename over a file: got %d, want 5", got)
	}
	must(t, m.Rename("/d", "/d"))
	if got := freeOf(t, m); got != 5 {
		t.Errorf("free after a rename of a file to its own name: got %d, want 5", got)
	}
	m.SetCapacity(100)
	if got := freeOf(t, m); got != 95 {
		t.Errorf("free on a larger disk: got %d, want 95", got)
	}
}

// Large files cross pages, and zeros take none.
func TestImagePages(t *testing.T) {
	m := NewMem()
	want := make([]byte, 5*pageSize+123)
	f := create(t, m, "/a", string(want))
	for _, pg := range f.(*memFile).f.live.pages {
		if pg != nil {
			t.Fatal("a page of zeros takes memory")
		}
	}
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	f, err := m.Reuse("/a", "/b")
	must(t, err)
	for i, n := 0, 1; i+n < len(want); i, n = i+n, n*3 {
		p := bytes.Repeat([]byte{byte(n)}, n)
		writeTo(t, f, string(p))
		copy(want[i:], p)
		wantContent(t, m, "/b", string(want))
	}
	wantContent(t, m.Crash(DropAll, 0), "/a", string(make([]byte, len(want))))
	r, err := m.Open("/b")
	must(t, err)
	for off := 0; off < len(want); off += 997 {
		b := make([]byte, 5000)
		n, _ := r.ReadAt(b, int64(off))
		if !bytes.Equal(b[:n], want[off:min(off+5000, len(want))]) {
			t.Fatalf("ReadAt(%d): got other bytes", off)
		}
	}
}

// A link is one more name, with the content that the file has under the first one.
func TestCrashLink(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d"))
	must(t, m.MkdirAll("/e"))
	must(t, m.SyncDir("/"))
	durable(t, m, "/d/a", "A")
	must(t, m.Link("/d/a", "/e/b"))
	wantDump(t, "link not synced", m.Crash(DropAll, 0), "d/ d/a=A e/")
	wantDump(t, "link kept by chance", m.Crash(KeepAll, 0), "d/ d/a=A e/ e/b=A")
	must(t, m.Remove("/d/a"))
	must(t, m.SyncDir("/d"))
	wantDump(t, "first name removed, link not synced", m.Crash(DropAll, 0), "d/ e/")
	must(t, m.SyncDir("/e"))
	wantDump(t, "both synced", m.Crash(DropAll, 0), "d/ e/ e/b=A")
	wantDump(t, "a copy", m.Clone(), "d/ e/ e/b=A")
	for _, model := range []Model{SizeNoData, Garbage} {
		wantDump(t, model.String(), m.Crash(model, 1), "d/ e/ e/b=A")
	}
	m.SetCapacity(1)
	must(t, m.Remove("/e/b"))
	durable(t, m, "/f", "F") // the room of a file with two names is free once both are gone
}
