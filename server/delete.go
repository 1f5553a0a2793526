package server

import (
	"net/http"

	"colonnade/widecol"
)

// deletion is the body of a delete request.
type deletion struct {
	widecol.Deletion
	column columnFilter
	all    bool
	field  string // what selects the rows, "" for nothing
}

// deleteRows is POST /v1/table/{table}/delete.
func (s *Server) deleteRows(x *requestContext) error {
	del := deletion{Deletion: widecol.NewDeletion()}
	if err := x.decode(false, func(d *decoder) { d.deletion(&del) }); err != nil {
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
	x.begin(http.StatusOK)
	if del.DryRun {
		x.out = appendField(x.out, `{"row_count":`, n.Rows)
		x.out = appendField(x.out, `,"cell_count":`, n.Cells)
	} else {
		x.out = append(x.out, `{"row_count":null,"cell_count":null`...)
	}
	x.out = appendField(x.out, `,"micros":`, x.elapsed().Microseconds())
	x.out = append(x.out, '}')
	return x.finish("Rows deleted")
}

// place returns the place of what selects the rows.
func (del *deletion) place() string {
	if del.field == "" {
		return atBody
	}
	return "row." + del.field
}

func (d *decoder) deletion(del *deletion) {
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "row":
			d.deletedRows(del)
		case "column":
			del.column = d.columnFilter(false)
			del.Filter = del.column.Filter
		case "time":
			del.Times = d.timeRange()
		case "dry_run":
			del.DryRun = d.Bool()
		case "all":
			if del.all = d.Bool(); !del.all {
				d.Fail("invalid_value", "all must be true, or left out")
			}
		default:
			d.unknown()
		}
	}
}

// deletedRows reads which rows are deleted from.
func (d *decoder) deletedRows(del *deletion) {
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); name {
		case "key", "keys", "prefix", "range", "ranges":
			if del.field != "" {
				d.Fail(conflictingFields, "%s and %s exclude each other", del.field, name)
			}
			del.field = name
			del.Rows = widecol.NewRowSet(d.rowRanges(name)...)
		default:
			d.unknown()
		}
	}
	d.require(del.field != "", "key")
}
