package lsmstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestTooManyTables: a table or locality group above the limit is refused and leaves nothing
// behind. After a drop there is room again.
func TestTooManyTables(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	ctx := context.Background()
	family := widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}
	if err := s.CreateTable(ctx, "first", family); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Engine().CreatePartitions(make([]string, engine.MaxPartitions-3)...); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var e *widecol.Error
		if !errors.As(err, &e) || e.Kind != widecol.Conflict || e.Code != "too_many_tables" {
			t.Errorf("%s: got %v, want too_many_tables", what, err)
		}
	}
	refused("a table with room for half of it", s.CreateTable(ctx, "second", family))
	if err := s.CreateFamilies(ctx, "first", []widecol.Family{{Name: "g"}}, true); err != nil {
		t.Fatal(err)
	}
	refused("a locality group", s.CreateFamilies(ctx, "first", []widecol.Family{{Name: "h"}}, true))
	if err := s.CreateFamilies(ctx, "first", []widecol.Family{{Name: "h"}}, false); err != nil {
		t.Errorf("a family without a group: %v", err)
	}
	if err := s.DropTable(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTable(ctx, "second", family); err != nil {
		t.Errorf("in the place of another: %v", err)
	}
}
