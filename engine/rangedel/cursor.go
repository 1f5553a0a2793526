package rangedel

import "bytes"

// Cursor finds the newest tombstone over one row after the other. Rows may come in any order. A row near
// the one before, in either direction, costs two comparisons or a few steps. The zero value is ready for
// Init.
type Cursor struct {
	fingers []finger

	// All rows from here up to end have the same answer. A nil end is open.
	known      bool
	start, end []byte
	newest     uint64
}

// finger is the place of the last row in the steps of a set.
type finger struct {
	steps []step
	at    int
}

// Init prepares for rows as a reader sees them who sees all of the sets.
func (c *Cursor) Init(sets []*Set) {
	c.known, c.start, c.end = false, nil, nil
	clear(c.fingers)
	c.fingers = c.fingers[:0]
	for _, s := range sets {
		c.fingers = append(c.fingers, finger{steps: s.steps})
	}
}

// Newest returns the sequence number of the newest tombstone over a row, 0 for none.
func (c *Cursor) Newest(row []byte) uint64 {
	if c.known && bytes.Compare(row, c.start) >= 0 && (c.end == nil || bytes.Compare(row, c.end) < 0) {
		return c.newest
	}
	c.start, c.end, c.newest = nil, nil, 0
	for i := range c.fingers {
		f := &c.fingers[i]
		f.move(row, c.known)
		c.newest = max(c.newest, f.steps[f.at].seq)
		if start := f.steps[f.at].row; bytes.Compare(start, c.start) > 0 {
			c.start = start
		}
		if f.at+1 < len(f.steps) {
			if end := f.steps[f.at+1].row; c.end == nil || bytes.Compare(end, c.end) < 0 {
				c.end = end
			}
		}
	}
	c.known = true
	return c.newest
}

// End returns the row up to which Newest has the same answer as for the last row; nil is the end of all rows.
func (c *Cursor) End() []byte { return c.end }

// move moves to the step that a row is in, step by step if the last row was near.
func (f *finger) move(row []byte, near bool) {
	if !near {
		f.at = (&Set{steps: f.steps}).find(row)
	}
	for f.at+1 < len(f.steps) && bytes.Compare(f.steps[f.at+1].row, row) <= 0 {
		f.at++
	}
	for bytes.Compare(f.steps[f.at].row, row) > 0 {
		f.at--
	}
}
