package engine

import (
	"bytes"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/memtable"
	"github.com/colonnade-db/colonnade/sstable"
)

// ScanOptions say what a Scan reads.
type ScanOptions struct {
	// Start and End bound the rows, Start included, End not. An empty Start means the first row, a
	// nil End the last.
	Start, End []byte
	// Columns are those to return, nil for all.
	Columns *cell.Columns
	// Times are those of the versions that the caller needs, nil for all. Versions of other times may be
	// returned or not: the scan leaves out files and blocks that say nothing of these times, and with them
	// rows.
	Times *cell.TimeRange
	// Counts, if not nil, is added to. Scans at the same time must not share it.
	Counts *ScanCounts
	// Policies are those of the partition, nil to return every cell.
	Policies *Policies
	// Now decides what has expired, in microseconds since the Unix epoch.
	Now int64
	// KeysOnly leaves out the values.
	KeysOnly bool
	// FillCache puts blocks read from the disk into the cache. It is for reads of a few rows: large
	// scans would only evict what others need.
	FillCache bool
	// Reverse returns the rows in descending order, from the last before End to Start. The cells of a
	// row stay in order.
	Reverse bool
}

// LargeValue is the length of the shortest value that a Scan of other columns does not read.
const LargeValue = sstable.LargeValue

// Scan reads a partition row by row, as a snapshot sees it.
//
//	for s.NextRow() {
//		for cells := s.Cells(); len(cells) > 0; cells = s.Cells() { … }
//	}
//	err := s.Err()
//
// A row may have no visible cell. A Scan is for one goroutine. The caller closes it, before its snapshot.
type Scan struct {
	p     *partition
	state *readState
	opt   ScanOptions

	in         rowmerge.Source   // the only source, or merged; nil before start and after Close
	merged     rowmerge.Iterator // used unless there is exactly one source
	down       downward          // used if Reverse
	sources    []rowmerge.Source
	candidates []candidate // while a scan of one row is opened
	visibility rowmerge.Visibility
	deleted    *rangedel.Cursor // over the range tombstones that the snapshot sees; nil for none
	raw        []cell.Cell
	times      cell.TimeRange // what opt.Times points to, if it is not nil
	passed     []byte         // see SkipColumn; empty for none
	narrow     bool           // some files may have nothing for the scan
	started    bool
	peeked     bool // the row is the next one for NextRow (take_rows.go)
	last       bool // the row has no more entries
	rows       uint64

	db            *DB
	level0, upper compaction.Probes // which are charged
	bottommost    compaction.Probes // of the last level, which are not

	own Snapshot // of DB.Scan

	tally readTally
	shard uint32 // of the snapshot
	asked int    // where in sources those begin that a Bloom filter has let through

	ranges []*rangedel.Set // range tombstones that the snapshot sees
	cursor rangedel.Cursor // where deleted points to
}

var scans = sync.Pool{New: func() any { return new(Scan) }}

