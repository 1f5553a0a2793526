package widecol

// Deletion selects what Delete removes: of the rows in Rows the versions that pass Filter and Times, garbage
// too. NewDeletion returns one that selects the whole table.
type Deletion struct {
	Rows   RowSet
	Filter Filter    // columns
	Times  TimeRange // of versions
	// Count has Deleted count. Otherwise it is zero, so a Store need not read what it removes.
	Count bool
	// DryRun counts and removes nothing. An idempotency key has no effect then.
	DryRun bool
}

// NewDeletion returns a Deletion of the whole table.
func NewDeletion() Deletion { return Deletion{Rows: AllRows(), Times: AllTimes} }

// RowDeletion returns a Deletion of a row's columns, which counts. It copies the key.
func RowDeletion(row []byte, filter Filter) *Deletion {
	return &Deletion{Rows: RowSet{KeyRange(row)}, Filter: filter, Times: AllTimes, Count: true}
}

// OneRow returns the row if the deletion selects exactly one, otherwise nil.
func (d *Deletion) OneRow() []byte {
	if len(d.Rows) != 1 {
		return nil
	}
	return d.Rows[0].Key()
}

// Whole reports whether the deletion removes its rows as a whole.
func (d *Deletion) Whole() bool { return d.Filter.Columns == nil && d.Times == AllTimes }

// Deleted counts what a read would have returned of the versions that a Delete removes, and the rows that had
// any of them.
type Deleted struct {
	Rows, Cells int64
}
