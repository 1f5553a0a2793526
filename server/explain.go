package server

import (
	"context"
	"net/http"
	"time"

	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/widecol"
)

// explainMode says whether the answer to a read explains it.
type explainMode uint8

const (
	noExplain   explainMode = iota
	withExplain             // beside the result
	onlyExplain             // in its place: the store does the work, and nothing of the result is answered
	logExplain              // in the log of slow queries alone
)

// explainShape is the shape of the field of a request.
var explainShape = value((*decoder).explainMode, either(booleanSchema, schema{"const": "only"}))

func (d *decoder) explainMode() explainMode {
	if !d.AtText() {
		if d.Bool() {
			return withExplain
		}
		return noExplain
	}
	if text := d.Text(); d.Err() == nil && string(text) != "only" {
		d.Fail("invalid_value", `explain must be true, false or "only"`)
	}
	return onlyExplain
}

// explanation collects what the answer to a read says about it: what the Store does, and what takes how long. It is
// for one goroutine; those that work on parts of a read have one each. All methods take nil, for a read that is not
// to be explained.
type explanation struct {
	mode explainMode
	now  func() time.Time

	explain.Read
	allRows bool // the query asked last has all rows, though parts of it may not
}

// explains begins the explanation of a read whose request is decoded, if it asks for one or slow queries are logged.
// It returns nil if nobody wants it.
func (x *requestContext) explains(mode explainMode) *explanation {
	if mode == noExplain {
		if !x.server.slow.On() {
			return nil
		}
		mode = logExplain
	}
	x.explain = &explanation{mode: mode, now: x.server.opt.Now, Read: explain.Read{Receiving: x.elapsed()}}
	return x.explain
}

// explainsQuery is explains for a read of one query.
func (x *requestContext) explainsQuery(mode explainMode, q *widecol.Query) {
	if e := x.explains(mode); e != nil {
		e.Query = *q
	}
}

// answered reports whether the answer has the explanation.
func (e *explanation) answered() bool { return e != nil && e.mode != logExplain }

// alone reports whether nothing but the explanation is answered.
func (e *explanation) alone() bool { return e != nil && e.mode == onlyExplain }

// ask makes a query explain itself.
func (e *explanation) ask(q *widecol.Query) {
	if e != nil {
		q.Explain = &e.Explain
		e.allRows = len(q.Rows) == 1 && len(q.Rows[0].Start) == 0 && q.Rows[0].End == nil
	}
}

// part returns the explanation of a part of the read.
func (e *explanation) part() *explanation {
	if e == nil {
		return nil
	}
	return &explanation{mode: e.mode, now: e.now}
}

// add adds what a part of the read has collected.
func (e *explanation) add(part *explanation) {
	if e == nil {
		return
	}
	e.Explain.Add(&part.Explain)
	if e.allRows {
		e.PushedDown &^= widecol.PartRows
		e.Checked &^= widecol.PartRows
	}
	e.Reading += part.Reading
	e.Writing += part.Writing
}

// openView opens the view of the request's table, for its queries.
func (x *requestContext) openView() (widecol.View, error) {
	x.beginPart(x.ctx(), "store query")
	e := x.explain
	if e == nil {
		return x.server.store.View(x.ctx(), x.table)
	}
	begun := e.now()
	view, err := x.server.store.View(x.ctx(), x.table)
	e.Opening += e.now().Sub(begun)
	return view, err
}

// scan starts a query.
func (e *explanation) scan(ctx context.Context, view widecol.View, q *widecol.Query) (widecol.Rows, error) {
	if e == nil {
		return view.Scan(ctx, q)
	}
	e.ask(q)
	begun := e.now()
	rows, err := view.Scan(ctx, q)
	e.Reading += e.now().Sub(begun)
	return rows, err
}

// count counts a part of a query.
func (e *explanation) count(ctx context.Context, q *widecol.Query, count countPart) (widecol.Stats, error) {
	if e == nil {
		return count(ctx, q)
	}
	e.ask(q)
	begun := e.now()
	stats, err := count(ctx, q)
	e.Reading += e.now().Sub(begun)
	return stats, err
}

// writeExplained is writeAll for a read that is to be explained: it tells the time in the Store from the rest.
func (a *rowWriter) writeExplained(rows widecol.Rows) (found bool, err error) {
	e := a.explain
	begun, reading := e.now(), e.Reading
	timed := e.Timed(rows, e.now)
	if !e.alone() {
		a.explain = nil
		found, err = a.writeAll(timed)
		a.explain = e
	} else {
		for timed.Next() {
			found = true
		}
		addStats(&a.stats, rows.Stats())
		err = rows.Err()
	}
	e.Writing += e.now().Sub(begun) - (e.Reading - reading)
	return found, err
}

// beginExplained starts the answer to a read whose result is one object. It returns true if the result is not
// answered.
func (x *requestContext) beginExplained() bool {
	x.begin(http.StatusOK)
	if !x.explain.alone() {
		return false
	}
	x.out = append(x.out, '{')
	return true
}

// appendExplain appends the explanation as the last field of an object, if there is one.
func (x *requestContext) appendExplain(s *widecol.Stats) {
	e := x.explain
	if !e.answered() {
		return
	}
	if !e.alone() {
		x.out = append(x.out, ',')
	}
	x.out = e.Append(append(x.out, `"explain":`...), s, x.elapsed())
}

// explainSchema is the schema of what appendExplain appends.
var explainSchema = named("Explain", objectOf(schema{
	"rows": counts("scanned", "returned"),
	"cells": objectOf(schema{"scanned": countSchema, "returned": countSchema, "tombstones": countSchema,
		"dropped": counts("columns", "later", "deleted", "overwritten", "garbage", "times", "values", "filter")}),
	"pushed_down": listSchema(oneOfTexts(widecol.AllParts.Names()...)),
	"checked":     listSchema(oneOfTexts(widecol.AllParts.Names()...)),
	"ended":       endedSchema(),
	"partitions": listSchema(objectOf(counted(schema{"name": textSchema, "levels": listSchema(objectOf(counted(schema{
		"files_left_out": counts("deleted", "times", "bloom_filter", "families"),
		"blocks":         counts("read", "cached"), "value_blocks": counts("read", "cached"), "blocks_left_out": counts("times", "columns"),
	}, "level", "files", "files_read", "bloom_filters_asked", "bytes_decompressed")))}, "cells_scanned", "bytes_scanned", "memtables"))),
	"micros": counts("receive", "open", "read", "write", "total"),
}))

// counted returns a schema's fields with counts among them.
func counted(fields schema, names ...string) schema {
	for _, name := range names {
		fields[name] = countSchema
	}
	return fields
}

// counts is the schema of an object of counts.
func counts(names ...string) schema { return objectOf(counted(schema{}, names...)) }

func endedSchema() schema {
	properties := schema{}
	for reason := range widecol.EndReasons {
		properties[widecol.EndReason(reason).String()] = countSchema
	}
	return objectSchema(properties)
}

// explained is the schema of a result of a read: with an explanation, or without, or it alone.
func explained(result schema) schema {
	properties := result["properties"].(schema).and("explain", explainSchema)
	return either(result.and("properties", properties), objectOf(schema{"explain": explainSchema}))
}
