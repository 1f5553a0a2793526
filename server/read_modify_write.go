package server

import (
	"errors"
	"math"
	"net/http"

	"colonnade/cell"
	"colonnade/widecol"
)

// readModifyWrite is POST /v1/table/{table}/read-modify-write.
func (s *Server) readModifyWrite(x *requestContext) error {
	var u widecol.ReadModifyWrite
	if err := x.decode(false, func(d *decoder) { d.readModifyWrite(&u) }); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	written, _, err := s.store.ReadModifyWrite(ctx, x.table, &u, x.key)
	if err != nil {
		return ruleFailure(err, &u)
	}
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

func (d *decoder) readModifyWrite(u *widecol.ReadModifyWrite) {
	listed := false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "row_key":
			u.Row = d.rowKey()
		case "rules":
			listed = true
			d.Array()
			for d.Next() {
				u.Rules = append(u.Rules, d.rule())
			}
			d.nonEmpty(len(u.Rules))
		default:
			d.unknown()
		}
	}
	d.require(u.Row != nil, "row_key")
	d.require(listed, "rules")
}

// rule reads a rule: what is appended is a string, or bytes in base64.
func (d *decoder) rule() (r widecol.Rule) {
	found := ""
	d.Object()
	for d.Key() {
		name := string(d.Name())
		switch name {
		case "column_key":
			r.Family, r.Qualifier = d.familyAndQualifier()
		case "increment", "append":
			if found != "" {
				d.Fail(conflictingFields, "%s and %s exclude each other: a rule does one thing", found, name)
			}
			if found = name; name == "increment" {
				r.Increment = d.integer(math.MinInt64, math.MaxInt64)
				continue
			}
			r.Type = cell.String
			if d.AtObject() {
				r.Type = cell.Bytes
			}
			if r.Append = d.bytes(); r.Append == nil {
				r.Append = []byte{}
			}
		default:
			d.unknown()
		}
	}
	d.require(r.Family != nil, "column_key")
	d.require(found != "", "increment")
	return r
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
