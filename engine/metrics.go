package engine

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable"
)

// Metrics says what a DB has done since it was opened, and what it holds. Counts never fall. The numbers are not of
// exactly one moment.
type Metrics struct {
	Batches    uint64 // that have entered
	BatchBytes uint64 // of these, encoded

	LogSegments      int   // in use
	LogBytes         int64 // of these
	LogReservedBytes int64 // of segments that are kept for later
	LogHeldBytes     int64 // of segments that are not archived and not in use
	LogFilled        int64 // bytes of zeros written to make segments

	MemtablesGrowing int // that have entries
	MemtablesFrozen  int // that wait for their flush
	MemtableBytes    int64
	MemtableBudget   int64 // Options.MemtableBytes

	Levels         [manifest.NumLevels]LevelMetrics
	Partitions     []PartitionSize   // in no order
	Flushes        Work              // each of a memtable
	Merges         Work              // compactions that read and write
	Moves, Drops   uint64            // compactions that do not
	CompactionCPUs int               // that compactions run on now
	CompactionDebt int64             // see compaction.Debt
	Failures       map[string]uint64 // of background work that is tried again: "flush", "compaction" or "log"

	Stalls            [StallReasons]Stalls
	SlowedPartitions  int   // whose writers are slowed down
	StoppedPartitions int   // of these, whose writers wait
	WriteRateLimit    int64 // of the slowest of these, in bytes per second; 0 for none

	Reads          ReadMetrics
	CacheBlocks    int
	CacheBytes     int64
	CacheBudget    int64 // Options.CacheBytes
	OpenFiles      int   // sorted files
	OpenFilesLimit int   // Options.OpenFiles
	FilesOpened    uint64
	Snapshots      SnapshotStats
	SnapshotsLimit int // Options.Snapshots

	ReadOnly     bool // until it is opened again
	DiskFull     bool
	SlowDisk     bool   // the disk does not answer
	FreeBytes    uint64 // of the disk at the last look, at most a second before the last batch; 0 if unknown
	ReserveBytes int64  // Options.ReserveBytes
	Damaged      int    // partitions and files with known damage
	Scrub        ScrubStats
	ScrubErrors  uint64 // damaged and unreadable files that the scrubber has met
}

// Work counts flushes or compactions.
type Work struct {
	Count      uint64
	ReadBytes  int64 // of input files
	WroteBytes int64 // of output files
	Time       time.Duration
}

// LevelMetrics describes one level of all partitions.
type LevelMetrics struct {
	Files               int
	Bytes, RawBytes     int64 // RawBytes before encoding and compression
	Entries, Tombstones uint64
}

// PartitionSize says how much a partition holds.
type PartitionSize struct {
	ID            PartitionID
	DiskBytes     int64
	MemtableBytes int64
	Entries       uint64 // in files and memtables
}

// ReadMetrics counts what scans have found when they were closed.
type ReadMetrics struct {
	CacheHits, CacheMisses uint64 // blocks that were in the cache, and that were read from a file
	ReadBytes              uint64 // of the latter, without compression
	// Answers of Bloom filters of sorted files for scans of one row. BloomWrong counts those that said yes where the file
	// does not have the row.
	BloomNo, BloomYes, BloomWrong uint64
}

// LogSync describes one write of a group to the log.
type LogSync struct {
	Took    time.Duration // from its first byte until it was durable
	Batches int
	Bytes   int64 // of the records
}

// counters are guarded by DB.mu.
type counters struct {
	batches, batchBytes uint64
	logFilled           int64
	flushes, merges     Work
	moves, drops        uint64
	scrubErrors         uint64
	failures            map[string]uint64
}

// countCompactionLocked counts a compaction that was installed, with its output files.
func (c *counters) countCompactionLocked(choice *compaction.Choice, files []*manifest.File) {
	switch choice.Kind {
	case compaction.Move:
		c.moves++
	case compaction.Drop:
		c.drops++
	default:
		c.merges.Count++
		c.merges.ReadBytes += manifest.TotalSize(choice.Files())
		c.merges.WroteBytes += manifest.TotalSize(files)
	}
}

// countFlushLocked counts a flush that was installed, with its files.
func (c *counters) countFlushLocked(files []*manifest.File) {
	c.flushes.Count++
	c.flushes.WroteBytes += manifest.TotalSize(files)
}

// since returns the time from a moment on, in microseconds of the clock, which may have stepped back.
func (db *DB) since(begun int64) time.Duration {
	return time.Duration(max(0, db.opt.Clock.Now()-begun)) * time.Microsecond
}

// readCounters is one shard of what scans count. It has cache lines of its own.
type readCounters struct {
	hits, misses, bytes           atomic.Uint64
	bloomNo, bloomYes, bloomWrong atomic.Uint64
	_                             [80]byte
}

func addTo(c *atomic.Uint64, n uint64) {
	if n > 0 {
		c.Add(n)
	}
}

// readTally is what a scan counts for ReadMetrics until it is closed.
type readTally struct {
	sstable.ReadCounts                    // without ScanOptions.Counts, which then has them
	before             sstable.ReadCounts // what ScanOptions.Counts had at the begin
	bloomNo, bloomYes  uint64
	bloomWrong         uint64
}

