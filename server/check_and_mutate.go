package server

import (
	"errors"
	"net/http"

	"colonnade/widecol"
)

// checkAndMutate is POST /v1/table/{table}/check-and-mutate.
func (s *Server) checkAndMutate(x *requestContext) error {
	c := widecol.CheckAndMutate{If: widecol.NewQuery()}
	if err := x.decode(false, func(d *decoder) { x.decodeCheck(d, &c) }); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	matched, time, err := s.store.CheckAndMutate(ctx, x.table, &c, x.key)
	if err != nil {
		return checkFailure(err, &c)
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

func (x *requestContext) decodeCheck(d *decoder, c *widecol.CheckAndMutate) {
	conditional, then, other := false, 0, 0 // the ends of the two lists, in the order of the body
	thenFirst := false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "row_key":
			c.Row = d.rowKey()
		case "if":
			conditional = true
			x.decodeCondition(d, c)
		case "then":
			thenFirst = other == 0
			x.decodeMutations(d)
			then = len(x.mutations)
		case "else":
			x.decodeMutations(d)
			other = len(x.mutations)
		default:
			d.unknown()
		}
	}
	d.require(c.Row != nil, "row_key")
	d.require(conditional, "if")
	d.require(len(x.mutations) > 0, "then")
	x.setRow(0, c.Row)
	switch {
	case then == 0:
		c.Else = x.mutations
	case thenFirst:
		c.Then, c.Else = x.mutations[:then], x.mutations[then:]
	default:
		c.Else, c.Then = x.mutations[:other], x.mutations[other:]
	}
}

// decodeCondition reads what the row must hold.
func (x *requestContext) decodeCondition(d *decoder, c *widecol.CheckAndMutate) {
	c.If.RowFilter = d.rowFilterOr(func() bool {
		if string(d.Name()) != "exists" {
			return false
		}
		c.Not = !d.Bool()
		return true
	})
}

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
