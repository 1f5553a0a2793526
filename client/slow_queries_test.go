package client

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

func TestSlowQueries(t *testing.T) {
	slowServer := server.New(memstore.New(memstore.Options{}), server.Options{Now: time.Now, SlowQuery: time.Nanosecond}).Handler()
	c := open(t, slowServer, Options{})
	table := webtable(t, c)
	if err := table.Write(t.Context(), Row{Key: "a", Cells: []Cell{{Family: "title", Value: I64(1)}}}); err != nil {
		t.Fatal(err)
	}
	all(t, table, Query{Columns: Families("title")})
	slow, err := c.SlowQueries(t.Context())
	if err != nil || len(slow.Queries) != 1 {
		t.Fatalf("%+v, %v", slow, err)
	}
	if q := slow.Queries[0]; q.Table != "web" || q.TimeMicros == 0 || q.Explain.Cells.Returned != 1 || string(q.Shape) == "" {
		t.Errorf("%+v", q)
	}
	off := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"result": {"limit_micros": null, "queries": []}}`)
	}), Options{})
	if slow, err := off.SlowQueries(t.Context()); err != nil || slow.LimitMicros != 0 {
		t.Errorf("%+v, %v", slow, err)
	}
}