// of returns the tally of a scan that has added to c, which may be nil.
func (t *readTally) of(c *ScanCounts) *readTally {
	if c == nil {
		return t
	}
	t.ReadCounts = c.blocks()
	t.BlocksRead -= t.before.BlocksRead
	t.BlocksCached -= t.before.BlocksCached
	t.ValuesRead -= t.before.ValuesRead
	t.ValuesCached -= t.before.ValuesCached
	t.BytesDecompressed -= t.before.BytesDecompressed
	return t
}

// add adds what a scan has counted.
func (c *readCounters) add(n *readTally) {
	addTo(&c.hits, n.BlocksCached+n.ValuesCached)
	addTo(&c.misses, n.BlocksRead+n.ValuesRead)
	addTo(&c.bytes, n.BytesDecompressed)
	addTo(&c.bloomNo, n.bloomNo)
	addTo(&c.bloomYes, n.bloomYes)
	addTo(&c.bloomWrong, n.bloomWrong)
}

func (db *DB) readMetrics() (m ReadMetrics) {
	for i := range db.readCounters {
		c := &db.readCounters[i]
		m.CacheHits += c.hits.Load()
		m.CacheMisses += c.misses.Load()
		m.ReadBytes += c.bytes.Load()
		m.BloomNo += c.bloomNo.Load()
		m.BloomYes += c.bloomYes.Load()
		m.BloomWrong += c.bloomWrong.Load()
	}
	return m
}

// Metrics returns the metrics. It looks at every sorted file, and reads none. It may be called until Close and
// after it.
func (db *DB) Metrics() *Metrics {
	m := &Metrics{
		Reads: db.readMetrics(), Snapshots: db.Snapshots(), SnapshotsLimit: db.opt.Snapshots,
		MemtableBytes: db.memTableBytes.Load(), MemtableBudget: db.opt.MemtableBytes,
		CacheBlocks: db.blockCache.Count(), CacheBytes: db.blockCache.Bytes(), CacheBudget: db.opt.CacheBytes,
		ReserveBytes: db.opt.ReserveBytes, Damaged: len(db.Damage()),
	}
	for i := range m.Stalls {
		m.Stalls[i] = db.stalls[i].load()
	}
	m.OpenFiles, m.FilesOpened = db.tableCache.counts()
	m.OpenFilesLimit = db.opt.OpenFiles
	for _, v := range db.fillMetrics(m) { // without DB.mu: there may be a hundred thousand files
		m.addVersion(v)
	}
	return m
}

// countedVersion is the version of a partition, and the run merges under way in it.
type countedVersion struct {
	version *manifest.Version
	size    PartitionSize
	options compaction.Options
}

// fillMetrics fills in what DB.mu guards, and returns the versions.
func (db *DB) fillMetrics(m *Metrics) (versions []countedVersion) {
	db.mu.Lock()
	defer db.mu.Unlock()
	c := &db.counted
	m.Batches, m.BatchBytes, m.LogFilled = c.batches, c.batchBytes, c.logFilled
	m.Flushes, m.Merges, m.Moves, m.Drops = c.flushes, c.merges, c.moves, c.drops
	m.Failures, m.ScrubErrors = maps.Clone(c.failures), c.scrubErrors
	m.LogSegments, m.LogBytes = len(db.log.segments), db.logBytesLocked()
	for _, list := range [][]*segment{db.log.spares, db.log.recycled} {
		for _, s := range list {
			m.LogReservedBytes += s.size
		}
	}
	for _, s := range db.archive.held {
		m.LogHeldBytes += s.size
	}
	m.CompactionCPUs = db.background.compactionCPUs
	m.Scrub = db.scrub.stats
	m.ReadOnly, m.DiskFull, m.SlowDisk, m.FreeBytes = db.failed != nil, db.diskReserve.fullLocked() != nil, db.slow, db.diskReserve.free
	versions = make([]countedVersion, 0, len(db.partitions))
	options := db.compactionOptions()
	for _, p := range db.partitions {
		v := countedVersion{version: p.version, size: PartitionSize{ID: p.id}, options: options}
		v.options.RunMerges = p.runMerges
		m.MemtablesFrozen += len(p.frozen)
		for _, t := range p.frozen {
			v.size.addMemTable(t)
		}
		if p.active.minSeq != 0 {
			m.MemtablesGrowing++
			v.size.addMemTable(p.active)
		}
		if p.slowed() {
			m.SlowedPartitions++
			if p.level0Pressure >= stopFiles {
				m.StoppedPartitions++
			}
			if rate := writeRate(p.level0Pressure); m.WriteRateLimit == 0 || rate < m.WriteRateLimit {
				m.WriteRateLimit = rate
			}
		}
		versions = append(versions, v)
	}
	return versions
}

func (s *PartitionSize) addMemTable(m *memTable) {
	s.MemtableBytes += m.bytes.Load()
	s.Entries += uint64(m.entries())
}

func (m *Metrics) addVersion(v countedVersion) {
	for level, files := range v.version.Levels {
		l := &m.Levels[level]
		l.Files += len(files)
		for _, f := range files {
			l.Bytes += f.Size
			l.RawBytes += int64(f.RawBytes)
			l.Entries += f.Entries
			l.Tombstones += f.Tombstones
			v.size.DiskBytes += f.Size
			v.size.Entries += f.Entries
		}
	}
	m.CompactionDebt += compaction.Debt(v.version, v.options)
	m.Partitions = append(m.Partitions, v.size)
}
