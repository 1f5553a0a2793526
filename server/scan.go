package server

import (
	"net/http"
)

const querySuccessful = "Query successful"

var scanFields = selectionFields(append(within(rowFields, (*selection).ofQuery), fields[selection]{
	{"reverse", optional, to(boolean, func(s *selection) *bool { return &s.query.Reverse })},
	{"page_token", optional, to(pageTokenShape, func(s *selection) **pageToken { return &s.page.from })},
}...), answeredCellFields)

var scanOperation = operation{
	does: "Returns what a query selects.", body: scanFields.schema(),
	answer: answer{
		status: http.StatusOK, result: explained(withPage(objectOf(queryFields()))),
		lines: either(lineSchema, explained(withPage(objectOf(schema{"statistics": objectOf(statsFields())})))),
	},
}

// scan is POST /v1/table/{table}/scan.
func (s *Server) scan(x *requestContext) error {
	sel := newSelection()
	if err := x.decode(false, func(d *decoder) { scanFields.read(d, &sel) }); err != nil {
		return err
	}
	if err := sel.page.begin(x.table, &sel.query); err != nil {
		return err
	}
	x.explainsQuery(sel.explain, &sel.query)
	view, err := x.openView()
	if err != nil {
		return err
	}
	defer view.Close()

	x.beginRows(http.StatusOK)
	stats, err := x.appendRows(view, &sel.query, &sel.page)
	x.looked(stats)
	if err != nil {
		return placed(err, func(_ string, i int) string { return sel.column.at("column", i) })
	}
	x.endRows(&stats)
	x.appendPage(&sel.page, &sel.query)
	x.appendExplain(&stats)
	return x.finishRows()
}
