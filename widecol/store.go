package widecol

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
)

// Store keeps tables. It is safe for concurrent use.
//
// A method that changes something returns after the change is durable. An error of a kind other than
// Unknown means that nothing has changed. Every View opened after the method has returned sees the
// change.
//
// A Store applies the mutations of one row in one Write together, in every family: no View sees a part of them.
// Capabilities says what it promises of several rows.
//
// Every change of cells takes an idempotency key, "" for none. The key is part of the change, so it is
// durable if and only if the change is. From then on, for IdempotencyWindowSecs, a request of the same
// table with the key changes nothing. It returns the result of the first request, or the error
// IdempotencyKeyReused if it is a different request. Requests are the same if they call the same method with
// equal arguments. A refused request leaves its key free. While a request is under way, or its outcome is Unknown but may still be decided, others with
// its key fail with IdempotencyKeyInUse.
type Store interface {
	// Capabilities returns what the Store promises beyond this contract. It is safe at any time.
	Capabilities() Capabilities

	// CreateTable creates a table. It fails with TableExists if there is one, and with an error of the
	// kind Conflict if the Store has as many as it can.
	CreateTable(ctx context.Context, name string, spec TableSpec) error
	// DropTable removes a table and all its data. A later table of the same name starts empty.
	DropTable(ctx context.Context, name string) error
	// Table describes one table. It fails with UnknownTable if there is none.
	Table(ctx context.Context, name string) (Table, error)
	// Tables describes all tables, sorted by name.
	Tables(ctx context.Context) ([]Table, error)

	// CreateFamilies adds families to a table, all or none. With group they form a new locality group,
	// otherwise they go to the default partition. It fails with the kind Conflict as CreateTable does.
	CreateFamilies(ctx context.Context, table string, families []Family, group bool) error
	// AlterTable changes settings of a table.
	AlterTable(ctx context.Context, table string, change TableChange) error
	// Garbage counts the versions that a read returns now and would not return with other settings of
	// a family.
	Garbage(ctx context.Context, table, family string, gc GC) (Garbage, error)
	// AlterFamily changes settings of a family.
	AlterFamily(ctx context.Context, table, family string, change FamilyChange) error
	// MoveFamily moves a family to another place: a locality group of the table, NewGroup for one of its own, or
	// "" for the default partition. It returns when the move has begun, and goes on through restarts until it is
	// done, while the family is read and written. No View sees the move: it has each cell once. Where the family is,
	// or moves to, already, MoveFamily changes nothing. From where it comes, it goes back; to a third place it
	// fails with FamilyMoves. A group goes when its last family has left. It fails with UnknownGroup, and with the
	// kind Conflict as CreateTable does.
	MoveFamily(ctx context.Context, table, family, place string) (Move, error)
	// Advice says which families should move, going by the queries of the table so far. A Store whose queries cost
	// the same wherever the families are advises nothing.
	Advice(ctx context.Context, table string) (Advice, error)
	// Compact rewrites what the Store keeps of a table without what no View can see, such as garbage and what is
	// deleted: of a place, which is the ID of a locality group or "" for the default partition, or of all for nil. It
	// returns when that has begun. No answer changes, and reads and writes go on. What has not been rewritten when the
	// Store is closed or crashes stays as it was. Table says how far it is. It fails with UnknownGroup.
	Compact(ctx context.Context, table string, place *string) error
	// DropFamily removes a family and its cells. A later family of the same name starts empty.
	DropFamily(ctx context.Context, table, family string) error

	// Write applies mutations, all or none. If two of them write the same version of the same cell, the
	// later one counts. It returns the time that CommitTime stands for. There must be at least one
	// mutation.
	Write(ctx context.Context, table string, mutations []Mutation, key string) (time int64, err error)
	// WriteRows applies lists of mutations, each for one row: every list that can be, all or none of it. Of
	// those that are refused, outcomes has the error, at the place of the list; of others nil. With an err
	// no list was applied.
	WriteRows(ctx context.Context, table string, rows [][]Mutation, key string) (time int64, outcomes []error, err error)
	// CheckAndMutate applies one of two lists of mutations to a row, by what the row holds. No other
	// change of the row comes between the look at it and its change. time is 0 if the list was empty.
	CheckAndMutate(ctx context.Context, table string, c *CheckAndMutate, key string) (matched bool, time int64, err error)
	// ReadModifyWrite derives new versions of columns of a row from the newest ones. No other change of
	// the row comes in between. It returns the versions written, in the order of a row's cells, and the
	// time of the commit.
	ReadModifyWrite(ctx context.Context, table string, u *ReadModifyWrite, key string) (written []cell.Cell, time int64, err error)
	// Delete deletes versions. A row is deleted from at once, in all its families. Of many rows some may be deleted
	// from before others, and only some if it fails: then it can be repeated. Under an idempotency key it then goes
	// on where it was, counts everything once, and deletes from no row twice. Rows that are written after it began
	// may stay.
	Delete(ctx context.Context, table string, d *Deletion, key string) (Deleted, error)

	// View opens a view of a table. The caller closes it.
	View(ctx context.Context, table string) (View, error)

	// CacheStats describes the block cache.
	CacheStats() CacheStats
	// Close releases the store after the calls under way have returned. Every later call fails with the
	// kind Closed.
	Close() error
}

