package widecol

import (
	"context"

	"colonnade/cell"
)

// Store keeps tables. It is safe for concurrent use.
//
// Every method that changes something returns after the change is durable, and
// an error of a kind other than Unknown means that nothing has changed. A
// change is seen by every View opened after its method has returned, and by
// none in part.
//
// A Store promises that the mutations of one row in one Write are applied
// together, in every family; a Store may keep more and lsmstore and memstore
// do: the whole Write.
//
// A Write and a DeleteRow take an idempotency key, "" for none. The key becomes
// part of the change, so that it is durable exactly if the change is. From then
// on, and until IdempotencyWindowSecs have passed, a request of the same table with
// the key changes nothing: it returns what the first one returned, even if that
// was never received, or the error IdempotencyKeyReused if it is not the same
// request. Requests are the same if they write the same mutations in the same order,
// or delete the same columns of the same row. A request that was refused leaves its
// key free. While a request is under way, or its outcome is Unknown but may still
// be decided, others with its key are refused with IdempotencyKeyInUse.
type Store interface {
	// CreateTable creates a table. TableExists when there is one; an error of the
	// kind Conflict when there are as many as the Store can have.
	CreateTable(ctx context.Context, name string, spec TableSpec) error
	// DropTable removes a table and all its data. A table created later under
	// the same name starts empty.
	DropTable(ctx context.Context, name string) error
	// Table describes one table, UnknownTable when there is none.
	Table(ctx context.Context, name string) (Table, error)
	// Tables describes all tables, sorted by name.
	Tables(ctx context.Context) ([]Table, error)

	// CreateFamilies adds families to a table, all or none. With group they
	// form one new locality group, otherwise they go to the default partition. The
	// kind Conflict as in CreateTable.
	CreateFamilies(ctx context.Context, table string, families []Family, group bool) error
	// SetGC changes the settings of a family.
	SetGC(ctx context.Context, table, family string, gc GC) error
	// DropFamily removes a family and its cells. A family created later under
	// the same name starts empty.
	DropFamily(ctx context.Context, table, family string) error

	// Write applies mutations, all or none. Where two of them write the same
	// version of the same cell, the later one counts. It returns the time that
	// stands for CommitTime. The mutations must not be empty.
	Write(ctx context.Context, table string, mutations []Mutation, key string) (time int64, err error)
	// DeleteRow deletes those cells of a row that filter selects, and returns
	// how many versions a read would have returned of them just before.
	DeleteRow(ctx context.Context, table string, row []byte, filter Filter, key string) (deleted int64, err error)

	// View opens a view of a table as it is now. The caller closes it.
	View(ctx context.Context, table string) (View, error)

	// CacheStats describes the block cache.
	CacheStats() CacheStats
	// Close releases the store after the calls under way have returned. Every
	// later call fails with the kind Closed.
	Close() error
}

// CacheStats describes a Store's block cache.
type CacheStats struct {
	BlockCount int64
	Bytes      int64
}

// View is one consistent snapshot of a table: what was there when it was
// opened, whatever is written, deleted or compacted since. Which versions have
// gone by age is decided once, at the time it was opened.
//
// A View is for one goroutine at a time. Close releases what it pins.
type View interface {
	// Scan starts a query. One Rows is in use at a time: close it before the
	// next Scan. The query must not change until then.
	Scan(ctx context.Context, q *Query) (Rows, error)
	Close()
}

// Rows is the answer of a query, as a stream of chunks: each chunk is some cells
// of one row, in order. A row with many or large cells takes several chunks;
// memory stays bounded whatever the size of a row.
//
//	for rows.Next() {
//		if rows.First() { … a new row begins: rows.Row() }
//		for _, c := range rows.Cells() { … }
//	}
//	err := rows.Err()
//
// Everything that Row and Cells return is valid until the next call of Next or
// Close.
type Rows interface {
	// Next moves to the next chunk. It returns false at the end of the answer,
	// when the context is done, or on an error.
	Next() bool
	// First reports whether the chunk is the first of its row.
	First() bool
	Row() []byte
	// Cells returns at least one cell. All have the kind cell.Set; the sequence
	// numbers mean nothing outside the store.
	Cells() []cell.Cell
	// Err returns the error that ended the stream, or nil at its end.
	Err() error
	// Stats returns what the query has cost so far.
	Stats() Stats
	Close()
}

// Stats says what a query returned and what it cost.
type Stats struct {
	Rows  int64 // returned
	Cells int64 // versions returned

	RowsScanned  int64 // rows looked at, returned or not
	CellsScanned int64 // versions and tombstones stepped over in the partitions read, returned or not
	BytesScanned int64 // row key, column key, time and value bytes of those
	Partitions   int64 // partitions that could hold columns of the filter: those read
}
