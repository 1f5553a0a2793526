package server

import (
	"errors"
	"math"
	"net/http"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var readModifyWriteOperation = operation{
	does: "Derives new versions of a row from the newest ones.", body: readModifyWriteFields.schema(),
	answer: answer{status: http.StatusOK, result: objectOf(schema{"row": rowSchema})},
}

// readModifyWrite is POST /v1/table/{table}/read-modify-write.
func (s *Server) readModifyWrite(x *requestContext) error {
	var u widecol.ReadModifyWrite
	if err := x.decode(false, func(d *decoder) { readModifyWriteFields.read(d, &u) }); err != nil {
		return err
	}
	if err := x.admitUpdate(); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	written, _, err := s.store.ReadModifyWrite(ctx, x.table, &u, x.key)
	if err != nil {
		return ruleFailure(err, &u)
	}
	x.stats.Rows, x.stats.Cells = 1, int64(len(written))
	x.begin(http.StatusOK)
	x.out = append(x.out, `{"row":`...)
	a := x.newRowWriter(&x.responseBuffer, &x.admitted)
	a.beginRow(u.Row)
	if err := a.writeCells(written, nil); err != nil {
		return err
	}
	a.endRow()
	x.out = append(x.out, '}')
	return x.finish("Row changed")
}

var readModifyWriteFields = fields[widecol.ReadModifyWrite]{
	{"row_key", required, to(rowKeyShape, func(u *widecol.ReadModifyWrite) *[]byte { return &u.Row })},
	{"rules", required, to(nonEmpty(listOf(ruleFields.object())), func(u *widecol.ReadModifyWrite) *[]widecol.Rule { return &u.Rules })},
}

var ruleFields = fields[widecol.Rule]{
	{"column_key", required, shape[widecol.Rule]{func(d *decoder, r *widecol.Rule) { r.Family, r.Qualifier = d.familyAndQualifier() }, columnKeySchema}},
	{"increment", chosen, shape[widecol.Rule]{func(d *decoder, r *widecol.Rule) {
		r.Increment = d.integer(math.MinInt64, math.MaxInt64)
	}, integerSchema(math.MinInt64, math.MaxInt64)}},
	{"append", chosen, shape[widecol.Rule]{(*decoder).appended, anyBytes}},
}

// appended reads what a rule appends: a string, or bytes in base64.
func (d *decoder) appended(r *widecol.Rule) {
	r.Type = cell.String
	if d.AtObject() {
		r.Type = cell.Bytes
	}
	if r.Append = d.bytes(); r.Append == nil {
		r.Append = []byte{}
	}
}

// ruleFailure adds to a store's error its place in the body.
func ruleFailure(err error, u *widecol.ReadModifyWrite) error {
	var stored *widecol.Error
	if !errors.As(err, &stored) || stored.Index < 0 || stored.Index >= len(u.Rules) {
		return err
	}
	m := &widecol.Mutation{Family: u.Rules[stored.Index].Family}
	return placed(badFamily(stored, m), func(code string, i int) string {
		at := element("rules", i)
		switch code {
		case "unknown_column_family", "invalid_column_key":
			return at + ".column_key"
		case "value_too_large":
			return at + ".append"
		}
		return at
	})
}
