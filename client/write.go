package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// Every change of cells has an idempotency key, so that it is sent again when an answer is lost, and applied
// once.

// Write writes the cells of rows, all or none. A cell without a Time gets that of the commit.
func (t *Table) Write(ctx context.Context, rows ...Row) error {
	body, cells := append([]byte(nil), `{"items":`...), 0
	body = appendList(body, rows, func(dst []byte, r Row) []byte {
		cells += len(r.Cells)
		return appendRow(dst, r)
	})
	var result struct {
		Items struct {
			Cells int `json:"cell_count"`
		} `json:"items"`
	}
	if err := t.change(ctx, http.MethodPost, "/write", append(body, '}'), &result); err != nil {
		return err
	}
	if result.Items.Cells != cells {
		return fmt.Errorf("the server took %d cells of %d", result.Items.Cells, cells)
	}
	return nil
}

func (t *Table) change(ctx context.Context, method, path string, body []byte, result any) error {
	return t.c.call(ctx, t.c.change(ctx, method, t.path+path, body), result)
}

// Mutation changes cells of a row: Set, DeleteColumn, DeleteVersions, DeleteFamily or DeleteCells.
type Mutation struct {
	field string // of the API
	cell  Cell   // with what the field needs of it
	times Times
}

// Set writes a cell. Without a Time it gets that of the commit.
func Set(c Cell) Mutation { return Mutation{field: "set", cell: c} }

// DeleteColumn deletes all versions of a column.
func DeleteColumn(family, qualifier string) Mutation {
	return DeleteVersions(family, qualifier, Times{})
}

// DeleteVersions deletes the versions of a column that have these times.
func DeleteVersions(family, qualifier string, times Times) Mutation {
	return Mutation{field: "delete_column", cell: Cell{Family: family, Qualifier: qualifier}, times: times}
}

// DeleteFamily deletes all cells of a family in the row.
func DeleteFamily(family string) Mutation {
	return Mutation{field: "delete_family", cell: Cell{Family: family}}
}

// DeleteCells deletes all cells of the row.
func DeleteCells() Mutation { return Mutation{field: "delete_row"} }

func appendMutation(dst []byte, m Mutation) []byte {
	o := newObject(dst)
	o.field(m.field)
	switch m.field {
	case "set":
		o.dst = appendCell(o.dst, &m.cell)
	case "delete_column":
		column := newObject(o.dst)
		column.field("column_key")
		column.dst = appendColumnKey(column.dst, m.cell.Family, m.cell.Qualifier)
		m.times.appendField(&column)
		o.dst = column.end()
	case "delete_family":
		o.dst = jsontext.AppendString(o.dst, m.cell.Family)
	default:
		o.dst = append(o.dst, "true"...)
	}
	return o.end()
}

// RowMutations are mutations of a row, which apply in their order.
type RowMutations struct {
	Key       string
	Mutations []Mutation
}

func appendRowMutations(dst []byte, r RowMutations) []byte {
	dst = append(dst, `{"row_key":`...)
	dst = appendBytes(dst, r.Key)
	dst = append(dst, `,"mutations":`...)
	return append(appendList(dst, r.Mutations, appendMutation), '}')
}

// mutated is the result of a mutate request.
type mutated struct {
	Time    *int64     `json:"time"`
	Results []*outcome `json:"results"`
}

type outcome struct {
	Code    string `json:"code"`
	At      string `json:"at"`
	Message string `json:"message"`
}

// timeOf returns the time of a commit, none for null.
func timeOf(micros *int64) Time {
	if micros == nil {
		return Time{}
	}
	return At(*micros)
}

// Mutate mutates rows, all or none. It returns the time of the commit.
func (t *Table) Mutate(ctx context.Context, rows ...RowMutations) (Time, error) {
	var result mutated
	err := t.mutate(ctx, `{"items":`, rows, &result)
	return timeOf(result.Time), err
}

// MutateRows mutates each row by itself. outcomes has an *Error, or nil, for each of rows. With an err no
// outcome is known.
func (t *Table) MutateRows(ctx context.Context, rows ...RowMutations) (commit Time, outcomes []error, err error) {
	var result mutated
	if err := t.mutate(ctx, `{"atomic":"row","items":`, rows, &result); err != nil {
		return Time{}, nil, err
	}
	if len(result.Results) != len(rows) {
		return Time{}, nil, malformed(fmt.Errorf("%d outcomes of %d rows", len(result.Results), len(rows)))
	}
	outcomes = make([]error, len(rows))
	for i, o := range result.Results {
		if o != nil {
			outcomes[i] = newError(0, o.Code, o.At, o.Message)
		}
	}
	return timeOf(result.Time), outcomes, nil
}

func (t *Table) mutate(ctx context.Context, head string, rows []RowMutations, result *mutated) error {
	body := appendList([]byte(head), rows, appendRowMutations)
	return t.change(ctx, http.MethodPost, "/mutate", append(body, '}'), result)
}

// Condition is what a row must hold.
type Condition struct {
	exists bool
	filter Filter // instead, unless it is the zero Filter
}

// Exists is met by a row that has a cell or, with false, by one that has none.
func Exists(exists bool) Condition { return Condition{exists: exists} }

// Matches is met by a row of which a filter passes on at least one cell.
func Matches(f Filter) Condition { return Condition{filter: f} }

// Check is a change of a row that depends on what it holds.
type Check struct {
	If         Condition
	Then, Else []Mutation // applied when If is met, or when it is not; one of them may be empty
}

