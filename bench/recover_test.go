package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// BenchmarkRecover opens a store that was killed with a long log, with memtables of a sixteenth of it.
// The log has a gibibyte with ROWS=1000000 and batches of a thousand cells. The cells have 100 bytes,
// in rows of ten, in random order: one cell, one row or a hundred rows in a batch. s/GiB and cpu-s/GiB
// are per gibibyte of log records.
func BenchmarkRecover(b *testing.B) {
	for _, batch := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchRecover(b, rowCount(b), batch) })
	}
}

func benchRecover(b *testing.B, rows, batch int) {
	opt := engine.Options{SegmentBytes: int64(min(16<<20, rows*16)), LogBytes: 1 << 40, MemtableBytes: 1 << 40}
	s := openStoreOn(b, unsynced{vfs.OS}, opt)
	size := s.logCells(rows, batch)
	awaitQuiet(&s.fs.anyChange)
	var took, cpu time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		killed := s.copy()
		killed.fs = &traffic{FS: vfs.OS}
		killed.opt.FS, killed.opt.MemtableBytes = killed.fs, max(size/16, 1<<20)
		b.StartTimer()
		start, used := time.Now(), processTime(b)
		killed.open()
		took += time.Since(start)
		cpu += processTime(b) - used
		b.StopTimer()
		killed.remove()
		b.StartTimer()
	}
	gib := float64(b.N) * float64(size) / (1 << 30)
	b.ReportMetric(took.Seconds()/gib, "s/GiB")
	b.ReportMetric(cpu.Seconds()/gib, "cpu-s/GiB")
	cells := float64(b.N * rows * 10)
	b.ReportMetric(cells/took.Seconds(), "cells/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/cells, "cpu-ns/cell")
}

// logCells commits rows of ten cells of 100 bytes, in random order and in batches of the given number
// of cells. It returns their size in the log.
func (s *store) logCells(rows, batch int) (size int64) {
	var b engine.Batch
	var value [68]byte
	var row [16]byte
	column := cell.AppendColumn(nil, []byte("family"), []byte("0"))
	r := rand.NewChaCha8([32]byte{})
	order := rand.New(r).Perm(rows * 10 / min(batch, 10))
	for n := 0; n < rows*10; n++ {
		i := order[n/min(batch, 10)]*min(batch, 10) + n%min(batch, 10)
		binary.BigEndian.PutUint64(row[:], uint64(i/10)*0x9e3779b97f4a7c15)
		copy(row[8:], "of a row")
		column[len(column)-1] = '0' + byte(i%10)
		r.Read(value[:len(value)/2])
		b.Add(s.id, row[:], &cell.Cell{Kind: cell.Set, Type: cell.Bytes, Column: column, Time: int64(i), Value: value[:]})
		if b.Len() < batch && n < rows*10-1 {
			continue
		}
		size += int64(b.Bytes()) + wal.Overhead(b.Bytes())
		_, err := s.db.Commit(context.Background(), &b)
		must(s.b, err)
		b.Reset()
	}
	return size
}

// unsynced is a file system that does not sync files: it writes at once what a kill is to leave.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string) (vfs.File, error) {
	f, err := u.FS.Create(name)
	return unsyncedFile{f}, err
}

func (u unsynced) Reuse(old, new string) (vfs.File, error) {
	f, err := u.FS.Reuse(old, new)
	return unsyncedFile{f}, err
}

func (u unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }
