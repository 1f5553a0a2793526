package engine

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// Log segments are made before they are needed: one spare is kept ready (prepareLoop). A Commit that no
// segment has room for has one made at once.

// segmentPreparation is a segment that is being made while Commits wait for it.
type segmentPreparation struct {
	done chan struct{} // closed when it is over
	err  error         // the outcome, once done is closed
}

// prepareLocked starts to make a segment that can take n bytes of payload, and waits for it. If
// another Commit is making one already, it waits for that one, which may have room too.
func (db *DB) prepareLocked(n int) stallReason {
	p, own := db.startPreparingLocked(n)
	return func(ctx context.Context, t *stallTimer) error {
		defer db.countStall(StallSegment)()
		if err := db.awaitSignal(ctx, t, p.done); err != nil || !own {
			return err
		}
		return p.err
	}
}

// startPreparingLocked starts to make a segment, unless one is being made; own says that it did.
func (db *DB) startPreparingLocked(n int) (p *segmentPreparation, own bool) {
	if p = db.log.preparing; p != nil {
		return p, false
	}
	p = &segmentPreparation{done: make(chan struct{})}
	db.log.preparing = p
	go db.prepare(p, n)
	return p, true
}

func (db *DB) prepare(p *segmentPreparation, n int) {
	p.err = db.prepareSegment(n)
	db.mu.Lock()
	db.log.preparing = nil
	db.background.signalLocked() // Close may wait for it
	db.mu.Unlock()
	close(p.done)
}

// nextSegmentBytesLocked is the size of the next segment: twice that of the last one, up to
// Options.SegmentBytes. So a store with few writes has a small log, and one with many soon
// has segments of full size. After a segment that was finished early it is what fits.
func (db *DB) nextSegmentBytesLocked() int64 {
	l := &db.log
	if l.fit > 0 {
		return min(l.fit, db.opt.SegmentBytes)
	}
	size := int64(firstSegment) / 2
	if n := len(l.spares); n > 0 {
		size = l.spares[n-1].size
	} else if n := len(l.segments); n > 0 {
		size = l.segments[n-1].size
	}
	return min(2*size, db.opt.SegmentBytes)
}

// prepareSegment makes one spare segment, which can take a record with n bytes of payload.
// When there is no room, nothing has changed (ErrDiskFull).
func (db *DB) prepareSegment(n int) error {
	db.log.prepareMu.Lock()
	defer db.log.prepareMu.Unlock()
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	for _, s := range db.log.spares {
		if s.room >= recordSize(n) {
			db.mu.Unlock()
			return nil // made by another caller
		}
	}
	size := max(db.nextSegmentBytesLocked(), wal.MinSegment(n))
	s := &segment{number: db.log.next, size: size}
	old := db.takeRecycledLocked(size)
	db.mu.Unlock()

	err := db.fillSegment(s, old)
	if shortage(err) == ErrDiskFull && db.giveUpHeld() {
		db.removeObsolete()
		old, err = nil, db.fillSegment(s, nil)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if err != nil {
		return db.prepareFailedLocked(err)
	}
	db.log.next++
	db.log.fit = 0
	if old == nil {
		db.counted.logFilled += size
	}
	db.log.spares = append(db.log.spares, s)
	return nil
}

// fillSegment gives s a file whose bytes are all allocated and whose name and header are durable. It
// reuses the file of old if that is not nil.
func (db *DB) fillSegment(s *segment, old *segment) error {
	fs, path := db.opt.FS, db.segmentPath(s.number)
	source := db.path(manifest.LogDir, manifest.FillFile(s.number))
	if old != nil {
		source = db.segmentPath(old.number)
	} else if err := db.writeFill(source, s.size); err != nil {
		return err
	}
	f, err := reuseReplacing(fs, source, path)
	if err == nil {
		s.w = wal.NewWriter(f, wal.Header{Store: db.store, Number: s.number, Size: s.size})
		s.room = segmentRoom(s.size)
		err = errors.Join(fs.SyncDir(db.path(manifest.LogDir)), s.w.Sync())
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		fs.Remove(source) // whichever of the two names it has
		fs.Remove(path)
	}
	return err
}

// reuseReplacing renames and opens a file for reuse. It replaces what a failed attempt may have left.
func reuseReplacing(fs vfs.FS, old, new string) (vfs.File, error) {
	f, err := fs.Reuse(old, new)
	if !errors.Is(err, iofs.ErrExist) {
		return f, err
	}
	if err := fs.Remove(new); err != nil {
		return nil, err
	}
	return fs.Reuse(old, new)
}

func (db *DB) writeFill(name string, size int64) error {
	fs := db.opt.FS
	if err := db.checkReserve(size); err != nil {
		return err
	}
	f, err := createReplacing(fs, name)
	if err != nil {
		return err
	}
	err = wal.Fill(f, size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		fs.Remove(name)
	}
	return err
}

// prepareFailedLocked handles a failure to make a segment. No record was at stake, so a shortage of space,
// memory or file descriptors is only returned. Any other failure makes the DB read-only.
func (db *DB) prepareFailedLocked(err error) error {
	err = fmt.Errorf("make log segment: %w", err)
	if short := shortage(err); short != nil {
		return fmt.Errorf("%w: %w", short, err)
	}
	db.failLocked(err)
	return db.failed
}