// CheckAndMutate changes a row if it holds something. No other change of the row comes between the look and the
// change. The time is that of the commit, none if there was nothing to apply.
func (t *Table) CheckAndMutate(ctx context.Context, key string, check Check) (matched bool, commit Time, err error) {
	body := append([]byte(nil), `{"row_key":`...)
	body = appendBytes(body, key)
	body = append(body, `,"if":`...)
	if check.If.filter.field != "" {
		body = appendFilter(body, check.If.filter)
	} else {
		body = append(body, `{"exists":`...)
		body = append(strconv.AppendBool(body, check.If.exists), '}')
	}
	if len(check.Then) > 0 {
		body = append(body, `,"then":`...)
		body = appendList(body, check.Then, appendMutation)
	}
	if len(check.Else) > 0 {
		body = append(body, `,"else":`...)
		body = appendList(body, check.Else, appendMutation)
	}
	var result struct {
		Matched bool   `json:"matched"`
		Time    *int64 `json:"time"`
	}
	err = t.change(ctx, http.MethodPost, "/check-and-mutate", append(body, '}'), &result)
	return result.Matched, timeOf(result.Time), err
}

// Rule derives a new version of a column from its newest one: Increment, Append or AppendBytes.
type Rule struct {
	family, qualifier string
	field             string // of the API
	n                 int64
	text              string
	binary            bool
}

// Increment adds n to a value of type i64. A column without a version counts as 0.
func Increment(family, qualifier string, n int64) Rule {
	return Rule{family: family, qualifier: qualifier, field: "increment", n: n}
}

// Append appends text to a value of type string or bytes. A column without a version becomes a string.
func Append(family, qualifier, text string) Rule {
	return Rule{family: family, qualifier: qualifier, field: "append", text: text}
}

// AppendBytes appends to a value of type bytes or string. A column without a version becomes bytes.
func AppendBytes(family, qualifier string, b []byte) Rule {
	return Rule{family: family, qualifier: qualifier, field: "append", text: string(b), binary: true}
}

func appendRule(dst []byte, r Rule) []byte {
	o := newObject(dst)
	o.field("column_key")
	o.dst = appendColumnKey(o.dst, r.family, r.qualifier)
	o.field(r.field)
	switch {
	case r.field == "increment":
		o.dst = strconv.AppendInt(o.dst, r.n, 10)
	case r.binary:
		o.dst = appendBase64(o.dst, r.text)
	default:
		o.dst = jsontext.AppendString(o.dst, r.text)
	}
	return o.end()
}

// ReadModifyWrite applies rules to a row, in order, all or none. It returns the row with the versions written.
// A column of another type is an ErrConflict.
func (t *Table) ReadModifyWrite(ctx context.Context, key string, rules ...Rule) (Row, error) {
	body := append([]byte(nil), `{"row_key":`...)
	body = appendBytes(body, key)
	body = append(body, `,"rules":`...)
	body = append(appendList(body, rules, appendRule), '}')
	var result struct {
		Row json.RawMessage `json:"row"`
	}
	if err := t.change(ctx, http.MethodPost, "/read-modify-write", body, &result); err != nil {
		return Row{}, err
	}
	return rowOf(result.Row)
}

// Deletion selects what is deleted: the cells in these columns and times of these rows.
type Deletion struct {
	Rows    RowSet
	Columns ColumnSet
	Times   Times
	// All must be set if Rows are all rows of the table.
	All bool
}

func (d *Deletion) append(dryRun bool) []byte {
	o := newObject(nil)
	if d.Rows.field != "" {
		o.field("row")
		row := newObject(o.dst)
		d.Rows.appendField(&row)
		o.dst = row.end()
	}
	d.Columns.appendField(&o, 0)
	d.Times.appendField(&o)
	if d.All {
		o.field("all")
		o.dst = append(o.dst, "true"...)
	}
	if dryRun {
		o.field("dry_run")
		o.dst = append(o.dst, "true"...)
	}
	return o.end()
}

// Delete deletes cells of many rows. Each row is deleted from at once; of many, some may be deleted before
// others, and only some if Delete fails.
func (t *Table) Delete(ctx context.Context, d Deletion) error {
	return t.change(ctx, http.MethodPost, "/delete", d.append(false), nil)
}

// CountDeletion counts the rows and versions that Delete would delete of what a read returns.
func (t *Table) CountDeletion(ctx context.Context, d Deletion) (rows, cells int64, err error) {
	var n struct {
		Rows  int64 `json:"row_count"`
		Cells int64 `json:"cell_count"`
	}
	r := &request{class: read, method: http.MethodPost, path: t.path + "/delete", body: d.append(true)}
	err = t.c.call(ctx, r, &n)
	return n.Rows, n.Cells, err
}

// DeleteRow deletes a row, or the columns of it that have these keys: "family:qualifier", or "family:" for all
// of a family. It returns how many of the versions a read would have returned.
func (t *Table) DeleteRow(ctx context.Context, key string, columns ...string) (cells int64, err error) {
	o := newObject(nil)
	o.field("row_key")
	o.dst = appendBytes(o.dst, key)
	if len(columns) > 0 {
		set := Columns(columns...)
		set.appendField(&o, 0)
	}
	var result struct {
		Cells int64 `json:"deleted_cells_count"`
	}
	err = t.change(ctx, http.MethodDelete, "/row", o.end(), &result)
	return result.Cells, err
}
