package server

import (
	"context"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestMoveFamily: a Store that moves at once has moved.
func TestMoveFamily(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"},{"name":"b"}],"locality_groups":[["b"]]}`)
	const a, b = "/v1/table/t/column-family/a", "/v1/table/t/column-family/b"
	c.same(c.must(200, "PATCH", a, `{"locality_group":"1"}`), `{"locality_group":"1"}`)
	c.same(c.must(200, "PATCH", b, `{"locality_group":null}`), `{"locality_group":null}`)
	c.same(c.must(200, "PATCH", b, `{"locality_group":"new"}`), `{"locality_group":"2"}`)
	table := string(c.must(200, "GET", "/v1/table/t", ""))
	contains(t, table, `"locality_groups":[{"id":"1","column_families":["a"]},{"id":"2","column_families":["b"]}]`)
}

// slowMover is a fake store in which a moves for a long time.
type slowMover struct {
	*fakeStore
	move widecol.Move
}

func (s *slowMover) MoveFamily(_ context.Context, _, family, place string) (widecol.Move, error) {
	if s.move.Moving() && place != s.move.To {
		return widecol.Move{}, widecol.FamilyMoves(family)
	}
	s.move.Family, s.move.To = family, place
	return s.move, nil
}

// TestMoveFamilyProgress: the progress of a move is in the response, and in the description of the table.
func TestMoveFamilyProgress(t *testing.T) {
	store := &slowMover{fakeStore: newFakeStore()}
	store.onTable = func(table *widecol.Table) {
		if store.move.Moving() {
			table.Moves = append(table.Moves, store.move)
		}
	}
	c := clientOf(t, store, Options{})
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"},{"name":"b"}]}`)
	const path = "/v1/table/t/column-family/b"
	c.same(c.must(202, "PATCH", path, `{"locality_group":"x"}`), `{"locality_group":"x","from":null,"row_count":0,"cell_count":0,"bytes":0}`)
	store.move.Rows, store.move.Cells, store.move.Bytes = 1, 2, 300
	c.refused(409, "column_family_moves", "locality_group", "PATCH", path, `{"locality_group":null}`)
	contains(t, string(c.must(200, "GET", "/v1/table/t", "")), `{"name":"a","gc_settings":{"ttl_secs":null,"version_limit":null}},{"name":"b",`+
		`"gc_settings":{"ttl_secs":null,"version_limit":null},"moving":{"locality_group":"x","from":null,"row_count":1,"cell_count":2,"bytes":300}}`)
	store.move.Err = widecol.Errorf(widecol.DiskFull, "disk_full", "there is not enough free space on the disk")
	c.same(c.must(202, "PATCH", path, `{"locality_group":"x"}`),
		`{"locality_group":"x","from":null,"row_count":1,"cell_count":2,"bytes":300,"error":"there is not enough free space on the disk"}`)
}

func contains(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%s\ndoes not contain\n%s", text, want)
	}
}

// TestCompact: a compaction is accepted for a table, the default partition and a group.
func TestCompact(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, body := range []string{"", "{}", `{"locality_group":null}`, `{"locality_group":"1"}`} {
		c.same(c.must(202, "POST", "/v1/table/t/compact", body), "null")
	}
}
