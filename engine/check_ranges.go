package engine

import (
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/sstable"
)

// checkClean makes sure that files have nothing that range tombstones cover which they are said to be clean
// of. If they had, it would come back when the range tombstone goes.
func (p *partition) checkClean(v *manifest.Version) error {
	for f := range v.Files() {
		for _, t := range v.RangeTombstones.Fragments(f.Smallest, f.Largest, 0) {
			if t.Seq > f.CleanSeq {
				continue
			}
			if err := p.checkCleanOf(f, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCleanOf returns an error for the first row of a file with an entry that a range tombstone covers.
func (p *partition) checkCleanOf(f *manifest.File, t *rangedel.Tombstone) error {
	r, err := tableOf(f).open()
	if err != nil {
		return err
	}
	it := r.NewIterator(sstable.ReadOptions{KeysOnly: true})
	defer it.Close()
	for it.SeekRow(t.Start); it.Row() != nil && t.Covers(it.Row()); it.NextRow() {
		row := it.Row()
		if oldest, _ := seqsOfRow(it); oldest < t.Seq && it.Err() == nil {
			return p.quarantine("file %d has sequence number %d in row %q, which it should not have: the range tombstone %d covers it", f.Number, oldest, row, t.Seq)
		}
	}
	if err := it.Err(); err != nil {
		return p.inTable(err)
	}
	return nil
}
