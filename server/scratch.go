package server

import (
	"sync"

	"github.com/colonnade-db/colonnade/internal/poison"
	"github.com/colonnade-db/colonnade/widecol"
)

// scratch is memory that requests reuse. A requestContext, which is a part of it, borrows everything in it.
type scratch struct {
	context   requestContext // zero between requests
	decoder   decoder
	body      []byte
	mutations []widecol.Mutation
	reads     rowsBody
	query     widecol.Query // of the item that is read
	ends      []int         // of each item of a write: the index behind its last mutation
	values    []byte        // encoded values that are not part of the body
	collected []byte        // memory for a responseBuffer
	rows      rowWriter
	lines     *lineWriter // nil before its first use
	key       string      // the Idempotency-Key of a write, "" for none
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

func newRequestContext() *requestContext {
	s := newScratch()
	s.context.scratch = s
	return &s.context
}

// These bounds keep a large request from leaving its memory in every scratch.
const (
	keepBody      = 1 << 20
	keepMutations = 1 << 14
	keepOut       = 4 * flushSize
)

// reuse returns the scratch to the pool.
func (s *scratch) reuse() {
	poison.Bytes(s.body)
	poison.Bytes(s.values)
	poison.Bytes(s.collected)
	poison.Bytes(s.rows.own)
	s.decoder.Reset(nil)
	s.decoder.x = nil
	s.rows = rowWriter{own: keep(s.rows.own, keepBody), binary: keep(s.rows.binary, keepBody), binaryColumn: keep(s.rows.binaryColumn, keepBody), yield: s.rows.yield, versionTexts: s.rows.versionTexts}
	s.key = ""
	s.context = requestContext{}
	clear(s.mutations) // they point into the body
	clear(s.reads.items)
	s.reads, s.query = rowsBody{items: keep(s.reads.items, keepMutations)}, widecol.Query{}
	s.body, s.mutations, s.ends, s.values, s.collected = keep(s.body, keepBody), keep(s.mutations, keepMutations),
		keep(s.ends, keepMutations), keep(s.values, keepBody), keep(s.collected, keepOut)
	scratches.Put(s)
}

func keep[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}
