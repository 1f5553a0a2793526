package keyspace

import "sync/atomic"

// samplesPerRate is how many samples a Load takes at one rate in a window, before it takes half as many. All of a
// window are some thousand, whose estimate of the whole is off by some percent.
const samplesPerRate = 1024

// maxRate bounds what one sample stands for.
const maxRate = 1 << 40

// Load is the reads or the writes of a table. A request begins a Draw, which says which of its rows are sampled:
//
//	d := load.Begin(now, shard)
//	for row := range … {
//		if n++; n > d.Next() { … d.Add(now, key, 1, bytes) }
//	}
//
// Begin costs a request a few instructions, and a row costs the comparison. Load is safe for concurrent use.
type Load struct {
	table *Table
	kind  kind
	rate  atomic.Int64 // how many rows a sample stands for: a power of two
	taken int          // samples at this rate; guarded by Table.mu
}

type kind int

const (
	reads kind = iota
	writes
)

func (l *Load) init(t *Table, k kind) {
	l.table, l.kind = t, k
	l.rate.Store(1)
}

// Draw says which rows of a request are sampled: the first at random, and then each so many, so that each row has the
// same chance. It is for one goroutine.
type Draw struct {
	load  *Load
	next  int64
	rate  int64
	shard int
}

// Begin begins a request. now is in microseconds; shard is any number from 0, mostly the same on a CPU.
func (l *Load) Begin(now int64, shard int) Draw {
	if now >= l.table.until.Load() {
		l.table.turn(now)
	}
	rate := l.rate.Load()
	return Draw{load: l, next: int64(l.table.sampler.next(shard)) & (rate - 1), rate: rate, shard: shard}
}

// Next returns the number of the next row that is sampled, counted from 0 in the request.
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
	d.next, d.rate = end+int64(d.load.table.sampler.next(d.shard))&(rate-1), rate
}

// add adds what a sample stands for, and returns the rate from now on.
func (l *Load) add(now int64, key []byte, rows, bytes float64) int64 {
	t := l.table
	if now >= t.until.Load() {
		t.turn(now)
	}
	if t.take(l, key, rows, bytes); t.sampler.bytes.Load() > maxBytes {
		t.sampler.shrink()
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
