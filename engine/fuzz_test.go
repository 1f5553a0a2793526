package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// bounded runs f and fails the test if f allocates 64 MiB or more.
func bounded(t *testing.T, f func()) {
	t.Helper()
	sum := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := sum()
	f()
	if n := sum() - before; n >= 64<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// resealed corrects the length and checksum of a possible manifest.
func resealed(data []byte) []byte {
	if len(data) < manifest.HeaderSize+8 {
		return data
	}
	data = bytes.Clone(data[:len(data)-8])
	binary.LittleEndian.PutUint64(data[12:], uint64(len(data)-manifest.HeaderSize))
	return binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
}

// FuzzCatalogDecode decodes any bytes with a valid checksum as a manifest. An accepted manifest
// must be the same after encoding and decoding it again.
func FuzzCatalogDecode(f *testing.F) {
	data, err := testdata.ReadFile(goldenDir + "/manifest-00000010")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add((&manifest.Manifest{Edit: 1, NextFile: 1, NextPartition: 1, LogStart: 1}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resealed(data)
		bounded(t, func() {
			m, err := manifest.Decode(data)
			if err != nil {
				return
			}
			written := m.Encode()
			again, err := manifest.Decode(written)
			if err != nil {
				t.Fatalf("%+v was written, and read %v", m, err)
			}
			if !bytes.Equal(again.Encode(), written) || !bytes.Equal(m.Encode(), written) { // also the kept encodings
				t.Errorf("%+v is not written as it was", m)
			}
			if !reflect.DeepEqual(m, again) {
				t.Errorf("%+v was written, %+v is read", m, again)
			}
		})
	})
}

// FuzzBatchDecode decodes any bytes as the batch of a log record. An accepted batch must consist of
// entries that can be stored, and must be the same after encoding and decoding it again.
func FuzzBatchDecode(f *testing.F) {
	var b Batch
	for _, c := range []cell.Cell{
		{Column: []byte("f\x00q"), Time: CommitTime, Type: cell.String, Value: []byte("v")},
		{Column: []byte("f\x00q"), Time: 5, Type: cell.I64, Value: make([]byte, 8)},
		{Column: []byte("f\x00q"), Time: 5, Kind: cell.DeleteVersion},
		{Column: []byte("f"), Time: cell.TombstoneTime, Kind: cell.DeleteFamily},
		{Time: cell.TombstoneTime, Kind: cell.DeleteRow},
	} {
		b.Add(1, []byte("row1"), &c)
		b.Add(2, []byte("row2\x00\xff"), &c)
	}
	f.Add(b.buf)
	b.DeleteRange(2, nil, nil)
	b.DeleteRange(2, []byte("row1"), []byte("row2\x00"))
	b.Add(2, []byte("row1"), &cell.Cell{Time: cell.TombstoneTime, Kind: cell.DeleteRow})
	f.Add(b.buf)
	f.Fuzz(func(t *testing.T, payload []byte) {
		if checkBatch(payload, anyPart) != nil {
			return
		}
		var b Batch
		read := func(payload []byte, each func(r *batchReader)) {
			var r batchReader
			r.init(payload)
			for r.next() {
				each(&r)
			}
			if r.err != nil {
				t.Fatalf("%x is a good batch, and then: %v", payload, r.err)
			}
		}
		var list []batchEntry
		read(payload, func(r *batchReader) {
			list = append(list, entryOf(r))
			if r.deletesRange() {
				t := r.deleted(0)
				b.DeleteRange(r.partition, t.Start, t.End)
			} else {
				b.Add(r.partition, r.row, &r.cell)
			}
		})
		if len(list) == 0 {
			return // no store writes such a batch
		}
		i := 0
		read(b.buf, func(r *batchReader) {
			if i >= len(list) || !reflect.DeepEqual(entryOf(r), list[i]) {
				t.Fatalf("entry %d of %x is another after it was written: %+v", i, payload, entryOf(r))
			}
			i++
		})
		if i != len(list) {
			t.Errorf("%d entries of %x became %d", len(list), payload, i)
		}
	})
}

// batchEntry is the content of an entry, in memory of its own.
type batchEntry struct {
	partition          PartitionID
	row, column, value string
	kind               cell.Kind
	typ                cell.Type
	time               int64
}

func entryOf(r *batchReader) batchEntry {
	c := &r.cell
	return batchEntry{r.partition, string(r.row), string(c.Column), string(c.Value), c.Kind, c.Type, c.Time}
}

// FuzzOpenDir changes bytes in several files of a small store. Five bytes of edits choose the file,
// the place, and the new byte, or that the file ends there. A store that opens must return right
// results or report damage. With a valid checksum of the manifest any result is allowed, as long as
// the calls end.
func FuzzOpenDir(f *testing.F) {
	var names []string
	size := map[string]int{}
	loadGolden(new(testing.T), func(name string, data []byte) []byte {
		names = append(names, name)
		size[name] = len(data)
		return data
	})
	f.Add([]byte{}, false)
	for i, name := range names {
		for at := 0; at < min(size[name], 1024); at += 11 {
			f.Add([]byte{byte(i), byte(at >> 8), byte(at), 1 << (at % 8), 0}, false)
			f.Add([]byte{byte(i), byte(at >> 8), byte(at), 0, 1}, at%2 == 0)
		}
	}
	f.Add([]byte{0, 0, 38, 0xff, 0, 0, 0, 39, 0xff, 0, 3, 0, 5, 0, 1}, true)
	f.Fuzz(func(t *testing.T, edits []byte, seal bool) {
		edits = edits[:min(len(edits), 40)]
		mem := loadGolden(t, func(name string, data []byte) []byte {
			data = bytes.Clone(data)
			for e := range slices.Chunk(edits, 5) {
				if len(e) == 5 && names[int(e[0])%len(names)] == name && len(data) > 0 {
					at := (int(e[1])<<8 | int(e[2])) % len(data)
					data[at] ^= e[3]
					if e[4]%16 == 1 {
						data = data[:at]
					}
				}
			}
			if seal && strings.Contains(name, "manifest") {
				data = resealed(data)
			}
			return data
		})
		bounded(t, func() { openAny(t, mem, !seal && len(edits) <= 5) })
	})
}

// openAny opens, reads, writes and checks a possible store. If exact is set, results must be right.
func openAny(t *testing.T, fs vfs.FS, exact bool) {
	opt := testOptions(fs)
	opt.Clock, opt.SegmentBytes, opt.StallTimeout = clock.NewManual(1_700_000_000_000_000), 4<<10, time.Second
	var found []*CorruptError
	Check(fs, "store", func(e *CorruptError) { found = append(found, e) })
	db, err := Open("store", opt)
	if err != nil {
		if exact && !isDamage(err) {
			t.Errorf("open: %v", err)
		}
		if len(found) == 0 && isDamage(err) {
			t.Errorf("open: %v; check found nothing", err)
		}
		return
	}
	defer db.Close()
	for _, p := range db.Partitions() {
		lines, err := read(db, p.ID, nil)
		if exact && (err != nil && !isDamage(err) || err == nil && !slices.Equal(lines, goldenContents[p.ID])) {
			t.Errorf("partition %d: %q, %v", p.ID, lines, err)
		}
		if err := tryPut(db, p.ID); err != nil && exact {
			t.Errorf("write to partition %d: %v", p.ID, err)
		}
	}
}

func isDamage(err error) bool {
	var corrupt *CorruptError
	var version *wal.VersionError
	return errors.As(err, &corrupt) || errors.As(err, &version)
}

// TestSymbolicLinks: no link in a store's directory leads out of it.
func TestSymbolicLinks(t *testing.T) {
	var names []string
	loadGolden(t, func(name string, data []byte) []byte {
		names = append(names, strings.TrimPrefix(name, "store/"))
		return data
	})
	for i := range names {
		names = append(names, path.Dir(names[i]))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "." {
			continue // the user may place the store by a link
		}
		dir := t.TempDir()
		store, outside := filepath.Join(dir, "store"), filepath.Join(dir, "outside")
		if err := os.CopyFS(store, os.DirFS(goldenDir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(store, name), outside); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(store, name)); err != nil {
			t.Fatal(err)
		}
		opt := testOptions(vfs.OS)
		opt.SegmentBytes = 4 << 10
		db, err := Open(store, opt)
		for i := PartitionID(1); err == nil && i <= 3; i += 2 {
			_, err = read(db, i, nil)
		}
		if err == nil {
			t.Errorf("%s was followed out of the store", name)
		}
		if db != nil {
			db.Close()
		}
	}
}
