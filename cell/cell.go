// Package cell defines what the engine stores: a version of one cell of one row,
// its place in the order of a partition, and the sets of columns a read can ask
// for. The memtable, the sorted files and the engine all use its types.
package cell

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
)

// Kind says what an entry does. The numbers are part of the on-disk formats.
type Kind uint8

const (
	// Set stores a version of a cell.
	Set Kind = 0
	// DeleteVersion hides the version of its column with exactly its time.
	DeleteVersion Kind = 1
	// DeleteColumn hides every version of its column.
	DeleteColumn Kind = 2
	// DeleteFamily hides every cell of a family in its row.
	DeleteFamily Kind = 3
	// DeleteRow hides every cell of its row.
	DeleteRow Kind = 4

	// KindCount is the number of kinds: a stored kind is below it.
	KindCount = 5
)

// Type is the type of a cell's value. The numbers are part of the on-disk
// formats. Tombstones have the type None.
type Type uint8

const (
	None   Type = 0
	String Type = 1 // UTF-8 text
	I64    Type = 2 // 8 bytes, little endian, two's complement
	Bool   Type = 3 // 1 byte, 0 or 1
	Byte   Type = 4 // 1 byte
	I32    Type = 5 // 4 bytes, little endian, two's complement
	F32    Type = 6 // 4 bytes, little endian, IEEE 754
	F64    Type = 7 // 8 bytes, little endian, IEEE 754
	Bytes  Type = 8 // any bytes

	// TypeCount is the number of types: a stored type is below it.
	TypeCount = 9
)

const (
	// MaxTime is the largest time of a stored cell, in microseconds since the
	// Unix epoch. The smallest is 0.
	MaxTime int64 = math.MaxInt64 - 1
	// TombstoneTime is the time of row, family and column tombstones. It is
	// above every time of a cell, so that a tombstone sorts before all that it
	// covers.
	TombstoneTime int64 = math.MaxInt64
)

// Cell is one entry of a row: a version of a cell, or a tombstone.
//
// The row key is not part of it; callers keep it beside the cells. Column and
// Value are borrowed: the function that returns a Cell says how long they live.
type Cell struct {
	Column []byte // see AppendColumn
	Value  []byte
	Time   int64  // microseconds since the Unix epoch
	Seq    uint64 // of the batch that wrote it
	Kind   Kind
	Type   Type
	// ColumnID is the index of Column, counted from 1, in the dictionary that
	// Run.DictionaryID names; 0 if there is none. Within one dictionary, equal
	// ids mean equal columns, and ids ascend as columns do.
	ColumnID uint32
}

// Run describes entries of one row that were returned together, so that the
// caller need not look at each of them.
type Run struct {
	// DictionaryID names the dictionary of the entries' column ids, 0 for none.
	// No two dictionaries of a process share an id.
	DictionaryID uint64
	// EndOfRow: the row has no more entries.
	EndOfRow bool
	// AllSelected: the columns that were asked for contain the column of every
	// entry. False means unknown.
	AllSelected bool
	// SingleVersion: every entry is a Set, no two have the same column, and the
	// fields below bound their sequence numbers and times. False means unknown,
	// and the bounds mean nothing.
	SingleVersion  bool
	MinSeq, MaxSeq uint64
	MinTime        int64
}

// Compare orders the entries of one row: column ascending, then time
// descending, then sequence number descending. It returns 0 only if all three
// are equal.
func (c *Cell) Compare(d *Cell) int {
	if r := bytes.Compare(c.Column, d.Column); r != 0 {
		return r
	}
	if r := cmp.Compare(d.Time, c.Time); r != 0 {
		return r
	}
	return cmp.Compare(d.Seq, c.Seq)
}

// RawSize is the size of the entry in statistics: row key, column, value, and 8
// bytes for the time.
func (c *Cell) RawSize(row []byte) int {
	return len(row) + len(c.Column) + 8 + len(c.Value)
}

// Check returns an error if the entry cannot be stored: an unknown kind or type,
// or a column or time that its kind does not allow.
func (c *Cell) Check() error {
	if c.Kind >= KindCount || c.Type >= TypeCount {
		return fmt.Errorf("unknown kind %d or type %d", c.Kind, c.Type)
	}
	full := bytes.IndexByte(c.Column, 0) > 0
	var column, timed bool // is the column of the right shape, and is the time in range?
	switch c.Kind {
	case Set, DeleteVersion:
		column, timed = full, c.Time >= 0 && c.Time <= MaxTime
	case DeleteColumn:
		column, timed = full, c.Time == TombstoneTime
	case DeleteFamily:
		column, timed = !full && len(c.Column) > 0, c.Time == TombstoneTime
	case DeleteRow:
		column, timed = len(c.Column) == 0, c.Time == TombstoneTime
	}
	switch {
	case !column:
		return fmt.Errorf("column %q does not go with kind %d", c.Column, c.Kind)
	case !timed:
		return fmt.Errorf("time %d does not go with kind %d", c.Time, c.Kind)
	case c.Kind != Set && (c.Type != None || len(c.Value) != 0):
		return fmt.Errorf("tombstone of kind %d has a value", c.Kind)
	case c.Kind == Set && c.Type == None:
		return fmt.Errorf("value without a type")
	}
	return nil
}

// Scanned counts the entries that a read stepped over, returned or not.
type Scanned struct {
	Cells uint64 // cell versions and tombstones
	Bytes uint64 // their RawSize
	// Read is the bytes, without compression, of the blocks that they were read from, whole and whether cached or
	// not: values in blocks that the read did not need are not among them. In memory it is the entries' Bytes.
	Read uint64
}

// Add adds t to s.
func (s *Scanned) Add(t Scanned) {
	s.Cells += t.Cells
	s.Bytes += t.Bytes
	s.Read += t.Read
}

// String returns the name of the type in the data model.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

var typeNames = [TypeCount]string{"none", "string", "i64", "boolean", "byte", "i32", "f32", "f64", "bytes"}

// TypeOf returns the type with this name, None if there is none.
func TypeOf(name string) Type {
	for t := String; t < TypeCount; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return None
}

// Fits reports whether value has a length that type t allows, and of a Bool
// whether it is 0 or 1. It does not check that a String is UTF-8; the front end
// does.
func (t Type) Fits(value []byte) bool {
	switch t {
	case String, Bytes:
		return true
	case Bool:
		return len(value) == 1 && value[0] <= 1
	case Byte:
		return len(value) == 1
	case I32, F32:
		return len(value) == 4
	case I64, F64:
		return len(value) == 8
	}
	return false
}
