package rowmerge

import "github.com/colonnade-db/colonnade/cell"

// Source is a sorted stream of entries, row by row. Memtables, sorted files and levels are Sources,
// and so is Iterator. A Source is for one goroutine.
type Source interface {
	// SeekRow moves to the first row whose key is row or above. An empty row
	// is the start.
	SeekRow(row []byte)
	// SeekBelow moves to the last row whose key is below row. A nil row is the
	// end. After it only PrevRow may be called, not NextRow, until the next seek.
	SeekBelow(row []byte)
	// Row returns the key of the current row, nil when there is none. It is
	// valid until the next move to another row.
	Row() []byte
	// Cells appends the next entries of the current row to dst, in order. It
	// appends nothing only when the row has no more entries, or Err has an error.
	// Columns and values are valid until the next Cells or move to another row.
	// Entries outside the read's column filter may be left out.
	Cells(dst []cell.Cell) []cell.Cell
	// Run describes the entries that Cells returned last. It is valid as long as
	// they are.
	Run() *cell.Run
	// NextRow moves to the next row and skips the entries that were not taken.
	NextRow()
	// PrevRow is NextRow downward, to the row before.
	PrevRow()
	// Scanned counts the entries passed so far, returned or not.
	Scanned() cell.Scanned
	// Err returns the error that ended the stream. It is sticky.
	Err() error
	// Close releases what the Source holds.
	Close()
}

// UnknownRun is the Run of a Source that knows nothing about its entries. It must not be changed.
var UnknownRun cell.Run
