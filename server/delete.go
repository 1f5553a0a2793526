package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

// deletion is the body of a delete request.
type deletion struct {
	widecol.Deletion
	column columnFilter
	all    bool
	field  string // what selects the rows, "" for nothing
}

var deleteRowsOperation = operation{
	does: "Deletes rows, or some columns or times of rows.", body: deletionFields.schema(),
	answer: answer{status: http.StatusOK, result: objectOf(schema{"row_count": orNull(countSchema), "cell_count": orNull(countSchema), "micros": microsSchema})},
}

// deleteRows is POST /v1/table/{table}/delete.
func (s *Server) deleteRows(x *requestContext) error {
	del := deletion{Deletion: widecol.NewDeletion()}
	if err := x.decode(false, func(d *decoder) { deletionFields.read(d, &del) }); err != nil {
		return err
	}
	if !del.all && del.Rows.All() {
		return refuse(http.StatusBadRequest, "all_rows", del.place(), "this selects all rows of the table: say \"all\": true if they shall go")
	}
	del.Count = del.DryRun
	ctx, cancel := x.changeContext()
	defer cancel()
	n, err := s.store.Delete(ctx, x.table, &del.Deletion, x.key)
	if err != nil {
		return placed(err, func(_ string, i int) string { return del.column.at("column", i) })
	}
	x.stats.Rows, x.stats.Cells = n.Rows, n.Cells
	x.begin(http.StatusOK)
	if del.DryRun {
		x.out = appendField(x.out, `{"row_count":`, n.Rows)
		x.out = appendField(x.out, `,"cell_count":`, n.Cells)
	} else {
		x.out = append(x.out, `{"row_count":null,"cell_count":null`...)
	}
	x.out = appendField(x.out, `,"micros":`, x.elapsed().Microseconds())
	x.out = append(x.out, '}')
	if del.DryRun {
		return x.finish("Nothing was changed")
	}
	return x.finish("Rows deleted")
}

// place returns the place of what selects the rows.
func (del *deletion) place() string {
	if del.field == "" {
		return atBody
	}
	return "row." + del.field
}

var deletionFields = fields[deletion]{
	{"row", optional, deletedRows.object()},
	{"column", optional, shape[deletion]{func(d *decoder, del *deletion) {
		columnsShape.read(d, &del.column)
		del.Filter = del.column.Filter
	}, columnsShape.schema}},
	{"time", optional, to(timeRange, func(del *deletion) *widecol.TimeRange { return &del.Times })},
	{"dry_run", optional, to(boolean, func(del *deletion) *bool { return &del.DryRun })},
	{"all", optional, to(allShape, func(del *deletion) *bool { return &del.all })},
}

var allShape = shape[bool]{func(d *decoder, all *bool) {
	if *all = d.Bool(); !*all {
		d.Fail("invalid_value", "all must be true, or left out")
	}
}, schema{"const": true}}

// deletedRows say which rows are deleted from.
var deletedRows = rowSources(chosen, func(del *deletion, source string, rows []widecol.RowRange) {
	del.field, del.Rows = source, widecol.NewRowSet(rows...)
})
