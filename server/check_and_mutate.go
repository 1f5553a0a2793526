package server

import (
	"errors"
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

var checkAndMutateOperation = operation{
	does: "Changes a row if it holds something.", body: checkFields.schema(),
	answer: answer{status: http.StatusOK, result: objectOf(schema{"matched": booleanSchema, "time": orNull(timeSchema)})},
}

// checkAndMutate is POST /v1/table/{table}/check-and-mutate.
func (s *Server) checkAndMutate(x *requestContext) error {
	c := widecol.CheckAndMutate{If: widecol.NewQuery()}
	if err := x.decode(false, func(d *decoder) { x.decodeCheck(d, &c) }); err != nil {
		return err
	}
	if err := x.admitStorage(c.Then, c.Else); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	matched, time, err := s.store.CheckAndMutate(ctx, x.table, &c, x.key)
	if err != nil {
		return checkFailure(err, &c)
	}
	if time != 0 {
		x.stats.Rows = 1
	}
	x.begin(http.StatusOK)
	if matched {
		x.out = append(x.out, `{"matched":true`...)
	} else {
		x.out = append(x.out, `{"matched":false`...)
	}
	x.appendTime(time)
	x.out = append(x.out, '}')
	return x.finish("Row checked")
}

// check is the body of a check-and-mutate.
type check struct {
	*widecol.CheckAndMutate
	then, other int // the ends of the two lists, in the order of the body
	thenFirst   bool
}

var checkFields = fields[check]{
	{"row_key", required, to(rowKeyShape, func(c *check) *[]byte { return &c.Row })},
	{"if", required, to(conditionShape, func(c *check) *widecol.CheckAndMutate { return c.CheckAndMutate })},
	{"then", some, shape[check]{func(d *decoder, c *check) {
		c.thenFirst = c.other == 0
		d.x.decodeMutations(d)
		c.then = len(d.x.mutations)
	}, mutationsSchema}},
	{"else", some, shape[check]{func(d *decoder, c *check) {
		d.x.decodeMutations(d)
		c.other = len(d.x.mutations)
	}, mutationsSchema}},
}

func (x *requestContext) decodeCheck(d *decoder, into *widecol.CheckAndMutate) {
	c := check{CheckAndMutate: into}
	checkFields.read(d, &c)
	x.setRow(0, c.Row)
	switch {
	case c.then == 0:
		c.Else = x.mutations
	case c.thenFirst:
		c.Then, c.Else = x.mutations[:c.then], x.mutations[c.then:]
	default:
		c.Else, c.Then = x.mutations[:c.other], x.mutations[c.other:]
	}
}

// conditionFields say what the row must hold: a filter, or whether it exists.
var conditionFields = append(within(filterFields, func(c *widecol.CheckAndMutate) *widecol.RowFilter { return c.If.RowFilter }),
	field[widecol.CheckAndMutate]{"exists", choice, shape[widecol.CheckAndMutate]{func(d *decoder, c *widecol.CheckAndMutate) {
		c.If.RowFilter = nil
		c.Not = !d.Bool()
	}, booleanSchema}})

var conditionShape = shape[widecol.CheckAndMutate]{func(d *decoder, c *widecol.CheckAndMutate) {
	c.If.RowFilter = new(widecol.RowFilter)
	d.filterTree(func() { conditionFields.read(d, c) })
	if c.If.RowFilter != nil {
		d.checkFilter(c.If.RowFilter)
	}
}, conditionFields.schema().and("minProperties", 1)}

// checkFailure adds to a store's error its place in the body.
func checkFailure(err error, c *widecol.CheckAndMutate) error {
	var stored *widecol.Error
	if !errors.As(err, &stored) || stored.Index < 0 || stored.Index >= len(c.Then)+len(c.Else) {
		return err
	}
	list, i := "then", stored.Index
	m := c.Then
	if i >= len(m) {
		list, i, m = "else", i-len(m), c.Else
	}
	return placed(badFamily(stored, &m[i]), func(code string, _ int) string {
		return placeOf(&m[i], code, element(list, i))
	})
}
