package engine

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A compaction is one goroutine's work, beside whoever reads and writes. Once writers are held
// up, so that cores have nothing to do, it is divided: each part is a range of rows, merged
// by a goroutine of its own into files of its own. They are installed together, so for everybody
// else it is one compaction all the same.

const (
	// mostParts bounds the memory that a compaction takes, a few MiB a part.
	mostParts = 4
	// partFiles is how many files a part has to fill at least: its last one is not full.
	partFiles = 2
	// partChoices is among how many rows for each part the bounds are looked for.
	partChoices = 16
)

// compactionPart is a range of rows of a compaction, and where it goes.
type compactionPart struct {
	rows rowRange
	out  *output
}

// compactionParts are all parts of a compaction, in the order of their rows.
type compactionParts []compactionPart

// errLost ends a part of a compaction that cannot succeed any more.
var errLost = errors.New("another part of the compaction has failed")

// divide returns the parts in which a compaction is carried out: one, unless level 0 is so full
// that writers are slowed down.
func (db *DB) divide(c *compaction) compactionParts {
	opt := db.pickOptions()
	n := 1
	if len(c.version.levels[0]) >= slowFiles {
		n = min(runtime.GOMAXPROCS(0), mostParts, int(totalSize(c.choice.files())/(partFiles*opt.fileSize)))
	}
	bounds := append([][]byte{nil}, c.bounds(n)...)
	bounds = append(bounds, nil)
	var lost atomic.Bool
	var parts compactionParts
	for i, start := range bounds[:len(bounds)-1] {
		parts = append(parts, compactionPart{rows: rowRange{start, bounds[i+1]}, out: &output{
			db: db, p: c.p, limit: opt.fileSize,
			split: newSplitter(c.version, &c.choice, start, opt), stop: db.background.stop, lost: &lost,
		}})
	}
	return parts
}

// bounds returns the rows, ascending, at which the second part begins and all that follow, n
// parts in all or fewer. What goes by is the largest of the inputs that do not overlap.
func (c *compaction) bounds(n int) (bounds [][]byte) {
	if n < 2 {
		return nil
	}
	files, size := largestRun(&version{levels: c.choice.inputs}, nil, nil)
	rows := divideRun(files, size, int64(n*partChoices))
	for i := 1; i < n; i++ {
		row := rows[i*len(rows)/n]
		if before := len(bounds) - 1; before < 0 || bytes.Compare(bounds[before], row) < 0 {
			bounds = append(bounds, row)
		}
	}
	return bounds
}

// merge writes the inputs to the parts. The first error ends all of them.
func (db *DB) merge(c *compaction, parts compactionParts) error {
	var (
		mu    sync.Mutex
		total int   // entries read; guarded by mu
		first error // guarded by mu
		all   sync.WaitGroup
	)
	for i := range parts {
		all.Go(func() {
			read, err := db.mergeRows(c, &parts[i])
			mu.Lock()
			defer mu.Unlock()
			total += read
			if err != nil && first == nil {
				first = err
				parts[i].out.lost.Store(true)
			}
		})
	}
	all.Wait()
	if first != nil {
		return first
	}
	entries := 0
	for _, f := range c.choice.files() {
		entries += int(f.cells)
	}
	if total != entries {
		return c.p.miscounted(entries, total)
	}
	return nil
}

// files returns what the parts have written.
func (p compactionParts) files() (files []*file) {
	for i := range p {
		files = append(files, p[i].out.files...)
	}
	return files
}

// wrong reports whether a file of any part is not what was written.
func (p compactionParts) wrong() bool {
	return slices.ContainsFunc(p, func(part compactionPart) bool { return part.out.wrong })
}

// discard removes what the parts have written.
func (p compactionParts) discard() {
	for i := range p {
		p[i].out.discard()
	}
}
