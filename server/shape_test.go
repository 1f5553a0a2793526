package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestShapes holds every successful answer against the fields that the
// interface gives it: all of them, and no others.
func TestShapes(t *testing.T) {
	const (
		none    = ""
		query   = "rows rows[].row_key rows[].columns rows[].columns.title rows[].columns.title. rows[].columns.title.[].time rows[].columns.title.[].type rows[].columns.title.[].value rows_scanned cells_scanned bytes_scanned micros micros_per_row row_count cell_count affected_locality_groups"
		table   = "name column_families column_families[].name column_families[].gc_settings column_families[].gc_settings.ttl_secs column_families[].gc_settings.version_limit locality_groups locality_groups[].id locality_groups[].column_families partitions partitions[].name partitions[].path disk_space_in_bytes"
		details = " partitions[].levels partitions[].cells partitions[].disk_space_in_bytes partitions[].memtable_bytes partitions[].compaction partitions[].error"
	)
	c := newClient(t)
	c.webtable()
	for _, e := range []struct {
		method, path, body string
		status             int
		message, fields    string
	}{
		{"PUT", "/v1/table/new", "", 201, "Table created successfully", none},
		{"POST", "/v1/table/new/column-family", `{"column_families":[{"name":"f"},{"name":"g"}]}`, 201, "Column families created successfully", none},
		{"PATCH", "/v1/table/new/column-family/f", `{"gc_settings":{"ttl_secs":5}}`, 200, "Column family updated successfully", none},
		{"DELETE", "/v1/table/new/column-family/g", "", 202, "Column family deleted successfully", "micros"},
		{"GET", "/v1/table", "", 200, "Tables retrieved successfully", "cache_stats cache_stats.block_count cache_stats.memory_usage_in_bytes tables tables.count tables.items tables.items[]." + strings.ReplaceAll(table, " ", " tables.items[].")},
		{"GET", "/v1/table/t", "", 200, "Table retrieved successfully", table + details},
		{"GET", "/v1/table/t/advice", "", 200, "Advice made successfully", "since moves queries other_query_count column_families column_families[].name column_families[].locality_group column_families[].bytes bytes_per_partition"},
		{"GET", "/v1/table/t/keyspace?start=0", "", 200, "Key space retrieved successfully", "ranges windows"},
		{"POST", "/v1/table/t/write", `{"items":[{"row_key":"org.b","cells":[{"column_key":"title:","type":"string","value":"B"}]}]}`, 200, "Data ingestion successful", "items items.row_count items.cell_count micros_per_item"},
		{"POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.b"},"column":{"key":"title:"}},{"row":{"key":"x"}}]}`, 200, "Query successful", query + " missing"},
		{"POST", "/v1/table/t/scan", `{"row":{"prefix":""},"column":{"key":"title:"}}`, 200, "Query successful", query},
		{"GET", "/v1/table/t/row?key=org.a&column=title:", "", 200, "Query successful", query},
		{"POST", "/v1/table/t/aggregate", `{"of":["count"]}`, 200, "Query successful", "groups groups[].key groups[].count row_count cell_count rows_scanned cells_scanned bytes_scanned affected_locality_groups micros micros_per_row"},
		{"POST", "/v1/table/t/count", `{}`, 200, "Query successful", "row_count cell_count bytes_scanned cells_scanned micros micros_per_row"},
		{"POST", "/v1/table/t/compact", "", 202, "Compaction has begun", none},
		{"DELETE", "/v1/table/t/row", `{"row_key":"org.b"}`, 202, "Row deleted successfully", "deleted_cells_count micros_per_item"},
		{"DELETE", "/v1/table/t", "", 202, "Table deleted successfully", "micros"},
		{"GET", "/v1/checkpoint", "", 200, "Checkpoints retrieved successfully", "checkpoints"},
		{"GET", "/v1/slow-query", "", 200, "Slow queries retrieved successfully", "limit_micros queries"},
		{"GET", "/v1/token", "", 200, "This server has no access control", "token"},
		{"GET", "/healthz", "", 200, "The server is alive", none},
		{"GET", "/readyz", "", 200, "The server takes requests", none},
	} {
		w := c.send(e.method, e.path, e.body)
		var got struct {
			Message string
			Result  json.RawMessage
			Status  int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s %s: %v", e.method, e.path, err)
		}
		if w.Code != e.status || got.Status != e.status || got.Message != e.message {
			t.Errorf("%s %s: got %d, %d, %q, want %d, %q", e.method, e.path, w.Code, got.Status, got.Message, e.status, e.message)
		}
		var outer map[string]json.RawMessage
		_ = json.Unmarshal(w.Body.Bytes(), &outer)
		if len(outer) != 4 || outer["result"] == nil || outer["time_ms"] == nil {
			t.Errorf("%s %s: got the envelope %s", e.method, e.path, w.Body)
		}
		want := strings.Fields(e.fields)
		slices.Sort(want)
		if fields := fieldNames(t, got.Result); !slices.Equal(fields, want) {
			t.Errorf("%s %s: got the fields\n%v, want\n%v", e.method, e.path, fields, want)
		}
		h := w.Header()
		if h.Get("X-Server") == "" || h.Get("X-Took-Ms") == "" || h.Get("Content-Type") != "application/json" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: got the header %v", e.method, e.path, h)
		}
	}
}

// TestEmptyShapes: lists without elements are lists all the same.
func TestEmptyShapes(t *testing.T) {
	c := newClient(t)
	c.same(c.must(200, "GET", "/v1/table", ""), `{"cache_stats":{"block_count":0,"memory_usage_in_bytes":0},"tables":{"count":0,"items":[]}}`)
	c.must(201, "PUT", "/v1/table/t", "{}")
	c.same(c.must(200, "GET", "/v1/table", ""), `{"cache_stats":{"block_count":0,"memory_usage_in_bytes":0},"tables":{"count":1,"items":[
		{"name":"t","column_families":[],"locality_groups":[],"partitions":[{"name":"_man_t","path":"memory"},{"name":"_dat_t","path":"memory"}],"disk_space_in_bytes":0}]}}`)
	c.same(c.must(200, "POST", "/v1/table/t/scan", `{}`),
		`{"rows":[],"row_count":0,"cell_count":0,"rows_scanned":0,"cells_scanned":0,"bytes_scanned":0,"affected_locality_groups":0}`)
	c.same(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}}]}`),
		`{"rows":[],"row_count":0,"cell_count":0,"rows_scanned":0,"cells_scanned":0,"bytes_scanned":0,"affected_locality_groups":0,"missing":[0]}`)
	c.same(c.must(202, "DELETE", "/v1/table/t/row", `{"row_key":"a"}`), `{"deleted_cells_count":0}`)
}

