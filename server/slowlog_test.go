package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// newSlow returns a client of a server that logs queries from a limit on, and its log in JSON.
func newSlow(t *testing.T, limit time.Duration) (*client, *bytes.Buffer) {
	log := new(bytes.Buffer)
	c := clientOf(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), Options{SlowQuery: limit, Log: slog.New(slog.NewJSONHandler(log, nil))})
	c.webtable()
	return c, log
}

// TestSlowQueries: the log has the shape of each kind of read and what it did, and nothing of a row.
func TestSlowQueries(t *testing.T) {
	c, log := newSlow(t, time.Millisecond) // the clock of the test makes everything slower
	for _, test := range []struct{ method, path, body, route, want string }{
		{"GET", "row?key=org.secret&column=title:secret", "", "GET /v1/table/{table}/row",
			`{"rows":{"keys":1,"ranges":0,"bytes":10},"families":["title"],"columns":1}`},
		{"POST", "scan", `{}`, "POST /v1/table/{table}/scan", `{"rows":"all"}`},
		{"POST", "scan", `{"row":{"prefix":"secret","limit":3,"offset":1,"cell_limit":4,"reverse":true},"column":{"families":["title","anchor"],"cell_limit":1},
			"cell":{"time":{"start":77777777},"value":{"op":">=","type":"string","value":"secret"},"limit":9,"strip_value":true},
			"filter":{"chain":{"filters":[{"condition":{"predicate_filter":{"row_key_regex_filter":"secret"},"true_filter":{"pass_all_filter":true}}},{"cells_per_row_limit_filter":66}]}}}`, "POST /v1/table/{table}/scan",
			`{"rows":{"keys":0,"ranges":1,"bytes":12},"families":["anchor","title"],"columns":2,"times":true,"value":"string \u003e=",
			"filter":"chain(condition(row_key_regex_filter,pass_all_filter,-),cells_per_row_limit_filter)",
			"row_limit":3,"row_cell_limit":4,"column_cell_limit":1,"cell_limit":9,"offset":1,"strip_value":true,"reverse":true}`},
		{"POST", "rows", `{"items":[{"row":{"key":"secret"},"column":{"key":"title:secret"}},{"row":{"key":"x"}}]}`, "POST /v1/table/{table}/rows",
			`{"rows":{"keys":1,"ranges":0,"bytes":6},"families":["title"],"columns":1}`},
		{"POST", "count", `{"row":{"sample":0.5,"keys":["secret","b"]}}`, "POST /v1/table/{table}/count", `{"rows":{"keys":2,"ranges":0,"bytes":7},"sample":0.5}`},
		{"POST", "aggregate", `{"of":["sum"]}`, "POST /v1/table/{table}/aggregate", `{"rows":"all"}`},
	} {
		log.Reset()
		c.must(200, test.method, "/v1/table/t/"+test.path, test.body)
		var line struct {
			Msg, Level, Route, Table string
			Took, Items              int
			Query                    json.RawMessage
			Explain                  struct {
				Rows       struct{ Scanned, Returned *int64 }
				Partitions []struct{ Name string }
				Micros     struct{ Total int }
			}
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%v in %s", err, log)
		}
		if line.Msg != "slow query" || line.Level != "WARN" || line.Route != test.route || line.Table != "t" || line.Took/1000 != line.Explain.Micros.Total || line.Explain.Rows.Scanned == nil || line.Explain.Partitions == nil {
			t.Errorf("%s: %s", test.body, log)
		}
		if strings.HasSuffix(test.route, "rows") != (line.Items == 2) {
			t.Errorf("%d items", line.Items)
		}
		var got, want any
		_, _ = json.Unmarshal(line.Query, &got), json.Unmarshal([]byte(test.want), &want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", test.body, line.Query, test.want)
		}
		if strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "77777777") {
			t.Errorf("the log has something of a row: %s", log)
		}
	}
}

