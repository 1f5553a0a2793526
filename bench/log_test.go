package bench

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/colonnade-db/colonnade/bench/grouplog"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// writerCounts are the numbers of goroutines that write durable batches.
var writerCounts = []int{1, 64}

// BenchmarkCommit commits durable batches of ten cells, each a row, to a store on a real disk.
func BenchmarkCommit(b *testing.B) {
	data := shuffled(generated(b, rowCount(b), 100), 1)
	for _, writers := range writerCounts {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openStore(b, engine.Options{})
			var cells counter
			l := make(latencies, writers)
			concurrently(b, writers, func(g int) func() error {
				batch, rows := new(engine.Batch), data.Stream(g, writers)
				var key []byte
				var row []cell.Cell
				return l.timed(g, func() error {
					key, row = rows.Next(key, row[:0])
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

// BenchmarkLog writes the same batches to the log alone, in groups as Commit does. This is the upper
// bound of BenchmarkCommit.
func BenchmarkLog(b *testing.B) {
	payload := encodedRow(b)
	for _, writers := range writerCounts {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			log, err := grouplog.Open(filepath.ToSlash(b.TempDir()))
			must(b, err)
			defer log.Close()
			l := make(latencies, writers)
			concurrently(b, writers, func(g int) func() error {
				return l.timed(g, func() error { return log.Append(payload) })
			})
			perSecond(b, 10*int64(b.N), "cells")
			perSecond(b, int64(b.N), "batches")
			l.report(b)
		})
	}
}

// encodedRow returns as many bytes as an encoded batch of ten cells has.
func encodedRow(b *testing.B) []byte {
	data := generated(b, rowCount(b), 100)
	key, cells := data.Row(0, nil)
	var batch engine.Batch
	for i := range cells {
		batch.Add(1, key, &cells[i])
	}
	return bytes.Repeat(key, batch.Bytes()/len(key)+1)[:batch.Bytes()]
}

// counter is the count of one goroutine.
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
