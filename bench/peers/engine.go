package main

import (
	"sync/atomic"

	"colonnade/cell"
)

// Engine is one of those that are compared.
type Engine struct {
	Name  string
	About string // how it is set up, for the report
	Open  func(dir string, c Config) (Store, error)
	// Tables is the ends of the names of the files that hold the data, log not
	// included.
	Tables []string
	// Ceiling is set for what can write durably and nothing else: a bound, not a peer.
	Ceiling bool
	// Mapped is set for those that read through memory maps, of which the operating
	// system counts no bytes.
	Mapped bool
	// MappedWrites is set for those that write through them too.
	MappedWrites bool
}

// engines are in the order of the report: this engine, the peers, the ceiling.
var engines = []*Engine{colonnade, pebbleTuned, pebbleDefault, badgerEngine, bboltEngine, goleveldbEngine, logOnly}

// Config is what a table of work asks of an engine.
type Config struct {
	Rows      int   // of the whole data: sizes are scaled to it
	Memtables int64 // bytes, 0 for the usual budget
	Cache     int64 // bytes
	Spaces    int   // separate sets of rows: tables, or groups of columns; 1 at least
	Writers   int   // how many will commit at once
	Durable   bool  // commits are synced
}

// scaled returns a size that has the same ratio to the data as bytes have to a
// million rows, so that a small run goes through as many flushes and levels as a
// large one. It is least at least; beyond a million rows sizes stay.
func (c Config) scaled(bytes, least int64) int64 {
	return max(bytes*min(int64(c.Rows), unscaledRows)/unscaledRows, least)
}

// unscaledRows is from how many rows on sizes are as they are meant.
const unscaledRows = 1_000_000

const (
	usualMemtables = 128 << 20
	largeCache     = 1 << 30
	smallCache     = 64 << 20
)

// memtables is the budget of all memtables together, the ones being flushed
// included.
func (c Config) memtables() int64 {
	if c.Memtables > 0 {
		return c.Memtables
	}
	return c.scaled(usualMemtables, 1<<20)
}

// Store is an open engine. It is safe for concurrent use, save Close.
type Store interface {
	// Writer and Reader return one for the use of one goroutine.
	Writer() Writer
	Reader() Reader
	// Flush begins to move what is in memory to sorted files, where the engine can be
	// asked to do so.
	Flush() error
	Close() error
}

// Writer writes batches. What it is given is copied or written before Commit
// returns.
type Writer interface {
	// Set adds a version of a cell to the batch.
	Set(space int, row []byte, c *cell.Cell)
	// DeleteRow adds the deletion of a row to the batch. cells are all that it has,
	// for engines that can only delete key by key.
	DeleteRow(space int, row []byte, cells []cell.Cell)
	// Commit applies the batch as a whole and empties it.
	Commit() error
}

// Reader reads the newest state, with a view of its own for each call.
type Reader interface {
	// Row reads all cells of a row.
	Row(space int, row []byte) (Answer, error)
	// Scan reads rows in their order.
	Scan(q Query) (Answer, error)
}

// Query says what a scan reads.
type Query struct {
	Space  int
	Start  []byte // a row, or nil for the first one
	Rows   int    // at most, 0 for all
	Family string // only its cells, "" for all
	Once   bool   // nobody asks for the same again: an engine that can goes past its cache
	// Visit sees each cell, its parts valid until it returns. Nil in what is measured.
	Visit func(row []byte, c *cell.Cell)
}

// Answer is what a read has seen.
type Answer struct {
	Rows  int // with at least one cell
	Cells int
	Bytes int64 // of columns and values
}

// touch reads something of each cache line of a large value, which otherwise might
// never come out of a memory map or a buffer, and returns its length. A small one
// has come with its key.
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

// touched keeps the compiler from leaving out what touch does.
var touched atomic.Uint32
