package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/engine/rowmerge"
	"colonnade/memtable"
	"colonnade/sstable"
	"colonnade/sstable/blockcache"
)

// DB is an open store. It is safe for concurrent use.
type DB struct {
	opt        Options
	dir        string
	store      [16]byte // identity, part of every checksum
	lock       io.Closer
	blockCache *blockcache.Cache
	obsolete   obsoleteFiles // files that nobody needs any more

	tableCache *tableCache // of sorted files

	reads    readMark
	slowed   atomic.Int32  // partitions whose writers are slowed down
	visible  atomic.Uint64 // every batch up to here is durable and in the memtables
	memBytes atomic.Int64  // of all memtables, frozen ones included

	leaders   chan struct{} // wakes a leader that is idle
	whole     chan struct{} // wakes a leader that waits for a group, at most once
	inserters chan *group   // the same for who inserts small batches
	snapshots snapshots
	// found is a copy of partitions for those who read, nil when it has to be made
	// anew, and once the DB is closed.
	found atomic.Pointer[map[PartitionID]*partition]

	installMu sync.Mutex // one manifest edit at a time
	namesMu   sync.Mutex // one sync of the directory of partitions at a time

	mu          sync.Mutex
	partitions  map[PartitionID]*partition
	manifest    *manifest.Manifest
	lastSeq     uint64
	lastTime    int64
	lastRead    int64 // when a mark of reads was found last
	nextFile    uint64
	group       *group   // batches that the next sync will carry
	groupSize   int      // batches that the one before it had
	underWay    []*group // taken to be written, and not settled yet, oldest first
	awaited     *group   // the last of them, if the leader waits until it can settle it
	leading     bool     // a leader writes the log now
	slow        bool     // the log has waited for the disk longer than SyncTimeout
	failed      error    // a *ReadOnlyError after a failure of the log or manifest
	closed      bool
	frozen      map[*partition]bool // those with memtables that wait for their flush
	frozenBytes int64               // what these held when they were frozen
	smallFiles  compaction.SmallFileBudget
	log         log
	space       space
	precedence  precedence
	background  background
	scrub       scrubber
}

// partition is one sorted map. Its fields are guarded by DB.mu, save state.
type partition struct {
	id   PartitionID
	name string
	dir  string

	active  *memory
	frozen  []*memory // oldest first
	version *manifest.Version
	flushed uint64

	policies atomic.Pointer[Policies]
	// state is what a read needs, replaced as a whole.
	state atomic.Pointer[readState]

	level0Pressure int      // of level 0, by which Commits are slowed down; set by publishLocked
	throttle       throttle // of Commits meanwhile

	busy              map[uint64]bool              // files that a compaction works on, or that are damaged
	damagedInputs     int                          // of these, the damaged ones
	damage            error                        // the first that a compaction has met
	compactionStopped bool                         // no compactions any more
	readBackoff       backoff                      // of compactions
	readDamage        atomic.Pointer[CorruptError] // the last damage that a read came upon
	// quarantined is why neither reads nor writes are served, nil if they are.
	quarantined atomic.Pointer[CorruptError]
	manual      *compaction.Manual   // under way, nil for none
	runMerges   compaction.RunMerges // under way
	dropped     bool
	made        atomic.Bool // its directory is there
	namesMu     sync.Mutex  // one sync of its directory at a time
	charges     readCharges
}

// memory is a memtable, of one table or several, with its place in the order of
// batches. A batch that got its sequence number while the memory was active goes in,
// others do not, so memories of a partition cut the order cleanly.
type memory struct {
	// tables are one, which has all entries, but for a memory that a recovery has
	// filled: it goes on with the last one of several. They change only before Open
	// returns, and need DB.mu until then.
	tables []*memtable.Table
	minSeq uint64 // of the batches that go in, 0 for none
	maxSeq uint64
	bytes  atomic.Int64 // of its tables, as far as they are in DB.memBytes
	gone   atomic.Bool  // flushed or dropped: counts no longer

	frozenBytes int64 // what of it is in DB.frozenBytes
	logged      int64 // bytes of the log that a recovery has put into the last of its tables
}

func newMemory() *memory { return &memory{tables: []*memtable.Table{memtable.New()}} }

// newest returns the table that entries go into.
func (m *memory) newest() *memtable.Table { return m.tables[len(m.tables)-1] }

// entries returns how many it has.
func (m *memory) entries() (n int) {
	for _, t := range m.tables {
		n += t.Len()
	}
	return n
}

// account brings DB.memBytes up to date after entries went into m.
func (db *DB) account(m *memory) {
	now := int64(0)
	for _, t := range m.tables {
		now += t.Bytes()
	}
	db.memBytes.Add(now - m.bytes.Swap(now))
	if m.gone.Load() { // its partition was dropped meanwhile
		db.memBytes.Add(-m.bytes.Swap(0))
	}
}

