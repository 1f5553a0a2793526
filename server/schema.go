package server

import (
	"errors"
	"math"

	"colonnade/widecol"
)

// families reads a list of column families to create.
func (d *decoder) families() (families []widecol.Family) {
	d.Array()
	for d.Next() {
		families = append(families, d.family())
	}
	return families
}

func (d *decoder) family() (f widecol.Family) {
	named := false
	f.Inherit = true
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "name":
			f.Name, named = string(d.Text()), true
			d.failOn(widecol.CheckFamilyName(f.Name))
		case "gc_settings":
			f.GC, f.Inherit = d.gcSettings(), false
		default:
			d.unknown()
		}
	}
	d.require(named, "name")
	return f
}

// gcSettings reads the GC settings of a family. A missing setting means null: the settings always
// replace all.
func (d *decoder) gcSettings() (gc widecol.GC) {
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "ttl_secs":
			gc.TTLSecs = d.setting(widecol.MaxTTLSecs)
		case "version_limit":
			gc.VersionLimit = d.setting(math.MaxInt64)
		case "mode":
			gc.Intersection = d.mode()
		default:
			d.unknown()
		}
	}
	d.failOn(widecol.CheckGC(gc))
	return gc
}

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

// groups reads a list of lists of family names.
func (d *decoder) groups() (groups [][]string) {
	d.Array()
	for d.Next() {
		var names []string
		d.Array()
		for d.Next() {
			names = append(names, string(d.Text()))
		}
		groups = append(groups, names)
	}
	return groups
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
