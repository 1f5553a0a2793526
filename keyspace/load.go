package keyspace

import "sync/atomic"

// samplesPerRate is how many samples a Load takes at one rate in a window, before it takes half as many. Half of
// what a window estimates comes from as many: the whole is off by some 3 %.
const samplesPerRate = 512

// maxRate bounds what one sample stands for.
const maxRate = 1 << 40

// Load is the reads or the writes of a table. A request asks First for the first of its rows that is sampled. Most have
// none; the others go on with a Draw:
//
//	next, rate := load.First(now, shard)
//	if next < rows {
//		for d := load.Draw(next, rate, shard); d.Next() < rows; { d.Add(now, key of row d.Next(), 1, bytes of it) }
//	}
//
// Load is safe for concurrent use.
type Load struct {
	table   *Table
	sampler *Sampler
	kind    kind
	rate    atomic.Int64 // how many rows a sample stands for: a power of two
	taken   int          // samples at this rate; guarded by Table.mu
}

type kind int

const (
	reads kind = iota
	writes
)

func (l *Load) init(t *Table, k kind) {
	l.table, l.sampler, l.kind = t, t.sampler, k
	l.rate.Store(1)
}

// First returns the number of the first row of a request that is sampled, counted from 0 and at random, and for how many
// it stands. now is in microseconds; shard is any number, mostly the same on a CPU.
func (l *Load) First(now int64, shard uint) (next, rate int64) {
	if now >= l.table.until.Load() {
		l.table.turn(now)
	}
	rate = l.rate.Load()
	return int64(l.sampler.next(shard)) & (rate - 1), rate
}

// Draw says which rows of a request are sampled: the first, and then each so many, so that each row has the same chance.
// It is for one goroutine.
type Draw struct {
	load  *Load
	next  int64
	rate  int64
	shard uint
}

// Draw returns a Draw of what First has returned.
func (l *Load) Draw(next, rate int64, shard uint) Draw { return Draw{l, next, rate, shard} }

// Next returns the number of the next row that is sampled.
func (d *Draw) Next() int64 { return d.next }

// Add adds the row Next. rows is 1, or the share of a row that a number stands for. It copies the key.
func (d *Draw) Add(now int64, key []byte, rows float64, bytes int64) {
	d.AddUntil(now, key, d.next+1, rows, bytes)
}

// AddUntil adds the rows that are sampled from Next up to end, which is above it, as if all had the key. rows and bytes
// are those of one of them.
func (d *Draw) AddUntil(now int64, key []byte, end int64, rows float64, bytes int64) {
	sampled := (end - d.next + d.rate - 1) / d.rate
	stand := float64(sampled * d.rate)
	rate := d.load.add(now, key, rows*stand, float64(bytes)*stand)
	if rate == d.rate {
		d.next += sampled * d.rate
		return
	}
	d.next, d.rate = end+int64(d.load.sampler.next(d.shard))&(rate-1), rate
}

// add adds what a sample stands for, and returns the rate from now on.
func (l *Load) add(now int64, key []byte, rows, bytes float64) int64 {
	t := l.table
	if now >= t.until.Load() {
		t.turn(now)
	}
	if t.take(l, key, rows, bytes); l.sampler.bytes.Load() > maxBytes {
		l.sampler.shrink()
	}
	return l.rate.Load()
}

// sampledLocked counts a sample, and lowers the rate when there were enough.
func (l *Load) sampledLocked() {
	if l.taken++; l.taken == samplesPerRate {
		l.taken = 0
		l.rate.Store(min(2*l.rate.Load(), maxRate))
	}
}

// restartLocked samples every row again.
func (l *Load) restartLocked() {
	l.taken = 0
	l.rate.Store(1)
}
