package main

import (
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
)

// Engine is one of the engines under comparison.
type Engine struct {
	Name  string
	About string // its configuration, for the report
	Open  func(dir string, c Config) (Store, error)
	// Tables are the suffixes of the files that hold the data, without the log.
	Tables []string
	// Ceiling is set for what can only write durably: a bound, not a peer.
	Ceiling bool
	// Mapped is set for engines that read through memory maps. The kernel does not count such
	// reads.
	Mapped bool
	// MappedWrites is set for engines that write through memory maps, too.
	MappedWrites bool
}

// engines are in the order of the report: this engine, the peers, the ceiling.
var engines = []*Engine{colonnade, pebbleTuned, pebbleDefault, badgerEngine, bboltEngine, goleveldbEngine, logOnly}

// Config is what a table of work asks of an engine.
type Config struct {
	Rows      int   // of all data: sizes are scaled to it
	Memtables int64 // bytes, 0 for the usual budget
	Cache     int64 // bytes
	Spaces    int   // separate sets of rows: tables or groups of columns; at least 1
	Writers   int   // how many commit at once
	Durable   bool  // commits are synced
}

// scaled returns a size that relates to the data as bytes do to a million rows, but not less than
// least. So a small run has as many flushes and levels as a large one. Beyond a million rows it
// returns bytes.
func (c Config) scaled(bytes, least int64) int64 {
	return max(bytes*min(int64(c.Rows), unscaledRows)/unscaledRows, least)
}

// unscaledRows is the number of rows from which on sizes are not scaled.
const unscaledRows = 1_000_000

const (
	usualMemtables = 128 << 20
	largeCache     = 1 << 30
	smallCache     = 64 << 20
)

// memtables is the budget of all memtables together, including those being flushed.
func (c Config) memtables() int64 {
	if c.Memtables > 0 {
		return c.Memtables
	}
	return c.scaled(usualMemtables, 1<<20)
}

// Store is an open engine. It is safe for concurrent use, except Close.
type Store interface {
	// Writer and Reader return one for use by one goroutine.
	Writer() Writer
	Reader() Reader
	// Flush starts to write the memtables to sorted files, if the engine can be asked to.
	Flush() error
	Close() error
}

// Writer writes batches. It does not use the caller's bytes after Commit.
type Writer interface {
	// Set adds a version of a cell to the batch.
	Set(space int, row []byte, c *cell.Cell)
	// DeleteRow adds the deletion of a row to the batch. cells are all cells of the row, for
	// engines that delete key by key.
	DeleteRow(space int, row []byte, cells []cell.Cell)
	// Commit applies the batch atomically and empties it.
	Commit() error
}

// Reader reads the newest state. Each call has its own snapshot.
type Reader interface {
	// Row reads all cells of a row.
	Row(space int, row []byte) (Answer, error)
	// Scan reads rows in order.
	Scan(q Query) (Answer, error)
}

// Query says what a scan reads.
type Query struct {
	Space  int
	Start  []byte // a row, or nil for the first one
	Rows   int    // at most; 0 for all
	Family string // only its cells; "" for all
	Once   bool   // not read again: an engine that can bypasses its cache
	// Visit gets each cell, valid until it returns. It is nil while the time is measured.
	Visit func(row []byte, c *cell.Cell)
}

// Answer counts what a read returned.
type Answer struct {
	Rows  int // with at least one cell
	Cells int
	Bytes int64 // of columns and values
}

// touch reads a byte of each cache line of a large value and returns the value's length. Otherwise
// the value might never leave a memory map or buffer. A small value comes with its key.
func touch(value []byte) int64 {
	const small, line = 4096, 64
	if len(value) >= small {
		sum := byte(0)
		for i := 0; i < len(value); i += line {
			sum |= value[i]
		}
		touched.Store(uint32(sum))
	}
	return int64(len(value))
}

// touched keeps the compiler from removing touch's work.
var touched atomic.Uint32
