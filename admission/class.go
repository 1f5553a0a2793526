package admission

import (
	"time"

	"colonnade/clock"
	"colonnade/internal/cores"
)

// Class says which slots a request takes.
type Class uint8

const (
	Quick Class = iota // takes none: it only reads what is in memory
	Write              // changes a table or its rows, and waits for the disk
	Read               // reads rows by their keys, or what tables there are
	Scan               // reads many rows, and holds a snapshot
)

const (
	// writesPerCore is large, because a write spends most of its time waiting for a sync
	// that it shares with all others that wait.
	writesPerCore = 32
	readsPerCore  = 8
	scansPerCore  = 2
	// MaxScans bounds the open scans. Each holds a snapshot, which holds memory and files.
	MaxScans = 256

	// longestWait is how long a request waits for its first slot at most.
	longestWait = time.Second
	// standingWait is how long it waits while a queue of writes or reads is a standing one.
	// With 400 connections that write on two cores, the queue is a quarter of that.
	standingWait = 100 * time.Millisecond
)

// Limiters are the limiters of each class, nil for Quick.
type Limiters [Scan + 1]*Limiter

// NewLimiters returns the limiters for this machine.
func NewLimiters(c clock.Clock) Limiters {
	n := cores.Count()
	return Limiters{
		Write: NewLimiter(writesPerCore*n, standingWait, longestWait, c),
		Read:  NewLimiter(readsPerCore*n, standingWait, longestWait, c),
		// A slot of a scan comes free when another scan has collected a chunk of its
		// response. That takes longer than a whole read, and the wait is worth it.
		Scan: NewLimiter(scansPerCore*n, longestWait, longestWait, c),
	}
}
