package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/widecol"
)

var getRowOperation = operation{
	does: "Reads a row, for browsers and shells.",
	params: []parameter{
		{"key", "The key of the row.", true, schema{"type": "string", "minLength": 1, "maxLength": widecol.MaxRowKey}},
		{"column", "A column key; any number of them. Without one, all columns are read.", false, columnKeyList(textSchema)},
		{"explain", "Whether the answer explains the read, beside the row or in its place.", false, oneOfTexts("true", "only")},
	},
	answer: answer{status: http.StatusOK, result: explained(objectOf(queryFields()))},
}

// getRow is GET /v1/table/{table}/row?key=…&column=…, for browsers and shells.
func (s *Server) getRow(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	q := widecol.NewQuery()
	mode, err := x.rowOfQuery(&q)
	if err != nil {
		return err
	}
	x.explainsQuery(mode, &q)
	view, err := x.openView()
	if err != nil {
		return err
	}
	defer view.Close()
	a := x.newRowWriter(&x.responseBuffer, &x.admitted)
	a.explain, q.Yield = x.explain, a.yield
	defer func() { x.stats = a.stats }()
	rows, err := x.explain.scan(x.ctx(), view, &q)
	if err != nil {
		return placed(err, func(_ string, i int) string {
			if i < 0 {
				return atBody // not about a column
			}
			return atQuery
		})
	}
	defer rows.Close()
	alone := x.beginExplained()
	if !alone {
		x.out = append(x.out, `{"rows":[`...)
	}
	if _, err := a.writeAll(rows); err != nil {
		return err
	}
	x.looked(a.stats)
	if !alone {
		x.out = append(x.out, "],"...)
		x.appendStats(&a.stats)
	}
	x.appendExplain(&a.stats)
	x.out = append(x.out, '}')
	return x.finish(querySuccessful)
}

// rowOfQuery reads the parameters key and explain, each once, and column, any number of times.
func (x *requestContext) rowOfQuery(q *widecol.Query) (explainMode, error) {
	invalid := func(code, format string, args ...any) (explainMode, error) {
		return noExplain, refuse(http.StatusBadRequest, code, atQuery, format, args...)
	}
	params, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return invalid("invalid_parameter", "the query of the URL cannot be read: %s", shorten(err.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		values := params[name]
		switch {
		case name != "key" && name != "column" && name != "explain":
			return invalid("unknown_parameter", "there is no parameter %q, only key, column and explain", shorten(name))
		case name != "column" && len(values) > 1:
			return invalid("duplicate_parameter", "the parameter %s is given %d times", name, len(values))
		case len(values) > maxColumnKeys:
			return invalid(tooManyColumns, "the parameter column is given more than %d times", maxColumnKeys)
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				return invalid("invalid_utf8", "the parameter %s is not UTF-8", name)
			}
		}
	}
	key := params.Get("key")
	if !params.Has("key") {
		return invalid("missing_parameter", "the parameter key is required: the key of the row")
	}
	if len(key) == 0 || len(key) > widecol.MaxRowKey {
		return invalid("invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(key), widecol.MaxRowKey)
	}
	q.SetKey([]byte(key))
	mode := noExplain
	if params.Has("explain") {
		var ok bool
		if mode, ok = map[string]explainMode{"true": withExplain, "only": onlyExplain}[params.Get("explain")]; !ok {
			return invalid("invalid_parameter", "the parameter explain must be true or only, or be left out")
		}
	}
	if columns := params["column"]; columns != nil {
		f, err := widecol.ColumnsFilter(columns...)
		if err != nil {
			return invalid(err.Code, "%s", err.Message)
		}
		q.Filter = f
	}
	return mode, nil
}
