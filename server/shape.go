package server

import (
	"maps"
	"math"
)

// schema is a JSON Schema, in the dialect of OpenAPI 3.1.
type schema map[string]any

// shape is what a value in a request must be: how it is read into a T, and the schema that tells a client the same.
type shape[T any] struct {
	read   func(*decoder, *T)
	schema schema
}

// value makes a shape of a method that reads a value.
func value[T any](read func(*decoder) T, s schema) shape[T] {
	return shape[T]{func(d *decoder, v *T) { *v = read(d) }, s}
}

// to makes of the shape of a part the shape of the whole that only the part is read into.
func to[T, P any](s shape[P], part func(*T) *P) shape[T] {
	return shape[T]{func(d *decoder, v *T) { s.read(d, part(v)) }, s.schema}
}

// then adds a check of the value as a whole. It may come too late: after an error it checks nothing.
func (s shape[T]) then(check func(*decoder, *T)) shape[T] {
	return shape[T]{func(d *decoder, v *T) {
		if s.read(d, v); d.Err() == nil {
			check(d, v)
		}
	}, s.schema}
}

// as replaces the schema.
func (s shape[T]) as(other schema) shape[T] { return shape[T]{s.read, other} }

// given is the shape of a value for which nil means that there is none.
func given[T any](s shape[T]) shape[*T] {
	return shape[*T]{func(d *decoder, v **T) {
		*v = new(T)
		s.read(d, *v)
	}, s.schema}
}

// listOf is the shape of a list of values.
func listOf[T any](of shape[T]) shape[[]T] {
	return shape[[]T]{func(d *decoder, v *[]T) {
		d.Array()
		for d.Next() {
			var none T
			*v = append(*v, none)
			of.read(d, &(*v)[len(*v)-1])
		}
	}, listSchema(of.schema)}
}

// nonEmpty is the shape of a list that must have elements.
func nonEmpty[T any](s shape[[]T]) shape[[]T] {
	s = s.then(func(d *decoder, v *[]T) { d.nonEmpty(len(*v)) })
	s.schema = s.schema.and("minItems", 1)
	return s
}

// and returns a schema, or the fields of one, with one more.
func (s schema) and(name string, v any) schema {
	more := maps.Clone(s)
	more[name] = v
	return more
}

// Schemas of scalars and lists.
var (
	booleanSchema = schema{"type": "boolean"}
	textSchema    = schema{"type": "string"}
	nullSchema    = schema{"type": "null"}
	countSchema   = integerSchema(0, math.MaxInt64)
)

func integerSchema(low, high int64) schema {
	return schema{"type": "integer", "minimum": low, "maximum": high}
}

func listSchema(of schema) schema { return schema{"type": "array", "items": of} }

func oneOfTexts(texts ...string) schema { return schema{"type": "string", "enum": texts} }

func either(schemas ...schema) schema { return schema{"anyOf": schemas} }

// Shapes of scalars.
var (
	boolean = value((*decoder).Bool, booleanSchema)
	text    = value(func(d *decoder) string { return string(d.Text()) }, textSchema)
	count   = value((*decoder).limit, countSchema)
)
