package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// Function is a function of an aggregate.
type Function string

const (
	CountOf Function = "count" // how many versions
	Sum     Function = "sum"   // of integers an exact i64, with floats among them an f64
	Min     Function = "min"
	Max     Function = "max"
	Avg     Function = "avg"
)

// GroupBy divides versions into groups. The zero GroupBy is one group.
type GroupBy struct{ value string } // as JSON

// ByColumn makes a group of each column. Its key is "family:qualifier".
func ByColumn() GroupBy { return GroupBy{`"column"`} }

// ByRowLength makes a group for the first n bytes of the row key.
func ByRowLength(n int) GroupBy { return GroupBy{`{"row_prefix":` + strconv.Itoa(n) + `}`} }

// ByRowDelimiter makes a group for the row key up to the first delimiter, which is part of the group's key.
func ByRowDelimiter(delimiter string) GroupBy {
	return GroupBy{`{"row_prefix":` + string(appendBytes(nil, delimiter)) + `}`}
}

// Group is a group of an aggregate. It has what was asked for. A result without a number is the zero Value.
type Group struct {
	Key                string // "" for one group
	Count              int64
	Sum, Min, Max, Avg Value
}

// Aggregate computes functions of the versions that a query selects, with its limits for rows and in rows and columns,
// in groups that are sorted by their keys. The query can have neither StripValues, Limit.Cells, Reverse nor Page.
func (t *Table) Aggregate(ctx context.Context, q Query, by GroupBy, of ...Function) ([]Group, Stats, error) {
	body := q.append(nil)
	body = append(body[:len(body)-1], `,"of":`...)
	body = appendList(body, of, func(dst []byte, f Function) []byte { return jsontext.AppendString(dst, string(f)) })
	if by.value != "" {
		body = append(append(body, `,"group_by":`...), by.value...)
	}
	var result struct {
		Groups []groupJSON `json:"groups"`
		statsJSON
	}
	r := &request{class: read, method: http.MethodPost, path: t.path + "/aggregate", body: append(body, '}')}
	if err := t.c.call(ctx, r, &result); err != nil {
		return nil, Stats{}, err
	}
	groups := make([]Group, len(result.Groups))
	for i := range result.Groups {
		var err error
		if groups[i], err = result.Groups[i].group(); err != nil {
			return nil, Stats{}, err
		}
	}
	stats := result.stats()
	if q.Stats != nil {
		*q.Stats = stats
	}
	return groups, stats, nil
}

// groupJSON is a Group in the API.
type groupJSON struct {
	Key                json.RawMessage
	Count              int64
	Sum, Min, Max, Avg json.RawMessage
}

func (j *groupJSON) group() (g Group, err error) {
	g.Count = j.Count
	if string(j.Key) != "null" {
		in := readerOf(j.Key)
		g.Key = string(in.bytes())
		err = in.err
	}
	for _, f := range []struct {
		text json.RawMessage
		v    *Value
	}{{j.Sum, &g.Sum}, {j.Min, &g.Min}, {j.Max, &g.Max}, {j.Avg, &g.Avg}} {
		if err == nil && len(f.text) > 0 && string(f.text) != "null" {
			var c Cell
			d := jsonRows{in: readerOf(f.text)}
			d.version(&c)
			*f.v, err = c.Value, d.in.err
		}
	}
	return g, err
}

// readerOf returns a reader of a text.
func readerOf(text []byte) jsonReader {
	return jsonReader{buf: text, end: len(text), src: bytes.NewReader(nil)}
}

// statsJSON is Stats in the API.
type statsJSON struct {
	Rows    int64 `json:"row_count"`
	Cells   int64 `json:"cell_count"`
	RowsIn  int64 `json:"rows_scanned"`
	CellsIn int64 `json:"cells_scanned"`
	Bytes   int64 `json:"bytes_scanned"`
	Groups  int64 `json:"affected_locality_groups"`
	Micros  int64 `json:"micros"`
}

func (j *statsJSON) stats() Stats {
	return Stats{j.Rows, j.Cells, j.RowsIn, j.CellsIn, j.Bytes, j.Groups, micros(j.Micros)}
}
