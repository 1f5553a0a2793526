package server

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// aggregation is the body of an aggregate.
type aggregation struct {
	widecol.Aggregate // without its query
	selection
}

var aggregateFields = append(within(countFields, func(a *aggregation) *selection { return &a.selection }),
	fields[aggregation]{
		{"of", required, to(functions, func(a *aggregation) *widecol.Functions { return &a.Of })},
		{"group_by", optional, to(groupBy, func(a *aggregation) *widecol.GroupBy { return &a.GroupBy })},
	}...)

var aggregateOperation = operation{
	does: "Sums up what a query selects.", body: aggregateFields.schema(),
	answer:  answer{status: http.StatusOK, result: explained(objectOf(statsFields().and("groups", listSchema(groupSchema))))},
	refuses: []int{http.StatusConflict},
}

// groupSchema is the schema of what appendGroup appends.
var groupSchema = objectSchema(schema{
	"key": orNull(anyBytes), "count": countSchema,
	"sum": numberSchema, "min": numberSchema, "max": numberSchema, "avg": numberSchema,
}, "key")

// numberSchema is the schema of what appendNumber appends.
var numberSchema = orNull(objectOf(schema{"type": oneOfTexts("i64", "i32", "byte", "f64", "f32"), "value": schema{"type": "number"}}))

// aggregate is POST /v1/table/{table}/aggregate.
func (s *Server) aggregate(x *requestContext) error {
	sel := aggregation{selection: newSelection()}
	if err := x.decode(false, func(d *decoder) { aggregateFields.read(d, &sel) }); err != nil {
		return err
	}
	a := sel.Aggregate
	a.Query = sel.query
	x.explainsQuery(sel.explain, &a.Query)
	view, err := x.openView()
	if err != nil {
		return err
	}
	defer view.Close()
	groups, stats, err := x.aggregateParallel(view, &a)
	x.looked(stats)
	if err != nil {
		return placed(err, func(code string, i int) string {
			if code == "too_many_groups" {
				return "group_by"
			}
			return sel.column.at("column", i)
		})
	}
	if !x.beginExplained() {
		if err := x.appendGroups(groups, &a); err != nil {
			return err
		}
		x.appendStats(&stats)
	}
	x.appendExplain(&stats)
	x.out = append(x.out, '}')
	return x.finish(querySuccessful)
}

// appendGroups appends the groups of an aggregate, as the first field of the result.
func (x *requestContext) appendGroups(groups []widecol.AggregateGroup, a *widecol.Aggregate) error {
	x.out = append(x.out, `{"groups":[`...)
	for i := range groups {
		if i > 0 {
			x.out = append(x.out, ',')
		}
		x.out = appendGroup(x.out, &groups[i], a)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, "],"...)
	return nil
}

// aggregateParallel evaluates an aggregate. A goroutine per core works on parts of its query. Each has an aggregator of
// its own, for one part after the other.
func (x *requestContext) aggregateParallel(view widecol.View, a *widecol.Aggregate) ([]widecol.AggregateGroup, widecol.Stats, error) {
	var mu sync.Mutex
	var aggregators []*widecol.Aggregator // that no goroutine works on; guarded by mu
	take := func() *widecol.Aggregator {
		mu.Lock()
		defer mu.Unlock()
		n := len(aggregators)
		if n == 0 {
			return widecol.NewAggregator(a)
		}
		t := aggregators[n-1]
		aggregators = aggregators[:n-1]
		return t
	}
	q := a.Scan()
	stats, err := x.inParallel(view, &q, func(ctx context.Context, q *widecol.Query) (widecol.Stats, error) {
		t := take()
		stats, err := widecol.AggregatorOf(ctx, view, q, t)
		mu.Lock()
		defer mu.Unlock()
		aggregators = append(aggregators, t)
		return stats, err
	})
	if err != nil {
		return nil, stats, err
	}
	total := aggregators[0]
	for _, t := range aggregators[1:] {
		if err := total.Merge(t); err != nil {
			return nil, stats, err
		}
	}
	groups, err := total.Groups()
	return groups, stats, err
}

