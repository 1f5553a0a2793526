package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Column says which field of a record has a column, and its type.
type Column struct {
	Key   string // FAMILY:QUALIFIER
	Field string
	Type  string // "" for string in CSV, and for that of the field in Parquet
}

// Types are the types of values.
var Types = []string{"string", "i64", "i32", "byte", "f64", "f32", "boolean", "bytes"}

// ParseColumn parses FAMILY:QUALIFIER=FIELD or FAMILY:QUALIFIER=FIELD:TYPE. A qualifier may have an equals sign, a
// field may not.
func ParseColumn(text string) (Column, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return Column{}, fmt.Errorf("%q is not FAMILY:QUALIFIER=FIELD or FAMILY:QUALIFIER=FIELD:TYPE", text)
	}
	c := Column{Key: text[:i], Field: text[i+1:]}
	if field, typ, ok := cutType(c.Field); ok {
		c.Field, c.Type = field, typ
	}
	switch {
	case !strings.Contains(c.Key, ":"):
		return Column{}, fmt.Errorf("%q: the column key is FAMILY:QUALIFIER, with a colon also if the qualifier is empty", text)
	case c.Field == "":
		return Column{}, fmt.Errorf("%q names no field", text)
	}
	return c, nil
}

// cutType splits a text into what is before its last colon and the type behind it.
func cutType(text string) (before, typ string, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || !slices.Contains(Types, text[i+1:]) {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// headerColumn returns the column of a field whose name is FAMILY:QUALIFIER or FAMILY:QUALIFIER:TYPE.
func headerColumn(field string) (Column, error) {
	c := Column{Key: field, Field: field}
	if key, typ, ok := cutType(field); ok && strings.Contains(key, ":") {
		c.Key, c.Type = key, typ
	}
	if !strings.Contains(c.Key, ":") {
		return c, fmt.Errorf("the field %q is no column key, FAMILY:QUALIFIER: say where it goes, as with --map 'FAMILY:QUALIFIER=%s:string'", field, field)
	}
	return c, nil
}

const rowKeyField = "row_key"

// layout is where the fields of a record are.
type layout struct {
	rowKey  int
	time    int // -1 for none
	columns []Column
	at      []int // of each column
}

// layOut finds the fields that o speaks of among names, those of the input.
func layOut(names []string, o Options) (l layout, err error) {
	find := func(name string) (int, error) {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			return 0, fmt.Errorf("there is no field %q: the fields are %.500q", name, names)
		case slices.Contains(names[i+1:], name):
			return 0, fmt.Errorf("the field %q is there twice", name)
		}
		return i, nil
	}
	switch {
	case len(names) == 0:
		return l, errors.New("there are no fields")
	case o.RowKey != "":
		l.rowKey, err = find(o.RowKey)
	case slices.Contains(names, rowKeyField):
		l.rowKey, err = find(rowKeyField)
	}
	if err != nil {
		return l, err
	}
	if l.time = -1; o.Time != "" {
		if l.time, err = find(o.Time); err != nil {
			return l, err
		}
	}
	if len(o.Columns) == 0 {
		for i, name := range names {
			if i == l.rowKey || i == l.time {
				continue
			}
			c, err := headerColumn(name)
			if err != nil {
				return l, err
			}
			o.Columns = append(o.Columns, c)
		}
	}
	for _, c := range o.Columns {
		i, err := find(c.Field)
		if err != nil {
			return l, err
		}
		l.columns, l.at = append(l.columns, c), append(l.at, i)
	}
	if len(l.columns) == 0 {
		return l, errors.New("there is no field but that of the row key")
	}
	return l, nil
}

// field returns the name of the field that has a column, "" for none.
func (l *layout) field(columnKey string) string {
	for _, c := range l.columns {
		if c.Key == columnKey {
			return c.Field
		}
	}
	return ""
}
