package cell

// Rows are entries of neighbouring rows that were returned together, for a caller that does not need the keys of the
// rows. Every entry is a Set, and no two of a row have the same column.
type Rows struct {
	Cells []Cell
	Ends  []int // for each row, how many of Cells it and the rows before it have
	Run   Run   // of each row; the bounds are those of all
}

// Reset empties r and keeps its memory.
func (r *Rows) Reset() { r.Cells, r.Ends = r.Cells[:0], r.Ends[:0] }
