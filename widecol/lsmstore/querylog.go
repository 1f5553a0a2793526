package lsmstore

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// queryLog counts what the queries of a table asked for and what they read, by the set of families that they could
// select from. It belongs to one grouping of the families: with another, what a query reads is not the same. A query
// finds its set without a lock and adds to a shard of it.
type queryLog struct {
	since int64 // microseconds since the Unix epoch

	sets   atomic.Pointer[setTable]
	others atomic.Int64 // queries whose sets have no place
	turns  atomic.Int64 // of queries without a place to get one

	mu sync.Mutex // of those that give a set a place
}

// familySet is a set of families, by their index in schema.sorted.
type familySet [4]uint64

const (
	// maxFamilies is the most families of a table whose queries are counted.
	maxFamilies = len(familySet{}) * 64
	// maxSets bounds the sets of a table, which take a kilobyte each for two partitions. Six families have 63.
	maxSets = 64
	// retrySets is how many queries without a place give one of their sets that of the set with the fewest queries.
	retrySets = 64
)

func (f *familySet) add(i int)      { f[i/64] |= 1 << (i % 64) }
func (f *familySet) has(i int) bool { return f[i/64]>>(i%64)&1 != 0 }

func (f *familySet) hash() int {
	h := f[0]
	for _, word := range f[1:] {
		h = bits.RotateLeft64(h, 23) ^ word
	}
	return int(h * 0x9e3779b97f4a7c15 >> 57)
}

// setTable is a hash table with linear probing, twice as large as needed. It is immutable: a set is added to a copy.
type setTable struct {
	slots [2 * maxSets]*querySet
	used  int
}

func (t *setTable) find(families *familySet) *querySet {
	for at := families.hash(); ; at++ {
		q := t.slots[at%len(t.slots)]
		if q == nil || q.families == *families {
			return q
		}
	}
}

// with returns the table with one more set, and without one of its own, nil for none.
func (t *setTable) with(added, dropped *querySet) *setTable {
	next := new(setTable)
	for _, q := range append(t.list(), added) {
		if q == dropped {
			continue
		}
		at := q.families.hash()
		for next.slots[at%len(next.slots)] != nil {
			at++
		}
		next.slots[at%len(next.slots)] = q
		next.used++
	}
	return next
}

func (t *setTable) list() []*querySet {
	return slices.DeleteFunc(slices.Clone(t.slots[:]), func(q *querySet) bool { return q == nil })
}

// querySet counts the queries of one set of families.
type querySet struct {
	families   familySet
	partitions []engine.PartitionID // to open for it
	// Each shard has the queries, the ranges of rows that they sought, and of each partition the bytes passed and
	// those read. It fills cache lines of its own.
	shards [engine.Shards][]atomic.Int64
}

// Places in a shard.
const (
	queriesAt, rangesAt = 0, 1
	countsAt            = 2 // of the first partition: bytes passed, bytes read
	cacheLine           = 8 // words
)

func (q *querySet) init(partitions []engine.PartitionID) {
	q.partitions = partitions
	words := (countsAt + 2*len(partitions) + cacheLine - 1) / cacheLine * cacheLine
	for i := range q.shards {
		q.shards[i] = make([]atomic.Int64, words)
	}
}

// count counts what a query has read of partition i in a range of rows. A block may serve other reads as well: where
// a query needs few of its rows, they alone count.
func (q *querySet) count(shard, i int, n cell.Scanned) {
	counts := q.shards[shard][countsAt+2*i:]
	counts[0].Add(int64(n.Bytes))
	counts[1].Add(int64(min(n.Read, n.Bytes)))
}

// total is the sum of some shards.
type total struct {
	families        familySet
	partitions      []engine.PartitionID
	queries, ranges int64
	passed, read    []int64 // by partition
}

func (q *querySet) total() total {
	n := len(q.partitions)
	t := total{families: q.families, partitions: q.partitions, passed: make([]int64, n), read: make([]int64, n)}
	for _, shard := range q.shards {
		t.queries += shard[queriesAt].Load()
		t.ranges += shard[rangesAt].Load()
		for i := range n {
			t.passed[i] += shard[countsAt+2*i].Load()
			t.read[i] += shard[countsAt+2*i+1].Load()
		}
	}
	return t
}

func (t *total) bytesRead() (sum int64) {
	for _, n := range t.read {
		sum += n
	}
	return sum
}

func newQueryLog(since int64) *queryLog {
	l := &queryLog{since: since}
	l.sets.Store(new(setTable))
	return l
}

// of returns where the queries of a set of families count, nil if it has no place.
func (l *queryLog) of(families *familySet, s *schema) *querySet {
	if q := l.sets.Load().find(families); q != nil {
		return q
	}
	return l.place(families, s)
}

// place gives a set a place. When all are taken, most sets get none: a stream of new sets must not make every query
// wait here, or drive out those that matter.
func (l *queryLog) place(families *familySet, s *schema) *querySet {
	if l.sets.Load().used == maxSets && l.turns.Add(1)%retrySets != 0 {
		l.others.Add(1)
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.sets.Load()
	if q := t.find(families); q != nil {
		return q
	}
	var least *querySet
	if t.used == maxSets {
		least = slices.MinFunc(t.list(), func(a, b *querySet) int { return cmp.Compare(a.total().queries, b.total().queries) })
		l.others.Add(least.total().queries) // what queries under way add to it is lost
	}
	q := &querySet{families: *families}
	q.init(s.partitionsOf(families))
	l.sets.Store(t.with(q, least))
	return q
}

// totals returns what was counted, of the sets with most bytes first.
func (l *queryLog) totals() (sets []total) {
	for _, q := range l.sets.Load().list() {
		if t := q.total(); t.queries > 0 {
			sets = append(sets, t)
		}
	}
	slices.SortFunc(sets, func(a, b total) int {
		return cmp.Or(cmp.Compare(b.bytesRead(), a.bytesRead()), cmp.Compare(b.queries, a.queries), slices.Compare(a.families[:], b.families[:]))
	})
	return sets
}
