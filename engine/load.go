package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Load writes cells to sorted files of any partitions, beside the log and the memtables, and then switches all of
// them in at once. To readers and to what comes before and after, it is one batch. It is for one goroutine.
//
// Its files have the sequence number 0 in every entry. What they mean is known when they are switched in, and stands
// in the manifest (manifest.File.LoadSeq). A number from the beginning of the load would be too low: a compaction
// meanwhile may drop a tombstone with a higher one, and what that deletes in the load would come back.
//
// The switch (Commit) goes in this order, and each step depends on it:
//
//  1. The files are complete, verified and synced, and so are their names. Until step 4 nothing refers to them:
//     after a crash the open removes them.
//  2. The memtables of the partitions are flushed. In one step with step 3, no batch is in them: what is older than
//     the load is in files, above or beside which it is placed. Otherwise a later flush would put older entries of a
//     row above newer ones.
//  3. An empty batch takes a sequence number S and goes into the log. It takes part in its group as if it were
//     inserted into memtables, and the insertion is step 4: so neither S nor any later batch becomes visible before.
//     S is durable in the log before step 4: recovery takes a file with a higher number than the log for damage.
//  4. One edit of the manifest installs all files, with S. A crash before it leaves an empty batch, a crash after it
//     all of the load. Snapshots that were taken before have neither these versions nor S. Those taken while the
//     states of some partitions are replaced, and of others not yet, do not have S.
//  5. S becomes visible. From step 4 until then no compaction of the partitions begins: an output of one would have
//     entries that are not visible yet, and a checkpoint could not leave them out.
//
// Two loads do not overlap from step 2 on: the files of the one with the lower S are placed first.
type Load struct {
	db    *DB
	parts []*loadPart // in the order in which they were first used
	last  *loadPart
	ended bool
}

// loadPart is what a Load writes to one partition.
type loadPart struct {
	out    *output
	row    []byte    // the last
	cell   cell.Cell // the last
	any    bool      // there is one
	synced int       // files whose names are durable
}

// ErrArchived is returned by NewLoad with Options.ArchiveLog: the log, which is archived, would not have the load.
var ErrArchived = errors.New("the log is archived, and a load is not in it")

// ErrOutOfOrder is returned by Load.Add for entries that do not ascend.
var ErrOutOfOrder = errors.New("the order is not that of a load")

// loadLevel0Files bounds the files of a load that have to go to level 0 of a partition, where writers wait for
// compactions from stopFiles on.
// The largest number with which there is room whenever no compaction of level 0 is due.
const loadLevel0Files = stopFiles - compaction.Level0Files - 1

