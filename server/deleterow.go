package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

// rowDeletion is the body of a deletion of one row.
type rowDeletion struct {
	row    []byte
	column columnFilter
	field  string // that column is from
}

// column_filter and column are the same.
var rowDeletionFields = fields[rowDeletion]{
	{"row_key", required, to(rowKeyShape, func(del *rowDeletion) *[]byte { return &del.row })},
	{"column_filter", choice, rowDeletionColumn("column_filter")},
	{"column", choice, rowDeletionColumn("column")},
}

func rowDeletionColumn(name string) shape[rowDeletion] {
	return shape[rowDeletion]{func(d *decoder, del *rowDeletion) {
		del.field = name
		columnsShape.read(d, &del.column)
	}, columnsShape.schema}
}

var deleteRowOperation = operation{
	does: "Deletes the cells of a row.", body: rowDeletionFields.schema(),
	answer: answer{status: http.StatusAccepted, result: objectOf(schema{"deleted_cells_count": countSchema, "micros_per_item": microsSchema})},
}

// deleteRow is DELETE /v1/table/{table}/row.
func (s *Server) deleteRow(x *requestContext) error {
	var del rowDeletion
	if err := x.decode(false, func(d *decoder) { rowDeletionFields.read(d, &del) }); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	n, err := s.store.Delete(ctx, x.table, widecol.RowDeletion(del.row, del.column.Filter), x.key)
	if err != nil {
		return placed(err, func(_ string, i int) string { return del.column.at(del.field, i) })
	}
	x.stats.Rows, x.stats.Cells = 1, n.Cells
	x.begin(http.StatusAccepted)
	x.out = appendField(x.out, `{"deleted_cells_count":`, n.Cells)
	x.out = appendField(x.out, `,"micros_per_item":`, x.elapsed().Microseconds()/max(n.Cells, 1))
	x.out = append(x.out, '}')
	return x.finish("Row deleted successfully")
}
