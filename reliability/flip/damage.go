package flip

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// damage is one case: a change of some files.
type damage struct {
	what   string
	files  []string // that are damaged
	change func(put func(name string, data []byte))
	// online says that it happens under the open store, warm that it has been
	// read before.
	online, warm bool
	turn         int // place in the round
}

// apply does the damage.
func (d *damage) apply(fs *vfs.Mem) (err error) {
	put := replace
	if d.online {
		put = overwrite
	}
	d.change(func(name string, data []byte) {
		if err == nil {
			err = put(fs, name, data)
		}
	})
	return err
}

// to changes one file: edit gets a copy of its content, and returns nil to remove it.
func (f *file) to(edit func(data []byte) []byte, format string, args ...any) damage {
	return damage{
		what: fmt.Sprintf(format, args...) + " of " + f.name, files: []string{f.name},
		change: func(put func(string, []byte)) { put(f.name, edit(bytes.Clone(f.data))) },
	}
}

const sector = 512

// flips changes one bit of every byte. Eight seeds in a row reach all bits.
func (f *file) flips(seed uint64) (list []damage) {
	for i := range f.data {
		bit := (uint64(i) + seed) % 8
		list = append(list, f.flip(i, bit))
	}
	return list
}

func (f *file) flip(i int, bit uint64) damage {
	return f.to(func(b []byte) []byte { b[i] ^= 1 << bit; return b }, "flip of bit %d of byte %d", bit, i)
}

// small is the size up to which each round cuts a file at every length.
const small = 1 << 10

// cuts ends a file at every length. In a larger file a round takes every third one, so three seeds reach all.
func (f *file) cuts(seed uint64) (list []damage) {
	step, from := 1, 0
	if len(f.data) > small {
		step, from = 3, int(seed%3)
	}
	for n := from; n < len(f.data); n += step {
		list = append(list, f.to(func(b []byte) []byte { return b[:n] }, "cut to %d bytes", n))
	}
	return list
}

// sectors makes each sector zeros, ones, or a copy of a neighbour.
func (f *file) sectors() (list []damage) {
	for at := 0; at < len(f.data); at += sector {
		end := min(at+sector, len(f.data))
		from := at + sector
		if from >= len(f.data) {
			from = max(at-sector, 0)
		}
		list = append(list,
			f.to(func(b []byte) []byte { clear(b[at:end]); return b }, "zeros in the sector at %d", at),
			f.to(func(b []byte) []byte { copy(b[at:end], bytes.Repeat([]byte{0xff}, sector)); return b }, "ones in the sector at %d", at),
			f.to(func(b []byte) []byte { copy(b[at:end], f.data[from:]); return b }, "sector at %d twice", from))
	}
	return list
}

// wholes removes a file, and empties it.
func (f *file) wholes() []damage {
	return []damage{
		f.to(func([]byte) []byte { return nil }, "removal"),
		f.to(func([]byte) []byte { return []byte{} }, "emptying"),
	}
}

// online does damage under the open store: it is for sorted files, since nothing
// else is read from then on.
func online(list []damage, warm bool) []damage {
	for i := range list {
		list[i].online, list[i].warm = true, warm
		list[i].what += " under the open store"
	}
	return list
}

// block is a stretch of a sorted file that is read at once.
type block struct {
	f *file
	stretch
}

func (b block) bytes() []byte { return b.f.data[b.at:b.end] }

// blocks lists what Verify reads one by one.
func (st *store) blocks(f *file) (list []block, err error) {
	number, err := number(f.name)
	if err != nil {
		return nil, err
	}
	in := &reads{ReaderAt: bytes.NewReader(f.data)}
	r, err := sstable.Open(in, int64(len(f.data)), sstable.ID{Store: st.id, Number: number}, nil)
	if err == nil {
		err = r.Verify(0)
	}
	seen := map[stretch]bool{}
	for _, s := range in.list {
		if !seen[s] && s != (stretch{0, int64(len(f.data))}) {
			list = append(list, block{f, s})
		}
		seen[s] = true
	}
	return list, err
}

