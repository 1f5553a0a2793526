package engine

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
)

// One goroutine merges what a compaction has for inputs, beside whoever reads and writes. When
// it may run on more processors (processorsFor), the rows are divided: each part is a range of
// them, merged by a goroutine of its own into files of its own. They are installed together, so
// for everybody else it is one compaction all the same.

const (
	// partChoices is among how many rows for each part the bounds are looked for.
	partChoices = 16
)

// compactionPart is a range of rows of a compaction, and where it goes.
type subcompaction struct {
	rows rowRange
	out  *output
}

// compactionParts are all parts of a compaction, in the order of their rows.
type subcompactions []subcompaction

// errAbandoned ends a part of a compaction that cannot succeed any more.
var errAbandoned = errors.New("another part of the compaction has failed")

// divide returns the parts in which a compaction is carried out.
func (db *DB) divide(c *compactionJob) subcompactions {
	opt, patience := db.pickOptions(), int64(0)
	if c.parts == 1 && db.crowded() {
		patience = mostPatience
	}
	starts := append([][]byte{nil}, c.cuts(c.parts)...)
	ends := append(starts[1:len(starts):len(starts)], nil)
	var abandoned atomic.Bool
	var parts subcompactions
	for i, start := range starts {
		parts = append(parts, subcompaction{rows: rowRange{start, ends[i]}, out: &output{
			db: db, p: c.p, patience: patience,
			split: compaction.NewSplitter(c.version, &c.choice, start, opt), stop: db.background.stop, abandoned: &abandoned,
		}})
	}
	return parts
}

// cuts returns the rows, ascending, at which the second part begins and all that follow, n
// parts in all or fewer, by the largest of the inputs that do not overlap. No row is empty, so
// none is taken for the end of all.
func (c *compactionJob) cuts(n int) (cuts [][]byte) {
	if n < 2 {
		return nil
	}
	files, size := (&manifest.Version{Levels: c.choice.Inputs}).LargestRun(nil, nil)
	rows := divideRun(files, max(size/int64(n*partChoices), 1), nil, nil)
	for i := 1; i < n && len(rows) > 0; i++ {
		row := rows[i*len(rows)/n]
		if before := len(cuts) - 1; before < 0 || bytes.Compare(cuts[before], row) < 0 {
			cuts = append(cuts, row)
		}
	}
	return cuts
}

// merge writes the inputs to the parts. The first error ends all of them. It returns that one,
// unless a part that was about to end anyhow finds damage: to try again would find it again.
func (db *DB) merge(c *compactionJob, parts subcompactions) error {
	var (
		mu      sync.Mutex
		total   int   // entries read; guarded by mu
		failure error // guarded by mu
		all     sync.WaitGroup
	)
	for i := range parts {
		all.Go(func() {
			read, err := db.mergeRows(c, &parts[i])
			mu.Lock()
			defer mu.Unlock()
			total += read
			if err != nil && (failure == nil || damaging(err) && !damaging(failure)) {
				failure = err
				parts[i].out.abandoned.Store(true)
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

// damaging reports whether an error is of what the disk holds.
func damaging(err error) bool { return errors.As(err, new(*CorruptError)) }

// files returns what the parts have written.
func (p subcompactions) files() (files []*manifest.File) {
	for i := range p {
		files = append(files, p[i].out.files...)
	}
	return files
}

// discard removes what the parts have written, but for those in which a file is not what was
// written: that is evidence, until the next open.
func (p subcompactions) discard() {
	for i := range p {
		if out := p[i].out; !out.wrong {
			out.discard()
		}
	}
}
