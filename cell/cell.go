// Package cell defines the unit the engine stores: one version of one cell of
// one row, its place in the order of a partition, and the sets of columns that
// a read can ask for.
//
// The package is a leaf. It knows neither files nor tables; the memtable, the
// sorted files and the engine all speak in its terms.
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
// The row key is kept beside the cells of a row, not in each of them. Column
// and Value are borrowed: whoever hands out a Cell says how long they live.
type Cell struct {
	Column []byte // see AppendColumn
	Value  []byte
	Time   int64  // microseconds since the Unix epoch
	Seq    uint64 // the sequence number of the batch that wrote it
	Kind   Kind
	Type   Type
	// Place is that of Column, from 1 on, in the dictionary of the block that the
	// entry was read from, 0 for none. Of entries of one dictionary those with the
	// same place have the same column, and places ascend as columns do.
	Place uint32
}

// Run says of entries of a row that were read together what need not be found out
// from each of them.
type Run struct {
	// Dictionary is the number of the dictionary in which the entries have their
	// places, 0 for none. No other dictionary has it.
	Dictionary uint64
	// Last says that the row has no more entries.
	Last bool
	// Wanted says that the columns of all entries are among those that the read is
	// for. False says nothing.
	Wanted bool
	// Plain says that all entries are values, each of another column, and that their
	// sequence numbers and times are in these bounds. False says nothing.
	Plain          bool
	MinSeq, MaxSeq uint64
	MinTime        int64
}

// Compare orders the entries of one row: by column ascending, then time
// descending, then sequence descending. It returns 0 only for the same place.
func (c *Cell) Compare(d *Cell) int {
	if r := bytes.Compare(c.Column, d.Column); r != 0 {
		return r
	}
	if r := cmp.Compare(d.Time, c.Time); r != 0 {
		return r
	}
	return cmp.Compare(d.Seq, c.Seq)
}

// RawSize is what the entry counts for in statistics: the bytes of its row
// key, column key, time and value.
func (c *Cell) RawSize(row []byte) int {
	return len(row) + len(c.Column) + 8 + len(c.Value)
}

// Check reports why an entry cannot be stored: an unknown kind or type, or a
// column or time that does not go with its kind.
func (c *Cell) Check() error {
	if c.Kind >= KindCount || c.Type >= TypeCount {
		return fmt.Errorf("unknown kind %d or type %d", c.Kind, c.Type)
	}
	full := bytes.IndexByte(c.Column, 0) > 0
	var column, timed bool // is the column of the right shape, and the time?
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

// Scanned counts the entries a read stepped over, returned or not.
type Scanned struct {
	Cells uint64 // cell versions and tombstones
	Bytes uint64 // their RawSize
}

// Add adds t to s.
func (s *Scanned) Add(t Scanned) {
	s.Cells += t.Cells
	s.Bytes += t.Bytes
}

// String returns the name of the type in the data model.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

var typeNames = [TypeCount]string{"none", "string", "i64", "boolean", "byte", "i32", "f32", "f64", "bytes"}

// TypeOf returns the type with the given name, None when there is no such type.
func TypeOf(name string) Type {
	for t := String; t < TypeCount; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return None
}

// Fits reports whether value can be an encoded value of type t, going by its
// length; that a String is UTF-8 is for whoever takes it in to check.
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
