package server

import (
	"net/http"

	"colonnade/widecol"
)

// familyCreation is the body of a request that creates families.
type familyCreation struct {
	families []widecol.Family
	group    bool // they are a locality group
}

var familyCreationFields = fields[familyCreation]{
	{"column_families", required, to(nonEmpty(familyList), func(c *familyCreation) *[]widecol.Family { return &c.families })},
	{"locality_group", optional, to(boolean, func(c *familyCreation) *bool { return &c.group })},
}

var createFamiliesOperation = operation{
	does: "Creates column families, all or none.", body: familyCreationFields.schema(),
	answer: answer{status: http.StatusCreated, result: nullSchema}, refuses: []int{http.StatusConflict},
}

// createFamilies is POST /v1/table/{table}/column-family.
func (s *Server) createFamilies(x *requestContext) error {
	var c familyCreation
	if err := x.decode(false, func(d *decoder) { familyCreationFields.read(d, &c) }); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.CreateFamilies(ctx, x.table, c.families, c.group); err != nil {
		return placed(err, familyAt)
	}
	return x.reply(http.StatusCreated, "Column families created successfully")
}

// gcChange is the body of a change of a family.
type gcChange struct {
	gc     widecol.GC
	dryRun bool
}

var gcChangeFields = fields[gcChange]{
	{"gc_settings", required, to(gcSettings, func(c *gcChange) *widecol.GC { return &c.gc })},
	{"dry_run", optional, to(boolean, func(c *gcChange) *bool { return &c.dryRun })},
}

var setGCOperation = operation{
	does: "Changes which versions of a column family are garbage, or tells what that would remove.", body: gcChangeFields.schema(),
	answer: answer{status: http.StatusOK, result: orNull(objectOf(schema{"row_count": countSchema, "cell_count": countSchema, "bytes": countSchema}))},
}

// setGC is PATCH /v1/table/{table}/column-family/{family}.
func (s *Server) setGC(x *requestContext) error {
	var c gcChange
	if err := x.decode(false, func(d *decoder) { gcChangeFields.read(d, &c) }); err != nil {
		return err
	}
	if c.dryRun {
		return x.appendGarbage(c.gc)
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.SetGC(ctx, x.table, x.family, c.gc); err != nil {
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

var dropFamilyOperation = operation{does: "Deletes a column family and its cells.", answer: deleted, refuses: []int{http.StatusConflict}}

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
