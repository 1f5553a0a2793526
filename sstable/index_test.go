package sstable

import (
	"bytes"
	"fmt"
	"testing"
)

// TestIndexSearch: a search by samples finds the same as a binary search, whatever prefixes keys
// share, and for any number of keys.
func TestIndexSearch(t *testing.T) {
	g := newGenerator(1)
	of := func(letters string) func(int) []byte {
		return func(int) []byte {
			key := []byte("prefix")
			for range g.IntN(14) {
				key = append(key, letters[g.IntN(len(letters))])
			}
			return key
		}
	}
	for name, key := range map[string]func(i int) []byte{
		"two letters":   of("\x00a"),
		"three letters": of("\x00ab"),
		"many letters":  of("abcdefgh"),
		"numbers":       func(i int) []byte { return fmt.Appendf(nil, "user%012d", i) },
		"one apart": func(i int) []byte {
			if i == 0 {
				return []byte("zzz")
			}
			return fmt.Appendf(nil, "com.example.www/path/%08x/page", i*7)
		},
	} {
		for _, rows := range []int{1, 2, 3, sampleEvery, sampleEvery + 1, sampleEvery + 2, 2*sampleEvery + 1, 2*sampleEvery + 2, 3000} {
			var list []entry
			for i := range rows {
				list = append(list, entry{key(i), set("f\x00q", 1, 1)})
			}
			file, _ := build(t, sortEntries(list), WriterOptions{ID: testID, BlockSize: 1})
			x, err := open(t, file, testID, nil).openIndex()
			if err != nil {
				t.Fatal(err)
			}
			var more [][]byte
			for i := range 1000 {
				more = append(more, key(i*3))
			}
			checkSearch(t, fmt.Sprintf("%s, %d", name, rows), x, more)
		}
	}
}

// checkSearch searches for the rows of an index, for keys next to them, and for others.
func checkSearch(t *testing.T, name string, x *index, keys [][]byte) {
	t.Helper()
	if n := x.Memory() - x.cellBlock.Memory(); n < 8*len(x.samplePrefixes) {
		t.Errorf("%s: %d starts count for %d bytes", name, len(x.samplePrefixes), n)
	}
	keys = append(keys, nil, []byte("pre"), []byte("prefix"), []byte("prefiy"), []byte("a"), []byte("z"), bytes.Repeat([]byte{0xff}, 20))
	for r := range x.rows {
		key := x.appendRow(nil, r)
		keys = append(keys, key, append(bytes.Clone(key), 0), key[:max(len(key)-1, 0)])
	}
	for _, key := range keys {
		if got, want := x.search(key), x.findRow(key); got != want {
			t.Fatalf("%s: %q is at row %d of the index, want %d of %d", name, key, got, want, x.rows)
		}
	}
}

// TestIndexStarts: samples tell keys apart although all keys of the file share a prefix.
func TestIndexStarts(t *testing.T) {
	var list []entry
	for i := range 5000 {
		list = append(list, entry{fmt.Appendf(nil, "com.example.www/user/%012d", i), set("f\x00q", 1, 1)})
	}
	file, _ := build(t, list, WriterOptions{ID: testID, BlockSize: 1})
	x, err := open(t, file, testID, nil).openIndex()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		rest, ok := bytes.CutPrefix(e.row, append(bytes.Clone(x.prefix), x.sharedPrefix...))
		if low, high := x.sampleRange(keyPrefix(rest)); !ok || high-low > 2*sampleEvery {
			t.Fatalf("%q: %d rows are left of %d; it begins with what all share: %v", e.row, high-low, x.rows, ok)
		}
	}
}

// BenchmarkIndexSearch searches the indexes of thirty files in turn, more than the caches
// of a CPU hold, by samples and by binary search alone.
func BenchmarkIndexSearch(b *testing.B) {
	const files, rows = 30, 8_000
	for name, key := range map[string]func(file, i int) []byte{
		"pages":   func(file, i int) []byte { return benchRow(file*rows + i) },
		"numbers": func(file, i int) []byte { return fmt.Appendf(nil, "user%012d", file*rows+i) },
		"paths":   func(file, i int) []byte { return fmt.Appendf(nil, "com.example.www/path/%08x/page", file*rows+i) },
	} {
		var all [files]*index
		var keys [files][rows][]byte
		for f := range all {
			var list []entry
			for i := range rows {
				keys[f][i] = key(f, i)
				list = append(list, entry{keys[f][i], set("f\x00q", 1, 1)})
			}
			file, _ := build(b, sortEntries(list), WriterOptions{ID: testID, BlockSize: 1})
			x, err := open(b, file, testID, nil).openIndex()
			if err != nil {
				b.Fatal(err)
			}
			all[f] = x
		}
		for _, way := range []struct {
			name   string
			search func(*index, []byte) int
		}{{"starts", (*index).search}, {"halving", func(x *index, key []byte) int { return x.findRow(key) }}} {
			b.Run("keys="+name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				g := newGenerator(7)
				for b.Loop() {
					f := g.IntN(files)
					if way.search(all[f], keys[f][g.IntN(rows)]) > rows {
						b.Fatal("beyond the index")
					}
				}
			})
		}
	}
}
