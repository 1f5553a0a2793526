package server

import (
	"errors"
	"math"

	"github.com/colonnade-db/colonnade/widecol"
)

// familyList is the shape of a list of column families to create.
var familyList = listOf(value(func(d *decoder) (f widecol.Family) {
	f.Inherit = true
	familyFields.read(d, &f)
	return f
}, named("ColumnFamily", familyFields.schema())))

var familyFields = fields[widecol.Family]{
	{"name", required, to(newFamilyName, func(f *widecol.Family) *string { return &f.Name })},
	{"gc_settings", optional, shape[widecol.Family]{func(d *decoder, f *widecol.Family) {
		f.Inherit = false
		gcSettings.read(d, &f.GC)
	}, gcSettings.schema}},
}

var newFamilyName = text.then(func(d *decoder, name *string) { d.failOn(widecol.CheckFamilyName(*name)) }).as(familyNameSchema)

// familyNameSchema is what widecol.CheckFamilyName accepts.
var familyNameSchema = schema{"type": "string", "pattern": "^[A-Za-z0-9_.#$-]{1,200}$"}

// gcSettings is the shape of the GC settings of a family. A missing setting means null: the settings always
// replace all.
var gcSettings = gcFields.object().then(func(d *decoder, gc *widecol.GC) { d.failOn(widecol.CheckGC(*gc)) }).
	as(named("GCSettings", gcFields.schema()))

var gcFields = fields[widecol.GC]{
	{"ttl_secs", optional, to(setting(widecol.MaxTTLSecs), func(gc *widecol.GC) *int64 { return &gc.TTLSecs })},
	{"version_limit", optional, to(setting(math.MaxInt64), func(gc *widecol.GC) *int64 { return &gc.VersionLimit })},
	{"mode", optional, to(gcMode, func(gc *widecol.GC) *bool { return &gc.Intersection })},
}

// setting is the shape of an integer from 1 to high. It is 0 for null.
func setting(high int64) shape[int64] {
	return value(func(d *decoder) int64 { return d.setting(high) }, schema{"type": []string{"integer", "null"}, "minimum": 1, "maximum": high})
}

var gcMode = value((*decoder).mode, oneOfTexts("union", "intersection"))

// setting reads an integer from 1 to high. It returns 0 for null.
func (d *decoder) setting(high int64) int64 {
	if d.Null() {
		return 0
	}
	return d.integer(1, high)
}

// mode reads whether a version is garbage by both settings or by one.
func (d *decoder) mode() (intersection bool) {
	switch string(d.Text()) {
	case "intersection":
		return true
	case "union":
	default:
		d.Fail("invalid_gc_settings", `mode must be "union" or "intersection"`)
	}
	return false
}

// failOn is failWith for checks that return a plain error.
func (d *decoder) failOn(err error) {
	var e *widecol.Error
	if errors.As(err, &e) {
		d.failWith(e)
	}
}

// familyAt returns the place of a wrong family in a request.
func familyAt(code string, i int) string {
	switch {
	case code == "invalid_locality_group":
		return "locality_groups"
	case i < 0:
		return atBody
	}
	return element("column_families", i) + ".name"
}
