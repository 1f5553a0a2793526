package server

import (
	"net/http"

	"colonnade/widecol"
)

// createFamilies is POST /v1/table/{table}/column-family.
func (s *Server) createFamilies(x *requestContext) error {
	var families []widecol.Family
	group, listed := false, false
	err := x.decode(false, func(d *decoder) {
		d.Object()
		for d.Key() {
			switch string(d.Name()) {
			case "column_families":
				families, listed = d.families(), true
				d.nonEmpty(len(families))
			case "locality_group":
				group = d.Bool()
			default:
				d.unknown()
			}
		}
		d.require(listed, "column_families")
	})
	if err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.CreateFamilies(ctx, x.table, families, group); err != nil {
		return placed(err, familyAt)
	}
	return x.reply(http.StatusCreated, "Column families created successfully")
}

// setGC is PATCH /v1/table/{table}/column-family/{family}.
func (s *Server) setGC(x *requestContext) error {
	var gc widecol.GC
	given, dryRun := false, false
	err := x.decode(false, func(d *decoder) {
		d.Object()
		for d.Key() {
			switch string(d.Name()) {
			case "gc_settings":
				gc, given = d.gcSettings(), true
			case "dry_run":
				dryRun = d.Bool()
			default:
				d.unknown()
			}
		}
		d.require(given, "gc_settings")
	})
	if err != nil {
		return err
	}
	if dryRun {
		return x.appendGarbage(gc)
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.SetGC(ctx, x.table, x.family, gc); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "Column family updated successfully")
}

// appendGarbage responds with what other settings of the family would remove.
func (x *requestContext) appendGarbage(gc widecol.GC) error {
	g, err := x.server.store.Garbage(x.ctx(), x.table, x.family, gc)
	if err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"row_count":`, g.Rows)
	x.out = appendField(x.out, `,"cell_count":`, g.Cells)
	x.out = appendField(x.out, `,"bytes":`, g.Bytes)
	x.out = append(x.out, '}')
	return x.finish("Nothing was changed")
}

// dropFamily is DELETE /v1/table/{table}/column-family/{family}.
func (s *Server) dropFamily(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.DropFamily(ctx, x.table, x.family); err != nil {
		return err
	}
	return x.accepted("Column family deleted successfully")
}