// Garbage counts versions.
type Garbage struct {
	Rows  int64 // that have any of them
	Cells int64 // versions
	Bytes int64 // of row keys, column keys, times and values
}

// CacheStats describes a Store's block cache.
type CacheStats struct {
	BlockCount int64
	Bytes      int64
}

// View is a table at the time when the View was opened, whatever is written, deleted or compacted since, if the
// Store has Capabilities.TableSnapshot. Versions expire by the time of the opening.
//
// A View is for one goroutine at a time. Close releases the memory and files that it holds.
type View interface {
	// Scan starts a query. Only one Rows may be open at a time: close it before the next Scan. (A Divider
	// allows one for each part of a query.) The query must not change until then.
	Scan(ctx context.Context, q *Query) (Rows, error)
	Close()
}

// Rows is the result of a query, as a stream of chunks. A chunk is some cells of one row, in order. A row
// with many or large cells has several chunks, so memory is bounded whatever the size of a row.
//
//	for rows.Next() {
//		if rows.First() { … a new row starts: rows.Row() }
//		for _, c := range rows.Cells() { … }
//	}
//	err := rows.Err()
//
// The results of Row, Cells and Labels are valid until the next call of Next or Close.
type Rows interface {
	// Next moves to the next chunk. It returns false at the end of the result, when the context is done,
	// or on an error. It looks at the context as often as it calls Query.Yield.
	Next() bool
	// First reports whether the chunk is the first of its row.
	First() bool
	Row() []byte
	// Cells returns at least one cell. All have the kind cell.Set. Their sequence numbers have no meaning
	// outside the store.
	Cells() []cell.Cell
	// Labels returns the label of each cell, "" for none. It may return nil for no labels.
	Labels() []string
	// Err returns the error that ended the stream, or nil at its end.
	Err() error
	// Stats returns the cost of the query so far.
	Stats() Stats
	// More reports whether the result goes on behind a RowLimit or CellLimit that has ended it, and where
	// (Query.After). It is called at most once, after Next has returned false. To be exact it may look at any
	// number of rows; Stats does not count them. After an error, which Err returns, it is false.
	More() (Position, bool)
	Close()
}

// PassedRows is an optional interface of Rows that can say how far a query has come while it returns nothing.
type PassedRows interface {
	// Passed returns, within Query.Yield, the row that the query has just looked at to its end, and returned nothing of.
	// It is nil otherwise, and valid until Yield returns.
	Passed() []byte
}

// Stats counts what a query returned and what it cost.
type Stats struct {
	Rows  int64 // returned
	Cells int64 // versions returned

	RowsScanned  int64 // rows looked at, returned or not
	CellsScanned int64 // versions and tombstones stepped over in the partitions read, returned or not
	BytesScanned int64 // row key, column key, time and value bytes of those
	Partitions   int64 // those read: that could hold columns of the filter; none if a limit or the set of rows is empty
}

// AddScanned adds the entries that a scan of a partition stepped over.
func (s *Stats) AddScanned(n cell.Scanned) {
	s.CellsScanned += int64(n.Cells)
	s.BytesScanned += int64(n.Bytes)
}
