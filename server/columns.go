package server

import (
	"strconv"

	"colonnade/widecol"
)

// Limits on column keys. The store compares each cell with every key.
const (
	maxColumnKeys      = 1 << 10 // in a filter
	maxColumnKeysInAll = 1 << 18 // in a request
	columnKeyMemory    = 256     // bytes of a key, without its text
)

// columnFilter is the column filter of a request.
type columnFilter struct {
	widecol.Filter
	field string // its source: key, multi_key, families or prefix
	limit int64  // cell versions per column, or widecol.NoLimit
}

// columnFilter reads a column filter. With withLimit it may have a cell_limit.
func (d *decoder) columnFilter(withLimit bool) columnFilter {
	f := columnFilter{limit: widecol.NoLimit}
	d.Object()
	for d.Key() {
		switch field := string(d.Name()); {
		case field == "key" || field == "multi_key" || field == "families" || field == "prefix":
			if f.field != "" {
				d.Fail(conflictingFields, "%s and %s exclude each other", f.field, field)
			}
			f.field = field
			f.Filter = d.filter(field)
		case field == "cell_limit" && withLimit:
			f.limit = d.limit()
		default:
			d.unknown()
		}
	}
	return f
}

// filter reads the value of a field that selects columns.
func (d *decoder) filter(field string) widecol.Filter {
	switch field {
	case "key":
		return filterOf(d.columnKey())
	case "multi_key":
		return filterOf(d.columnKeys(d.columnKey)...)
	case "families":
		return filterOf(d.columnKeys(d.familyName)...)
	}
	return widecol.PrefixFilter(string(d.bytes()))
}

// columnKeys reads a list of column keys, or of families, with read.
func (d *decoder) columnKeys(read func() string) (keys []string) {
	d.Array()
	for d.Next() {
		if len(keys) == maxColumnKeys {
			d.Fail(tooManyColumns, "a filter has more than %d column keys", maxColumnKeys)
		}
		keys = append(keys, read())
	}
	d.nonEmpty(len(keys))
	return keys
}

// columnKey reads a column key and checks it.
func (d *decoder) columnKey() string {
	key := d.columnText()
	if d.Err() == nil {
		_, err := widecol.ColumnsFilter(key)
		d.failWith(err)
	}
	return key
}

// familyName reads the name of a family as the column key of all its columns.
func (d *decoder) familyName() string {
	name := d.columnText()
	if d.Err() == nil {
		d.failOn(widecol.CheckFamilyName(name))
	}
	return name
}

// columnText reads a string that counts as a column key of the request.
func (d *decoder) columnText() string {
	text := string(d.bytes())
	if d.columns++; d.columns > maxColumnKeysInAll {
		d.Fail(tooManyColumns, "the request has more than %d column keys", maxColumnKeysInAll)
	}
	return text
}

// filterOf returns the filter for keys that were checked.
func filterOf(keys ...string) widecol.Filter {
	f, _ := widecol.ColumnsFilter(keys...)
	return f
}

// at returns the place of the filter's i-th family. path is the place of the filter in the body.
func (f *columnFilter) at(path string, i int) string {
	switch {
	case i < 0 || f.field == "":
		return atBody // not about the filter
	case f.field == "multi_key" || f.field == "families":
		return element(path+"."+f.field, i)
	}
	return path + "." + f.field
}

// element returns the place of a list element; path is the place of the list.
func element(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}
