package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

var countOperation = operation{
	does: "Counts what a query selects.", body: countFields.schema(),
	answer: answer{status: http.StatusOK, result: explained(objectOf(schema{
		"row_count": countSchema, "cell_count": countSchema, "bytes_scanned": countSchema, "cells_scanned": countSchema,
		"micros": microsSchema, "micros_per_row": microsSchema,
	}))},
}

// count is POST /v1/table/{table}/count.
func (s *Server) count(x *requestContext) error {
	sel := newSelection()
	if err := x.decode(false, func(d *decoder) { countFields.read(d, &sel) }); err != nil {
		return err
	}
	x.explainsQuery(sel.explain, &sel.query)
	view, err := x.openView()
	if err != nil {
		return err
	}
	defer view.Close()
	_, stats, err := x.aggregateParallel(view, &widecol.Aggregate{Query: sel.query, Of: widecol.Count})
	x.looked(stats)
	if err != nil {
		return placed(err, func(_ string, i int) string { return sel.column.at("column", i) })
	}
	if !x.beginExplained() {
		x.out = appendField(x.out, `{"row_count":`, stats.Rows)
		x.out = appendField(x.out, `,"cell_count":`, stats.Cells)
		x.out = appendField(x.out, `,"bytes_scanned":`, stats.BytesScanned)
		x.out = appendField(x.out, `,"cells_scanned":`, stats.CellsScanned)
		x.out = x.appendMicros(x.out, stats.Rows)
	}
	x.appendExplain(&stats)
	x.out = append(x.out, '}')
	return x.finish(querySuccessful)
}
