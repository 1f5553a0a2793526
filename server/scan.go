package server

import "net/http"

const querySuccessful = "Query successful"

// scan is POST /v1/table/{table}/scan.
func (s *Server) scan(x *exchange) error {
	sel := newSelection()
	if err := x.decode(false, func(d *decoder) { d.selection(&sel, true) }); err != nil {
		return err
	}
	view, rows, err := x.open(&sel.query, &sel.column)
	if err != nil {
		return err
	}
	defer view.Close()
	defer rows.Close()

	x.begin(http.StatusOK)
	x.out = append(x.out, `{"rows":[`...)
	a := x.newAnswer(&x.collector)
	if _, err := a.all(rows); err != nil {
		return err
	}
	x.out = append(x.out, "],"...)
	x.appendStats(&a.stats)
	x.out = append(x.out, '}')
	return x.finish(querySuccessful)
}
