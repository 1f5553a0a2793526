package server

import (
	"net/http"

	"colonnade/widecol"
)

// deleteRow is DELETE /v1/table/{table}/row.
func (s *Server) deleteRow(x *requestContext) error {
	var row []byte
	var f columnFilter
	field := "" // that f is from
	err := x.decode(false, func(d *decoder) {
		d.Object()
		for d.Key() {
			switch string(d.Name()) {
			case "row_key":
				row = d.rowKey()
			case "column_filter", "column":
				if field != "" {
					d.Fail(conflictingFields, "column and column_filter are the same")
				}
				field = string(d.Name())
				f = d.columnFilter(false)
			default:
				d.unknown()
			}
		}
		d.require(row != nil, "row_key")
	})
	if err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	n, err := s.store.Delete(ctx, x.table, widecol.RowDeletion(row, f.Filter), x.key)
	if err != nil {
		return placed(err, func(_ string, i int) string { return f.at(field, i) })
	}
	x.begin(http.StatusAccepted)
	x.out = appendField(x.out, `{"deleted_cells_count":`, n.Cells)
	x.out = appendField(x.out, `,"micros_per_item":`, x.elapsed().Microseconds()/max(n.Cells, 1))
	x.out = append(x.out, '}')
	return x.finish("Row deleted successfully")
}
