package widecol

import "math/bits"

// Explain says what a Store has done for a query, and why: what it read, what it left out, what it dropped of what it
// read, and why it ended. Query.Explain asks for it. A Store adds to it, so that one Explain can collect several
// queries, one after the other.
//
// Explain never changes a result, nor what is read for it. All numbers are counts, but for those whose name says
// bytes. A Store leaves at 0 what it does not have: one without files has partitions without levels.
type Explain struct {
	Partitions []ExplainedPartition // those read, each once

	Tombstones int64 // stepped over
	Dropped    DroppedCells

	// PushedDown are the parts of the query by which the Store left out what it did not need to read, or could
	// have. Checked are those that it held against each cell that it read. A part may be in both.
	PushedDown, Checked QueryParts

	Ended [EndReasons]int64 // queries, by why they ended
}

// ExplainedPartition says what was read of a partition.
type ExplainedPartition struct {
	Name                       string // as that of a Partition
	CellsScanned, BytesScanned int64  // as in Stats
	Memtables                  int64  // that have anything
	Levels                     []ExplainedLevel
}

// ExplainedLevel says what was read of the sorted files of a level that has any. For a query of several ranges of rows,
// what is left out or read counts for each range.
type ExplainedLevel struct {
	Level     int
	Files     int64 // in the level
	FilesRead int64 // that is, opened; a query that ends early does not come to all

	// Files with rows of the query that were left out, each by the first reason that holds.
	FilesDeleted       int64 // range tombstones cover all of their rows
	FilesOtherTimes    int64 // they have no time of the query
	FilesExcluded      int64 // the Bloom filter says that they do not have the row
	FilesOtherFamilies int64 // they have no family of the query

	BloomAsked int64 // Bloom filters that were asked for a row. FilesExcluded are those that said no

	BlocksRead, BlocksCached int64 // blocks of cells used, from files and from the cache
	ValuesRead, ValuesCached int64 // blocks of values used
	BytesDecompressed        int64 // of blocks read from files, without compression

	BlocksOtherTimes   int64 // blocks of cells without a time of the query, left out
	BlocksOtherColumns int64 // of a row, without a column that the query needs of it, left out
}

// DroppedCells counts the versions that were stepped over and are not in the result, by why. Each counts once, for
// the first reason that the Store meets.
//
// Where a query has neither limits nor a RowFilter, and its result is read to the end, all that was stepped over is
// accounted for: Stats.CellsScanned is Stats.Cells, Tombstones and all of these together. Values is then the same in
// every Store; of the others a Store may leave out what it does not need to read, or what it has removed already.
type DroppedCells struct {
	Columns     int64 // of columns that Query.Filter does not select; tombstones among them count here
	Later       int64 // written after the view was opened
	Deleted     int64 // hidden by a tombstone
	Overwritten int64 // by a later write of the same time
	Garbage     int64 // by the GC settings of their family, or of a family that was dropped
	Times       int64 // not in Query.Times
	Values      int64 // not selected by Query.Value
	RowFilter   int64 // of which Query.RowFilter, or what is left of it, lets no copy through
}

// Sum returns how many were dropped.
func (d *DroppedCells) Sum() int64 {
	return d.Columns + d.Later + d.Deleted + d.Overwritten + d.Garbage + d.Times + d.Values + d.RowFilter
}

// QueryParts is a set of parts of a query.
type QueryParts uint16

const (
	PartRows          QueryParts = 1 << iota // Rows
	PartFamilies                             // Filter, as far as it selects families
	PartColumns                              // Filter, as far as it selects columns of a family
	PartTimes                                // Times
	PartValues                               // Value
	PartVersions                             // ColumnCellLimit
	PartKeysOnly                             // KeysOnly
	PartFilter                               // RowFilter, or what is left of it
	PartFilterRows                           // rows by RowFilter
	PartFilterColumns                        // families and columns by RowFilter
	PartFilterTimes                          // times by RowFilter
	PartFilterLimits                         // limits within a row by RowFilter
)

var partNames = [...]string{
	"rows", "families", "columns", "times", "values", "versions", "without_values",
	"filter", "filter_rows", "filter_columns", "filter_times", "filter_limits",
}

// AllParts has every part of a query.
const AllParts QueryParts = 1<<len(partNames) - 1