// TestDetails: a table's own page says what its partitions are made of, and
// what is wrong with them.
func TestDetails(t *testing.T) {
	store := newFakeStore()
	store.onTable = func(table *widecol.Table) {
		p := &table.Partitions[1]
		p.Stats = widecol.PartitionStats{Levels: []widecol.LevelStats{{Files: 2, Bytes: 30}, {}}, Cells: 7, DiskBytes: 30, MemtableBytes: 4, Compacting: true, CompactionLeft: 5, Err: errors.New("file 9: bad block")}
		table.DiskBytes = 30
	}
	c := clientOf(t, store, Options{})
	c.must(201, "PUT", "/v1/table/t", "")
	c.same(c.must(200, "GET", "/v1/table/t", ""), `{"name":"t","column_families":[],"locality_groups":[],"disk_space_in_bytes":30,"partitions":[
		{"name":"_man_t","path":"memory","levels":[],"cells":0,"disk_space_in_bytes":0,"memtable_bytes":0,"compaction":null,"error":null},
		{"name":"_dat_t","path":"memory","levels":[{"files":2,"bytes":30},{"files":0,"bytes":0}],"cells":7,"disk_space_in_bytes":30,"memtable_bytes":4,"compaction":{"bytes_left":5},"error":"file 9: bad block"}]}`)
}

func TestTimes(t *testing.T) {
	c := newClient(t)
	c.webtable()
	w := c.send("POST", "/v1/table/t/scan", "{}")
	var got struct {
		TimeMS int64 `json:"time_ms"`
		Result struct {
			Micros       int64
			MicrosPerRow int64 `json:"micros_per_row"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	// The clock moves by 10 ms whenever the server looks at it.
	if got.TimeMS < 10 || got.Result.Micros < 10_000 || got.Result.MicrosPerRow != got.Result.Micros/3 {
		t.Errorf("got %+v", got)
	}
}