// swaps exchanges each two blocks of one size, within files and between them.
func (st *store) swaps() (list []damage, err error) {
	var all []block
	for _, f := range st.tableFiles() {
		blocks, err := st.blocks(&f)
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.end-a.at == b.end-b.at && !bytes.Equal(a.bytes(), b.bytes()) && (a.f.name != b.f.name || a.at >= b.end || b.at >= a.end) {
				list = append(list, swap(a, b))
			}
		}
	}
	return list, nil
}

func swap(a, b block) damage {
	d := damage{what: fmt.Sprintf("swap of the blocks at %d of %s and at %d of %s", a.at, a.f.name, b.at, b.f.name), files: []string{a.f.name}}
	x, y := bytes.Clone(a.f.data), bytes.Clone(b.f.data)
	if a.f.name == b.f.name {
		y = x
	} else {
		d.files = append(d.files, b.f.name)
	}
	copy(x[a.at:], b.bytes())
	copy(y[b.at:], a.bytes())
	d.change = func(put func(string, []byte)) {
		put(a.f.name, x)
		if a.f.name != b.f.name {
			put(b.f.name, y)
		}
	}
	return d
}

// exchanges gives each two sorted files each other's place.
func (st *store) exchanges() (list []damage) {
	files := st.tableFiles()
	for i, a := range files {
		for _, b := range files[:i] {
			list = append(list, damage{
				what: "exchange of " + a.name + " and " + b.name, files: []string{a.name, b.name},
				change: func(put func(string, []byte)) { put(a.name, b.data); put(b.name, a.data) },
			})
		}
	}
	return list
}

// foreign replaces each file by that of another store of the same shape.
func (st *store) foreign(twin *store) (list []damage) {
	for _, f := range st.files {
		for _, other := range twin.files {
			if other.name != f.name {
				continue
			}
			d := f.to(func([]byte) []byte { return other.data }, "another store's instead")
			if f.name == st.manifest().name {
				d.files = nil // it is all other files that are of another store then
			}
			list = append(list, d)
		}
	}
	return list
}

// stale replaces files by older contents: finished segments, the manifest, and retired segments. An older last
// segment cannot be detected: there may have been no more.
func (st *store) stale() (list []damage) {
	segments := st.segments()
	last, _ := st.log()
	for i := range segments {
		f := &segments[i]
		for n, data := range f.older {
			if i != last {
				list = append(list, f.to(func([]byte) []byte { return data }, "state %d", n))
			}
		}
		for _, old := range st.retired {
			list = append(list, f.to(func([]byte) []byte { return old.data }, "%s in the place", old.name))
		}
	}
	return append(list, st.staleManifests()...)
}

// staleManifests replaces the last manifest by each older one, and puts each beside a damaged one, where a
// crash may have left it.
func (st *store) staleManifests() (list []damage) {
	m := st.manifest()
	for i, old := range st.manifests {
		list = append(list, m.to(func([]byte) []byte { return old.data }, "%s in the place", old.name), damage{
			what: fmt.Sprintf("%s instead of %s", old.name, m.name),
			change: func(put func(string, []byte)) {
				put(m.name, nil)
				put(old.name, old.data)
			},
		})
		at := len(m.data) * i / len(st.manifests)
		list = append(list, damage{
			what: fmt.Sprintf("flip of byte %d of %s, with %s beside it,", at, m.name, old.name), files: []string{m.name},
			change: func(put func(string, []byte)) {
				bad := bytes.Clone(m.data)
				bad[at] ^= 1 << (i % 8)
				put(m.name, bad)
				put(old.name, old.data)
			},
		})
	}
	return list
}

// log returns the index of the last segment of the log, the first that is not finished, and the number of
// batches up to there.
func (st *store) log() (last, batches int) {
	for i, f := range st.segments() {
		number, _ := number(f.name)
		r, err := wal.NewReader(bytes.NewReader(f.data), int64(len(f.data)), st.id, number)
		for err == nil {
			if _, _, err = r.Next(); err == nil {
				batches++
			}
		}
		if r == nil || r.End().Kind != wal.Finished {
			return i, batches
		}
	}
	return -1, batches
}

// number is that in the name of a file.
func number(name string) (n uint64, err error) {
	base, _, _ := strings.Cut(path.Base(name), ".")
	return strconv.ParseUint(base, 10, 64)
}