// Names returns the names of the parts, in the order of their declaration.
func (p QueryParts) Names() (names []string) {
	for p &= AllParts; p != 0; p &= p - 1 {
		names = append(names, partNames[bits.TrailingZeros16(uint16(p))])
	}
	return names
}

// EndReason says why a query ended. Of several reasons the first one in this order counts.
type EndReason uint8

const (
	EndFailed       EndReason = iota // with an error
	EndStopped                       // its Rows was closed before the end
	EndNothing                       // it selects no rows, no column of the table, or has a limit of 0
	EndCellLimit                     // CellLimit is reached, whether or not more follows
	EndRowLimit                      // RowLimit is reached, whether or not more follows
	EndInOffset                      // all rows were looked at, and Offset passed over all of them
	EndOfFilterRows                  // all rows were looked at that the row keys in RowFilter leave of Rows
	EndOfRows                        // all rows of Rows were looked at

	// EndReasons is how many there are.
	EndReasons = int(iota)
)

// String returns the name of the reason.
func (e EndReason) String() string {
	return [EndReasons]string{"failed", "stopped", "nothing_selected", "cell_limit", "row_limit", "offset", "filter_rows", "rows"}[e]
}

// Partition returns the partition of a name. It adds one if it is not there. The pointer is good until the next one
// is added.
func (e *Explain) Partition(name string) *ExplainedPartition {
	for i := range e.Partitions {
		if e.Partitions[i].Name == name {
			return &e.Partitions[i]
		}
	}
	e.Partitions = append(e.Partitions, ExplainedPartition{Name: name})
	return &e.Partitions[len(e.Partitions)-1]
}

// Level returns the level of a number. It adds one, in order, if it is not there. The pointer is good until the next
// one is added.
func (p *ExplainedPartition) Level(n int) *ExplainedLevel {
	i := 0
	for i < len(p.Levels) && p.Levels[i].Level < n {
		i++
	}
	if i == len(p.Levels) || p.Levels[i].Level != n {
		p.Levels = append(p.Levels, ExplainedLevel{})
		copy(p.Levels[i+1:], p.Levels[i:])
		p.Levels[i] = ExplainedLevel{Level: n}
	}
	return &p.Levels[i]
}

// Add adds what o has collected, as of other queries or of other parts of the same.
func (e *Explain) Add(o *Explain) {
	for i := range o.Partitions {
		from := &o.Partitions[i]
		p := e.Partition(from.Name)
		p.CellsScanned += from.CellsScanned
		p.BytesScanned += from.BytesScanned
		p.Memtables = max(p.Memtables, from.Memtables)
		for j := range from.Levels {
			p.Level(from.Levels[j].Level).Add(&from.Levels[j])
		}
	}
	e.Tombstones += o.Tombstones
	e.Dropped.Add(&o.Dropped)
	e.PushedDown |= o.PushedDown
	e.Checked |= o.Checked
	for i, n := range o.Ended {
		e.Ended[i] += n
	}
}

// Add adds what o has counted of the same level.
func (l *ExplainedLevel) Add(o *ExplainedLevel) {
	l.Files = max(l.Files, o.Files)
	l.FilesRead += o.FilesRead
	l.FilesDeleted += o.FilesDeleted
	l.FilesOtherTimes += o.FilesOtherTimes
	l.FilesExcluded += o.FilesExcluded
	l.FilesOtherFamilies += o.FilesOtherFamilies
	l.BloomAsked += o.BloomAsked
	l.BlocksRead += o.BlocksRead
	l.BlocksCached += o.BlocksCached
	l.ValuesRead += o.ValuesRead
	l.ValuesCached += o.ValuesCached
	l.BytesDecompressed += o.BytesDecompressed
	l.BlocksOtherTimes += o.BlocksOtherTimes
	l.BlocksOtherColumns += o.BlocksOtherColumns
}

// Add adds what o has counted.
func (d *DroppedCells) Add(o *DroppedCells) {
	d.Columns += o.Columns
	d.Later += o.Later
	d.Deleted += o.Deleted
	d.Overwritten += o.Overwritten
	d.Garbage += o.Garbage
	d.Times += o.Times
	d.Values += o.Values
	d.RowFilter += o.RowFilter
}