// functionNames are in the order of an answer.
var functionNames = []struct {
	name string
	bit  widecol.Functions
}{
	{"count", widecol.Count}, {"sum", widecol.Sum}, {"min", widecol.Min}, {"max", widecol.Max}, {"avg", widecol.Avg},
}

var functions = value((*decoder).functions, listSchema(functionSchema()).and("minItems", 1).and("uniqueItems", true))

func functionSchema() schema {
	var names []string
	for _, f := range functionNames {
		names = append(names, f.name)
	}
	return oneOfTexts(names...)
}

func (d *decoder) functions() (of widecol.Functions) {
	d.Array()
	for d.Next() {
		of |= d.function(of)
	}
	d.nonEmpty(int(of))
	return of
}

// function reads the name of a function that is not in the set.
func (d *decoder) function(before widecol.Functions) widecol.Functions {
	name := string(d.Text())
	if d.Err() != nil {
		return 0
	}
	for _, f := range functionNames {
		if f.name != name {
			continue
		}
		if before&f.bit != 0 {
			d.Fail("invalid_function", "%s is in the list twice", name)
		}
		return f.bit
	}
	d.Fail("invalid_function", "a function must be one of count, sum, min, max, avg")
	return 0
}

// groupBy reads what versions are grouped by.
func (d *decoder) groupBy() (g widecol.GroupBy) {
	if !d.AtObject() {
		if text := d.Text(); d.Err() == nil && string(text) != "column" {
			d.Fail("invalid_group_by", `group_by must be "column" or an object with row_prefix`)
		}
		g.By = widecol.ByColumn
		return g
	}
	rowPrefixFields.read(d, &g)
	return g
}

var rowPrefixFields = fields[widecol.GroupBy]{
	{"row_prefix", required, shape[widecol.GroupBy]{(*decoder).rowPrefix, either(integerSchema(1, widecol.MaxRowKey), rowKeyBytes)}},
}

var groupBy = value((*decoder).groupBy, either(schema{"const": "column"}, rowPrefixFields.schema()))

// rowPrefix reads a length, or the delimiter that a prefix ends with.
func (d *decoder) rowPrefix(g *widecol.GroupBy) {
	if d.AtNumber() {
		g.By, g.Length = widecol.ByRowLength, int(d.integer(1, widecol.MaxRowKey))
		return
	}
	g.By, g.Delimiter = widecol.ByRowDelimiter, bytes.Clone(d.bytes())
	if n := len(g.Delimiter); d.Err() == nil && (n == 0 || n > widecol.MaxRowKey) {
		d.Fail("invalid_group_by", "a delimiter has %d bytes, allowed are 1 to %d", n, widecol.MaxRowKey)
	}
}

// appendGroup appends a group of an aggregate, with the functions that were asked for.
func appendGroup(out []byte, g *widecol.AggregateGroup, a *widecol.Aggregate) []byte {
	out = append(out, `{"key":`...)
	switch a.GroupBy.By {
	case widecol.OneGroup:
		out = append(out, "null"...)
	case widecol.ByColumn:
		family, qualifier := cell.SplitColumn(g.Key)
		out = appendBytes(out, append(append(append(make([]byte, 0, len(g.Key)), family...), ':'), qualifier...))
	default:
		out = appendBytes(out, g.Key)
	}
	results := [...]widecol.Number{{}, g.Sum, g.Min, g.Max, g.Avg}
	for i, f := range functionNames {
		switch {
		case a.Of&f.bit == 0:
		case f.bit == widecol.Count:
			out = appendField(out, `,"count":`, g.Count)
		default:
			out = append(append(append(out, `,"`...), f.name...), `":`...)
			out = appendNumber(out, results[i])
		}
	}
	return append(out, '}')
}

// appendNumber appends a number with its type, or null.
func appendNumber(out []byte, n widecol.Number) []byte {
	if n.Type == cell.None {
		return append(out, "null"...)
	}
	out = append(out, '{')
	out = append(out, typeAndValue[n.Type][len(","):]...)
	out = appendValue(out, n.Type, n.Value)
	return append(out, '}')
}
