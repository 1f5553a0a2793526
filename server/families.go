package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
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

// familyChange is the body of a change of a family: of its settings, or of its place.
type familyChange struct {
	gc     widecol.GC
	place  *string
	dryRun bool
}

var familyChangeFields = fields[familyChange]{
	{"gc_settings", chosen, to(gcSettings, func(c *familyChange) *widecol.GC { return &c.gc })},
	{"locality_group", chosen, to(given(place), func(c *familyChange) **string { return &c.place })},
	{"dry_run", optional, to(boolean, func(c *familyChange) *bool { return &c.dryRun })},
}

// place is the shape of the place of a family: the id of a locality group, "new", or null for none.
var place = value((*decoder).place, orNull(schema{"type": "string", "minLength": 1}))

func (d *decoder) place() string {
	if d.Null() {
		return ""
	}
	id := string(d.Text())
	if d.Err() == nil && id == "" {
		d.Fail("invalid_locality_group", `value must be the id of a locality group, "new", or null for none`)
	}
	return id
}

var alterFamilyOperation = operation{
	does: "Changes which versions of a column family are garbage, or tells what that would remove; or moves the family to another locality group.", body: familyChangeFields.schema(),
	answer: answer{status: http.StatusOK, result: either(nullSchema,
		objectOf(schema{"row_count": countSchema, "cell_count": countSchema, "bytes": countSchema}), objectOf(schema{"locality_group": placeSchema}))},
	also:    []answer{{status: http.StatusAccepted, result: moveSchema}},
	refuses: []int{http.StatusConflict},
}

// alterFamily is PATCH /v1/table/{table}/column-family/{family}.
func (s *Server) alterFamily(x *requestContext) error {
	var c familyChange
	err := x.decode(false, func(d *decoder) {
		familyChangeFields.read(d, &c)
		if c.dryRun && c.place != nil {
			d.FailIn("dry_run", conflictingFields, "locality_group and dry_run exclude each other")
		}
	})
	if err != nil {
		return err
	}
	if c.dryRun {
		return x.appendGarbage(c.gc)
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if c.place != nil {
		move, err := s.store.MoveFamily(ctx, x.table, x.family, *c.place)
		if err != nil {
			return placed(err, placeAt)
		}
		return x.replyMove(&move)
	}
	if err := s.store.AlterFamily(ctx, x.table, x.family, widecol.ChangeGC(c.gc)); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "Column family updated successfully")
}

// placeAt returns the place in a request of a family's place that is refused.
func placeAt(code string, _ int) string {
	if code == "unknown_locality_group" || code == "column_family_moves" {
		return "locality_group"
	}
	return atBody
}

// replyMove responds with where a family is, or how far it is on its way.
func (x *requestContext) replyMove(m *widecol.Move) error {
	if !m.Moving() {
		x.begin(http.StatusOK)
		x.out = append(x.out, `{"locality_group":`...)
		x.out = append(appendPlace(x.out, m.To), '}')
		return x.finish("Column family is there")
	}
	x.begin(http.StatusAccepted)
	x.appendMove(m)
	return x.finish("Column family moves")
}

// appendMove appends how far a family is on its way.
func (x *requestContext) appendMove(m *widecol.Move) {
	x.out = append(x.out, `{"locality_group":`...)
	x.out = appendPlace(x.out, m.To)
	x.out = append(x.out, `,"from":`...)
	x.out = appendPlace(x.out, m.From)
	x.out = appendField(x.out, `,"row_count":`, m.Rows)
	x.out = appendField(x.out, `,"cell_count":`, m.Cells)
	x.out = appendField(x.out, `,"bytes":`, m.Bytes)
	if m.Err != nil {
		x.out = append(x.out, `,"error":`...)
		x.out = appendString(x.out, m.Err.Error())
	}
	x.out = append(x.out, '}')
}

// appendPlace appends the id of a locality group, null for none.
func appendPlace(dst []byte, id string) []byte {
	if id == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, id)
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
