package server

import "github.com/colonnade-db/colonnade/widecol"

// mutationFields are the fields of a mutation in a request, by what it does. Each has exactly one.
var mutationFields = [...]string{
	widecol.Set:          "set",
	widecol.DeleteColumn: "delete_column",
	widecol.DeleteFamily: "delete_family",
	widecol.DeleteRow:    "delete_row",
}

// decodeMutations reads a list of mutations of one row, and appends them to x.mutations. The row may be set later.
func (x *requestContext) decodeMutations(d *decoder) {
	first := len(x.mutations)
	d.Array()
	for d.Next() {
		x.mutations = append(x.mutations, widecol.Mutation{Time: widecol.CommitTime})
		x.decodeMutation(d, &x.mutations[len(x.mutations)-1])
	}
	d.nonEmpty(len(x.mutations) - first)
}

func (x *requestContext) decodeMutation(d *decoder, m *widecol.Mutation) {
	found := ""
	d.Object()
	for d.Key() {
		name := string(d.Name())
		if found != "" && isMutationField(name) {
			d.Fail(conflictingFields, "%s and %s exclude each other: a mutation does one thing", found, name)
		}
		found = name
		switch name {
		case "set":
			x.decodeCell(d, m)
		case "delete_column":
			m.Op = widecol.DeleteColumn
			d.deleteColumn(m)
		case "delete_family":
			m.Op = widecol.DeleteFamily
			m.Family = d.Text()
			if d.Err() == nil {
				d.failOn(widecol.CheckFamilyName(string(m.Family)))
			}
		case "delete_row":
			m.Op = widecol.DeleteRow
			if !d.Bool() {
				d.Fail("invalid_value", "delete_row must be true")
			}
		default:
			d.unknown()
		}
	}
	d.require(found != "", "set")
}

// mutationsSchema is the schema of what decodeMutations reads.
var mutationsSchema = listSchema(named("Mutation", objectSchema(schema{
	"set":           cellSchema,
	"delete_column": columnDeletionFields.schema(),
	"delete_family": familyNameSchema,
	"delete_row":    schema{"const": true},
}).and("minProperties", 1).and("maxProperties", 1))).and("minItems", 1)

func isMutationField(name string) bool {
	for _, f := range mutationFields {
		if f == name {
			return true
		}
	}
	return false
}

// deleteColumn reads the column and the times of a deletion.
func (d *decoder) deleteColumn(m *widecol.Mutation) {
	m.Time, m.End = 0, widecol.EndOfTime
	columnDeletionFields.read(d, m)
}

var columnDeletionFields = fields[widecol.Mutation]{
	{"column_key", required, shape[widecol.Mutation]{(*decoder).splitColumnKey, columnKeySchema}},
	{"time", optional, shape[widecol.Mutation]{func(d *decoder, m *widecol.Mutation) {
		r := d.timeRange()
		m.Time, m.End = r.Start, r.End
		if d.Err() == nil && r.Start == r.End {
			d.Fail("invalid_range", "the range of times is empty")
		}
	}, timeRange.schema}},
}

// placeOf returns the place of what an error of a store says of a mutation. at is the place of the mutation.
func placeOf(m *widecol.Mutation, code, at string) string {
	at += "." + mutationFields[m.Op]
	switch {
	case m.Op == widecol.DeleteFamily || m.Op == widecol.DeleteRow:
		return at
	case code == "unknown_column_family" || code == "invalid_column_key":
		return at + ".column_key"
	case code == "value_too_large" || code == "invalid_value":
		return at + ".value"
	}
	return at
}

// badFamily replaces the error for an unknown family by one for a name that no family has.
func badFamily(err *widecol.Error, m *widecol.Mutation) *widecol.Error {
	if err.Code == "unknown_column_family" && widecol.CheckFamilyName(string(m.Family)) != nil {
		return widecol.Errorf(widecol.Invalid, "invalid_column_key", "column key does not start with the name of a column family").At(err.Index)
	}
	return err
}
