package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// With Options.ArchiveLog, somebody reads each segment of the log once it is finished, in the order of their
// numbers, and keeps its batches elsewhere. Until it is released, the file of a segment is neither reused nor
// removed, whether the log still needs it or not. An open finds the files that were held, and holds them again,
// together with what a recovery has replaced. Nothing of this is in the path of a commit.
//
//	held [7 8 9] | segments [10 11 12]     10 and 11 are finished, 12 is being written
//
// A segment tells of partitions, too, which are created and dropped by the manifest. A drop has a time in the order
// of commits. It stands in the manifest until a segment is released that was in use then, or a later one.

// logArchive is guarded by DB.mu.
type logArchive struct {
	released uint64        // segments up to this one are archived
	reading  uint64        // the last that NextLogSegment returned; it is not given up
	lost     uint64        // the last that was given up, 0 for none
	held     []*segment    // not released, and not of the log any more; oldest first
	dropped  []pendingDrop // in the order of time
	finished chan struct{} // closed and replaced when a segment is finished
}

// pendingDrop is a drop that no released segment tells of.
type pendingDrop struct {
	manifest.Dropped
	segment uint64 // the last in use when the partition was dropped
}

// DroppedPartition is a partition that was dropped at a time: later than all commits before, earlier than all after.
type DroppedPartition struct {
	ID   PartitionID
	Name string
	Time int64
	// Segment is the last segment that was in use. It tells of all that was dropped up to its last commit.
	Segment uint64
}

// LogSegment is a finished segment of the log, to be archived. It is for one goroutine.
type LogSegment struct {
	Number uint64
	// Complete says that the segment has every batch above After up to its last one, and that all batches of
	// earlier segments are not above After. One that is not complete is of use only together with the segment before
	// it.
	Complete bool
	After    uint64
	// Partitions has all that were there at some time during the segment, and may have more. Those that were dropped
	// are in Dropped alone. NextPartition is above all of them.
	Partitions    []PartitionInfo
	Dropped       []DroppedPartition
	NextPartition PartitionID
	// Found says that the segment was there when the DB was opened: perhaps it was archived and removed, and a crash has
	// brought it back.
	Found bool

	file   vfs.File
	path   string
	reader *wal.Reader
	first  LogBatch // read already
	err    error    // of reading it
}

// LogBatch is a batch of a LogSegment.
type LogBatch struct {
	Seq     uint64
	Time    int64  // of the commit
	Payload []byte // valid until the next call
}

// NextLogSegment waits for the first finished segment with a number above after, and opens it. If its number is not
// the next one, those between are lost. It returns ErrClosed when the DB is closed, and a *CorruptError with the
// number of the segment if that is damaged.
func (db *DB) NextLogSegment(ctx context.Context, after uint64) (*LogSegment, error) {
	for {
		db.mu.Lock()
		s, finished, closed := db.finishedLocked(after), db.archive.finished, db.closed
		var l *LogSegment
		if s != nil {
			db.archive.reading = s.number
			l = db.logSegmentLocked(s)
		}
		db.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		if l != nil {
			return l, l.open(db, s)
		}
		select {
		case <-finished:
		case <-db.background.stop:
			return nil, ErrClosed
		case <-ctx.Done():
			select {
			case <-finished: // before ctx ended, perhaps
			default:
				return nil, ctx.Err()
			}
		}
	}
}

// finishedLocked returns the first finished segment with a number above after, nil if there is none.
func (db *DB) finishedLocked(after uint64) *segment {
	for _, list := range [][]*segment{db.archive.held, db.log.segments} {
		for _, s := range list {
			if s == db.log.current {
				return nil
			}
			if s.number > after {
				return s
			}
		}
	}
	return nil
}

// logSegmentLocked describes a segment.
func (db *DB) logSegmentLocked(s *segment) *LogSegment {
	l := &LogSegment{Number: s.number, Complete: s.afterKnown, After: s.after, NextPartition: db.manifest.NextPartition, Found: s.found}
	for _, p := range db.partitions {
		l.Partitions = append(l.Partitions, PartitionInfo{ID: p.id, Name: p.name})
	}
	for _, d := range db.archive.dropped {
		l.Dropped = append(l.Dropped, DroppedPartition{ID: d.ID, Name: d.Name, Time: d.Time, Segment: d.segment})
	}
	return l
}

