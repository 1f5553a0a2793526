package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var keySpaceOperation = operation{
	does: "Says where in the row keys the load of the table was, over time.",
	params: []parameter{
		{"start", "The time from which on, in microseconds; without it, as far back as is remembered.", false, timeSchema},
		{"end", "The time before which; without it, until now.", false, timeSchema},
	},
	answer: answer{status: http.StatusOK, result: objectOf(schema{
		"ranges": listSchema(objectSchema(schema{"start": anyBytes, "end": anyBytes})),
		"windows": listSchema(objectOf(schema{
			"start": timeSchema, "end": timeSchema,
			"loads": listSchema(objectOf(schema{
				"range": countSchema, "rows_read": countSchema, "rows_written": countSchema, "bytes_read": countSchema, "bytes_written": countSchema,
			})),
		})),
	})},
}

// keySpace is GET /v1/table/{table}/keyspace?start=…&end=…
func (s *Server) keySpace(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	times, err := x.timesOfQuery()
	if err != nil {
		return err
	}
	var k widecol.KeySpace
	if r, ok := s.store.(widecol.KeySpaceReporter); ok {
		k, err = r.KeySpace(x.ctx(), x.table, times)
	} else {
		_, err = s.store.Table(x.ctx(), x.table)
	}
	if err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.out = append(x.out, `{"ranges":[`...)
	for i := range len(k.Bounds) + 1 {
		x.comma(i)
		x.appendRange(k.Range(i))
	}
	x.out = append(x.out, `],"windows":[`...)
	for i := range k.Windows {
		x.comma(i)
		x.appendWindow(&k.Windows[i])
	}
	x.out = append(x.out, "]}"...)
	return x.finish("Key space retrieved successfully")
}

// appendRange appends a range of rows as a query takes it.
func (x *requestContext) appendRange(r widecol.RowRange) {
	x.out = append(x.out, '{')
	if len(r.Start) > 0 {
		x.out = appendBytes(append(x.out, `"start":`...), r.Start)
	}
	if r.End != nil {
		if len(r.Start) > 0 {
			x.out = append(x.out, ',')
		}
		x.out = appendBytes(append(x.out, `"end":`...), r.End)
	}
	x.out = append(x.out, '}')
}

func (x *requestContext) appendWindow(w *widecol.LoadWindow) {
	x.out = appendField(x.out, `{"start":`, w.Start)
	x.out = appendField(x.out, `,"end":`, w.End)
	x.out = append(x.out, `,"loads":[`...)
	for i, l := range w.Loads {
		x.comma(i)
		x.out = appendField(x.out, `{"range":`, int64(l.Range))
		x.out = appendField(x.out, `,"rows_read":`, l.RowsRead)
		x.out = appendField(x.out, `,"rows_written":`, l.RowsWritten)
		x.out = appendField(x.out, `,"bytes_read":`, l.BytesRead)
		x.out = append(appendField(x.out, `,"bytes_written":`, l.BytesWritten), '}')
	}
	x.out = append(x.out, "]}"...)
}

// timesOfQuery reads the parameters start and end, each once.
func (x *requestContext) timesOfQuery() (r widecol.TimeRange, err error) {
	invalid := func(code, format string, args ...any) error {
		return refuse(http.StatusBadRequest, code, atQuery, format, args...)
	}
	r = widecol.AllTimes
	params, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return r, invalid("invalid_parameter", "the query of the URL cannot be read: %s", shorten(err.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		to := map[string]*int64{"start": &r.Start, "end": &r.End}[name]
		switch {
		case to == nil:
			return r, invalid("unknown_parameter", "there is no parameter %q, only start and end", shorten(name))
		case len(params[name]) > 1:
			return r, invalid("duplicate_parameter", "the parameter %s is given %d times", name, len(params[name]))
		}
		if *to, err = strconv.ParseInt(params.Get(name), 10, 64); err != nil || *to < 0 || *to > cell.MaxTime {
			return r, invalid("invalid_parameter", "the parameter %s must be a time, in microseconds from 0 to %d", name, cell.MaxTime)
		}
	}
	if r.Start >= r.End {
		return r, invalid("invalid_parameter", "the parameter start must be below end")
	}
	return r, nil
}
