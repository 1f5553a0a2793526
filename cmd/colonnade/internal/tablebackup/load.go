package tablebackup

import (
	"context"
	"path/filepath"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// OpenRestored opens a directory that a backup was restored to, for one who reads it from the first row to the last.
func OpenRestored(dir string) (*lsmstore.Store, error) {
	return lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(dir), Engine: engine.Options{
		FS: vfs.OS, Clock: clock.System, MemtableBytes: 16 << 20, CacheBytes: 32 << 20, ScrubBytesPerSecond: -1,
	}})
}

// load creates a table with the families, settings, groups and cells of one in a restored directory. What its GC rules have
// dropped does not come along.
func load(ctx context.Context, dir, from string, to widecol.TableLoader, table string) error {
	store, err := OpenRestored(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	t, err := store.Table(ctx, from)
	if err != nil {
		return err
	}
	view, err := store.View(ctx, from)
	if err != nil {
		return err
	}
	defer view.Close()
	spec := widecol.TableSpec{Families: t.Families}
	for _, g := range t.Groups {
		if len(g.Families) > 0 { // the last one was leaving
			spec.Groups = append(spec.Groups, g.Families)
		}
	}
	settings := widecol.TableSettings{DefaultGC: t.Settings.DefaultGC}
	return to.LoadTable(ctx, table, spec, settings, func(write func([]widecol.Mutation) error) error {
		return copyCells(ctx, view, write)
	})
}

const (
	batchBytes = 4 << 20 // large enough that syncs do not count
	batchCells = 20_000
)

// copyCells writes all cells of a view.
func copyCells(ctx context.Context, view widecol.View, write func([]widecol.Mutation) error) error {
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	var b batch
	for rows.Next() {
		for _, c := range rows.Cells() {
			b.add(rows.Row(), &c)
		}
		if len(b.data) >= batchBytes || len(b.list) >= batchCells {
			if err := write(b.list); err != nil {
				return err
			}
			b.list, b.data = b.list[:0], b.data[:0]
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return write(b.list)
}

// batch is cells on their way. Their bytes are copies, since those of a scan are valid for a moment.
type batch struct {
	list []widecol.Mutation
	data []byte
}

func (b *batch) add(row []byte, c *cell.Cell) {
	family, qualifier := cell.SplitColumn(c.Column)
	b.list = append(b.list, widecol.Mutation{
		Op: widecol.Set, Row: b.keep(row), Family: b.keep(family), Qualifier: b.keep(qualifier), Value: b.keep(c.Value), Time: c.Time, Type: c.Type,
	})
}

func (b *batch) keep(p []byte) []byte {
	n := len(b.data)
	b.data = append(b.data, p...) // what was kept before stays where it is if this moves
	return b.data[n:len(b.data):len(b.data)]
}