// Scan starts a scan of a partition of the snapshot.
func (s *Snapshot) Scan(id PartitionID, opt ScanOptions) (*Scan, error) {
	c := scans.Get().(*Scan)
	if err := c.start(s, id, &opt); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Scan starts a scan of a partition as it is now. It opens a snapshot, which Scan.Close closes, and returns
// the errors of NewSnapshot too.
func (db *DB) Scan(id PartitionID, opt ScanOptions) (*Scan, error) {
	c := scans.Get().(*Scan)
	err := c.own.take(db, id)
	if err == nil {
		err = c.start(&c.own, id, &opt)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start prepares for the first row.
func (s *Scan) start(snap *Snapshot, id PartitionID, opt *ScanOptions) error {
	pin, err := snap.pin(id)
	if err != nil {
		return err
	}
	if damage := pin.p.quarantined.Load(); damage != nil {
		return damage
	}
	snap.db.reads.set()
	s.db, s.p, s.state, s.opt, s.shard = snap.db, pin.p, pin.state, *opt, snap.shard
	if s.state.ranged.Load() {
		s.seeRanges(snap.seq)
	}
	if opt.Times != nil {
		s.times = opt.Policies.TimesToRead(*opt.Times, opt.Columns)
		s.opt.Times = &s.times
	}
	s.narrow = s.deleted != nil || opt.Times != nil
	s.countFiles()
	if opt.Counts != nil {
		s.tally.before = opt.Counts.blocks()
	}
	err = s.open()
	s.join() // also after an error, so that Close closes what was opened
	if opt.Reverse {
		s.turn()
	}
	s.visibility.Init(snap.seq, opt.Now, opt.Policies, opt.Columns)
	if opt.Counts != nil {
		s.visibility.Count(&opt.Counts.Dropped)
	}
	return err
}

// seeRanges collects the range tombstones that a snapshot at seq sees.
func (s *Scan) seeRanges(seq uint64) {
	for _, growing := range s.state.ranges {
		s.ranges = append(s.ranges, growing.Sets()...)
	}
	if set := s.state.version.RangeTombstones; set != nil {
		s.ranges = append(s.ranges, set)
	}
	if len(s.ranges) == 0 {
		return
	}
	if s.opt.SingleRow() {
		s.ranges = rangesOfRow(s.ranges, s.opt.Start, s.opt.End, seq)
	} else {
		s.ranges = rangesAsOf(s.ranges, seq)
	}
	if len(s.ranges) > 0 {
		s.cursor.Init(s.ranges)
		s.deleted = &s.cursor
	}
}

// rangesAsOf replaces sets by what a snapshot at seq sees of them.
func rangesAsOf(sets []*rangedel.Set, seq uint64) []*rangedel.Set {
	for i, set := range sets {
		sets[i] = set.AsOf(seq)
	}
	return slices.DeleteFunc(sets, func(set *rangedel.Set) bool { return set == nil })
}

// rangesOfRow replaces sets by the newest tombstone over one row that a snapshot at seq sees. end is the
// next possible row.
func rangesOfRow(sets []*rangedel.Set, row, end []byte, seq uint64) []*rangedel.Set {
	newest := uint64(0)
	for _, set := range sets {
		newest = max(newest, set.Newest(row, seq))
	}
	clear(sets)
	if newest == 0 {
		return sets[:0]
	}
	return append(sets[:0], rangedel.New([]rangedel.Tombstone{{Start: row, End: end, Seq: newest}}))
}

// skips reports whether a file has nothing for the scan: range tombstones cover all that it would read of
// it, or it says nothing of its times.
func (s *Scan) skips(f *manifest.File) bool {
	return s.narrow && (s.deleted != nil && s.hides(f) || s.opt.Times != nil && !f.Times.Overlaps(s.times))
}

// hides reports whether range tombstones cover all that the scan would read of a file.
func (s *Scan) hides(f *manifest.File) bool {
	first := f.Smallest
	if bytes.Compare(first, s.opt.Start) < 0 {
		first = s.opt.Start
	}
	toEnd := s.opt.End != nil && bytes.Compare(s.opt.End, f.Largest) <= 0
	return slices.ContainsFunc(s.ranges, func(set *rangedel.Set) bool {
		if toEnd {
			return set.CoversRange(first, s.opt.End, f.MaxSeq)
		}
		return set.CoversAll(first, f.Largest, f.MaxSeq)
	})
}

// needed returns the files that have something for the scan.
func (s *Scan) needed(files []*manifest.File) []*manifest.File {
	if !s.narrow {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), s.skips)
}

// open collects the sources, the newest first.
func (s *Scan) open() error {
	if s.opt.SingleRow() {
		return s.openRow()
	}
	s.openTables()
	levels := &s.state.version.Levels
	before := len(s.sources)
	for _, f := range levels[0] {
		if !f.Reaches(s.opt.Start, s.opt.End) || s.skips(f) {
			continue
		}
		if err := s.openFile(f, 0); err != nil {
			return err
		}
	}
	s.level0 = compaction.Probes{Asked: len(s.sources) - before, Opened: len(s.sources) - before}
	for level := 1; level < manifest.NumLevels; level++ {
		files := s.needed(manifest.Within(levels[level], s.opt.Start, s.opt.End))
		if len(files) > 0 {
			s.probesOf(level).Asked++
			s.probesOf(level).Opened++
		}
		switch len(files) {
		case 0:
		case 1:
			if err := s.openFile(files[0], level); err != nil {
				return err
			}
		default:
			src := newLevelSource(files, s.reading(level))
			src.counts = s.countsOf(level)
			s.sources = append(s.sources, src)
		}
	}
	return nil
}

// probesOf returns the probes of a level.
func (s *Scan) probesOf(level int) *compaction.Probes {
	switch level {
	case 0:
		return &s.level0
	case manifest.LastLevel:
		return &s.bottommost
	}
	return &s.upper
}

// join makes one source of the sources. It owns them from here on. A merge of one source would only pass
// every call on.
func (s *Scan) join() {
	if len(s.sources) == 1 {
		s.in = s.sources[0]
		return
	}
	s.merged.Init(s.sources)
	s.in = &s.merged
}

// openRow is open for a single row. It leaves out the files whose filters exclude the row. Reading a filter
// means waiting for memory, so it prefetches in all filters before it reads the first.
func (s *Scan) openRow() error {
	row, end := s.opt.Start, s.opt.End
	hash := sstable.HashRow(row)
	defer s.dropCandidates() // the scan may be long, and must not keep filters that the cache evicts
	levels := &s.state.version.Levels
	for _, f := range levels[0] {
		if !f.Reaches(row, end) || s.skips(f) {
			continue
		}
		s.level0.Asked++
		if err := s.addCandidate(f, 0, hash); err != nil {
			return err
		}
	}
	for level := 1; level < manifest.NumLevels; level++ {
		files := levels[level]
		if i := manifest.FirstReaching(files, row); i < len(files) && files[i].Reaches(row, end) && !s.skips(files[i]) {
			s.probesOf(level).Asked++
			if err := s.addCandidate(files[i], level, hash); err != nil {
				return err
			}
		}
	}
	s.openTables()
	s.asked = len(s.sources)
	for _, c := range s.candidates {
		may := c.filter.MayContain(hash)
		s.countsOf(c.level).countAsked(may)
		if !may {
			s.tally.bloomNo++
			continue
		}
		s.tally.bloomYes++
		s.sources = append(s.sources, c.reader.NewIterator(s.reading(c.level)))
		s.probesOf(c.level).Opened++
	}
	return nil
}

// candidate is a file that can have the row, and its filter.
type candidate struct {
	reader *sstable.Reader
	filter *sstable.Filter
	level  int
}

// addCandidate adds a file of a level, and prefetches in its filter for the row with this hash.
func (s *Scan) addCandidate(f *manifest.File, level int, hash uint64) error {
	r, err := tableOf(f).open()
	if err != nil {
		return err
	}
	filter, err := r.Filter()
	if err != nil {
		return s.p.inTable(err)
	}
	filter.Ask(hash)
	s.candidates = append(s.candidates, candidate{r, filter, level})
	return nil
}

func (s *Scan) dropCandidates() {
	clear(s.candidates)
	s.candidates = s.candidates[:0]
}

// openTables adds the memtables as sources.
func (s *Scan) openTables() {
	opt := memtable.ReadOptions{Columns: s.opt.Columns, KeysOnly: s.opt.KeysOnly}
	if counts := s.opt.Counts; counts != nil {
		opt.LeftOut = &counts.MemtableCellsLeftOut
	}
	before := len(s.sources)
	for _, m := range s.state.tables {
		if m.Len() > 0 {
			s.sources = append(s.sources, m.NewIterator(opt))
		}
	}
	if counts := s.opt.Counts; counts != nil {
		counts.Memtables = max(counts.Memtables, len(s.sources)-before)
	}
}

// openFile adds a file of a level as a source, unless it has none of the families.
func (s *Scan) openFile(f *manifest.File, level int) error {
	r, err := tableOf(f).open()
	if err != nil {
		return err
	}
	may := r.MayHave(s.opt.Columns)
	s.countsOf(level).countOpened(may)
	if may {
		s.sources = append(s.sources, r.NewIterator(s.reading(level)))
	}
	return nil
}

// reading returns the options for reading files of a level.
func (s *Scan) reading(level int) sstable.ReadOptions {
	o := sstable.ReadOptions{
		Columns: s.opt.Columns, KeysOnly: s.opt.KeysOnly, FillCache: s.opt.FillCache, ReadaheadEnd: s.opt.End, ReadaheadStart: s.opt.Start,
		Times: s.opt.Times, Passed: &s.passed, Counts: &s.tally.ReadCounts,
	}
	if counts := s.countsOf(level); counts != nil {
		o.Counts = &counts.ReadCounts
	}
	return o
}

// SingleRow reports whether Start is the only row within the bounds.
func (o *ScanOptions) SingleRow() bool {
	n := len(o.Start)
	return len(o.End) == n+1 && o.End[n] == 0 && bytes.Equal(o.End[:n], o.Start)
}

// NextRow moves to the next row in the order of the scan, at first to the first. It returns false after
// the last row and on an error.
func (s *Scan) NextRow() bool {
	switch {
	case s.peeked:
		s.peeked = false
	case s.started:
		s.in.NextRow()
	default:
		s.seek()
		s.started = true
	}
	if s.Row() == nil {
		return false
	}
	s.visibility.BeginRow()
	if s.deleted != nil {
		s.visibility.DeleteBelow(s.deleted.Newest(s.in.Row()))
	}
	s.last, s.passed = false, s.passed[:0]
	s.rows++
	return true
}

// seek moves to the first row. A source that a Bloom filter has let through should have it.
func (s *Scan) seek() {
	s.in.SeekRow(s.opt.Start)
	if s.tally.bloomYes == 0 || s.in.Err() != nil {
		return
	}
	for _, src := range s.sources[s.asked:] {
		if !bytes.Equal(src.Row(), s.opt.Start) {
			s.tally.bloomWrong++
		}
	}
}

// SkipColumn says that the caller needs no more versions of a column of the current row, nor of those before
// it. Some may still be returned: the scan leaves out what it can skip block by block.
func (s *Scan) SkipColumn(column []byte) { s.passed = append(s.passed[:0], column...) }

// Row returns the key of the current row, nil if there is none, as after an error. It is valid until the
// next NextRow.
func (s *Scan) Row() []byte {
	row := s.in.Row()
	if row == nil || s.opt.End != nil && bytes.Compare(row, s.opt.End) >= 0 {
		return nil
	}
	return row
}

// Cells returns the next visible cells of the current row, in order. It returns none when the row has no
// more, and on an error: a caller must ask Err before it takes the row for complete. The cells are valid
// until the next call of a method of the Scan.
func (s *Scan) Cells() []cell.Cell {
	for !s.last {
		s.raw = s.in.Cells(s.raw[:0])
		if len(s.raw) == 0 {
			break
		}
		run := s.in.Run()
		s.last = run.EndOfRow
		if cells := s.visibility.Visible(s.raw, run); len(cells) > 0 {
			return cells
		}
	}
	return nil
}

// Rows returns how many rows the scan has reached.
func (s *Scan) Rows() uint64 { return s.rows }

// Scanned counts the entries that the scan has passed.
func (s *Scan) Scanned() cell.Scanned { return s.in.Scanned() }

// Err returns the error that ended the scan, nil if there was none. Damage is a *CorruptError.
func (s *Scan) Err() error {
	err := s.in.Err()
	if err == nil { // called once for each row
		return nil
	}
	return s.p.inTable(err)
}

// Close releases what the scan holds.
func (s *Scan) Close() {
	if s.in != nil {
		s.in.Close()
	}
	clear(s.sources)
	s.sources = s.sources[:0]
	clear(s.raw)
	if s.deleted != nil {
		s.cursor.Init(nil)
		clear(s.ranges)
		s.ranges, s.deleted = s.ranges[:0], nil
	}
	if s.level0.Asked+s.upper.Asked > 0 {
		s.db.chargeReads(s.p, s.state, s.level0.Cost(s.rows), s.upper.Cost(s.rows))
	}
	if s.db != nil {
		s.db.readCounters[s.shard].add(s.tally.of(s.opt.Counts))
	}
	s.in, s.db, s.p, s.state, s.opt, s.tally = nil, nil, nil, nil, ScanOptions{}, readTally{}
	if s.own.db != nil {
		s.own.Close()
		s.own = Snapshot{}
	}
	s.started, s.peeked, s.last, s.rows, s.narrow, s.passed = false, false, false, 0, false, s.passed[:0]
	s.level0, s.upper, s.bottommost = compaction.Probes{}, compaction.Probes{}, compaction.Probes{}
	scans.Put(s)
}
