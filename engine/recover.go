package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"colonnade/wal"
)

// recovery brings a store that was not closed, or was, back to work:
//
//  0. Remove files that never got their name, and find the highest file number.
//  1. Read the segments of the log from the manifest's logStart on, in order,
//     and put the batches that are not in files into the memtables. When they
//     grow too large they are flushed, as ever.
//  2. Copy those batches, with their sequence numbers, to new segments, and
//     sync them. What was read may have come from a page cache that the disk
//     never saw, for example after a sync that failed; the copy is durable.
//  3. Make the segment that new batches go to.
//  4. Install a manifest whose logStart is the first copy and whose copied is
//     the last one. Before this edit the old segments count, and of copies that
//     an interrupted recovery left only the batches behind the end of those;
//     after it the old segments count for nothing.
//  5. Remove what nothing refers to: old segments, copies of a recovery that
//     was interrupted, files of flushes and compactions that never finished. Not
//     before: the manifest that was read may not be durable either, and only
//     the edit of step 4 proves that none before it can come back.
//
// A flush in step 1 makes its batches durable in one partition. So that they are
// in the others too, whatever comes next, the copies are synced before: should
// power fail then and take the end of the old log, which may never have reached
// the disk, the copies still have it.
//
// So a record that was torn is decided on once: what step 2 copies is there for
// good, what it does not copy never comes back.
type recovery struct {
	db      *DB
	old     []*segment // in the directory, in order
	batch   Batch      // memory for inserts
	lastSeq uint64     // of the last record read
	// take is called with every batch of the log. An error is damage, unless
	// it is a writeError.
	take func(seq uint64, payload []byte) error

	copies  []*segment
	writer  *wal.Writer
	copied  int64 // bytes since the last sync of the writer
	flushed bool  // something of the log is in files: the copies must stay
}

// copySync is how many bytes are copied between two syncs: the disk works while
// the next ones are read.
const copySync = 4 << 20

func newRecovery(db *DB) *recovery {
	r := &recovery{db: db}
	r.take = r.takeOver
	return r
}

func (r *recovery) run() error {
	if err := r.survey(); err != nil {
		return err
	}
	if err := r.list(); err != nil {
		return err
	}
	if err := r.replay(); err != nil {
		r.discard()
		return err
	}
	db := r.db
	db.visible.Store(db.lastSeq)
	if err := r.finishCopies(); err != nil {
		return err
	}
	if err := db.prepareSegment(0, false); err != nil {
		return err
	}
	db.log.segments = r.copies
	db.startLog()
	if err := r.install(); err != nil {
		return err
	}
	return r.sweep()
}

// discard removes the copies of a recovery that has failed: an open that is
// refused again and again must not fill the disk.
func (r *recovery) discard() {
	if r.writer != nil {
		r.writer.Close()
	}
	if r.flushed {
		return
	}
	for _, s := range r.copies {
		r.remove(r.db.segmentPath(s.number))
	}
}

// survey removes the files that never got their name, and moves the next file
// number above all that are there: a number is not used twice, even when the
// file that had it was never part of the store.
func (r *recovery) survey() error {
	db := r.db
	err := r.sweepDir(db.dir, func(name string) bool {
		_, temp := parseName(name, manifestPrefix, tempSuffix)
		return temp
	})
	if err == nil {
		err = r.sweepDir(db.path(logDir), func(name string) bool {
			_, fill := parseName(name, "", fillSuffix)
			return fill
		})
	}
	if err != nil {
		return err
	}
	return r.eachTable(func(_ *partition, _ string, number uint64) {
		db.nextFile = max(db.nextFile, number+1)
	})
}

