package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
)

// Scan returns the rows of a query in key order. Each loop over them sends the request and reads the table as
// of one moment. Rows are decoded while the answer comes; only the current row is in memory. A loop may be left
// at any time, which ends the request.
//
// An error ends the loop; it comes with a zero Row. A request that fails before its first row is sent again like
// any read. An answer that breaks off later is an error, because going on would read another moment; the rows
// before it are right.
func (t *Table) Scan(ctx context.Context, q Query) iter.Seq2[Row, error] {
	return t.stream(ctx, t.scan(&q), q.Stats)
}

// stream returns the rows of a read. stats may be nil.
func (t *Table) stream(ctx context.Context, r *request, stats *Stats) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r := *r // a loop of its own
		s, row, err := t.c.openRows(ctx, &r)
		if s != nil {
			defer s.Close()
		}
		for ; err == nil; row, err = s.next(ctx) {
			if !yield(row, nil) {
				return
			}
		}
		if err != io.EOF {
			yield(Row{}, err)
			return
		}
		if stats != nil {
			*stats = s.rows.summary().stats
		}
	}
}

// rowStream is the answer to a read.
type rowStream struct {
	body io.ReadCloser
	rows rowDecoder
}

func newRowStream(body io.ReadCloser) *rowStream {
	return &rowStream{body: body, rows: newJSONRows(body)}
}

// openRows sends a read and returns its answer with the first row. The error is io.EOF if there is no row. The
// caller closes the stream unless it is nil.
func (c *Client) openRows(ctx context.Context, r *request) (s *rowStream, first Row, err error) {
	r.compress(c.opt.Compression)
	empty := false
	err = c.retry(ctx, r.class, func() error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		s = newRowStream(body)
		first, err = s.next(ctx)
		if empty = err == io.EOF; err != nil && !empty {
			s.Close()
			s = nil
			return err
		}
		return nil
	})
	if empty && err == nil {
		err = io.EOF
	}
	return s, first, err
}

// next returns the next row, or io.EOF behind the last one.
func (s *rowStream) next(ctx context.Context) (Row, error) {
	row, err := s.rows.next()
	var bad *malformedError
	if err != nil && err != io.EOF && !errors.As(err, &bad) {
		err = brokeOff(ctx, err)
	}
	return row, err
}

func (s *rowStream) Close() { s.body.Close() }

// Count counts the rows and cells of a query. The Stats have them as Rows and Cells.
func (t *Table) Count(ctx context.Context, q Query) (Stats, error) {
	var n struct {
		Rows    int64 `json:"row_count"`
		Cells   int64 `json:"cell_count"`
		Bytes   int64 `json:"bytes_scanned"`
		Scanned int64 `json:"cells_scanned"`
		Micros  int64 `json:"micros"`
	}
	err := t.c.call(ctx, &request{class: read, method: http.MethodPost, path: t.path + "/count", body: q.append(nil)}, &n)
	return Stats{Rows: n.Rows, Cells: n.Cells, BytesScanned: n.Bytes, CellsScanned: n.Scanned, Took: micros(n.Micros)}, err
}

// RowRead is what ReadRows reads of one row.
type RowRead struct {
	Key     string
	Columns ColumnSet
	Times   Times
	Value   *ValueFilter // nil for all values
	Filter  Filter
	// Limits of versions; 0 is none.
	CellsPerRow, CellsPerColumn int64
	// StripValues answers null values, which have their type.
	StripValues bool
}

// ReadRow reads a row, or the columns of it that have these keys: "family:qualifier", or "family:" for all of a
// family. A row that does not exist has no cells.
func (t *Table) ReadRow(ctx context.Context, key string, columns ...string) (Row, error) {
	read := RowRead{Key: key}
	if len(columns) > 0 {
		read.Columns = Columns(columns...)
	}
	rows, err := t.ReadRows(ctx, read)
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}

// ReadRows reads rows as of one moment. The result has a row for each read, in the same order; one that does
// not exist has no cells.
func (t *Table) ReadRows(ctx context.Context, reads ...RowRead) ([]Row, error) {
	body := append([]byte(nil), `{"items":`...)
	body = append(appendList(body, reads, appendRowRead), '}')
	r := &request{class: read, method: http.MethodPost, path: t.path + "/rows", body: body}
	r.compress(t.c.opt.Compression)
	var rows []Row
	err := t.c.retry(ctx, r.class, func() (err error) {
		rows, err = t.c.readRows(ctx, r, reads)
		return err
	})
	return rows, err
}

// readRows is one attempt of ReadRows.
func (c *Client) readRows(ctx context.Context, r *request, reads []RowRead) ([]Row, error) {
	found, sum, err := c.readAll(ctx, r)
	if err != nil {
		return nil, err
	}
	return spread(reads, found, sum.missing)
}

// readAll sends a read once and returns its whole answer.
func (c *Client) readAll(ctx context.Context, r *request) (rows []Row, sum *summary, err error) {
	answer, err := c.send(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s := newRowStream(answer)
	defer s.Close()
	row, err := s.next(ctx)
	for ; err == nil; row, err = s.next(ctx) {
		rows = append(rows, row)
	}
	if err != io.EOF {
		return nil, nil, err
	}
	return rows, s.rows.summary(), nil
}

var errMisplaced = errors.New("another row than was asked for")

// spread puts the rows that were found to their reads.
func spread(reads []RowRead, found []Row, missing []int) ([]Row, error) {
	rows := make([]Row, len(reads))
	for i := range reads {
		rows[i].Key = reads[i].Key
		if len(missing) > 0 && missing[0] == i {
			missing = missing[1:]
			continue
		}
		if len(found) == 0 || found[0].Key != reads[i].Key {
			return nil, malformed(errMisplaced)
		}
		rows[i], found = found[0], found[1:]
	}
	return rows, nil
}

func appendRowRead(dst []byte, r RowRead) []byte {
	q := Query{
		Rows: Key(r.Key), Columns: r.Columns, Times: r.Times, Value: r.Value, Filter: r.Filter, StripValues: r.StripValues,
		Limit: Limit{CellsPerRow: r.CellsPerRow, CellsPerColumn: r.CellsPerColumn},
	}
	return q.append(dst)
}
