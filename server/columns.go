package server

import (
	"strconv"

	"github.com/colonnade-db/colonnade/widecol"
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

// columnsFields select columns. limitedColumnsFields may also limit their versions.
var (
	columnsFields = fields[columnFilter]{
		{"key", choice, columnSource("key", columnKeySchema, func(d *decoder) widecol.Filter { return filterOf(d.columnKey()) })},
		{"multi_key", choice, columnSource("multi_key", columnKeyList(columnKeySchema), func(d *decoder) widecol.Filter {
			return filterOf(d.columnKeys(d.columnKey)...)
		})},
		{"families", choice, columnSource("families", columnKeyList(bytesSchema(familyNameSchema)), func(d *decoder) widecol.Filter {
			return filterOf(d.columnKeys(d.familyName)...)
		})},
		{"prefix", choice, columnSource("prefix", anyBytes, func(d *decoder) widecol.Filter { return widecol.PrefixFilter(string(d.bytes())) })},
	}
	limitedColumnsFields = append(columnsFields[:len(columnsFields):len(columnsFields)],
		field[columnFilter]{"cell_limit", optional, to(count, func(f *columnFilter) *int64 { return &f.limit })})

	columnsShape        = columnShape("ColumnFilter", columnsFields)
	limitedColumnsShape = columnShape("LimitedColumnFilter", limitedColumnsFields)
)

// columnKeySchema is the schema of a column key: a family's name, and behind a colon the qualifier.
var columnKeySchema = named("ColumnKey", bytesSchema(schema{"type": "string", "pattern": `^[A-Za-z0-9_.#$-]{1,200}(:[\s\S]*)?$`}))

func columnKeyList(of schema) schema {
	return listSchema(of).and("minItems", 1).and("maxItems", maxColumnKeys)
}

// columnSource is the shape of a field that selects columns.
func columnSource(name string, s schema, read func(*decoder) widecol.Filter) shape[columnFilter] {
	return shape[columnFilter]{func(d *decoder, f *columnFilter) { f.field, f.Filter = name, read(d) }, s}
}

func columnShape(name string, f fields[columnFilter]) shape[columnFilter] {
	return shape[columnFilter]{func(d *decoder, v *columnFilter) {
		v.limit = widecol.NoLimit
		f.read(d, v)
	}, named(name, f.schema())}
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
