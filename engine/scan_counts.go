package engine

import (
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
)

// ScanCounts says what scans of a partition have looked at, and what they have left out. Scans add to it as they
// go; what it says of files is whole when they are closed.
type ScanCounts struct {
	Memtables int // with entries; the most of any scan
	Levels    [manifest.NumLevels]LevelCounts
	Dropped   rowmerge.Dropped

	MemtableCellsLeftOut uint64 // entries of memtables that are not selected
}

// LevelCounts are those of a level. A file counts once for each scan.
type LevelCounts struct {
	Files int // in the level; the most of any scan

	// Files with rows of the scan that it did not open, each by the first reason.
	Deleted       int // range tombstones cover all of it
	OtherTimes    int // it has no time of the scan
	Excluded      int // its Bloom filter excludes the row
	OtherFamilies int // it has no family of the scan

	Asked  int // Bloom filters
	Opened int
	sstable.ReadCounts
}

// countFiles counts the files of each level, and those that are left out before they are opened.
func (s *Scan) countFiles() {
	if s.opt.Counts == nil {
		return
	}
	levels := &s.state.version.Levels
	for level := range levels {
		c := &s.opt.Counts.Levels[level]
		c.Files = max(c.Files, len(levels[level]))
		files := levels[level]
		if level > 0 {
			files = manifest.Within(files, s.opt.Start, s.opt.End)
		}
		for _, f := range files {
			switch {
			case !f.Reaches(s.opt.Start, s.opt.End):
			case s.deleted != nil && s.hides(f):
				c.Deleted++
			case s.skips(f):
				c.OtherTimes++
			}
		}
	}
}

// countsOf returns the counts of a level, nil if nothing is counted.
func (s *Scan) countsOf(level int) *LevelCounts {
	if s.opt.Counts == nil {
		return nil
	}
	return &s.opt.Counts.Levels[level]
}

// blocks adds up what scans have used of the files of all levels.
func (c *ScanCounts) blocks() (sum sstable.ReadCounts) {
	for i := range c.Levels {
		l := &c.Levels[i]
		sum.BlocksRead += l.BlocksRead
		sum.BlocksCached += l.BlocksCached
		sum.ValuesRead += l.ValuesRead
		sum.ValuesCached += l.ValuesCached
		sum.BytesDecompressed += l.BytesDecompressed
	}
	return sum
}

// countOpened counts a file that is opened, or that has no family of the scan.
func (c *LevelCounts) countOpened(mayHave bool) {
	switch {
	case c == nil:
	case mayHave:
		c.Opened++
	default:
		c.OtherFamilies++
	}
}

// countAsked counts the answer of a Bloom filter.
func (c *LevelCounts) countAsked(mayContain bool) {
	if c == nil {
		return
	}
	c.Asked++
	if mayContain {
		c.Opened++
	} else {
		c.Excluded++
	}
}
