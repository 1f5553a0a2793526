package engine

import (
	"bytes"
	"math"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
)

// The order of levels: for one row, a newer file of level 0 has only newer entries than an older one, and
// a level has only newer entries than the levels below. Reads depend on it. No single file can show
// whether it holds.

// checkOrder reads all keys of a version and returns an error for the first row that breaks the order of
// levels.
func (p *partition) checkOrder(v *manifest.Version) error {
	runs, err := openRuns(v)
	defer func() {
		for _, r := range runs {
			r.source.Close()
		}
	}()
	if err != nil {
		return err
	}
	for i := range runs {
		runs[i].source.SeekRow(nil)
	}
	for {
		row := lowestRow(runs)
		if row == nil {
			break
		}
		if err := p.checkRow(row, runs); err != nil {
			return err
		}
	}
	for _, r := range runs {
		if err := r.source.Err(); err != nil {
			return p.inTable(err)
		}
	}
	return nil
}

// run is a file of level 0, or all files of another level.
type run struct {
	level  int
	source rowmerge.Source
}

// openRuns returns the runs of a version, the newest first.
func openRuns(v *manifest.Version) (runs []run, err error) {
	read := sstable.ReadOptions{KeysOnly: true}
	for level, files := range v.Levels {
		if level > 0 {
			if len(files) > 0 {
				runs = append(runs, run{level, newLevelSource(files, read)})
			}
			continue
		}
		for _, f := range files {
			r, err := tableOf(f).open()
			if err != nil {
				return runs, err
			}
			runs = append(runs, run{0, r.NewIterator(read)})
		}
	}
	return runs, nil
}

// lowestRow returns a copy of the lowest row that a run is at, nil at the end.
func lowestRow(runs []run) []byte {
	var lowest []byte
	for _, r := range runs {
		if row := r.source.Row(); row != nil && (lowest == nil || bytes.Compare(row, lowest) < 0) {
			lowest = row
		}
	}
	return bytes.Clone(lowest)
}

// checkRow checks a row in all runs that have it, and moves these to their next row.
func (p *partition) checkRow(row []byte, runs []run) error {
	above := uint64(math.MaxUint64) // the oldest entry of the row in the runs above
	level := 0                      // where it is
	for _, r := range runs {
		if !bytes.Equal(r.source.Row(), row) {
			continue
		}
		oldest, newest := seqsOfRow(r.source)
		if newest >= above {
			return p.quarantine("row %q has sequence number %d in level %d, and below that %d in level %d", row, above, level, newest, r.level)
		}
		above, level = oldest, r.level
		r.source.NextRow()
	}
	return nil
}

// seqsOfRow returns the lowest and highest sequence number of a row.
func seqsOfRow(s rowmerge.Source) (oldest, newest uint64) {
	oldest = math.MaxUint64
	var cells []cell.Cell
	for cells = s.Cells(cells[:0]); len(cells) > 0; cells = s.Cells(cells[:0]) {
		for _, c := range cells {
			oldest, newest = min(oldest, c.Seq), max(newest, c.Seq)
		}
	}
	return oldest, newest
}
