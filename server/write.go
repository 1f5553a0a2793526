package server

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/widecol"
)

var writeOperation = operation{
	does: "Writes cells.", body: writeSchema, lines: itemSchema,
	answer: answer{status: http.StatusOK, result: objectOf(schema{"items": itemsSchema, "micros_per_item": microsSchema}), lines: writtenSchema},
}

// write is POST /v1/table/{table}/write.
func (s *Server) write(x *requestContext) error {
	if isLines(x.r.Header["Content-Type"]) {
		return s.writeLines(x)
	}
	if err := x.decode(false, x.decodeWrite); err != nil {
		return err
	}
	if err := x.admitStorage(x.mutations); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if _, err := s.store.Write(ctx, x.table, x.mutations, x.key); err != nil {
		return x.writeFailure(err)
	}
	rows, cells := int64(len(x.ends)), int64(len(x.mutations))
	x.stats.Rows, x.stats.Cells = rows, cells
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"items":{"row_count":`, rows)
	x.out = appendField(x.out, `,"cell_count":`, cells)
	x.out = appendField(x.out, `},"micros_per_item":`, x.elapsed().Microseconds()/rows)
	x.out = append(x.out, '}')
	return x.finish("Data ingestion successful")
}

// decodeWrite reads the items of a write as mutations. They borrow their bytes from the body.
func (x *requestContext) decodeWrite(d *decoder) {
	listed := false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "items":
			listed = true
			d.Array()
			for d.Next() {
				x.decodeItem(d)
			}
			d.nonEmpty(len(x.ends))
		default:
			d.unknown()
		}
	}
	d.require(listed, "items")
}

// writeSchema and itemSchema are the schemas of what decodeWrite and decodeItem read.
var (
	writeSchema = objectSchema(schema{"items": listSchema(itemSchema).and("minItems", 1)}, "items")
	itemSchema  = named("Item", objectSchema(schema{"row_key": rowKeyBytes, "cells": listSchema(cellSchema).and("minItems", 1)}, "row_key", "cells"))
)

func (x *requestContext) decodeItem(d *decoder) {
	var row []byte
	first, listed := len(x.mutations), false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "row_key":
			row = d.rowKey()
		case "cells":
			listed = true
			d.Array()
			for d.Next() {
				x.mutations = append(x.mutations, widecol.Mutation{Time: widecol.CommitTime})
				x.decodeCell(d, &x.mutations[len(x.mutations)-1])
			}
			d.nonEmpty(len(x.mutations) - first)
		default:
			d.unknown()
		}
	}
	d.require(row != nil, "row_key")
	d.require(listed, "cells")
	for i := first; i < len(x.mutations); i++ {
		x.mutations[i].Row = row
	}
	x.ends = append(x.ends, len(x.mutations))
}

func (x *requestContext) decodeCell(d *decoder, m *widecol.Mutation) {
	var value strictjson.Token
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "column_key":
			d.splitColumnKey(m)
		case "type":
			m.Type = d.cellType()
		case "value":
			value = d.Scalar()
		case "time":
			m.Time = d.time()
		default:
			d.unknown()
		}
	}
	d.require(m.Family != nil, "column_key")
	d.require(m.Type != cell.None, "type")
	d.require(value.Kind != strictjson.Invalid, "value")
	if d.Err() == nil {
		m.Value = x.encodeFor(d, m.Type, value)
	}
}

// cellSchema is the schema of what decodeCell reads.
var cellSchema = named("Cell", objectSchema(schema{
	"column_key": columnKeySchema, "type": typeSchema, "value": scalarSchema, "time": integerSchema(0, cell.MaxTime),
}, "column_key", "type", "value").and("anyOf", typedValues()))

// typedValues returns a schema for each type, of a cell with a value of it.
func typedValues() (all []schema) {
	for _, e := range []struct {
		t     cell.Type
		value schema
	}{
		{cell.String, textSchema},
		{cell.I64, either(integerSchema(math.MinInt64, math.MaxInt64), schema{"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,18})$"})},
		{cell.Bool, booleanSchema},
		{cell.Byte, integerSchema(0, math.MaxUint8)},
		{cell.I32, integerSchema(math.MinInt32, math.MaxInt32)},
		{cell.F32, schema{"type": "number"}},
		{cell.F64, schema{"type": "number"}},
		{cell.Bytes, schema{"type": "string", "contentEncoding": "base64", "pattern": base64Text}},
	} {
		all = append(all, schema{"properties": schema{"type": schema{"const": e.t.String()}, "value": e.value}})
	}
	return all
}

// encodeFor encodes the field "value" of the last object in type t.
func (x *requestContext) encodeFor(d *decoder, t cell.Type, value strictjson.Token) []byte {
	encoded, reason := x.encodeValue(t, value)
	if reason != "" {
		d.FailIn("value", "invalid_value", "a value of type %s must be %s", t, reason)
	}
	return encoded
}

// splitColumnKey reads a column key. The first colon ends the family's name.
func (d *decoder) splitColumnKey(m *widecol.Mutation) { m.Family, m.Qualifier = d.familyAndQualifier() }

func (d *decoder) familyAndQualifier() (family, qualifier []byte) {
	key := d.bytes()
	if colon := bytes.IndexByte(key, ':'); colon >= 0 {
		return key[:colon:colon], key[colon+1:]
	}
	return key, nil
}

// typeSchema is the schema of the name of a type, scalarSchema of a value of any type.
var (
	typeSchema   = oneOfTexts(typeNames()...)
	scalarSchema = schema{"type": []string{"string", "number", "boolean"}}
)

func typeNames() (names []string) {
	for t := cell.None + 1; t < cell.TypeCount; t++ {
		names = append(names, t.String())
	}
	return names
}

// cellType reads the name of a type.
func (d *decoder) cellType() cell.Type {
	const longest = len("boolean")
	name := d.Text()
	if len(name) <= longest {
		if t := cell.TypeOf(string(name)); t != cell.None {
			return t
		}
	}
	d.Fail("invalid_type", "type must be one of string, i64, boolean, byte, i32, f32, f64, bytes")
	return cell.None
}

// time reads the time of a cell. It refuses negative times; one of them is widecol.CommitTime.
func (d *decoder) time() int64 { return d.integer(0, cell.MaxTime) }

// writeFailure adds to a store's error its place in the body.
func (x *requestContext) writeFailure(err error) error {
	var stored *widecol.Error
	if errors.As(err, &stored) && stored.Code == "unknown_column_family" && stored.Index >= 0 && stored.Index < len(x.mutations) {
		// The store knows no family with an invalid name. The check is here so that good requests
		// do not pay for it.
		if widecol.CheckFamilyName(string(x.mutations[stored.Index].Family)) != nil {
			err = widecol.Errorf(widecol.Invalid, "invalid_column_key", "column key does not start with the name of a column family").At(stored.Index)
		}
	}
	return placed(err, x.mutationAt)
}

// mutationAt returns the place of mutation i in the body.
func (x *requestContext) mutationAt(code string, i int) string {
	if i < 0 || i >= len(x.mutations) {
		return atBody
	}
	item, first := x.itemOf(i)
	return element("items", item) + "." + placeInItem(code, i-first)
}

// itemOf returns the item of mutation i, and the first mutation of that item.
func (x *requestContext) itemOf(i int) (item, first int) {
	item, found := slices.BinarySearch(x.ends, i)
	if found {
		item++ // i is the first after the end of an item
	}
	if item > 0 {
		first = x.ends[item-1]
	}
	return item, first
}

// placeInItem returns the place of an error about a cell in its item.
func placeInItem(code string, cell int) string {
	if code == "invalid_row_key" {
		return "row_key"
	}
	at := element("cells", cell)
	switch code {
	case "unknown_column_family", "invalid_column_key":
		return at + ".column_key"
	case "value_too_large", "invalid_value":
		return at + ".value"
	}
	return at
}