// open opens the file of a segment, and reads its first batch.
func (l *LogSegment) open(db *DB, s *segment) (err error) {
	l.path = db.segmentPath(s.number)
	if l.file, err = db.opt.FS.Open(l.path); err != nil {
		return err
	}
	if l.reader, err = wal.NewReader(l.file, s.size, db.store, s.number); err != nil {
		return errors.Join(inSegment(err, l.path), l.file.Close())
	}
	l.first, l.err = l.read()
	if !l.Complete && l.err == nil && !l.Copies() { // a recovery leaves out what is in files
		l.Complete, l.After = true, l.first.Seq-1
	}
	return nil
}

// Copies reports whether a recovery has written the segment: with batches of earlier segments.
func (l *LogSegment) Copies() bool { return l.reader.Header().Copy }

// Begun returns the time of the first batch, 0 if there is none.
func (l *LogSegment) Begun() int64 { return l.first.Time }

// Next returns the next batch. It returns io.EOF at the end, and a *CorruptError for damage.
func (l *LogSegment) Next() (LogBatch, error) {
	if l.first.Payload != nil || l.err != nil {
		b := l.first
		l.first.Payload = nil
		return b, l.err
	}
	return l.read()
}

func (l *LogSegment) read() (LogBatch, error) {
	seq, payload, err := l.reader.Next()
	if err == io.EOF {
		return LogBatch{}, io.EOF
	}
	if err != nil {
		return LogBatch{}, inSegment(err, l.path)
	}
	if len(payload) < batchHeader {
		return LogBatch{}, &CorruptError{File: l.path, Offset: -1, Reason: fmt.Sprintf("batch %d is too short", seq)}
	}
	return LogBatch{Seq: seq, Time: batchTime(payload), Payload: payload}, nil
}

// Finished reports, after io.EOF, whether the segment ends as it was written to its end, not as a crash has left it.
func (l *LogSegment) Finished() bool { return l.reader.End().Kind == wal.Finished }

// Close closes the file.
func (l *LogSegment) Close() error { return l.file.Close() }

// ReleaseLog says that all segments up to a number are archived, or not wanted. None of them is read any more.
func (db *DB) ReleaseLog(number uint64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	a := &db.archive
	a.released = max(a.released, number)
	for len(a.held) > 0 && a.held[0].number <= number {
		db.obsolete.addFile(db.segmentPath(a.held[0].number)) // not to be reused: it may have another name as a torn one
		a.held = a.held[1:]
	}
	for len(a.dropped) > 0 && a.dropped[0].segment <= number {
		a.dropped = a.dropped[1:]
	}
}

// holdLocked keeps a segment that has left the log until it is released, and reports whether it has to.
func (db *DB) holdLocked(s *segment) bool {
	if !db.opt.ArchiveLog || s.number <= db.archive.released {
		return false
	}
	a := &db.archive
	i, _ := slices.BinarySearchFunc(a.held, s.number, func(h *segment, n uint64) int { return cmp.Compare(h.number, n) })
	a.held = slices.Insert(a.held, i, s)
	return true
}

// giveUpHeld makes the segments that are held obsolete, and reports whether there were any: room for writes is worth
// more than the archive. The one that is being read stays, as its file takes room until it is closed.
func (db *DB) giveUpHeld() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	a := &db.archive
	gone := slices.Clone(a.held)
	gone = slices.DeleteFunc(gone, func(s *segment) bool { return s.number == a.reading })
	if db.closed || len(gone) == 0 {
		return false
	}
	db.opt.Log.Error("the disk is almost full: segments of the log are removed that are not archived", "segments", len(gone), "first", gone[0].number)
	for _, s := range gone {
		db.obsolete.addFile(db.segmentPath(s.number))
		a.lost = max(a.lost, s.number)
	}
	a.held = slices.DeleteFunc(a.held, func(s *segment) bool { return s.number != a.reading })
	return true
}

