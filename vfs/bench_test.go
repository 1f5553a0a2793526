package vfs

import (
	"fmt"
	"testing"
)

// store returns a file system like that of a small store in the middle of its
// work: 300 KiB in 30 files, a log segment that is being overwritten, a table
// that is being written and a rename.
func store(b *testing.B) *Mem {
	m := NewMem()
	must(b, m.MkdirAll("/db"))
	must(b, m.SyncDir("/"))
	for i := range 30 {
		durable(b, m, fmt.Sprintf("/db/%06d.sst", i), string(pattern(10<<10)))
	}
	durable(b, m, "/db/old.wal", string(pattern(64<<10)))
	wal, err := m.Reuse("/db/old.wal", "/db/new.wal")
	must(b, err)
	for range 10 {
		writeTo(b, wal, string(pattern(700)))
	}
	sst := create(b, m, "/db/000031.sst", "")
	for range 10 {
		writeTo(b, sst, string(pattern(2000)))
	}
	put(b, m, "/db/manifest.tmp", string(pattern(3000)))
	must(b, m.Rename("/db/manifest.tmp", "/db/manifest"))
	return m
}

func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i * 7)
	}
	return p
}

func BenchmarkCrash(b *testing.B) {
	for _, model := range []Model{DropAll, KeepAll, Prefix(11, 300), AllButOne(5), OnlyOne(3), Subset, SizeNoData, Garbage} {
		b.Run(model.String(), func(b *testing.B) {
			m := store(b)
			b.ReportAllocs()
			seed := uint64(0)
			for b.Loop() {
				m.Crash(model, seed)
				seed++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	m := store(b)
	for b.Loop() {
		m.Fingerprint()
	}
}
