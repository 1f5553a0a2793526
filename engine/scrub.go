package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/wal"
)

// The scrubber slowly reads everything on disk and reports what has been damaged since it was written:
// before it is needed, and while backups are recent.
//
// A pass reads the manifest, the finished segments of the log, and every sorted file in the order of
// numbers. It bypasses the cache and refers to one file at a time. It does not change a damaged
// sorted file. The content of manifest and log is in memory too: so it writes a damaged manifest
// again, and has the content of a damaged segment flushed to files.
//
// It also finds files that are mostly garbage (markGarbage), and has range tombstones applied that could
// wait (applyRanges).

const (
	// firstScrub is the time from an open to the first pass, scrubEvery from the beginning of a pass
	// to that of the next, if it is over by then.
	firstScrub = time.Minute
	scrubEvery = 24 * time.Hour
	// scrubSteps is how many pauses the scrubber makes for a second's worth of bytes.
	scrubSteps = 4
	// scrubOpen is how many bytes opening a file counts as.
	scrubOpen = 4 << 10
)

// ScrubStats says what the scrubber has done since the store was opened.
type ScrubStats struct {
	Passes int   // over everything
	Files  int   // sorted files and segments read
	Bytes  int64 // read of all
	Ended  int64 // when the last pass ended, in microseconds since the Unix epoch; 0 for none yet
	// Unreadable are the errors of the device in the last pass.
	Unreadable []error
}

// scrubber is guarded by DB.mu, except owed.
type scrubber struct {
	stats      ScrubStats
	unreadable []error         // of the pass under way
	damage     []*CorruptError // of manifest and log
	owed       int64           // bytes read since the last pause; of the scrubber's goroutine
}

// Scrub returns what the scrubber has done.
func (db *DB) Scrub() ScrubStats {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.scrub.stats
}

func (db *DB) scrubLoop() {
	defer db.background.running.Done()
	for wait := firstScrub; db.sleep(wait); {
		began := db.opt.Clock.Now()
		db.scrubPass()
		took := time.Duration(db.opt.Clock.Now()-began) * time.Microsecond
		wait = max(scrubEvery-took, firstScrub)
	}
}

// sleep waits for d, and reports whether the DB is still open.
func (db *DB) sleep(d time.Duration) bool {
	over := make(chan struct{})
	cancel := db.opt.Clock.AfterFunc(d, func() { close(over) })
	defer cancel()
	select {
	case <-over:
	case <-db.background.stop:
	}
	return !db.stopped()
}

func (db *DB) stopped() bool {
	select {
	case <-db.background.stop:
		return true
	default:
		return false
	}
}

// scrubPass reads everything once, or until the DB is closed.
func (db *DB) scrubPass() {
	db.scrubManifest()
	db.scrubLog()
	for _, f := range db.filesByNumber() {
		if !db.hold(f) {
			continue
		}
		err := db.scrubFile(f)
		tableOf(f).unref(&db.obsolete)
		if errors.Is(err, ErrClosed) {
			return
		}
	}
	db.applyRanges()
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &db.scrub
	s.stats.Passes++
	s.stats.Ended = db.opt.Clock.Now()
	s.stats.Unreadable, s.unreadable = s.unreadable, nil
}

// filesByNumber returns the current files in the order of their numbers.
func (db *DB) filesByNumber() []*manifest.File {
	db.mu.Lock()
	var list []*manifest.File
	for _, p := range db.partitions {
		for f := range p.version.Files() {
			list = append(list, f)
		}
	}
	db.mu.Unlock()
	slices.SortFunc(list, func(f, g *manifest.File) int { return cmp.Compare(f.Number, g.Number) })
	return list
}

// hold takes a reference on a file, unless the file is obsolete.
func (db *DB) hold(f *manifest.File) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if tableOf(f).obsolete.Load() {
		return false
	}
	tableOf(f).refs.Add(1)
	return true
}

// scrubFile reads a sorted file. It returns ErrClosed when the DB is closed.
func (db *DB) scrubFile(f *manifest.File) error {
	info, err := db.verifyPaced(f)
	if err == nil {
		db.scrubbed(f.Size)
		db.markGarbage(f, info)
		return nil
	}
	if tableOf(f).obsolete.Load() {
		return err // nobody will read it
	}
	db.reportDamage(tableOf(f).path, tableOf(f).p.inTable(err))
	return err
}

// verifyPaced opens the file again to read it: a file descriptor that has been open would not tell
// whether the name still leads to the file.
func (db *DB) verifyPaced(f *manifest.File) (info sstable.Info, err error) {
	if !db.pace(scrubOpen) {
		return info, ErrClosed
	}
	in, err := tableOf(f).openFile()
	if err != nil {
		return info, err
	}
	defer in.Close()
	r, err := tableOf(f).newReader(paced{in, db}, nil)
	if err != nil {
		return info, err
	}
	return r.Info(), r.Verify(0)
}

// scrubbed counts a file or segment that was read to its end.
func (db *DB) scrubbed(size int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.scrub.stats.Files++
	db.scrub.stats.Bytes += size
}

