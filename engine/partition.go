package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
)

// partition is one sorted map. DB.mu guards its fields, except the first group and those that are
// atomic or locks.
type partition struct {
	id   PartitionID
	name string
	dir  string

	active  *memTable
	frozen  []*memTable // oldest first
	version *manifest.Version
	flushed uint64

	policies atomic.Pointer[Policies]
	// state is what reads use, replaced as a whole.
	state atomic.Pointer[readState]

	level0Pressure int            // slows writers down; set by publishLocked
	rateLimit      writeRateLimit // of writers that are slowed down

	busy              map[uint64]bool              // files that are being compacted, or are damaged
	damagedInputs     int                          // the damaged ones among busy
	damage            error                        // the first that a compaction has found
	compactionStopped bool                         // for good, because of damage
	readBackoff       backoff                      // of compactions
	readDamage        atomic.Pointer[CorruptError] // the last damage that a read has found
	// quarantined is why reads and writes are refused, nil if they are not.
	quarantined atomic.Pointer[CorruptError]
	manual      *compaction.Manual   // under way, nil for none
	runMerges   compaction.RunMerges // under way
	dropped     bool
	made        atomic.Bool // its directory exists
	namesMu     sync.Mutex  // held while its directory is synced
	charges     readCharges

	allRanges bool // all files that range tombstones cover in part are to be compacted
}

// PartitionInfo names a partition.
type PartitionInfo struct {
	ID   PartitionID
	Name string
	Path string // its directory, made when the first file is written
}

// Partitions lists all partitions, in the order in which they were created.
func (db *DB) Partitions() []PartitionInfo {
	db.mu.Lock()
	defer db.mu.Unlock()
	var list []PartitionInfo
	for _, p := range db.partitions {
		list = append(list, PartitionInfo{ID: p.id, Name: p.name, Path: p.dir})
	}
	slices.SortFunc(list, func(a, b PartitionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// MaxPartitions is how many partitions can be created. Each takes memory and time to open, and each
// manifest edit writes all of them. A store that has more opens and works.
const MaxPartitions = 20_000

// CreatePartitions creates partitions with the given names, all or none, and returns once that is
// durable. Names need not be unique. It returns ErrPartitions if there would be more than
// MaxPartitions; other errors are those of Commit.
func (db *DB) CreatePartitions(names ...string) ([]PartitionID, error) {
	var ids []PartitionID
	err := db.install(nil, func(m *manifest.Manifest) error {
		if db.closed {
			return ErrClosed
		}
		if len(m.Partitions)+len(names) > MaxPartitions {
			return ErrPartitions
		}
		for _, name := range names {
			id := m.NextPartition
			m.NextPartition++
			m.Partitions[id] = &manifest.Partition{ID: id, Name: name, Flushed: m.LastSeq, Version: &manifest.Version{}}
			ids = append(ids, id)
		}
		return nil
	}, func() {
		for _, id := range ids {
			db.addPartitionLocked(db.manifest.Partitions[id])
		}
	})
	if err != nil {
		return nil, fmt.Errorf("create partitions: %w", err)
	}
	return ids, nil
}

// addPartitionLocked adds a partition of a manifest to the DB.
func (db *DB) addPartitionLocked(mp *manifest.Partition) *partition {
	p := &partition{
		id: mp.ID, name: mp.Name, dir: db.path(manifest.PartitionsDir, manifest.PartitionDir(uint64(mp.ID))),
		active: newMemTable(), version: mp.Version, flushed: mp.Flushed,
		busy: make(map[uint64]bool),
	}
	p.policies.Store(rowmerge.NoPolicies)
	for f := range p.version.Files() {
		f.Owner = db.newTableRef(p, f)
	}
	db.partitions[mp.ID] = p
	db.readPartitions.Store(nil)
	db.publishLocked(p)
	return p
}

// DropPartitions removes partitions and everything in them, all in one step, and returns once that is
// durable. Open snapshots still read them. Errors are those of Commit.
func (db *DB) DropPartitions(ids ...PartitionID) error {
	var dropped []manifest.Dropped
	err := db.install(nil, func(m *manifest.Manifest) error {
		if db.closed {
			return ErrClosed
		}
		at := max(db.opt.Clock.Now(), db.lastTime+1)
		for _, id := range ids {
			p := m.Partitions[id]
			if p == nil {
				return ErrNoPartition
			}
			delete(m.Partitions, id)
			if db.opt.ArchiveLog {
				dropped = append(dropped, manifest.Dropped{ID: id, Name: p.Name, Time: at})
			}
		}
		if db.opt.ArchiveLog {
			db.lastTime, m.LastTime = at, at
			m.Dropped = append(m.Dropped, dropped...)
		}
		return nil
	}, func() {
		for _, id := range ids {
			db.dropPartitionLocked(db.partitions[id])
		}
		db.archive.dropLocked(dropped, db.log.segments)
	})
	if err != nil {
		return fmt.Errorf("drop partitions: %w", err)
	}
	return nil
}

func (db *DB) dropPartitionLocked(p *partition) {
	delete(db.partitions, p.id)
	db.readPartitions.Store(nil)
	delete(db.frozen, p)
	delete(db.rangesDue, p)
	p.dropped = true
	db.setLevel0PressureLocked(p, 0)
	for f := range p.version.Files() {
		tableOf(f).obsolete.Store(true)
	}
	for _, m := range append(p.frozen, p.active) {
		db.releaseMemTableLocked(m)
	}
	if s := p.state.Swap(nil); s != nil {
		s.retire()
	}
	db.background.progressLocked() // its memory is free
}

// tablePath returns the path of a sorted file of the partition.
func (p *partition) tablePath(number uint64) string {
	return p.dir + "/" + manifest.TableFile(number)
}

// partitionsByID returns the partitions in the order in which they were created.
func (db *DB) partitionsByID() []*partition {
	db.mu.Lock()
	defer db.mu.Unlock()
	var list []*partition
	for _, p := range db.partitions {
		list = append(list, p)
	}
	slices.SortFunc(list, func(p, q *partition) int { return cmp.Compare(p.id, q.id) })
	return list
}
