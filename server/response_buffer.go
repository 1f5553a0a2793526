package server

import (
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/internal/poison"
	"github.com/colonnade-db/colonnade/widecol"
)

// responseBuffer is where one goroutine appends a response, or a part of one. The goroutine has a
// slot of its own.
type responseBuffer struct {
	out []byte // what has not been passed on yet
	admission.Slot
	to     chunkSink
	looked int // rows and chunks that queries have looked at, about
}

// chunkSink takes the chunks of a responseBuffer.
type chunkSink interface {
	// flush takes all that the buffer holds. It may wait for a client, without the slot.
	flush() error
	// sendError returns why an earlier chunk could not be sent, nil as far as is known.
	sendError() error
}

// flushIfFull flushes the buffer if it holds flushSize bytes.
func (b *responseBuffer) flushIfFull() error {
	if len(b.out) < flushSize {
		return nil
	}
	return b.to.flush()
}

// yield is the Yield of a query. It may be long until the query returns something to send.
func (b *responseBuffer) yield() error {
	if err := b.to.sendError(); err != nil {
		return err
	}
	b.looked += widecol.YieldEvery
	return b.Step(b.looked)
}

const (
	// flushSize is how many bytes of a response are collected before they are sent.
	flushSize = 64 << 10
	// maxKept bounds the memory that a waiting chunk keeps. A larger buffer, which a large value has
	// grown, is copied to chunks of maxCopied; most buffers fit as they are.
	maxKept   = 2 * maxCopied
	maxCopied = flushSize + flushSize/4
)

// chunks are buffers for queued chunks.
var chunks = sync.Pool{New: func() any { return new([]byte) }}

// enqueue moves the buffer's bytes to a queue, and waits while that is full. It returns false if
// done was closed first.
func (b *responseBuffer) enqueue(queue chan<- *[]byte, done <-chan struct{}) bool {
	if cap(b.out) <= maxKept {
		chunk := chunks.Get().(*[]byte)
		*chunk, b.out = b.out, (*chunk)[:0]
		return put(queue, done, chunk)
	}
	for part := range slices.Chunk(b.out, maxCopied) {
		chunk := chunks.Get().(*[]byte)
		*chunk = append((*chunk)[:0], part...)
		if !put(queue, done, chunk) {
			return false
		}
	}
	b.out = b.out[:0]
	return true
}

func put(queue chan<- *[]byte, done <-chan struct{}, chunk *[]byte) bool {
	select {
	case queue <- chunk:
		return true
	case <-done:
		return false
	}
}

// releaseChunk returns the memory of a chunk to the pool, unless it is too large.
func releaseChunk(chunk *[]byte) {
	poison.Bytes(*chunk)
	*chunk = keep(*chunk, maxKept)
	chunks.Put(chunk)
}
