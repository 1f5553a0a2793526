package widecol

import (
	"context"
	"io"
)

// These interfaces are optional. A caller finds them by a type assertion on a Store or a View, and does without
// what is not there.

// Divider is a View whose queries can be divided among goroutines.
type Divider interface {
	View
	// Divide divides q into queries over ranges of its rows, in order, with about least bytes of stored data
	// in each, or more if there would be too many. It may return q alone, and does so if q must be read as a
	// whole: a limit on rows or cells, an offset or a sample count rows from the first.
	//
	// The parts return together what q returns, and the Stats of those that were read to their end add up to
	// those of q, but for Partitions, which is the same in each. Goroutines may read parts at the same time,
	// each one Rows. A part can be divided again, also while others are read, until Divide returns it alone.
	//
	// If q has an Explain and there are several parts, each has an empty one of its own. All added up, they say
	// what that of q would, but for Ended, which counts parts, and for PartRows, since each has rows of its own.
	Divide(q *Query, least int64) []Query
}

// HealthReporter is a Store that knows whether it takes writes.
type HealthReporter interface {
	// Health returns why the store refuses writes at present, an *Error of the kind that a write would get,
	// or nil. It is safe for concurrent use, and does not wait.
	Health() error
}

// DamageReporter is a Store that knows of damage to its files.
type DamageReporter interface {
	// Damage returns the damage that is known, an error for each damaged part of the store, or nil for none.
	// It is safe for concurrent use, and reads no files.
	Damage() []error
}

// TableLoader is a Store that can create a table with all its cells at once. It is safe for concurrent use.
type TableLoader interface {
	// LoadTable creates a table, which has the cells that fill writes. Until fill has returned, the table does not exist for
	// anybody else, but its name is taken. Then it exists as a whole, and durably. If fill fails, if the context ends,
	// or if the process does, nothing is left of it. It fails as CreateTable does, and with the error of fill.
	//
	// write takes mutations with the Op Set, of a family with a MergeOperator, too. It is for one goroutine at a time.
	LoadTable(ctx context.Context, name string, spec TableSpec, settings TableSettings, fill func(write func([]Mutation) error) error) error
}

// Checkpointer is a Store that can make a copy of itself as of one moment, in files beside its own. It is safe for
// concurrent use.
type Checkpointer interface {
	// Checkpoint makes a checkpoint of tables, of the whole Store if there are none. It has what every call before it
	// has changed, and of each call beside it all or nothing. It stays until RemoveCheckpoint, or until the Store is
	// opened anew. It fails with UnknownTable, and with the kind DiskFull if there is no room for it.
	Checkpoint(ctx context.Context, tables []string) (Checkpoint, error)
	// OpenCheckpoint opens a file of a checkpoint.
	OpenCheckpoint(id, file string) (CheckpointFileReader, error)
	// RemoveCheckpoint removes a checkpoint. Files of it that are open can still be read.
	RemoveCheckpoint(id string) error
}

// Checkpoint is a copy of a Store, or of some tables of it.
type Checkpoint struct {
	ID    string // of letters and digits; no two have the same
	Store string // the identity of the Store; files of the same name of two Stores are different
	Path  string // the directory of the files
	// Where it is in the log of the Store: Timeline names the log, Sequence is the number of the last change, and Time no
	// change in it is later than, in microseconds.
	Timeline string
	Sequence uint64
	Time     int64
	Tables   []CheckpointTable
	Files    []CheckpointFile // sorted by name
}

// CheckpointTable is a table of a checkpoint.
type CheckpointTable struct {
	Name       string
	Partitions []uint64
}

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Name     string // slash-separated, below Checkpoint.Path
	Size     int64
	Checksum uint64 // xxhash64 of the file
}

// CheckpointFileReader is an open file.
type CheckpointFileReader interface {
	io.ReaderAt
	io.Closer
}
