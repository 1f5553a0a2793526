package engine

import "colonnade/cell"

// unknownRun is a run of which nothing is known. It is not changed.
var unknownRun cell.Run

// source is a sorted stream of entries, row by row. Memtables and sorted files
// offer it, and a merge of sources is one again.
//
// A source is for one goroutine.
type source interface {
	// SeekRow moves to the first row whose key is row or above. An empty row
	// is the start.
	SeekRow(row []byte)
	// Row returns the key of the current row, nil when there is none. It is
	// valid until the next SeekRow or NextRow.
	Row() []byte
	// Cells appends the next entries of the current row to dst, in order, and
	// nothing only when the row has no more, or Err has an error. Columns and
	// values are valid until the next Cells, NextRow or SeekRow. Entries that the
	// read does not want are left out.
	Cells(dst []cell.Cell) []cell.Cell
	// Run describes the entries that Cells returned last. It is valid as long as
	// they are.
	Run() *cell.Run
	// NextRow moves to the next row, over entries that were not taken.
	NextRow()
	// Scanned counts the entries stepped over so far, left out or not.
	Scanned() cell.Scanned
	// Err returns the error that ended the stream. It is sticky.
	Err() error
	// Close gives back what the source holds.
	Close()
}
