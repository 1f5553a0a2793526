package overload

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// large sends requests with very many cells in a row, and very many rows. Each is applied as a whole, or refused
// as too large without a change.
func large(ctx context.Context, r *run) error {
	n, err := r.start(ctx, "large", 1, nil)
	if err != nil {
		return err
	}
	defer n.end()
	for _, e := range []struct {
		prefix      string
		rows, cells int
	}{{"wide", 1, 1_000_000}, {"long", 100_000, 2}} {
		status := statusOf(n.Do(ctx, http.MethodPost, table+"/write", many(e.prefix, e.rows, e.cells), nil))
		var got struct {
			Rows  int `json:"row_count"`
			Cells int `json:"cell_count"`
		}
		if err := n.Do(ctx, http.MethodPost, table+"/count", fmt.Appendf(nil, `{"row":{"prefix":"%s"}}`, e.prefix), &got); err != nil {
			return err
		}
		switch {
		case status == http.StatusOK && got.Rows == e.rows && got.Cells == e.rows*e.cells:
			r.Add("large_requests", 1)
		case status == http.StatusRequestEntityTooLarge && got.Rows == 0:
		default:
			return fmt.Errorf("%d rows with %d cells each were answered with status %d, and there are %d rows with %d cells in all", e.rows, e.cells, status, got.Rows, got.Cells)
		}
	}
	return n.alive(ctx)
}

// many is a write of small cells, each of a column of its own.
func many(prefix string, rows, cells int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	for row := range rows {
		if row > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"row_key":"%s%d","cells":[`, prefix, row)
		for c := range cells {
			if c > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"column_key":"f:%d","type":"i64","value":1}`, c)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.Bytes()
}
