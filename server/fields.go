package server

import (
	"slices"
	"strings"
)

// fields declare an object of a request: a field in each line. The decoder reads by them, and the OpenAPI document
// is made from them, so what one knows the other does, too. An object has at most 64 fields.
type fields[T any] []field[T]

type field[T any] struct {
	name string
	need need
	shape[T]
}

// need says whether an object has to have a field.
type need uint8

const (
	optional need = iota
	required
	some   // at least one of the fields with this need
	choice // at most one of those
	chosen // exactly one of those
)

// read reads the object into v.
func (f fields[T]) read(d *decoder, v *T) {
	seen, met, alone := uint64(0), uint8(0), ""
	d.Object()
	for d.Key() {
		i := f.find(d.Name())
		if i < 0 {
			d.unknown()
			continue
		}
		if f[i].need >= choice {
			if alone != "" {
				d.Fail(conflictingFields, "%s and %s exclude each other", alone, f[i].name)
				continue
			}
			alone = f[i].name
		}
		seen |= 1 << i
		met |= 1 << f[i].need
		f[i].read(d, v)
	}
	f.complete(d, seen, met)
}

func (f fields[T]) find(name []byte) int {
	for i := range f {
		if f[i].name == string(name) {
			return i
		}
	}
	return -1
}

// complete refuses the object that was read last if a field is missing. Bit i of seen says whether it has field i, bit n
// of met whether it has one with the need n.
func (f fields[T]) complete(d *decoder, seen uint64, met uint8) {
	for i := range f {
		switch f[i].need {
		case required:
			d.require(seen&(1<<i) != 0, f[i].name)
		case some, chosen:
			if met&(1<<f[i].need) == 0 {
				d.FailIn(f[i].name, missingField, "one of these is required: %s", strings.Join(f.names(f[i].need), ", "))
			}
		}
	}
}

// names returns the names of the fields with a need.
func (f fields[T]) names(n need) (names []string) {
	for i := range f {
		if f[i].need == n {
			names = append(names, f[i].name)
		}
	}
	return names
}

// object is the shape of an object with these fields.
func (f fields[T]) object() shape[T] { return shape[T]{f.read, f.schema()} }

// schema returns the schema of an object with these fields.
func (f fields[T]) schema() schema {
	properties := schema{}
	for i := range f {
		properties[f[i].name] = f[i].shape.schema
	}
	s := objectSchema(properties, f.names(required)...)
	if names := f.names(some); names != nil {
		s["anyOf"] = having(names)
	}
	switch names := f.names(choice); {
	case len(names) == len(f):
		s["maxProperties"] = 1
	case names != nil:
		s["oneOf"] = append(having(names), schema{"not": schema{"anyOf": having(names)}})
	}
	if names := f.names(chosen); names != nil {
		s["oneOf"] = having(names)
	}
	return s
}

// objectSchema is the schema of an object that has no other than these properties.
func objectSchema(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// having returns a schema for each name: of the objects with a property of that name.
func having(names []string) (schemas []schema) {
	for _, name := range names {
		schemas = append(schemas, schema{"required": []string{name}})
	}
	return schemas
}

// within makes of the fields of a part those of the whole that only the part is read into.
func within[T, P any](f fields[P], part func(*T) *P) (whole fields[T]) {
	for i := range f {
		whole = append(whole, field[T]{f[i].name, f[i].need, to(f[i].shape, part)})
	}
	return whole
}

// but returns the fields with one of another shape.
func (f fields[T]) but(name string, s shape[T]) fields[T] {
	f = slices.Clone(f)
	f[f.find([]byte(name))].shape = s
	return f
}
