package bench

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"colonnade/cell"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/wal"
)

// writerCounts are how many goroutines write durable batches.
var writerCounts = []int{1, 64}

// BenchmarkCommit writes batches of ten cells, each a row, durably through the
// engine: the log on a real disk, and all that comes after it.
func BenchmarkCommit(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	order := data.Shuffled(1)
	for _, writers := range writerCounts {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openStore(b, engine.Options{})
			var cells counter
			l := make(latencies, writers)
			concurrently(b, writers, func(g int) func() error {
				batch, n := new(engine.Batch), g
				var key []byte
				var row []cell.Cell
				return l.timed(g, func() error {
					key, row = data.Nth(n, order, key, row[:0])
					n += writers
					cells.add(g, len(row))
					return s.commit(batch, key, row)
				})
			})
			perSecond(b, cells.sum(), "cells")
			perSecond(b, int64(b.N), "batches")
			l.report(b)
		})
	}
}

// BenchmarkLog writes the same batches to the log alone, in groups like those of
// Commit: nothing that makes batches durable through package wal can be faster.
func BenchmarkLog(b *testing.B) {
	payload := encodedRow(b)
	for _, writers := range writerCounts {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			log := newGroupLog(b)
			l := make(latencies, writers)
			concurrently(b, writers, func(g int) func() error {
				return l.timed(g, func() error { return log.append(payload) })
			})
			perSecond(b, 10*int64(b.N), "cells")
			perSecond(b, int64(b.N), "batches")
			l.report(b)
		})
	}
}

// encodedRow returns as many bytes as a batch of ten cells takes.
func encodedRow(b *testing.B) []byte {
	data := generated(b, rowCount(b), 100)
	key, cells := data.Row(0, nil)
	var batch engine.Batch
	for i := range cells {
		batch.Add(1, key, &cells[i])
	}
	return bytes.Repeat(key, batch.Bytes()/len(key)+1)[:batch.Bytes()]
}

// groupLog is a log with group commit and nothing else. Payloads that come while
// a group is written make up the next one; the first of them writes it.
type groupLog struct {
	dir string

	mu      sync.Mutex
	writing bool      // somebody does
	next    *logGroup // gathering, nil before its first payload

	// The rest belongs to whoever writes.
	w      *wal.Writer
	number uint64
	seq    uint64
}

type logGroup struct {
	payloads [][]byte
	turn     chan struct{} // closed when the group before is written
	done     chan struct{} // closed when this one is
	err      error         // the outcome, once done is closed
}

const segmentBytes = 16 << 20

func newGroupLog(b *testing.B) *groupLog {
	l := &groupLog{dir: filepath.ToSlash(b.TempDir())}
	f, err := vfs.OS.Create(l.segment(0))
	must(b, err)
	must(b, wal.Fill(f, segmentBytes))
	must(b, f.Sync())
	must(b, f.Close())
	must(b, l.turn())
	b.Cleanup(func() { l.w.Close() })
	return l
}

func (l *groupLog) segment(n uint64) string { return path.Join(l.dir, fmt.Sprint(n)) }

// turn begins the next segment in the file of the last one.
func (l *groupLog) turn() error {
	if l.w != nil {
		if err := l.w.Finish(); err != nil {
			return err
		}
	}
	f, err := vfs.OS.Reuse(l.segment(l.number), l.segment(l.number+1))
	if err != nil {
		return err
	}
	l.number++
	l.w = wal.NewWriter(f, wal.Header{Number: l.number, Size: segmentBytes})
	return nil
}

// append returns when the payload is durable.
func (l *groupLog) append(payload []byte) error {
	l.mu.Lock()
	first := l.next == nil
	if first {
		l.next = &logGroup{turn: make(chan struct{}), done: make(chan struct{})}
		if !l.writing {
			l.writing = true
			close(l.next.turn)
		}
	}
	g := l.next
	g.payloads = append(g.payloads, payload)
	l.mu.Unlock()
	if !first {
		<-g.done
		return g.err
	}
	<-g.turn
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	g.err = l.write(g)
	l.pass()
	close(g.done)
	return g.err
}

// pass lets the next group be written, if there is one.
func (l *groupLog) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing = l.next != nil; l.writing {
		close(l.next.turn)
	}
}

func (l *groupLog) write(g *logGroup) error {
	for _, p := range g.payloads {
		if l.w.Room() < int64(len(p)) {
			if err := l.turn(); err != nil {
				return err
			}
		}
		l.seq++
		l.w.Append(l.seq, p)
	}
	return l.w.Sync()
}

// counter sums up in each goroutine by itself.
type counter [64]struct {
	n int64
	_ [56]byte // a cache line each
}

func (c *counter) add(goroutine, n int) { c[goroutine].n += int64(n) }

func (c *counter) sum() (n int64) {
	for i := range c {
		n += c[i].n
	}
	return n
}