// eachTable calls f for every sorted file in the directory of a partition. The
// partition is nil if it was dropped.
func (r *recovery) eachTable(f func(p *partition, path string, number uint64)) error {
	db := r.db
	dirs, err := db.opt.FS.List(db.path(partitionsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		id, ok := parseName(dir, "", "")
		if !ok {
			continue
		}
		names, err := db.opt.FS.List(db.path(partitionsDir, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if number, ok := parseName(name, "", tableSuffix); ok {
				f(db.partitions[PartitionID(id)], db.path(partitionsDir, dir, name), number)
			}
		}
	}
	return nil
}

// list finds the segments and makes sure that none is missing.
func (r *recovery) list() error {
	db := r.db
	names, err := db.opt.FS.List(db.path(logDir))
	if err != nil {
		return &CorruptError{File: db.path(logDir), Offset: -1, Reason: err.Error()}
	}
	start := db.manifest.logStart
	db.log.next = start
	for _, name := range names {
		n, ok := parseName(name, "", segmentSuffix)
		if !ok {
			continue // a leftover
		}
		size, err := db.opt.FS.Stat(db.path(logDir, name))
		if err != nil {
			return err
		}
		r.old = append(r.old, &segment{number: n, size: size})
		db.log.next = max(db.log.next, n+1)
	}
	slices.SortFunc(r.old, func(a, b *segment) int { return int(a.number) - int(b.number) })
	if live := r.live(); r.written() && (len(live) == 0 || live[0].number != start) {
		return r.missing(start)
	}
	return nil
}

// written reports whether the log can ever have had a batch.
func (r *recovery) written() bool { return r.db.manifest.nextPart > 1 }

// live returns the segments that the manifest knows of.
func (r *recovery) live() []*segment {
	i := slices.IndexFunc(r.old, func(s *segment) bool { return s.number >= r.db.manifest.logStart })
	if i < 0 {
		return nil
	}
	return r.old[i:]
}

func (r *recovery) missing(number uint64) error {
	return &CorruptError{File: r.db.segmentPath(number), Offset: -1, Reason: "log segment is missing"}
}

// replay reads the segments up to the one in which the log ends: the first that
// is not finished. Behind it there may be a spare segment without batches, and
// copies of recoveries that were interrupted.
func (r *recovery) replay() error {
	var last *segment // in which the log ends
	next := r.db.manifest.logStart
	for _, s := range r.live() {
		if last == nil && s.number != next && r.written() {
			return r.missing(next)
		}
		next = s.number + 1
		c, err := r.replaySegment(s, last != nil)
		switch {
		case err != nil:
			return err
		case !c.headed && last == nil && r.written():
			return r.corrupt(s, "segment has no header")
		case c.batches && !c.copied && last != nil:
			return r.corrupt(last, fmt.Sprintf("segment was not finished, but segment %d has batches", s.number))
		}
		if !c.finished && last == nil {
			last = s
		}
	}
	if last == nil && r.written() {
		return r.missing(next)
	}
	return nil
}

func (r *recovery) corrupt(s *segment, reason string) error {
	return &CorruptError{File: r.db.segmentPath(s.number), Offset: -1, Reason: reason}
}

// segmentContent is what was found in a segment.
type segmentContent struct {
	headed, batches, finished bool
	copied                    bool // by a recovery that did not get to its end
}

// replaySegment reads one segment. ended says that the log ends before it.
func (r *recovery) replaySegment(s *segment, ended bool) (c segmentContent, err error) {
	db := r.db
	name := db.segmentPath(s.number)
	f, err := db.opt.FS.Open(name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	in, err := wal.NewReader(f, s.size, db.store, s.number)
	if err != nil {
		return c, inSegment(err, name)
	}
	c.copied = in.Header().Copy && s.number > db.manifest.copied
	if c.copied && !ended {
		return c, r.corrupt(s, "a copy stands where the log should go on")
	}
	for {
		seq, payload, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return c, inSegment(err, name)
		}
		c.batches = true
		if c.copied && seq <= r.lastSeq {
			continue // the original was read
		}
		if err := r.record(seq, payload); err != nil {
			var w writeError
			if errors.As(err, &w) {
				return c, w.error
			}
			return c, r.corrupt(s, err.Error())
		}
	}
	end := in.End()
	db.opt.Log.Info("log segment read", "file", name, "end", end.Kind.String(), "offset", end.Offset)
	c.headed, c.finished = end.Kind != wal.Unwritten, end.Kind == wal.Finished
	return c, nil
}

// record handles one batch of the log.
func (r *recovery) record(seq uint64, payload []byte) error {
	if seq <= r.lastSeq {
		return fmt.Errorf("batch %d follows batch %d", seq, r.lastSeq)
	}
	r.lastSeq = seq
	if err := r.take(seq, payload); err != nil {
		return fmt.Errorf("batch %d: %w", seq, err)
	}
	return nil
}

// writeError is the failure to write what was replayed.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// takeOver puts a batch where the store will find it.
func (r *recovery) takeOver(seq uint64, payload []byte) error {
	live, err := r.insert(seq, payload)
	if err != nil || !live {
		return err
	}
	if err := r.copy(seq, payload); err != nil {
		return writeError{err}
	}
	if err := r.relieve(); err != nil {
		return writeError{err}
	}
	return nil
}

// insert puts the entries of a batch that are in no file yet into the
// memtables, and reports whether there were any.
func (r *recovery) insert(seq uint64, payload []byte) (live bool, err error) {
	if err := r.refers(seq, payload); err != nil {
		return false, err
	}
	db, b := r.db, &r.batch
	db.mu.Lock()
	defer db.mu.Unlock()
	b.Reset()
	var in batchReader
	if err := in.init(payload); err != nil {
		return false, err
	}
	db.lastSeq = max(db.lastSeq, seq)
	db.lastTime = max(db.lastTime, in.time)
	for in.next() {
		p := db.partitions[in.partition]
		if p == nil || seq <= p.flushed {
			continue // dropped, or in a file
		}
		b.touch(p.id)
		part := b.part(p.id)
		part.mem = p.active
		if p.active.minSeq == 0 {
			p.active.minSeq = seq
		}
		p.active.maxSeq = seq
		in.cell.Seq = seq
		part.ins.Add(p.active.table, in.row, &in.cell)
	}
	for i := range b.parts {
		db.account(b.parts[i].mem)
	}
	return len(b.parts) > 0, in.err
}

// copy appends a batch to the copies.
func (r *recovery) copy(seq uint64, payload []byte) error {
	if r.writer == nil || int64(len(payload)) > r.writer.Room() {
		if err := r.nextCopy(len(payload)); err != nil {
			return err
		}
	}
	r.copies[len(r.copies)-1].maxSeq = seq
	r.writer.Append(seq, payload)
	if r.copied += int64(len(payload)); r.copied < copySync {
		return nil
	}
	r.copied = 0
	if err := r.writer.Sync(); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return nil
}

func (r *recovery) nextCopy(n int) error {
	db := r.db
	if err := r.finishCopies(); err != nil {
		return err
	}
	if err := db.prepareSegment(n, true); err != nil {
		return err
	}
	s := db.log.spares[0]
	db.log.spares = db.log.spares[1:]
	r.copies = append(r.copies, s)
	r.writer = s.w
	return nil
}

func (r *recovery) finishCopies() error {
	if r.writer == nil {
		return nil
	}
	w := r.writer
	r.writer, r.copied = nil, 0
	r.copies[len(r.copies)-1].w = nil
	if err := w.Finish(); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return nil
}

// relieve flushes memtables while they hold too much. What is flushed is
// durable whether or not this recovery gets to its end.
func (r *recovery) relieve() error {
	db := r.db
	db.visible.Store(db.lastSeq)
	for {
		db.mu.Lock()
		db.freezeLargestLocked()
		list := db.nextFlushLocked()
		db.mu.Unlock()
		if len(list) == 0 {
			return nil
		}
		r.flushed = true
		if err := r.writer.Sync(); err != nil {
			return fmt.Errorf("copy log: %w", err)
		}
		if err := db.flush(list); err != nil {
			return err
		}
	}
}

// install makes the copies, or the new segment, the beginning of the log.
func (r *recovery) install() error {
	return r.db.install(nil, func(m *manifest) error {
		m.logStart = r.db.log.segments[0].number
		if n := len(r.copies); n > 0 {
			m.copied = r.copies[n-1].number
		}
		return nil
	}, func() {})
}

// sweep removes what nothing refers to.
func (r *recovery) sweep() error {
	db := r.db
	for _, s := range r.old {
		if s.size == db.opt.SegmentBytes && len(db.log.recycled) < maxRecycled {
			db.log.recycled = append(db.log.recycled, s)
		} else {
			r.remove(db.segmentPath(s.number))
		}
	}
	err := r.sweepDir(db.dir, func(name string) bool {
		n, ok := parseName(name, manifestPrefix, "")
		return ok && n < db.manifest.edit
	})
	if err != nil {
		return err
	}
	return r.sweepTables()
}

// sweepTables removes sorted files that no version holds, and the directories of
// dropped partitions.
func (r *recovery) sweepTables() error {
	used := make(map[uint64]bool)
	for _, p := range r.db.partitions {
		for f := range p.version.files() {
			used[f.number] = true
		}
	}
	err := r.eachTable(func(_ *partition, path string, number uint64) {
		if !used[number] {
			r.remove(path)
		}
	})
	if err != nil {
		return err
	}
	return r.sweepDir(r.db.path(partitionsDir), func(name string) bool {
		id, ok := parseName(name, "", "")
		return ok && r.db.partitions[PartitionID(id)] == nil
	})
}

// remove removes a file that nothing refers to. One that cannot be removed
// does no harm: the next open tries again.
func (r *recovery) remove(path string) {
	if err := r.db.opt.FS.Remove(path); err != nil {
		r.db.opt.Log.Warn("leftover not removed", "file", path, "cause", err)
	}
}

func (r *recovery) sweepDir(dir string, old func(name string) bool) error {
	names, err := r.db.opt.FS.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if old(name) {
			r.remove(dir + "/" + name)
		}
	}
	return nil
}