// releaseLocked takes m out of the accounts for good.
func (db *DB) releaseLocked(m *memory) {
	db.frozenBytes -= m.frozenBytes
	m.gone.Store(true)
	db.memBytes.Add(-m.bytes.Swap(0))
}

// LastSeq returns a sequence number that no batch acknowledged so far exceeds,
// and that every batch begun later does.
func (db *DB) LastSeq() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.lastSeq
}

// Policy and Policies say which cells of a partition's families are alive. See package rowmerge.
type (
	Policy   = rowmerge.Policy
	Policies = rowmerge.Policies
)

// NewPolicies makes the list for a partition. asOf is the DB's LastSeq at a moment when
// no write to the partition was under way.
func NewPolicies(asOf uint64, families map[string]Policy) *Policies {
	return rowmerge.NewPolicies(asOf, families)
}

// SetPolicies says which families a partition has and which of their cells are
// still there. Until it is called every cell is kept.
func (db *DB) SetPolicies(id PartitionID, policies *Policies) error {
	p, err := db.partition(id)
	if err != nil {
		return err
	}
	p.policies.Store(policies)
	return nil
}

func (db *DB) partition(id PartitionID) (*partition, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, ErrClosed
	}
	if p := db.partitions[id]; p != nil {
		return p, nil
	}
	return nil, ErrNoPartition
}

// writableLocked returns why nothing can be written, or nil.
func (db *DB) writableLocked() error {
	if db.closed {
		return ErrClosed
	}
	return db.failed
}

// failLocked makes the DB read-only, keeping the first cause.
func (db *DB) failLocked(cause error) {
	if db.failed == nil {
		db.failed = &ReadOnlyError{Cause: cause}
		db.opt.Log.Error("store is read-only until it is restarted", "cause", cause)
		db.background.progressLocked() // there will be none: whoever waits has to know
	}
}

// tableID is the identity of a sorted file.
func (db *DB) tableID(number uint64) sstable.ID {
	return sstable.ID{Store: db.store, Number: number}
}

// tablePath is where a file of the partition lies.
func (p *partition) tablePath(number uint64) string {
	return p.dir + "/" + manifest.TableFile(number)
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

// MaxPartitions is how many partitions can be created. Each takes memory and time to
// open, and each change of a partition writes the manifest, which lists all of them.
// A store that has more is opened, and works.
const MaxPartitions = 20_000

// CreatePartitions creates partitions with the given names, all or none, and
// returns once that is durable. Names need not be unique. ErrPartitions if there
// would be more than MaxPartitions; other errors are those of Commit.
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

// addPartitionLocked makes a partition of a manifest usable.
func (db *DB) addPartitionLocked(r *manifest.Partition) *partition {
	p := &partition{
		id: r.ID, name: r.Name, dir: db.path(manifest.PartitionsDir, manifest.PartitionDir(uint64(r.ID))),
		active: newMemory(), version: r.Version, flushed: r.Flushed,
		busy: make(map[uint64]bool),
	}
	p.policies.Store(rowmerge.NoPolicies)
	for f := range p.version.Files() {
		f.Owner = db.newTableRef(p, f)
	}
	db.partitions[r.ID] = p
	db.found.Store(nil)
	db.publishLocked(p)
	return p
}

// DropPartitions removes partitions and everything in them, all in one step,
// and returns once that is durable. Reads under way go on with what they have.
// Errors are those of Commit.
func (db *DB) DropPartitions(ids ...PartitionID) error {
	err := db.install(nil, func(m *manifest.Manifest) error {
		if db.closed {
			return ErrClosed
		}
		for _, id := range ids {
			if m.Partitions[id] == nil {
				return ErrNoPartition
			}
			delete(m.Partitions, id)
		}
		return nil
	}, func() {
		for _, id := range ids {
			db.dropPartitionLocked(db.partitions[id])
		}
	})
	if err != nil {
		return fmt.Errorf("drop partitions: %w", err)
	}
	return nil
}

func (db *DB) dropPartitionLocked(p *partition) {
	delete(db.partitions, p.id)
	db.found.Store(nil)
	delete(db.frozen, p)
	p.dropped = true
	db.setLevel0PressureLocked(p, 0)
	for f := range p.version.Files() {
		tableOf(f).obsolete.Store(true)
	}
	for _, m := range append(p.frozen, p.active) {
		db.releaseLocked(m)
	}
	if s := p.state.Swap(nil); s != nil {
		s.retire()
	}
	db.background.progressLocked() // its memory is free
}

// path returns the path of something in the directory of the store.
func (db *DB) path(elem ...string) string {
	return path.Join(append([]string{db.dir}, elem...)...)
}

// listDir returns the names in a directory below that of the store. It has to be a
// directory itself: a link would lead out of the store.
func (db *DB) listDir(dir string) ([]string, error) {
	if _, err := db.opt.FS.Stat(dir); err != nil && !errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("not a directory of the store: %w", err)
	}
	return db.opt.FS.List(dir)
}
