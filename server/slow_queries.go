package server

import "net/http"

var slowQueriesOperation = operation{
	does:   "Lists the last slow queries, the newest first: what each scanned against what it returned.",
	answer: answer{status: http.StatusOK, result: objectOf(schema{"limit_micros": orNull(countSchema), "queries": listSchema(slowQuerySchema)})},
}

// slowQuerySchema is the schema of a line of explain.SlowLog.
var slowQuerySchema = named("SlowQuery", objectSchema(schema{
	"time": countSchema, "route": textSchema, "table": textSchema, "took_micros": countSchema, "status": schema{"type": []string{"integer", "string"}},
	"bytes_out": countSchema, "token": textSchema, "token_name": textSchema, "trace_id": textSchema, "items": countSchema,
	"query": queryShapeSchema, "explain": explainSchema,
}, "time", "route", "table", "took_micros", "status", "bytes_out", "query", "explain"))

// queryShapeSchema is the schema of the shape of a query, which has nothing of a row.
var queryShapeSchema = objectSchema(schema{
	"rows":     either(schema{"const": "all"}, counts("keys", "ranges", "bytes")),
	"families": listSchema(textSchema), "columns": countSchema, "times": booleanSchema, "value": textSchema, "filter": textSchema,
	"row_limit": countSchema, "row_cell_limit": countSchema, "column_cell_limit": countSchema, "cell_limit": countSchema,
	"offset": countSchema, "sample": schema{"type": "number"}, "strip_value": booleanSchema, "reverse": booleanSchema, "later_page": booleanSchema,
}, "rows")

// slowQueries is GET /v1/slow-query.
func (s *Server) slowQueries(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.out = append(x.out, `{"limit_micros":`...)
	x.out = appendSetting(x.out, s.slow.Limit().Microseconds())
	x.out = append(x.out, `,"queries":[`...)
	for i, line := range s.slow.Recent() {
		x.comma(i)
		x.out = append(x.out, line...)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, "]}"...)
	return x.finish("Slow queries retrieved successfully")
}
