package wal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// loopFile is the file of a segment that never fills.
type loopFile struct {
	data []byte
	off  int
}

func (f *loopFile) Write(b []byte) (int, error) {
	if f.off+len(b) > len(f.data) {
		f.off = 0
	}
	f.off += copy(f.data[f.off:], b)
	return len(b), nil
}
func (f *loopFile) Sync() error  { return nil }
func (f *loopFile) Close() error { return nil }

// BenchmarkAppendSync is the CPU cost of the log: batches of one
// and ten cells of 70 bytes, a group of one and of 64, and a large one.
func BenchmarkAppendSync(b *testing.B) {
	for _, c := range []struct{ payload, group int }{{70, 1}, {700, 1}, {700, 64}, {70_000, 1}, {16 << 20, 1}} {
		b.Run(fmt.Sprintf("payload=%d/group=%d", c.payload, c.group), func(b *testing.B) {
			w := NewWriter(&loopFile{data: make([]byte, 4<<20)}, Header{Number: 7, Size: 1 << 62})
			payload := random(1, c.payload)
			seq := uint64(0)
			b.ReportAllocs()
			b.SetBytes(int64(c.payload * c.group))
			for b.Loop() {
				for range c.group {
					seq++
					w.Append(seq, payload)
				}
				if err := w.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// full returns a segment full of batches of one size.
func full(b *testing.B, number uint64, size int64, payload int) []byte {
	f := newFile(size)
	w := NewWriter(f, Header{Store: testStore, Number: number, Size: size})
	p := random(2, payload)
	for seq := uint64(1); w.Room() >= int64(payload); seq++ {
		w.Append(seq, p)
		must(b, w.Sync())
	}
	must(b, w.Finish())
	return f.data
}

func replay(b *testing.B, r io.ReaderAt, size int64) {
	d, err := NewReader(r, size, testStore, 7)
	for err == nil {
		_, _, err = d.Next()
	}
	if err != io.EOF {
		b.Fatal(err)
	}
}

// BenchmarkReplay reads a segment of 64 MiB from memory and from the page cache.
func BenchmarkReplay(b *testing.B) {
	const size = 64 << 20
	for _, payload := range []int{70, 700, 70_000, 4 << 20} {
		data := full(b, 7, size, payload)
		name := filepath.Join(b.TempDir(), "segment")
		must(b, os.WriteFile(name, data, 0o600))
		f, err := os.Open(name)
		must(b, err)
		for from, r := range map[string]io.ReaderAt{"memory": bytes.NewReader(data), "file": f} {
			b.Run(fmt.Sprintf("payload=%d/%s", payload, from), func(b *testing.B) {
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					replay(b, r, size)
				}
			})
		}
		f.Close()
	}
}

// BenchmarkTornTail judges the rest of a segment of 64 MiB behind its header.
func BenchmarkTornTail(b *testing.B) {
	const size = 64 << 20
	bases := map[string][]byte{
		"zeros":    make([]byte, size),
		"recycled": full(b, 6, size, 700),
		"crowded":  crowded(size),
	}
	h := Header{Store: testStore, Number: 7, Size: size}
	for name, base := range bases {
		copy(base, appendRecord(nil, head{typ: typeHeader, number: 7}, h.appendPayload(nil)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				replay(b, bytes.NewReader(base), size)
			}
		})
	}
	// A torn record that is as long as the file allows.
	h2 := head{typ: typeBatch, number: 7, seq: 1, length: size - headerSize - frameSize}
	long := bytes.Clone(bases["zeros"])
	copy(long[headerSize:], h2.append(nil))
	b.Run("long", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			replay(b, bytes.NewReader(long), size)
		}
	})
}

// syncFile is a file on disk that is synced without its times.
type syncFile struct{ *os.File }

func (f syncFile) Sync() error { return syscall.Fdatasync(int(f.Fd())) }

// BenchmarkDisk is one durable batch after another, in a file that grows, one
// that was filled, and one that an older segment left.
func BenchmarkDisk(b *testing.B) {
	const size = 16 << 20
	payload := random(1, 700)
	for _, kind := range []string{"growing", "filled", "recycled"} {
		b.Run(kind, func(b *testing.B) {
			name := filepath.Join(b.TempDir(), "segment")
			number := uint64(0)
			next := func() *Writer {
				flags := os.O_CREATE | os.O_WRONLY
				if kind != "recycled" {
					flags |= os.O_TRUNC
				}
				f, err := os.OpenFile(name, flags, 0o600)
				must(b, err)
				if kind == "filled" || kind == "recycled" && number == 0 {
					must(b, Fill(f, size))
					must(b, f.Sync())
					_, err = f.Seek(0, io.SeekStart)
					must(b, err)
				}
				number++
				return NewWriter(syncFile{f}, Header{Number: number, Size: size})
			}
			w := next()
			seq := uint64(0)
			for b.Loop() {
				if w.Room() < int64(len(payload)) {
					b.StopTimer()
					must(b, w.Finish())
					w = next()
					b.StartTimer()
				}
				seq++
				w.Append(seq, payload)
				must(b, w.Sync())
			}
			w.Finish()
		})
	}
}
