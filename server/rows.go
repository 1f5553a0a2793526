package server

import (
	"net/http"
	"strconv"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// rowRead is an item of a rows request. There may be millions, mostly of one key each, so it is small.
type rowRead struct {
	key       []byte // part of the body
	cellLimit int64
	column    *columnFilter // nil for all columns
	filter    *widecol.RowFilter
	wide      *widecol.Query // nil unless there is more: other rows than key, or what no field here has
}

// wideMemory is the memory of a rowRead.wide in bytes.
const wideMemory = 512

var rowsOperation = operation{
	does: "Reads rows by their keys.", body: rowsFields.schema(),
	answer: answer{
		status: http.StatusOK, result: explained(objectOf(queryFields().and("missing", missingSchema))),
		lines: either(lineSchema, explained(objectOf(schema{"statistics": objectOf(statsFields()), "missing": missingSchema}))),
	},
}

var missingSchema = listSchema(countSchema)

// rows is POST /v1/table/{table}/rows.
func (s *Server) rows(x *requestContext) error {
	body := &x.reads
	if err := x.decode(false, func(d *decoder) { rowsFields.read(d, body) }); err != nil {
		return err
	}
	items := body.items
	x.asked = int64(len(items))
	if err := charge(&x.admitted, x.decoder.memory()); err != nil {
		return err
	}
	if e := x.explains(body.explain); e != nil {
		items[0].ask(&e.Query)
		e.Items = len(items)
	}
	view, err := x.openView()
	if err != nil {
		return err
	}
	defer view.Close()

	if err := x.checkFamilies(view, items); err != nil {
		return err
	}
	x.beginRows(http.StatusOK)
	a := x.newRowWriter(&x.responseBuffer, &x.admitted)
	a.line, a.explain = x.lineWriter(x.asLines), x.explain
	defer func() { x.stats = a.stats }()
	var missing []int
	for i := range items {
		if err := x.Step(i + 1); err != nil {
			return err
		}
		found, err := x.readRow(a, view, &items[i], i)
		if err != nil {
			return err
		}
		if !found {
			missing = append(missing, i)
		}
	}
	x.looked(a.stats)
	x.endRows(&a.stats)
	if !x.explain.alone() {
		if err := x.appendMissing(missing); err != nil {
			return err
		}
	}
	x.appendExplain(&a.stats)
	return x.finishRows()
}

// appendMissing appends the positions of the items without a row.
func (x *requestContext) appendMissing(missing []int) error {
	x.out = append(x.out, `,"missing":[`...)
	for i, item := range missing {
		x.comma(i)
		x.out = strconv.AppendInt(x.out, int64(item), 10)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, ']')
	return nil
}

// checkFamilies finds a family that the table does not have in the filter of any item, before the
// response begins. One query with all families and no rows checks all of them.
func (x *requestContext) checkFamilies(view widecol.View, items []rowRead) error {
	if len(items) == 1 {
		return nil // its own query says so in time
	}
	var names []string
	var places []func() string // of each name
	seen := make(map[string]bool)
	for i := range items {
		f := items[i].column
		if f == nil {
			continue
		}
		for j, name := range f.Families {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
				places = append(places, func() string { return f.at(element("items", i)+".column", j) })
			}
		}
	}
	if names == nil {
		return nil
	}
	q := widecol.NewQuery()
	q.Rows = nil
	q.Filter = widecol.Filter{Columns: cell.NewColumns(), Families: names}
	rows, err := view.Scan(x.ctx(), &q)
	if err != nil {
		return placed(err, func(_ string, i int) string {
			if i < 0 || i >= len(places) {
				return atBody
			}
			return places[i]()
		})
	}
	rows.Close()
	return nil
}

// memory returns the bytes that a decoded request takes beside the multiple of its body that is always charged.
func (d *decoder) memory() int64 {
	return int64(d.columns)*columnKeyMemory + int64(d.filters)*filterMemory + int64(d.ranges)*rowRangeMemory + int64(d.wide)*wideMemory
}

// readRow appends the rows of item i. found reports whether there are any.
func (x *requestContext) readRow(a *rowWriter, view widecol.View, item *rowRead, i int) (found bool, err error) {
	q := &x.query
	item.ask(q)
	a.strip, q.Yield = q.KeysOnly, a.yield
	rows, err := x.explain.scan(x.ctx(), view, q)
	if err != nil {
		return false, placed(err, func(_ string, family int) string {
			if item.column == nil {
				return element("items", i)
			}
			return item.column.at(element("items", i)+".column", family)
		})
	}
	defer rows.Close()
	return a.writeAll(rows)
}

// ask makes q the query of an item.
func (r *rowRead) ask(q *widecol.Query) {
	if r.wide != nil {
		*q = *r.wide
	} else {
		*q = widecol.NewQuery()
	}
	if r.key != nil {
		q.SetKey(r.key)
	}
	q.RowCellLimit, q.RowFilter = r.cellLimit, r.filter
	if r.column != nil {
		q.Filter, q.ColumnCellLimit = r.column.Filter, r.column.limit
	}
}

// rowsBody is the body of a rows request.
type rowsBody struct {
	items   []rowRead
	explain explainMode
}

var rowsFields = fields[rowsBody]{
	{"items", required, to(nonEmpty(listOf(rowReadShape)), func(b *rowsBody) *[]rowRead { return &b.items })},
	{"explain", optional, to(explainShape, func(b *rowsBody) *explainMode { return &b.explain })},
}

var rowReadShape = shape[rowRead]{func(d *decoder, item *rowRead) {
	item.cellLimit = widecol.NoLimit
	rowReadFields.read(d, item)
	if item.wide != nil {
		d.wide++
	}
}, rowReadFields.schema()}

var rowReadFields = fields[rowRead]{
	{"row", required, rowReadRows.object()},
	{"column", optional, to(given(limitedColumnsShape), func(r *rowRead) **columnFilter { return &r.column })},
	{"cell", optional, to(answeredCellFields.object(), (*rowRead).widen)},
	{"filter", optional, to(rowFilter, func(r *rowRead) **widecol.RowFilter { return &r.filter })},
}

// rowReadRows are the fields of a scan, of which a key and a limit need no query.
var rowReadRows = append(rowSources(chosen, func(r *rowRead, _ string, rows []widecol.RowRange) { r.widen().Rows = widecol.NewRowSet(rows...) }),
	within(rowLimits, (*rowRead).widen)...).
	but("key", to(rowKeyShape, func(r *rowRead) *[]byte { return &r.key })).
	but("cell_limit", to(count, func(r *rowRead) *int64 { return &r.cellLimit }))

// widen returns the query of an item that selects more than a key.
func (r *rowRead) widen() *widecol.Query {
	if r.wide == nil {
		q := widecol.NewQuery()
		r.wide = &q
	}
	return r.wide
}
