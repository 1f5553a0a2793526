package engine

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/sstable/blockcache"
)

// DB is an open store. It is safe for concurrent use.
type DB struct {
	opt        Options
	dir        string
	store      [16]byte // its identity, part of every checksum
	lock       io.Closer
	blockCache *blockcache.Cache
	obsolete   obsoleteFiles
	tableCache *tableCache

	reads            readMark
	slowedPartitions atomic.Int32  // partitions whose writers are slowed down
	visible          atomic.Uint64 // every batch up to here is durable and in the memtables
	memTableBytes    atomic.Int64  // of all memtables, frozen ones included

	leaders      chan struct{} // wakes an idle leader
	groupReady   chan struct{} // wakes a leader that waits for a group; holds one signal
	inserters    chan *group   // wakes an idle inserter of small batches
	snapshots    snapshots
	stalls       [StallReasons]stallCounter
	readCounters [shards]readCounters
	// readPartitions is a copy of partitions for reads. It is nil when it has to be made again, and once the
	// DB is closed.
	readPartitions atomic.Pointer[map[PartitionID]*partition]

	installMu sync.Mutex // held during a manifest edit
	namesMu   sync.Mutex // held while the directory of partitions is synced

	mu          sync.Mutex // guards all that follows
	partitions  map[PartitionID]*partition
	manifest    *manifest.Manifest
	lastSeq     uint64
	lastTime    int64
	lastRead    int64 // when a mark of reads was last found, in microseconds
	nextFile    uint64
	group       *group   // batches that the next sync will carry
	groupSize   int      // batches in the group before it
	inFlight    []*group // being written, not settled yet, oldest first
	awaited     *group   // the last of them, if the leader waits to settle it
	leading     bool     // a leader is writing the log
	awaiting    int      // calls of AwaitRows
	slow        bool     // the log has waited for the disk longer than SyncTimeout
	failed      error    // a *ReadOnlyError after a failure of the log or manifest
	closed      bool
	frozen      map[*partition]bool   // those with memtables to flush
	frozenBytes int64                 // of these, when they were frozen
	rangesDue   map[*partition]uint64 // those whose new range tombstones have not been looked at, and the last batch with one
	smallFiles  compaction.SmallFileBudget
	log         log
	archive     logArchive
	diskReserve diskReserve
	foreground  foregroundPriority
	background  background
	scrub       scrubber
	counted     counters
}

// LastSeq returns a sequence number. No batch that was acknowledged before has a higher one, and
// every batch that begins later does.
func (db *DB) LastSeq() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.lastSeq
}

// NextTime returns the time that a batch would get if it entered now. A later one gets the same or a later time.
func (db *DB) NextTime() int64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return max(db.opt.Clock.Now(), db.lastTime+1)
}

// Policy and Policies say which cells of a partition's families are alive; see package rowmerge.
type (
	Policy   = rowmerge.Policy
	Policies = rowmerge.Policies
)

// NewPolicies returns the policies of a partition. asOf is the DB's LastSeq at a moment when no write
// to the partition was under way.
func NewPolicies(asOf uint64, families map[string]Policy) *Policies {
	return rowmerge.NewPolicies(asOf, families)
}

// SetPolicies sets which families a partition has and which of their cells are alive. Until it is
// called every cell is.
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

// writableLocked returns why the DB takes no writes, or nil.
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
		db.background.progressLocked() // stalled writers must fail
	}
}

// tableID returns the identity of a sorted file.
func (db *DB) tableID(number uint64) sstable.ID {
	return sstable.ID{Store: db.store, Number: number}
}

// path returns a path in the directory of the store.
func (db *DB) path(elem ...string) string {
	return path.Join(append([]string{db.dir}, elem...)...)
}

// listDir returns the names in a directory below that of the store. It fails if the directory is a
// link: that would lead out of the store.
func (db *DB) listDir(dir string) ([]string, error) {
	if _, err := db.opt.FS.Stat(dir); err != nil && !errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("not a directory of the store: %w", err)
	}
	return db.opt.FS.List(dir)
}