// LostLog returns the number of the last segment that was given up before it was archived, to make room for writes, 0
// for none.
func (db *DB) LostLog() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.archive.lost
}

// segmentFinishedLocked wakes whoever waits for a finished segment.
func (db *DB) segmentFinishedLocked() {
	if a := &db.archive; a.finished != nil {
		close(a.finished)
		a.finished = make(chan struct{})
	}
}

// Unarchived returns what Options.Clock said has elapsed at the first commit in a segment with a number above after, 0 if
// there is none, or if it was before the DB was opened.
func (db *DB) Unarchived(after uint64) time.Duration {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, list := range [][]*segment{db.archive.held, db.log.segments} {
		for _, s := range list {
			if s.number > after && s.begun != 0 {
				return s.begun
			}
		}
	}
	return 0
}

// FinishLogSegment finishes the segment that is being written, so that it can be archived. If there is nothing new
// in it, it does nothing. The error is one of Commit.
func (db *DB) FinishLogSegment() error {
	db.mu.Lock()
	for db.finishDueLocked() && len(db.log.spares) == 0 {
		if err := db.writableLocked(); err != nil {
			db.mu.Unlock()
			return err
		}
		p, _ := db.startPreparingLocked(0)
		db.mu.Unlock()
		<-p.done
		if p.err != nil {
			return p.err
		}
		db.mu.Lock()
	}
	l := &db.log
	last := l.segments[len(l.segments)-1]
	if err := db.writableLocked(); err != nil || !db.finishDueLocked() {
		behind := l.current != last
		db.mu.Unlock()
		if err == nil && behind { // another call, or a batch, has begun the last one, and may not have finished that before it
			return db.finishSegment(last.number - 1)
		}
		return err
	}
	l.fit = fitSegment(last.size - last.room)
	l.takeSpareLocked()
	db.mu.Unlock()
	return db.finishSegment(last.number)
}

// finishDueLocked reports whether there is something to archive in the last segment of the log.
func (db *DB) finishDueLocked() bool {
	last := db.log.segments[len(db.log.segments)-1]
	n := len(db.archive.dropped)
	return last.maxSeq != 0 || n > 0 && db.archive.dropped[n-1].segment >= last.number
}

// fitSegment returns the size for segments that take used bytes until they are finished early: a log of few batches
// must not reach Options.LogBytes with empty room.
func fitSegment(used int64) int64 {
	return max(firstSegment, int64(1)<<bits.Len64(uint64(2*used-1)))
}

// finishSegment finishes a segment that gets no batches any more, as the leader. If another one leads, it may do so
// itself, with the next batch.
func (db *DB) finishSegment(number uint64) error {
	for {
		db.mu.Lock()
		switch l := &db.log; {
		case l.current.number > number:
			db.mu.Unlock()
			return nil
		case db.writableLocked() != nil:
			defer db.mu.Unlock()
			return db.writableLocked()
		case !db.leading:
			db.leading = true
			next := l.segments[len(l.segments)-1]
			db.mu.Unlock()
			db.goOnLeading(db.switchTo(next))
			continue
		}
		db.mu.Unlock()
		over := make(chan struct{})
		stop := db.opt.Clock.AfterFunc(sealDelay, func() { close(over) })
		select {
		case <-over:
		case <-db.background.stop:
		}
		stop()
	}
}

// dropLocked adds what was dropped while the last of segments was in use.
func (a *logArchive) dropLocked(list []manifest.Dropped, segments []*segment) {
	for _, d := range list {
		a.dropped = append(a.dropped, pendingDrop{d, segments[len(segments)-1].number})
	}
}

// droppedLocked returns the drops that the next manifest has to tell of.
func (a *logArchive) droppedLocked() (list []manifest.Dropped) {
	for _, d := range a.dropped {
		list = append(list, d.Dropped)
	}
	return list
}

// Timeline names the history of the store since it was made or restored.
func (db *DB) Timeline() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.manifest.Timeline
}

// LastTime returns a time. No batch that has entered has a later one, and every batch that enters after has.
func (db *DB) LastTime() int64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.lastTime
}
