// Package colonnade is a wide-column store for programs that keep it in their own process: tables of sorted rows in a
// directory, with durable writes, and without a server.
//
//	db, err := colonnade.Open("data", nil)
//	pages := db.Table("pages")
//	_, err = pages.Write(ctx, colonnade.Set("org.example/", "title", "", colonnade.String("Example")))
//	for row, err := range pages.Scan(ctx, colonnade.Query{Rows: colonnade.Prefix("org.")}) {
//		…
//	}
//	err = db.Close()
//
// # The model
//
// A table is a sorted map of rows by key. A row has cells, each in a column: a family and a qualifier. A cell keeps
// versions, each with a time, a type and a value. Families are made beforehand and are few; qualifiers come with the
// cells, and may be millions. A locality group stores some families apart from the others, so that a read of those
// costs nothing for these. It never changes a result.
//
//	row key    1 to 4,096 bytes, any
//	family     1 to 200 characters of A-Z a-z 0-9 _ . # $ -
//	qualifier  0 to 16,384 bytes, any
//	value      up to 16 MiB
//	time       microseconds since the Unix epoch, 0 and up
//
// Rows are in the order of the bytes of their keys; the cells of a row are by family, then by the bytes of the
// qualifier, the newest version first.
//
// # Durability
//
// A call that changes something returns after the change is durable: no crash of the process or the machine takes it
// back. A change that had not returned is there whole or not at all, whatever rows, families and locality groups it is
// of. The next Open repairs what a crash has left.
//
// # Reads
//
// Every read is of one moment: that of its call or, of a Snapshot, when it was opened. It has what was durable then, and
// nothing that came later. Damage on disk is an error, never a wrong or a shorter answer; other tables go on.
//
// # Errors
//
// An error is an *Error, the error of a context that has ended, or, of Open and Checkpoint, one of the file system.
// errors.Is finds the kinds that a program can act on, such as ErrNotFound. Except after ErrOutcomeUnknown, a change
// that failed has changed nothing, DeleteRows of many rows excepted.
//
// # Concurrency and ownership
//
// DB, Table and Snapshot are safe for concurrent use, Close excepted. Calls keep nothing of their arguments. What a scan
// yields is borrowed until its loop goes on; everything else belongs to the caller.
//
// # One directory, one process
//
// The directory is the one of "colonnade serve --data": a program and the server may use it in turn. At the same time
// only one of them can, and Open fails with ErrInUse.
package colonnade

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// Options configure a DB. The zero value of a field is its default.
//
// Cache and memtables are on the Go heap. A program that wants to stay within a bound calls debug.SetMemoryLimit with
// both, 64 MiB, and what it needs itself.
type Options struct {
	// CacheBytes bounds the cache of blocks that were read. Default 256 MiB.
	CacheBytes int64
	// MemtableBytes bounds what was written and is not in sorted files yet. More of it makes loads faster and an Open
	// after a crash slower. Default 128 MiB.
	MemtableBytes int64
	// Logger gets what an operator should know: damage, failures in the background, a full disk. Default: none.
	Logger *slog.Logger
}

// DB is an open directory.
type DB struct {
	store *lsmstore.Store
}

// Open opens a directory, which it creates if there is none. Without options, nil, all have their defaults. The caller
// closes the DB. The error is ErrInUse if it is open already, in this process or another.
func Open(dir string, opt *Options) (*DB, error) {
	if opt == nil {
		opt = new(Options)
	}
	full, err := filepath.Abs(dir) // the working directory may change later
	if err != nil {
		return nil, err
	}
	store, err := lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(full), Engine: engine.Options{
		FS: vfs.OS, Clock: clock.System, Log: opt.Logger, CacheBytes: opt.CacheBytes, MemtableBytes: opt.MemtableBytes,
	}})
	var locked *vfs.LockedError
	var corrupt *engine.CorruptError
	switch {
	case errors.As(err, &locked):
		return nil, inUse(dir, locked)
	case errors.As(err, &corrupt):
		return nil, failure(&widecol.Error{Kind: widecol.Corrupt, Code: "corruption", Index: -1,
			Message: fmt.Sprintf("directory %s is damaged: colonnade check %s says where", dir, dir), Cause: err})
	case err != nil:
		return nil, err
	}
	return &DB{store: store}, nil
}

// inUse returns the error for a directory that is open already.
func inUse(dir string, locked *vfs.LockedError) error {
	by := "another process"
	switch locked.PID {
	case 0:
	case os.Getpid():
		by = "this process"
	default:
		by = fmt.Sprintf("the process with id %d", locked.PID)
	}
	return &Error{Code: "in_use", Index: -1, kind: ErrInUse,
		message: fmt.Sprintf("directory %s is open already, in %s: close it there first", dir, by), cause: locked}
}

// Close waits for the calls under way, and for all Snapshots to be closed. It writes what is in memory to sorted files,
// so that the next Open is fast. Calls after it fail with ErrClosed. It must not be called from the loop over a scan.
func (db *DB) Close() error { return failure(db.store.Close()) }

// Table returns the table of a name, which need not exist yet. It reads nothing.
func (db *DB) Table(name string) *Table { return &Table{db: db, name: name} }

// TableSpec says how to create a table.
type TableSpec struct {
	Families []Family
	// Groups are locality groups, each the names of some of the Families. The others share one.
	Groups [][]string
}

// CreateTable creates a table. It fails with ErrExists if there is one.
func (db *DB) CreateTable(ctx context.Context, name string, spec TableSpec) error {
	families, err := modelFamilies(spec.Families)
	if err != nil {
		return err
	}
	return failure(db.store.CreateTable(ctx, name, widecol.TableSpec{Families: families, Groups: spec.Groups}))
}

// DropTable removes a table with all its data. A later one of the same name starts empty.
func (db *DB) DropTable(ctx context.Context, name string) error {
	return failure(db.store.DropTable(ctx, name))
}

// Tables describes all tables, by name.
func (db *DB) Tables(ctx context.Context) ([]TableInfo, error) {
	list, err := db.store.Tables(ctx)
	if err != nil {
		return nil, failure(err)
	}
	infos := make([]TableInfo, 0, len(list))
	for _, t := range list {
		infos = append(infos, tableInfo(t))
	}
	return infos, nil
}
