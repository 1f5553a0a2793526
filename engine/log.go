package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/wal"
)

// The log is a sequence of segments with consecutive numbers. A batch gets its segment together with
// its sequence number, before anything is written. So a batch for which the disk has no room is refused
// in time, and what the leader writes always fits.
//
//	segments   [12 13 14 15]   14 is being written, 15 has batches assigned
//	spares     [16]            filled, with a durable name and header, not in use
//	recycled   [9 10]          flushed; their files become the next spares
//	torn       [7]             kept as evidence; see torn.go
//
// The header of a segment is durable before the segment before it is finished. So the log can only end
// in an unfinished segment. A finished one whose successor is missing or has no header is damage.

// segment is one file of the log.
type segment struct {
	number uint64
	size   int64
	room   int64       // bytes that are not assigned to records yet
	maxSeq uint64      // of the batches assigned to it
	w      *wal.Writer // nil once the segment is finished
	torn   bool        // a crash has torn its end; set by recovery
	found  bool        // it was there when the DB was opened

	begun      time.Duration // Clock.Elapsed when the first batch was assigned to it, 0 if that was before the DB was opened
	after      uint64        // no batch of an earlier segment is above, none of this one is not
	afterKnown bool
}

// log is guarded by DB.mu. What is marked "of the leader" only the leader uses.
type log struct {
	segments []*segment // oldest first; batches are assigned to the last
	spares   []*segment
	recycled []*segment
	torn     []string // paths of torn segments, oldest first
	next     uint64   // number of the next spare
	current  *segment // being written; of the leader, who changes it with DB.mu held
	written  uint64   // last batch written, durable or not; of the leader
	durable  uint64   // last batch that is known to be durable

	// prepareMu is held while a spare is made; DB.mu is not.
	prepareMu    sync.Mutex
	preparing    *segmentPreparation // by a Commit, nil for none
	onSpareTaken func()              // called when a spare is taken
	reserveBytes int64               // Options.ReserveBytes, 0 during recovery, which may use the reserve

	fit int64 // size of the next spare, 0 for twice the last one

	unpinned uint64 // the segment that only frozen memtables pin, 0 for none

	sealSeq   uint64 // last batch when the idle seal was armed
	sealArmed bool
}

// sealDelay is how long the log is idle before it is sealed, so that damage to its last record can be told
// from a crash.
const sealDelay = 5 * time.Millisecond

// minRecycled is how many files are kept for reuse whatever LogBytes says.
const minRecycled = 2

// recordSize returns the room that a record with n bytes of payload takes in a segment.
func recordSize(n int) int64 { return int64(n) + wal.Overhead(n) }

// segmentRoom returns the room for records in a segment of the given size.
func segmentRoom(size int64) int64 { return size - segmentSize(0) }

// segmentSize returns the size of a segment with the given room.
func segmentSize(room int64) int64 { return room + wal.MinSegment(0) - recordSize(0) }

func (db *DB) segmentPath(n uint64) string { return db.path(manifest.LogDir, manifest.SegmentFile(n)) }

// logBytesLocked returns the bytes of the segments in use.
func (db *DB) logBytesLocked() int64 {
	var n int64
	for _, s := range db.log.segments {
		n += s.size
	}
	return n
}

// assignLocked assigns a segment to a record with n bytes of payload. It returns nil if a spare has to be
// made first.
func (l *log) assignLocked(n int) *segment {
	need := recordSize(n)
	for {
		last := l.segments[len(l.segments)-1]
		if last.room >= need {
			last.room -= need
			return last
		}
		if len(l.spares) == 0 {
			return nil
		}
		l.takeSpareLocked()
	}
}

// takeSpareLocked makes the first spare the last segment of the log.
func (l *log) takeSpareLocked() {
	last, s := l.segments[len(l.segments)-1], l.spares[0]
	s.after, s.afterKnown = max(last.after, last.maxSeq), true
	l.segments = append(l.segments, s)
	l.spares = l.spares[1:]
	l.onSpareTaken() // so that the next one is made while this one fills
}

// recycleLocked keeps the file of an obsolete segment for reuse, unless it has another size or enough
// are kept. It reports whether it does. Half of Options.LogBytes is enough to make no new segments
// under steady load, and a random load writes 0.15 instead of 0.22 bytes of zeros for each raw byte.
// When the disk reserve is low, none are kept.
func (db *DB) recycleLocked(s *segment) bool {
	l := &db.log
	n := len(l.recycled)
	enough := n >= minRecycled && int64(n+1)*db.opt.SegmentBytes > db.opt.LogBytes/2
	if enough || db.diskReserve.low || s.size != db.opt.SegmentBytes {
		return false
	}
	l.recycled = append(l.recycled, s)
	return true
}

