package engine

import (
	"bytes"

	"github.com/colonnade-db/colonnade/engine/rowmerge"
)

// downward is a source that moves down where its user moves up: its first row is the last one below end,
// its last one the first at or after start. So a Scan need not know which way it goes.
type downward struct {
	rowmerge.Source
	start, end []byte
}

// SeekRow moves to the last row. A Scan seeks once, to its start.
func (d *downward) SeekRow([]byte) { d.Source.SeekBelow(d.end) }

func (d *downward) NextRow() { d.Source.PrevRow() }

func (d *downward) Row() []byte {
	row := d.Source.Row()
	if bytes.Compare(row, d.start) < 0 { // and if there is none
		return nil
	}
	return row
}

// Close leaves nothing behind: the Scan is used again.
func (d *downward) Close() {
	d.Source.Close()
	*d = downward{}
}

// turn makes the scan move down. For a single row there is no need.
func (s *Scan) turn() {
	if s.opt.SingleRow() {
		return
	}
	s.down = downward{s.in, s.opt.Start, s.opt.End}
	s.in = &s.down
}
