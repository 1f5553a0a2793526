package engine

import (
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// Entry is an entry of a batch, as a program that shows a log sees it. Its bytes are valid until the next one.
type Entry struct {
	Partition PartitionID
	Row       []byte
	Cell      cell.Cell // Seq is not set
	// Range is what the entry deletes if it is a range tombstone; then Row and Cell mean nothing.
	Range *rangedel.Tombstone
}

// BatchEntries returns the time of the commit of a batch, the payload of a record of the log, and calls entry for each of
// its entries.
func BatchEntries(payload []byte, entry func(Entry)) (time int64, err error) {
	var r batchReader
	for r.init(payload); r.next(); {
		e := Entry{Partition: r.partition, Row: r.row, Cell: r.cell}
		if r.deletesRange() {
			deleted := r.deleted(0)
			e.Range = &deleted
		}
		entry(e)
	}
	return r.time, r.err
}
