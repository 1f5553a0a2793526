package server

import (
	"slices"
	"sync"

	"colonnade/internal/poison"
)

// A piece is what has been collected at a time, on its way to whoever sends it.

const (
	// flushSize is how many bytes of an answer are collected before they are passed on.
	flushSize = 64 << 10
	// mostKept is the most memory that a piece may keep while it waits. Where more was collected in,
	// since there is a large value or was one before, what is there is copied to pieces of mostCopied,
	// which most of it fits into as it is.
	mostKept   = 2 * mostCopied
	mostCopied = flushSize + flushSize/4
)

// pieces are what has been queued. Each is memory that a collector uses again.
var pieces = sync.Pool{New: func() any { return new([]byte) }}

// enqueue moves what is there to a queue, and waits while that is full. It reports
// false if done was closed first.
func (c *collector) enqueue(queue chan<- *[]byte, done <-chan struct{}) bool {
	if cap(c.out) <= mostKept {
		piece := pieces.Get().(*[]byte)
		*piece, c.out = c.out, (*piece)[:0]
		return put(queue, done, piece)
	}
	for part := range slices.Chunk(c.out, mostCopied) {
		piece := pieces.Get().(*[]byte)
		*piece = append((*piece)[:0], part...)
		if !put(queue, done, piece) {
			return false
		}
	}
	c.out = c.out[:0]
	return true
}

func put(queue chan<- *[]byte, done <-chan struct{}, piece *[]byte) bool {
	select {
	case queue <- piece:
		return true
	case <-done:
		return false
	}
}

// release gives the memory of a piece back, unless it is such that more was collected in.
func release(piece *[]byte) {
	poison.Bytes(*piece)
	*piece = keep(*piece, mostKept)
	pieces.Put(piece)
}