// reportDamage logs and records what is wrong with a file.
func (db *DB) reportDamage(name string, err error) {
	var damage *CorruptError
	switch {
	case errors.Is(err, ErrClosed):
		return
	case errors.As(err, &damage):
		db.opt.Log.Error("scrubber found damage", "file", name, "partition", damage.Partition, "cause", err)
	default:
		db.opt.Log.Error("scrubber cannot read a file", "file", name, "cause", err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.counted.scrubErrors++
	if damage == nil {
		db.scrub.unreadable = append(db.scrub.unreadable, err)
	} else if damage.Partition == "" {
		db.scrub.damage = append(db.scrub.damage, damage)
	}
}

// scrubManifest reads the manifest, and writes it again if it is damaged.
func (db *DB) scrubManifest() {
	name, size, err := db.readManifestAgain()
	db.pace(size)
	if err == nil {
		db.scrubbed(int64(size))
		return
	}
	db.reportDamage(name, err)
	if errors.As(err, new(*CorruptError)) {
		db.replaceManifest(name)
	}
}

// replaceManifest writes a damaged manifest again, under the name of the next edit.
func (db *DB) replaceManifest(name string) {
	if err := db.install(nil, func(*manifest.Manifest) error { return nil }, func() {}); err != nil {
		db.opt.Log.Error("damaged manifest not replaced", "file", name, "cause", err)
		return
	}
	db.opt.Log.Info("damaged manifest was replaced", "file", name)
}

// readManifestAgain compares the manifest on disk with the one in memory.
func (db *DB) readManifestAgain() (name string, size int, err error) {
	db.installMu.Lock()
	defer db.installMu.Unlock()
	db.mu.Lock()
	m := db.manifest
	db.mu.Unlock()
	name = db.path(manifest.FileName(m.Edit))
	want := m.Encode()
	data, err := readFile(db.opt.FS, name)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && !bytes.Equal(data, want) {
		err = &CorruptError{File: name, Offset: firstDifference(data, want), Reason: "the manifest is not what was written"}
	}
	return name, len(want), err
}

func firstDifference(a, b []byte) int64 {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return int64(i)
}

// scrubLog reads the finished segments of the log.
func (db *DB) scrubLog() {
	db.mu.Lock()
	var list []*segment
	for _, s := range db.log.segments {
		if s.w == nil {
			list = append(list, s)
		}
	}
	db.mu.Unlock()
	for _, s := range list {
		err := db.scrubSegment(s)
		if err == nil || !db.inLog(s) {
			continue // not in the log any more: its file may be gone or reused
		}
		db.reportDamage(db.segmentPath(s.number), err)
		if errors.As(err, new(*CorruptError)) {
			db.flushSegment(s)
		}
	}
}

// inLog reports whether a segment is still needed.
func (db *DB) inLog(s *segment) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Contains(db.log.segments, s)
}

func (db *DB) scrubSegment(s *segment) error {
	name := db.segmentPath(s.number)
	f, err := db.opt.FS.Open(name)
	if err != nil {
		return &CorruptError{File: name, Offset: -1, Reason: err.Error()}
	}
	defer f.Close()
	r, err := wal.NewReader(paced{f, db}, s.size, db.store, s.number)
	for err == nil {
		if !db.inLog(s) {
			return nil // its file may be reused by now
		}
		_, _, err = r.Next()
	}
	if err != io.EOF {
		return inSegment(err, name)
	}
	if end := r.End(); end.Kind != wal.Finished {
		return &CorruptError{File: name, Offset: end.Offset, Reason: "the segment was finished, and does not say so any more"}
	}
	db.scrubbed(s.size)
	return nil
}

// flushSegment has the batches of a damaged segment flushed while they are in memory.
func (db *DB) flushSegment(s *segment) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.partitions {
		if p.active.minSeq != 0 && p.active.minSeq <= s.maxSeq {
			db.freezeLocked(p)
		}
	}
}

// paced is a file that is read at the scrubber's rate.
type paced struct {
	in io.ReaderAt
	db *DB
}

func (p paced) ReadAt(b []byte, off int64) (int, error) {
	if !p.db.pace(len(b)) {
		return 0, ErrClosed
	}
	return p.in.ReadAt(b, off)
}

// pace waits until the scrubber may read n more bytes, and reports whether the DB is still open.
func (db *DB) pace(n int) bool {
	rate := db.opt.ScrubBytesPerSecond
	db.scrub.owed += int64(n)
	if db.scrub.owed < rate/scrubSteps {
		return !db.stopped()
	}
	wait := time.Duration(float64(db.scrub.owed) / float64(rate) * float64(time.Second))
	db.scrub.owed = 0
	return db.sleep(wait)
}

// Damage returns all known damage and unreadable files, nil if there is none: for each partition the last
// damage that a read, a compaction or the scrubber has found, as a *CorruptError that names the
// partition, and what the scrubber has found in manifest and log. It is not stored: an open begins
// with none.
func (db *DB) Damage() []error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var list []error
	for _, p := range db.partitions {
		if err := p.knownDamage(); err != nil {
			list = append(list, err)
		}
	}
	for _, d := range db.scrub.damage {
		list = append(list, d)
	}
	return append(list, db.scrub.stats.Unreadable...)
}

// knownDamage returns the damage that stops compactions or that a read has found, nil if there is none.
// The caller holds DB.mu.
func (p *partition) knownDamage() error {
	if damage := p.quarantined.Load(); damage != nil {
		return damage
	}
	if p.damage != nil {
		return p.damage
	}
	if seen := p.readDamage.Load(); seen != nil {
		return seen
	}
	return nil
}

// markGarbage marks a file for a rewrite if at least half of it is garbage.
func (db *DB) markGarbage(f *manifest.File, info sstable.Info) {
	p := tableOf(f).p
	if p.policies.Load().Garbage(gcContents(&info), db.opt.Clock.Now()) < 0.5 {
		return
	}
	f.Stale.Store(true)
	db.mu.Lock()
	defer db.mu.Unlock()
	if !p.dropped {
		db.background.compactable[p] = true
		db.background.signalLocked()
	}
}

// gcContents summarizes a file for Policies.Garbage.
func gcContents(info *sstable.Info) rowmerge.Contents {
	return rowmerge.Contents{Families: info.Families, MinTime: info.MinTime, MaxTime: info.MaxTime, MaxSeq: info.MaxSeq}
}
