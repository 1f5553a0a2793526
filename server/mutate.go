package server

import (
	"errors"
	"net/http"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

var mutateOperation = operation{
	does: "Sets and deletes cells of any rows.", body: mutateFields.schema(),
	answer: answer{status: http.StatusOK, result: objectSchema(schema{
		"items": itemsSchema, "micros_per_item": microsSchema, "time": orNull(timeSchema), "results": listSchema(orNull(outcomeSchema)),
	}, "items", "micros_per_item", "time")},
}

// mutate is POST /v1/table/{table}/mutate.
func (s *Server) mutate(x *requestContext) error {
	var m mutating
	if err := x.decode(false, func(d *decoder) { mutateFields.read(d, &m) }); err != nil {
		return err
	}
	if err := x.admitStorage(x.mutations); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if m.byRow {
		time, outcomes, err := s.store.WriteRows(ctx, x.table, x.mutatedRows(), x.key)
		if err != nil {
			return err
		}
		return x.answerMutate(time, outcomes)
	}
	time, err := s.store.Write(ctx, x.table, x.mutations, x.key)
	if err != nil {
		return x.mutateFailure(err)
	}
	return x.answerMutate(time, nil)
}

// mutating is the body of a mutate request.
type mutating struct {
	byRow bool // each row is written by itself
}

var mutateFields = fields[mutating]{
	{"atomic", optional, shape[mutating]{func(d *decoder, m *mutating) {
		switch string(d.Text()) {
		case "request":
		case "row":
			m.byRow = true
		default:
			d.Fail("invalid_value", "atomic must be request or row")
		}
	}, oneOfTexts("request", "row")}},
	{"items", required, shape[mutating]{func(d *decoder, _ *mutating) {
		d.Array()
		for d.Next() {
			d.x.decodeMutateItem(d)
		}
		d.nonEmpty(len(d.x.ends))
	}, listSchema(mutateItemFields.schema()).and("minItems", 1)}},
}

// mutateItem is an item of a mutate request: mutations of one row.
type mutateItem struct {
	row []byte
}

var mutateItemFields = fields[mutateItem]{
	{"row_key", required, to(rowKeyShape, func(m *mutateItem) *[]byte { return &m.row })},
	{"mutations", required, shape[mutateItem]{func(d *decoder, _ *mutateItem) { d.x.decodeMutations(d) }, mutationsSchema}},
}

func (x *requestContext) decodeMutateItem(d *decoder) {
	first := len(x.mutations)
	var item mutateItem
	mutateItemFields.read(d, &item)
	x.setRow(first, item.row)
	x.ends = append(x.ends, len(x.mutations))
}

// setRow sets the row of the mutations from first on.
func (x *requestContext) setRow(first int, row []byte) {
	for i := first; i < len(x.mutations); i++ {
		x.mutations[i].Row = row
	}
}

// mutatedRows returns the mutations of each item.
func (x *requestContext) mutatedRows() [][]widecol.Mutation {
	rows := make([][]widecol.Mutation, len(x.ends))
	first := 0
	for i, end := range x.ends {
		rows[i], first = x.mutations[first:end:end], end
	}
	return rows
}

// answerMutate sends the result. outcomes are those of the rows, nil if all were written together.
func (x *requestContext) answerMutate(time int64, outcomes []error) error {
	rows, cells, first := int64(0), int64(0), 0
	for i, end := range x.ends {
		if outcomes == nil || outcomes[i] == nil {
			rows++
			for _, m := range x.mutations[first:end] {
				if m.Op == widecol.Set {
					cells++
				}
			}
		}
		first = end
	}
	x.stats.Rows, x.stats.Cells = rows, cells
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"items":{"row_count":`, rows)
	x.out = appendField(x.out, `,"cell_count":`, cells)
	x.out = appendField(x.out, `},"micros_per_item":`, x.elapsed().Microseconds()/int64(len(x.ends)))
	x.appendTime(time)
	if outcomes != nil {
		if err := x.appendOutcomes(outcomes); err != nil {
			return err
		}
	}
	x.out = append(x.out, '}')
	return x.finish("Mutations applied")
}

// appendTime appends the field time of a change: null if nothing was written.
func (x *requestContext) appendTime(time int64) {
	if time == 0 {
		x.out = append(x.out, `,"time":null`...)
		return
	}
	x.out = appendField(x.out, `,"time":`, time)
}

// appendOutcomes appends null or an error for each item.
func (x *requestContext) appendOutcomes(outcomes []error) error {
	x.out = append(x.out, `,"results":[`...)
	first := 0
	for i, err := range outcomes {
		x.comma(i)
		if err == nil {
			x.out = append(x.out, "null"...)
		} else {
			x.appendOutcome(err, i, first)
		}
		first = x.ends[i]
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, ']')
	return nil
}

func (x *requestContext) appendOutcome(err error, item, first int) {
	var stored *widecol.Error
	if errors.As(err, &stored) && stored.Index >= 0 {
		err = stored.At(first + stored.Index)
	}
	f := failureOf(x.mutateFailure(err))
	if f.at == atBody {
		f.at = element("items", item)
	}
	x.out = append(x.out, `{"code":`...)
	x.out = appendString(x.out, f.code)
	x.out = append(x.out, `,"at":`...)
	x.out = appendString(x.out, f.at)
	x.out = append(x.out, `,"message":`...)
	x.out = appendString(x.out, f.message)
	x.out = append(x.out, '}')
}

// mutateFailure adds to a store's error its place in the body.
func (x *requestContext) mutateFailure(err error) error {
	var stored *widecol.Error
	if !errors.As(err, &stored) || stored.Index < 0 || stored.Index >= len(x.mutations) {
		return err
	}
	m := &x.mutations[stored.Index]
	return placed(badFamily(stored, m), func(code string, i int) string {
		item, found := slices.BinarySearch(x.ends, i)
		if found {
			item++ // i is the first after the end of an item
		}
		first := 0
		if item > 0 {
			first = x.ends[item-1]
		}
		at := element("items", item)
		if code == "invalid_row_key" {
			return at + ".row_key"
		}
		return placeOf(m, code, element(at+".mutations", i-first))
	})
}
