package admission

import (
	"cmp"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/internal/cores"
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
	// MaxScans is the default of Limits.Scans.
	MaxScans = 256

	// longestWait is how long a request waits for its first slot at most.
	longestWait = time.Second
	// standingWait is how long it waits while a queue of writes or reads is a standing one.
	// With 400 connections that write on two cores, the queue is a quarter of that.
	standingWait = 100 * time.Millisecond
)

// Limits are how much requests may take together. A zero field is its default.
type Limits struct {
	// Memory bounds the bytes of all bodies under way. The default is 256 MiB.
	Memory int64
	// Scans bounds the open scans, whether they work or wait for their clients. Each holds a
	// snapshot, which holds memory and files. The default is the constant MaxScans.
	Scans int64
	// WriteSlots, ReadSlots and ScanSlots are the slots of each class: how many requests work at a time.
	// The defaults are 32, 8 and 2 for each CPU.
	WriteSlots, ReadSlots, ScanSlots int
}

// WithDefaults returns the limits without zeros.
func (l Limits) WithDefaults() Limits {
	n := cores.Count()
	return Limits{
		Memory:     cmp.Or(l.Memory, 256<<20),
		Scans:      cmp.Or(l.Scans, MaxScans),
		WriteSlots: cmp.Or(l.WriteSlots, writesPerCore*n),
		ReadSlots:  cmp.Or(l.ReadSlots, readsPerCore*n),
		ScanSlots:  cmp.Or(l.ScanSlots, scansPerCore*n),
	}
}

// slots returns the slots of each class.
func (l Limits) slots() [Scan + 1]int {
	return [...]int{Write: l.WriteSlots, Read: l.ReadSlots, Scan: l.ScanSlots}
}

// Limiters are the limiters of each class, nil for Quick.
type Limiters [Scan + 1]*Limiter

// NewLimiters returns limiters with the slots of l.
func NewLimiters(l Limits, c clock.Clock) Limiters {
	l = l.WithDefaults()
	return Limiters{
		Write: NewLimiter(l.WriteSlots, standingWait, longestWait, c),
		Read:  NewLimiter(l.ReadSlots, standingWait, longestWait, c),
		// A slot of a scan comes free when another scan has collected a chunk of its
		// response. That takes longer than a whole read, and the wait is worth it.
		Scan: NewLimiter(l.ScanSlots, longestWait, longestWait, c),
	}
}