// releaseRecycled makes the files that are kept for reuse obsolete, and reports whether there were any.
func (db *DB) releaseRecycled() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	l := &db.log
	if db.closed || len(l.recycled) == 0 {
		return false
	}
	for _, s := range l.recycled {
		db.obsolete.addFile(db.segmentPath(s.number))
	}
	l.recycled = nil
	return true
}

func (db *DB) takeRecycledLocked(size int64) *segment {
	for i, s := range db.log.recycled {
		if s.size == size {
			db.log.recycled = append(db.log.recycled[:i:i], db.log.recycled[i+1:]...)
			return s
		}
	}
	return nil
}

// writeGroup appends the batches of a group to the log and syncs it. durable is the last batch that is
// known to be durable then. Only the leader calls it.
func (db *DB) writeGroup(g *group) (durable uint64, err error) {
	begun := db.opt.Clock.Now()
	for _, b := range g.batches {
		if err := db.switchTo(b.segment); err != nil {
			return 0, err
		}
		if err := db.log.checkOrder(b.seq); err != nil {
			return 0, err
		}
		db.log.current.w.Append(b.seq, b.payload)
	}
	if err = db.log.current.w.Sync(); err == nil {
		db.logSynced(g, begun)
	}
	return db.log.current.w.Durable(), err
}

// logSynced reports a group that is durable, to Options.LogSynced, and keeps it for Options.Trace.
func (db *DB) logSynced(g *group, begun int64) {
	if db.opt.LogSynced == nil && db.opt.Trace == nil {
		return
	}
	s := LogSync{Took: db.since(begun), Batches: len(g.batches)}
	for i := range g.batches {
		s.Bytes += recordSize(len(g.batches[i].payload))
	}
	g.synced = logTimes{begun: begun, synced: begun + s.Took.Microseconds(), bytes: s.Bytes}
	if db.opt.LogSynced != nil {
		db.opt.LogSynced(s)
	}
}

// switchTo makes s the current segment. It finishes the segments before it, so that they are durable
// before anything is written to s.
func (db *DB) switchTo(s *segment) error {
	for db.log.current != s {
		if err := db.log.current.w.Finish(); err != nil {
			return err
		}
		if err := db.nextSegment(); err != nil {
			return err
		}
	}
	return nil
}

// nextSegment makes the segment after the current one, which is finished, the current one.
func (db *DB) nextSegment() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	l := &db.log
	l.current.w = nil
	number := l.current.number + 1
	i := number - l.segments[0].number
	if i >= uint64(len(l.segments)) || l.segments[i].number != number {
		return fmt.Errorf("segment %d of the log does not follow segment %d", number, l.current.number)
	}
	db.useLocked(l.segments[i])
	return nil
}

// useLocked makes s the current segment.
func (db *DB) useLocked(s *segment) {
	db.log.current = s
	s.w.Retry = db.retryLogWrite
	db.segmentFinishedLocked()
}

// logStartLocked returns the segment at which the log can begin once m is the manifest and the memtables
// in flushed are in files. gone is the last batch of the segments before it that are retired then, 0
// if none is.
func (db *DB) logStartLocked(m *manifest.Manifest, flushed map[*partition]*memTable) (start, gone uint64) {
	oldest := db.lastSeq + 1
	for id, p := range db.partitions {
		if m.Partitions[id] == nil {
			continue
		}
		if seq := p.oldestSeq(flushed[p]); seq != 0 {
			oldest = min(oldest, seq)
		}
	}
	start = m.LogStart
	for _, s := range db.log.segments {
		if s == db.log.current || s.maxSeq >= oldest {
			break
		}
		start, gone = s.number+1, max(gone, s.maxSeq) // a segment that was too small for its batch has none
	}
	return start, gone
}

// retirableLocked reports whether any manifest edit would retire segments.
func (db *DB) retirableLocked() bool {
	start, _ := db.logStartLocked(db.manifest, nil)
	return start > db.manifest.LogStart
}

// trimLog retires the segments that are not needed any more, with a manifest edit of its own.
func (db *DB) trimLog() error {
	return db.install(nil, func(*manifest.Manifest) error { return nil }, func() { db.background.progressLocked() })
}

// retireSegmentsLocked removes the segments before the manifest's LogStart from the log.
func (db *DB) retireSegmentsLocked() {
	l := &db.log
	for len(l.segments) > 0 && l.segments[0].number < db.manifest.LogStart {
		s := l.segments[0]
		if err := db.checkRetiredLocked(s); err != nil {
			db.failLocked(err)
			return
		}
		l.segments = l.segments[1:]
		if !db.holdLocked(s) && !db.recycleLocked(s) {
			db.obsolete.addFile(db.segmentPath(s.number))
		}
	}
	db.releaseTornLocked()
}
