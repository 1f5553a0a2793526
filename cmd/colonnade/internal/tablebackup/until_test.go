package tablebackup

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// TestLoadedTableUntil: a backup of all tables is made while a table is loaded. By the archived log that follows, the table
// is restored with all its cells, or, to a time before its end, not at all.
func TestLoadedTableUntil(t *testing.T) {
	k := newKept(t)
	store, err := lsmstore.Open(lsmstore.Options{Dir: "/archived", Engine: engine.Options{FS: k.fs, Clock: clock.System, ReserveBytes: -1, ArchiveLog: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	k.Keeper.store = store
	r, err := k.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const rows = 10
	var within int64 // a time in the middle
	err = store.LoadTable(t.Context(), "loaded", spec, widecol.TableSettings{}, func(write func([]widecol.Mutation) error) error {
		for n := range rows {
			if n == rows/2 {
				_, err := r.Create(t.Context(), func(ctx context.Context) (*backup.Source, error) {
					c, err := store.Checkpoint(ctx, nil)
					if err != nil {
						return nil, err
					}
					s := k.source(&c)
					s.Place.Whole = true
					return s, nil
				})
				if err != nil {
					return err
				}
			}
			row := fmt.Appendf(nil, "row%d", n)
			for _, family := range []string{"f", "g"} {
				if err := write([]widecol.Mutation{{Row: row, Family: []byte(family), Time: 1, Type: cell.Bytes, Value: row}}); err != nil {
					return err
				}
			}
			within = store.Engine().LastTime()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	archiver := backup.NewArchiver(store.Engine(), k.open, backup.ArchiverOptions{Clock: clock.System, Interval: time.Hour})
	archiver.Close(t.Context())
	want := cells(t, store)
	for until, want := range map[int64]string{backup.Latest: want, within: ""} {
		p, err := r.FindPoint(t.Context(), "", until)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "restored")
		if err := r.Restore(t.Context(), p, nil, dir); err != nil {
			t.Fatal(err)
		}
		restored, err := OpenRestored(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := cells(t, restored); got != want {
			t.Errorf("restored to %d is %q, want %q", until, got, want)
		}
		if err := restored.Close(); err != nil {
			t.Error(err)
		}
		if n, err := engine.Check(vfs.OS, dir, func(e *engine.CorruptError) { t.Error(e) }); err != nil {
			t.Error(n, err)
		}
	}
}

// cells returns the rows and families of the loaded table, "" if there is none.
func cells(t *testing.T, s *lsmstore.Store) (text string) {
	t.Helper()
	view, err := s.View(t.Context(), "loaded")
	if widecol.KindOf(err) == widecol.NotFound {
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	scan, err := view.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	for scan.Next() {
		text += string(scan.Row()) + ":"
		for _, c := range scan.Cells() {
			text += string(c.Column[:1])
		}
		text += " "
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return text
}
