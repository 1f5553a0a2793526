package bigtable

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/explain"
)

// newSlow returns a harness with two rows in table t, on whose clock everything is slow, and its log of slow reads.
func newSlow(t *testing.T) (*harness, *explain.SlowLog, *bytes.Buffer) {
	h := withTable(t)
	h.ok(h.mutate("secret1", setCell("a", "secret", 1000, "secret"), setCell("b", "q", 1000, "secret")))
	h.ok(h.mutate("secret2", setCell("a", "secret", 1000, "secret")))
	log := new(bytes.Buffer)
	slow := explain.NewSlowLog(slog.New(slog.NewJSONHandler(log, nil)), time.Second)
	h.serve(Options{Clock: &hurried{Clock: clock.System}, Slow: slow})
	return h, slow, log
}

// TestSlowReads: the log has the shape of a read, what it did and what took how long, and nothing of a row.
func TestSlowReads(t *testing.T) {
	h, _, log := newSlow(t)
	for _, test := range []struct {
		request *btpb.ReadRowsRequest
		want    string
		rows    int64 // returned
	}{
		{&btpb.ReadRowsRequest{}, `{"rows":"all"}`, 2},
		{&btpb.ReadRowsRequest{
			Rows:      &btpb.RowSet{RowKeys: [][]byte{[]byte("secret1"), []byte("x")}, RowRanges: []*btpb.RowRange{{StartKey: &btpb.RowRange_StartKeyClosed{StartKeyClosed: []byte("y")}}}},
			RowsLimit: 5, Reversed: true,
			Filter: &btpb.RowFilter{Filter: &btpb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: "a|secret"}},
		}, `{"rows":{"keys":2,"ranges":1,"bytes":9},"filter":"family_name_regex_filter","row_limit":5,"reverse":true}`, 1},
	} {
		log.Reset()
		h.rows(test.request)
		var line struct {
			Msg, Level, Route, Table, Status string
			Took                             time.Duration
			Sent                             int64 `json:"bytes_out"`
			Query                            json.RawMessage
			Explain                          struct {
				Rows       struct{ Scanned, Returned int64 }
				Partitions []struct{ Name string }
				Micros     struct{ Receive, Open, Read, Write, Total int64 }
			}
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%v in %s", err, log)
		}
		e := &line.Explain
		if line.Msg != "slow query" || line.Level != "WARN" || line.Route != "ReadRows" || line.Table != "p$i$t" || line.Status != "OK" || line.Sent == 0 ||
			e.Rows.Returned != test.rows || e.Rows.Scanned < test.rows || len(e.Partitions) == 0 {
			t.Errorf("%s", log)
		}
		m := &e.Micros
		if m.Total != line.Took.Microseconds() || m.Receive+m.Open+m.Read+m.Write != m.Total || m.Receive == 0 || m.Open == 0 || m.Read == 0 || m.Write == 0 {
			t.Errorf("took %v: %+v", line.Took, *m)
		}
		var got, want any
		_, _ = json.Unmarshal(line.Query, &got), json.Unmarshal([]byte(test.want), &want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %s\nwant %s", line.Query, test.want)
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("the log has something of a row: %s", log)
		}
	}
}

// TestSlowReadsOnly: a read that is faster than the limit has no line, nor has any without a limit; a read that fails has
// one with what it did until then.
func TestSlowReadsOnly(t *testing.T) {
	h, slow, log := newSlow(t)
	for _, limit := range []time.Duration{time.Hour, 0} {
		slow.Set(limit)
		h.rows(&btpb.ReadRowsRequest{})
	}
	slow.Set(time.Second)
	h.ok(h.mutate("x", setCell("a", "q", 1000, "v")))
	if log.Len() > 0 {
		t.Errorf("the log has\n%s", log)
	}
	if _, err := h.readRows(&btpb.ReadRowsRequest{TableName: testInstance + "/tables/none"}); err == nil {
		t.Error("a table that is not there was read")
	}
	if n := strings.Count(log.String(), `"status":"NotFound"`); n != 1 {
		t.Errorf("%d lines: %s", n, log)
	}
}
