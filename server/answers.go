package server

import (
	"maps"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// Schemas of what several answers have. Those of one answer stand beside its handler.

// microsSchema is the schema of a time that something took.
var microsSchema = countSchema

// statsFields are what appendStats appends.
func statsFields() schema {
	return schema{"row_count": countSchema, "cell_count": countSchema, "rows_scanned": countSchema, "cells_scanned": countSchema,
		"bytes_scanned": countSchema, "affected_locality_groups": countSchema, "micros": microsSchema, "micros_per_row": microsSchema}
}

// objectOf is the schema of an object that has all of these fields and no others.
func objectOf(fields schema) schema {
	return objectSchema(fields, slices.Sorted(maps.Keys(fields))...)
}

// versionSchema is the schema of a version that rowWriter.beginVersion begins.
var versionSchema = named("Version", objectSchema(schema{"time": timeSchema, "type": typeSchema, "value": answeredSchema, "labels": listSchema(textSchema)}, "time", "type", "value"))

var (
	timeSchema     = integerSchema(0, cell.MaxTime)
	answeredSchema = schema{"type": []string{"string", "number", "boolean", "null"}}
)

// rowSchema is the schema of a row that a rowWriter writes.
var rowSchema = named("Row", objectSchema(schema{
	"row_key":        anyBytes,
	"columns":        schema{"type": "object", "additionalProperties": schema{"type": "object", "additionalProperties": listSchema(versionSchema)}},
	"binary_columns": listSchema(objectOf(schema{"family": textSchema, "qualifier": anyBytes, "cells": listSchema(versionSchema)})),
}, "row_key", "columns"))

// lineSchema is the schema of the same row as a line.
var lineSchema = objectOf(schema{
	"row_key": anyBytes,
	"cells": listSchema(objectSchema(schema{"column_key": anyBytes, "type": typeSchema, "value": answeredSchema, "time": timeSchema, "labels": listSchema(textSchema)},
		"column_key", "type", "value", "time")),
})

// queryFields are the fields of a query result.
func queryFields() schema { return statsFields().and("rows", listSchema(rowSchema)) }

// itemsSchema counts what a change had.
var itemsSchema = objectOf(schema{"row_count": countSchema, "cell_count": countSchema})

// outcomeSchema is the schema of an error of a part of a request.
var outcomeSchema = objectOf(schema{"code": textSchema, "at": textSchema, "message": textSchema})

// orNull is a value that may not be there.
func orNull(s schema) schema { return either(s, nullSchema) }

// tableSchema is the schema of a table that appendTable appends, by that of its partitions.
func tableSchema(partition schema) schema {
	return objectSchema(schema{
		"name":                textSchema,
		"column_families":     listSchema(objectSchema(schema{"name": textSchema, "gc_settings": storedGCSchema, "moving": moveSchema}, "name", "gc_settings")),
		"locality_groups":     listSchema(objectOf(schema{"id": textSchema, "column_families": listSchema(textSchema)})),
		"partitions":          listSchema(partition),
		"disk_space_in_bytes": countSchema,
		"deletion_protection": schema{"const": true},
		"default_gc_settings": storedGCSchema,
	}, "name", "column_families", "locality_groups", "partitions", "disk_space_in_bytes")
}

// moveSchema is the schema of what appendMove appends.
var moveSchema = named("Move", objectSchema(schema{
	"locality_group": placeSchema, "from": placeSchema, "row_count": countSchema, "cell_count": countSchema, "bytes": countSchema, "error": textSchema,
}, "locality_group", "from", "row_count", "cell_count", "bytes"))

var placeSchema = orNull(textSchema)

var storedGCSchema = named("StoredGCSettings", objectSchema(schema{
	"ttl_secs": orNull(countSchema), "version_limit": orNull(countSchema), "mode": schema{"const": "intersection"},
}, "ttl_secs", "version_limit"))