// NewLoad begins a load. The caller ends it with Commit or Abandon.
func (db *DB) NewLoad() (*Load, error) {
	if db.opt.ArchiveLog {
		return nil, ErrArchived
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.writableLocked(); err != nil {
		return nil, err
	}
	return &Load{db: db}, nil
}

// Add adds entries of a row, which must be Sets. In each partition, rows ascend, and so do the entries of a row
// (cell.Compare without sequence numbers); a row may come in several calls. Of equal entries, which are versions of the
// same column and time, the first one stays. Add sets Seq, and keeps none of the slices. After an error the load can only be
// abandoned. The error is ErrDiskFull if the disk reserve would be used.
func (l *Load) Add(id PartitionID, row []byte, cells []cell.Cell) error {
	p := l.last
	if p == nil || p.out.p.id != id {
		var err error
		if p, err = l.part(id); err != nil {
			return err
		}
	}
	order := -1
	if p.any {
		order = bytes.Compare(p.row, row)
	}
	if order > 0 {
		return fmt.Errorf("row %q comes after row %q: %w", row, p.row, ErrOutOfOrder)
	}
	var kept []cell.Cell // nil for all
	last, any := &p.cell, order == 0
	for i := range cells {
		c := &cells[i]
		if err := checkLoaded(row, c); err != nil {
			return err
		}
		c.Seq = 0
		if any {
			switch d := last.Compare(c); {
			case d > 0:
				return fmt.Errorf("row %q, column %q: %w", row, c.Column, ErrOutOfOrder)
			case d == 0:
				if kept == nil {
					kept = append(make([]cell.Cell, 0, len(cells)), cells[:i]...)
				}
				continue
			}
		}
		last, any = c, true
		if kept != nil {
			kept = append(kept, *c)
		}
	}
	if kept == nil {
		kept = cells
	}
	if len(kept) == 0 {
		return nil
	}
	if err := p.write(row, order != 0, kept); err != nil {
		return err
	}
	if order != 0 {
		p.row = append(p.row[:0], row...)
	}
	p.cell = cell.Cell{Column: append(p.cell.Column[:0], last.Column...), Time: last.Time}
	p.any = true
	return nil
}

// checkLoaded returns why an entry cannot be in a load, nil if it can.
func checkLoaded(row []byte, c *cell.Cell) error {
	if c.Kind != cell.Set || c.Time == CommitTime {
		return errors.New("a load has cells with times of their own, and nothing else")
	}
	return checkEntry(row, c)
}

// part returns the part of a partition, which may be new.
func (l *Load) part(id PartitionID) (*loadPart, error) {
	for _, p := range l.parts {
		if p.out.p.id == id {
			l.last = p
			return p, nil
		}
	}
	p, err := l.db.partition(id)
	if err != nil {
		return nil, err
	}
	l.last = &loadPart{out: &output{db: l.db, p: p, split: compaction.SplitAtSize(l.db.opt.FileBytes), stop: l.db.background.stop}}
	l.parts = append(l.parts, l.last)
	return l.last, nil
}

// write writes entries of a row. Files grow: so a large load has few of them if it has to go to level 0.
func (p *loadPart) write(row []byte, first bool, cells []cell.Cell) error {
	out := p.out
	if first {
		if err := out.unneeded(); err != nil {
			return err
		}
	}
	if first && out.endsFile(row) && out.w != nil {
		if err := out.endFile(); err != nil {
			return err
		}
		out.split = compaction.SplitAtSize(out.db.opt.FileBytes << min(len(out.files)/2, 3))
	}
	if out.w == nil {
		if err := out.db.checkReserve(out.split.Most); err != nil {
			return err
		}
	}
	return out.add(row, false, cells)
}

// Len returns the number of entries.
func (l *Load) Len() (n uint64) {
	for _, p := range l.parts {
		n += p.out.cells
		if p.out.w != nil {
			n += p.out.w.Cells()
		}
	}
	return n
}

// Finish completes the files, and flushes what Commit would have to flush, as far as it is there already. It may be
// called again. Commit needs less time then.
func (l *Load) Finish(ctx context.Context) error {
	for _, p := range l.parts {
		if p.out.w == nil && p.synced == len(p.out.files) {
			continue
		}
		if err := p.out.finish(); err != nil {
			return err
		}
		p.synced = len(p.out.files)
	}
	db := l.db
	db.mu.Lock()
	defer db.mu.Unlock()
	l.freezeLocked()
	return db.awaitLocked(ctx, func() (bool, error) {
		for _, p := range l.parts {
			if p.out.p.dropped {
				return false, ErrNoPartition
			}
			if q := p.out.p.quarantined.Load(); q != nil {
				return false, q
			}
			if len(p.out.p.frozen) > 0 {
				return false, nil
			}
			room, err := l.level0RoomLocked(p)
			if err == nil && !room && db.compactionStuckLocked(p.out.p) {
				err = p.out.p.damage
			}
			if !room || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// freezeLocked freezes the memtables of the partitions that have batches.
func (l *Load) freezeLocked() {
	for _, p := range l.parts {
		if p := p.out.p; !p.dropped && p.active.minSeq != 0 {
			l.db.freezeLocked(p)
		}
	}
}

// level0RoomLocked reports whether the files that have to go to level 0 have room there.
func (l *Load) level0RoomLocked(p *loadPart) (bool, error) {
	n := 0
	for _, f := range p.out.files {
		if placeLoaded(p.out.p.version, p.busyLocked(), f) == 0 {
			n++
		}
	}
	if n > loadLevel0Files {
		return false, ErrLoadOverlaps
	}
	return n == 0 || p.out.p.level0Pressure+n < stopFiles, nil
}

// ErrLoadOverlaps is returned by Finish and Commit if too much of the load has to go above other files of the same rows.
var ErrLoadOverlaps = errors.New("the load is too large for rows among which others were written just now")

// busyLocked returns the files that are being compacted.
func (p *loadPart) busyLocked() (busy []*manifest.File) {
	for f := range p.out.p.version.Files() {
		if p.out.p.busy[f.Number] {
			busy = append(busy, f)
		}
	}
	return busy
}

// placeLoaded returns the level for a file of a load: the lowest one below which, and in which, the version has nothing of
// its rows, nor above. Outputs of compactions may come into any level between the bounds of the busy files.
func placeLoaded(v *manifest.Version, busy []*manifest.File, f *manifest.File) int {
	if len(busy) > 0 {
		if first, last := manifest.Bounds(busy); bytes.Compare(first, f.Largest) <= 0 && bytes.Compare(f.Smallest, last) <= 0 {
			return 0
		}
	}
	return max(v.FirstBelow(-1, f.Smallest, f.Largest)-1, 0)
}

// stallReasonLocked returns what the batch of the load waits for: step 2.
func (l *Load) stallReasonLocked() stallReason {
	l.freezeLocked()
	for _, p := range l.parts {
		switch q := p.out.p.quarantined.Load(); {
		case p.out.p.dropped:
			return refuse(ErrNoPartition)
		case q != nil:
			return refuse(q)
		case len(p.out.p.frozen) > 0:
			return l.db.awaitProgressLocked(StallMemtables)
		}
		switch room, err := l.level0RoomLocked(p); {
		case err != nil:
			return refuse(err)
		case !room:
			return l.db.awaitProgressLocked(StallLevel0Stop)
		}
	}
	return nil
}

// Commit switches the load in: then it is durable and visible to snapshots taken from then on. Errors are those of
// DB.Commit, and ErrLoadOverlaps. After ErrOverloaded the load is as before, and Finish and Commit can be called again;
// after any other error it has ended. Once the load has its sequence number, it is not cancelled by the context, and
// Commit waits as long as the disk takes. Batches of the partitions that come while it waits for their memtables make it
// wait longer: it is for the caller to keep them away.
func (l *Load) Commit(ctx context.Context) (c Commit, err error) {
	defer func() {
		if !errors.Is(err, ErrOverloaded) {
			l.end(err != nil)
		}
	}()
	if len(l.parts) == 0 {
		return c, errors.New("the load is empty")
	}
	if err := l.Finish(ctx); err != nil {
		return c, err
	}
	db := l.db
	select {
	case db.loading <- struct{}{}:
		defer func() { <-db.loading }()
	case <-ctx.Done():
		return c, ctx.Err()
	}
	b := &Batch{load: l, InsertNow: true} // no goroutine inserts it but this one
	b.begin()
	g, leading, err := db.enter(ctx, b)
	if err != nil {
		return c, err
	}
	if leading {
		db.startLeader()
	}
	<-g.written
	err = l.install(b.seq)
	if g.arrive() {
		db.mu.Lock()
		db.settleReadyLocked()
		db.mu.Unlock()
	}
	<-g.done
	g.writers.leave()
	l.release()
	if err == nil {
		err = g.err
	}
	return Commit{Seq: b.seq, Time: b.time()}, err
}

// install makes the files part of their partitions, with the sequence number of the load.
func (l *Load) install(seq uint64) error {
	db := l.db
	return db.install(nil, func(next *manifest.Manifest) error {
		if db.closed {
			return ErrClosed
		}
		if db.log.durable < seq {
			return &UnknownError{Cause: errors.New("the log does not have the batch of the load")}
		}
		for _, p := range l.parts {
			mp := next.Partitions[p.out.p.id]
			if mp == nil {
				return ErrNoPartition
			}
			if oldest := p.out.p.oldestSeq(nil); oldest != 0 && oldest < seq {
				return p.out.p.inconsistent("a load of batch %d was to be installed when batch %d is in no file", seq, oldest)
			}
			p.out.p.loading = true // until release: what is placed here may lie between the inputs of a compaction chosen now
			v := p.place(mp.Version, seq)
			if err := v.Check(); err != nil {
				return p.out.p.inconsistent("load would break the order of levels: %v", err)
			}
			next.Partitions[mp.ID] = mp.With(seq, v)
		}
		return nil
	}, func() {
		for _, p := range l.parts {
			db.adoptLocked(p.out.p)
		}
	})
}

// place returns the version with the files in their levels. DB.mu is held.
func (p *loadPart) place(v *manifest.Version, seq uint64) *manifest.Version {
	next, busy := *v, p.busyLocked()
	var level0 []*manifest.File
	for _, f := range p.out.files {
		f.LoadSeq, f.MinSeq, f.MaxSeq = seq, seq, seq
		level := placeLoaded(v, busy, f)
		if level == 0 {
			level0 = append(level0, f)
			continue
		}
		next.Levels[level] = append(slices.Clone(next.Levels[level]), f)
		slices.SortFunc(next.Levels[level], func(f, g *manifest.File) int { return bytes.Compare(f.Smallest, g.Smallest) })
	}
	return next.WithFlushed(level0)
}

// release lets compactions go on: step 5.
func (l *Load) release() {
	db := l.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range l.parts {
		p.out.p.loading = false
		if !p.out.p.dropped {
			db.background.compactable[p.out.p] = true
		}
	}
	db.background.signalLocked()
}

// Abandon ends a load that is not wanted, and removes its files. After Commit it does nothing, unless that has returned
// ErrOverloaded.
func (l *Load) Abandon() { l.end(true) }

func (l *Load) end(discard bool) {
	if l.ended {
		return
	}
	l.ended = true
	for _, p := range l.parts {
		if discard && !p.out.corrupt {
			p.out.discard()
		}
	}
}
