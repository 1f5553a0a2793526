package engine

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// Subcompactions. Usually one goroutine merges the inputs of a compaction. When more CPUs are free
// (cpusFor), the rows are divided into ranges, and a goroutine for each range writes files of
// its own. All files are installed in one edit, so to everything else it is one compaction.

// boundaryChoices is how many rows for each subcompaction its boundary is chosen from.
const boundaryChoices = 16

// subcompaction is a range of rows of a compaction and its output.
type subcompaction struct {
	rows rowRange
	out  *output
}

// subcompactions are those of one compaction, in the order of their rows.
type subcompactions []subcompaction

// errAbandoned ends a subcompaction after another one of the same compaction has failed.
var errAbandoned = errors.New("another part of the compaction has failed")

// newSubcompactions divides a compaction.
func (db *DB) newSubcompactions(c *compactionJob) subcompactions {
	opt, flushWait := db.compactionOptions(), int64(0)
	if c.subcompactions == 1 && db.cpusScarce() {
		flushWait = longestFlushWait
	}
	starts := append([][]byte{nil}, c.boundaries(c.subcompactions)...)
	ends := append(starts[1:len(starts):len(starts)], nil)
	var deleted []*rangedel.Set
	if c.version.RangeTombstones != nil {
		deleted = append(deleted, c.version.RangeTombstones)
	}
	var abandoned atomic.Bool
	var subs subcompactions
	for i, start := range starts {
		subs = append(subs, subcompaction{rows: rowRange{start, ends[i]}, out: &output{
			db: db, p: c.p, flushWait: flushWait, deleted: deleted,
			split: compaction.NewSplitter(c.version, &c.choice, start, opt), stop: db.background.stop, abandoned: &abandoned,
		}})
	}
	return subs
}

// boundaries returns the first rows, ascending, of all subcompactions but the first. There are at
// most n subcompactions. The boundaries divide the largest run of the inputs evenly. No row is
// empty, so none is mistaken for an open end.
func (c *compactionJob) boundaries(n int) (starts [][]byte) {
	if n < 2 {
		return nil
	}
	files, size := (&manifest.Version{Levels: c.choice.Inputs}).LargestRun(nil, nil)
	rows := divideRun(files, max(size/int64(n*boundaryChoices), 1), nil, nil)
	for i := 1; i < n && len(rows) > 0; i++ {
		row := rows[i*len(rows)/n]
		if before := len(starts) - 1; before < 0 || bytes.Compare(starts[before], row) < 0 {
			starts = append(starts, row)
		}
	}
	return starts
}

// merge runs the subcompactions. The first error ends all of them and is returned, unless one that
// was still running reports damage: a retry would only find that again.
func (db *DB) merge(c *compactionJob, subs subcompactions) error {
	var (
		mu      sync.Mutex
		total   int   // entries read; guarded by mu
		failure error // guarded by mu
		all     sync.WaitGroup
	)
	for i := range subs {
		all.Go(func() {
			read, err := db.mergeRows(c, &subs[i])
			mu.Lock()
			defer mu.Unlock()
			total += read
			if err != nil && (failure == nil || damaging(err) && !damaging(failure)) {
				failure = err
				subs[i].out.abandoned.Store(true)
			}
		})
	}
	all.Wait()
	if failure != nil {
		return failure
	}
	entries := 0
	for _, f := range c.choice.Files() {
		entries += int(f.Entries)
	}
	if total != entries {
		return c.p.miscounted(entries, total)
	}
	return nil
}

// damaging reports whether an error is damage on disk.
func damaging(err error) bool { return errors.As(err, new(*CorruptError)) }

// files returns all output files.
func (subs subcompactions) files() (files []*manifest.File) {
	for i := range subs {
		files = append(files, subs[i].out.files...)
	}
	return files
}

// discard removes the output files. An output with a file that differs from what was written stays
// until the next open, as evidence.
func (subs subcompactions) discard() {
	for i := range subs {
		if out := subs[i].out; !out.corrupt {
			out.discard()
		}
	}
}
