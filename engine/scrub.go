package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"colonnade/engine/manifest"
	"colonnade/engine/rowmerge"
	"colonnade/sstable"
	"colonnade/wal"
)

// The scrubber reads everything on disk again, slowly, and says what has gone bad
// since it was written: before somebody needs it, and while a backup is still young.
//
// A pass goes over the manifest, the finished segments of the log, and every sorted
// file in the order of numbers. It reads past the cache and holds one file at a
// time. Of a damaged sorted file nothing is changed. Manifest and log are in memory
// as well, as long as the process lives: so a damaged manifest is written anew, and
// what a damaged segment holds is flushed to files.
//
// On its way it finds files that are largely garbage; see expired.

const (
	// firstScrub is when the first pass begins after the store was opened, and
	// scrubEvery when the next one begins after a pass did, if that is over.
	firstScrub = time.Minute
	scrubEvery = 24 * time.Hour
	// scrubSteps is how many pauses the scrubber makes in a second's reading.
	scrubSteps = 4
	// scrubOpen is what opening a file counts for, in bytes.
	scrubOpen = 4 << 10
)

// ScrubStats says what the scrubber has done since the store was opened.
type ScrubStats struct {
	Passes int   // over everything
	Files  int   // sorted files and segments read
	Bytes  int64 // read of all
	Ended  int64 // the time of the end of the last pass, 0 for none yet
	// Unreadable are what the last pass could not read, for errors of the device.
	Unreadable []error
}

// scrubber is guarded by DB.mu, save owed.
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

// sleep waits for d, and reports whether the DB goes on.
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

// scrubPass reads everything once, unless the DB is closed before.
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
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &db.scrub
	s.stats.Passes++
	s.stats.Ended = db.opt.Clock.Now()
	s.stats.Unreadable, s.unreadable = s.unreadable, nil
}

// filesByNumber lists every file that there is now.
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

// hold takes a reference on a file, unless it has gone from its partition.
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
	info, err := db.verifySlowly(f)
	if err == nil {
		db.scrubbed(f.Size)
		db.sortOut(f, info)
		return nil
	}
	if tableOf(f).obsolete.Load() {
		return err // nobody will read it
	}
	db.foundBad(tableOf(f).path, tableOf(f).p.inTable(err))
	return err
}

// verifySlowly reads a file by a handle of its own: one that has been open for long
// would not tell whether the name still leads there.
func (db *DB) verifySlowly(f *manifest.File) (info sstable.Info, err error) {
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

// scrubbed counts what was read in full.
func (db *DB) scrubbed(size int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.scrub.stats.Files++
	db.scrub.stats.Bytes += size
}

// foundBad takes note of what is wrong with a file.
func (db *DB) foundBad(name string, err error) {
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
	if damage == nil {
		db.scrub.unreadable = append(db.scrub.unreadable, err)
	} else if damage.Partition == "" {
		db.scrub.damage = append(db.scrub.damage, damage)
	}
}

// scrubManifest reads the manifest, and writes it anew if it is not what it has to
// be.
func (db *DB) scrubManifest() {
	name, size, err := db.readManifestAgain()
	db.pace(size)
	if err == nil {
		db.scrubbed(int64(size))
		return
	}
	db.foundBad(name, err)
	if errors.As(err, new(*CorruptError)) {
		err = db.install(nil, func(*manifest.Manifest) error { return nil }, func() {})
		db.opt.Log.Info("damaged manifest was replaced", "file", name, "error", err)
	}
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

// scrubLog reads the segments that are finished.
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
			continue // or its file may have gone, or have other content
		}
		db.foundBad(db.segmentPath(s.number), err)
		if errors.As(err, new(*CorruptError)) {
			db.rescue(s)
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
			return nil // its file may be overwritten by now
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

// rescue has what a damaged segment holds flushed, while it is in memory.
func (db *DB) rescue(s *segment) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.partitions {
		if p.active.minSeq != 0 && p.active.minSeq <= s.maxSeq {
			db.freezeLocked(p)
		}
	}
}

// paced is a file that is read no faster than the scrubber may.
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

// pace waits until the scrubber may read n bytes more, and reports whether the DB
// goes on.
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

// Damage returns everything that is known to be damaged or unreadable, nil in
// health: for each partition the last damage that a read, a compaction or the
// scrubber came upon, as a *CorruptError that names it; and what the scrubber found
// in manifest and log. It is a matter of the process: an open begins with a clean
// slate.
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

// knownDamage returns what stopped compaction or a read came upon, nil in health.
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

// sortOut has a file written again without its garbage, if that is half of it or
// more.
func (db *DB) sortOut(f *manifest.File, info sstable.Info) {
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