// TestSlowQueriesAnswer: a read that may be logged is answered as ever, and one that explains itself is logged, too.
func TestSlowQueriesAnswer(t *testing.T) {
	plain := newClient(t)
	plain.webtable()
	slow, log := newSlow(t, time.Nanosecond)
	for _, r := range [][3]string{{"GET", "row?key=org.a", ""}, {"POST", "scan", `{}`}, {"POST", "count", `{}`}, {"POST", "aggregate", `{"of":["count"]}`}, {"POST", "rows", `{"items":[{"row":{"key":"org.a"}}]}`}} {
		got, want := slow.must(200, r[0], "/v1/table/t/"+r[1], r[2]), plain.must(200, r[0], "/v1/table/t/"+r[1], r[2])
		if stripTimes(got) != stripTimes(want) {
			t.Errorf("%s:\ngot  %s\nwant %s", r[1], got, want)
		}
	}
	log.Reset()
	if got := slow.must(200, "POST", "/v1/table/t/scan", `{"explain":"only"}`); !bytes.Contains(got, []byte(`{"explain":{`)) || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%s, %s", got, log)
	}
}

// TestSlowQueriesOnly: what is faster is not logged, nor is anything once they are turned off.
func TestSlowQueriesOnly(t *testing.T) {
	c, log := newSlow(t, time.Hour)
	c.must(200, "POST", "/v1/table/t/scan", `{}`)
	c.SetSlowQuery(time.Nanosecond)
	c.must(201, "PUT", "/v1/table/u", "")
	if log.Len() > 0 {
		t.Errorf("the log has\n%s", log)
	}
	c.must(200, "POST", "/v1/table/t/scan", `{}`)
	if n := strings.Count(log.String(), "slow query"); n != 1 {
		t.Errorf("%d lines: %s", n, log)
	}
	c.SetSlowQuery(0)
	c.must(200, "POST", "/v1/table/t/scan", `{}`)
	if n := strings.Count(log.String(), "slow query"); n != 1 {
		t.Errorf("%d lines: %s", n, log)
	}
}

// TestSlowQueriesKept: what the log has can be asked for, the newest first, and so can what another front end adds.
func TestSlowQueriesKept(t *testing.T) {
	c, _ := newSlow(t, time.Millisecond)
	c.must(200, "POST", "/v1/table/t/scan", `{"row":{"prefix":"secret"},"column":{"families":["title"]},"cell":{"value":{"op":"=","type":"string","value":"secret"}}}`)
	c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.a"}},{"row":{"key":"x"}}]}`)
	other := &explain.Read{Query: widecol.Query{Sample: 0.5, RowLimit: 3, RowCellLimit: widecol.NoLimit, ColumnCellLimit: widecol.NoLimit, CellLimit: widecol.NoLimit}}
	begun := time.UnixMicro(1_700_000_000_000_000)
	c.SlowQueries().Add(t.Context(), other, &widecol.Stats{}, explain.Call{Route: "ReadRows", Table: "u", Begun: begun, Took: 7 * time.Millisecond, Status: slog.StringValue("OK")})
	text := c.must(200, "GET", "/v1/slow-query", "")
	var got struct {
		Limit   int64 `json:"limit_micros"`
		Queries []struct {
			Route, Table string
			Time         int64
			Took         int64 `json:"took_micros"`
			Items        int
			Status       any
			Query        json.RawMessage
			Explain      struct{ Rows struct{ Returned int64 } }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Limit != 1000 || len(got.Queries) != 3 {
		t.Fatalf("%s", text)
	}
	bigtable, rows, scan := got.Queries[0], got.Queries[1], got.Queries[2]
	if bigtable.Route != "ReadRows" || bigtable.Time != begun.UnixMicro() || bigtable.Took != 7000 || bigtable.Status != "OK" || string(bigtable.Query) != `{"rows":{"keys":0,"ranges":0,"bytes":0},"times":true,"row_limit":3,"sample":0.5}` {
		t.Errorf("%+v, %s", bigtable, bigtable.Query)
	}
	if rows.Items != 2 || rows.Explain.Rows.Returned != 1 || rows.Table != "t" || rows.Time < scan.Time || rows.Took < 1000 || rows.Status != 200.0 {
		t.Errorf("%+v", rows)
	}
	if strings.Contains(string(text), "secret") || !strings.Contains(string(scan.Query), `"families":["title"]`) {
		t.Errorf("%s", text)
	}
	c.SetSlowQuery(0)
	if text := c.must(200, "GET", "/v1/slow-query", ""); !bytes.HasPrefix(text, []byte(`{"limit_micros":null,"queries":[{`)) {
		t.Errorf("turned off: %s", text)
	}
}
