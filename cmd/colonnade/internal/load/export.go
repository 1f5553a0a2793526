package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/client"
)

// ExportOptions configure an export.
type ExportOptions struct {
	Server
	Table string

	Prefix     string // of row keys; excludes Start and End
	Start, End string // of row keys, Start included, End not; "" for none
	Columns    []string
	Since      int64 // times of versions, Since included, Until not; negative for none
	Until      int64
	Versions   int64 // of each column; negative for all

	// RetryFor bounds how long the request is repeated until its answer begins.
	RetryFor time.Duration
	Progress func(Progress)                        // some rows were written; may be nil
	Retry    func(wait time.Duration, cause error) // the request will be sent again; may be nil
}

// ErrCutExport is an answer without its end: rows are missing.
var ErrCutExport = errors.New("the answer broke off: rows are missing")

// Export writes the rows of a table to w, in the form that Run takes, all as of one moment. A row is a line, or
// several when it is longer than a request should be, and a line is one Write. It returns an error unless all rows
// were written.
func Export(ctx context.Context, w io.Writer, o ExportOptions) (Progress, error) {
	c, err := o.Server.connect("colonnade-export", 1, 0) // the whole answer may take any time
	if err != nil {
		return Progress{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := o.query()
	if err != nil {
		return Progress{}, err
	}
	var answer io.ReadCloser
	retrier := newRetrier(o.RetryFor, func(wait time.Duration, cause error) {
		if o.Retry != nil {
			o.Retry(wait, cause)
		}
	})
	err = retrier.do(ctx, func() (err error) {
		answer, err = lines(ctx, c, "/v1/table/"+url.PathEscape(o.Table)+"/scan", body, cancel)
		return err
	})
	if err != nil {
		return Progress{}, err
	}
	defer answer.Close()
	e := &export{in: bufio.NewReaderSize(answer, 256<<10), out: w, progress: o.Progress}
	err = e.copy()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return e.done, err
}

// query returns the body of the scan.
func (o *ExportOptions) query() ([]byte, error) {
	row, column, cell := map[string]any{}, map[string]any{}, map[string]any{}
	rows, times := map[string]any{}, map[string]any{}
	if o.Prefix != "" {
		row["prefix"] = jsonBytes(o.Prefix)
	}
	if o.Start != "" {
		rows["start"] = jsonBytes(o.Start)
	}
	if o.End != "" {
		rows["end"] = jsonBytes(o.End)
	}
	if len(rows) > 0 {
		row["range"] = rows
	}
	if len(o.Columns) > 0 {
		var keys []any
		for _, key := range o.Columns {
			keys = append(keys, jsonBytes(key))
		}
		column["multi_key"] = keys
	}
	if o.Versions >= 0 {
		column["cell_limit"] = o.Versions
	}
	if o.Since >= 0 {
		times["start"] = o.Since
	}
	if o.Until >= 0 {
		times["end"] = o.Until
	}
	if len(times) > 0 {
		cell["time"] = times
	}
	return json.Marshal(map[string]any{"row": row, "column": column, "cell": cell})
}

// jsonBytes is how the API has bytes.
func jsonBytes(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(s))}
}

// lines sends a scan and returns the body of its answer as lines. cancel ends ctx; lines calls it when nothing
// comes for requestTimeout.
func lines(ctx context.Context, c *client.Client, path string, body []byte, cancel context.CancelCauseFunc) (io.ReadCloser, error) {
	stalled := time.AfterFunc(requestTimeout, func() { cancel(fmt.Errorf("nothing came for %v: %w", requestTimeout, ErrCutExport)) })
	answer, err := c.Lines(ctx, path, body)
	if err != nil {
		stalled.Stop()
		return nil, err
	}
	return &timedAnswer{answer, stalled}, nil
}

// timedAnswer is a body with a timer that starts again with every Read.
type timedAnswer struct {
	io.ReadCloser
	stalled *time.Timer
}

func (a *timedAnswer) Read(p []byte) (int, error) {
	a.stalled.Reset(requestTimeout)
	return a.ReadCloser.Read(p)
}

func (a *timedAnswer) Close() error {
	a.stalled.Stop()
	return a.ReadCloser.Close()
}

// export copies an answer.
type export struct {
	in       *bufio.Reader
	out      io.Writer
	progress func(Progress)
	done     Progress

	line     []byte // of the row, as far as it was read
	searched int    // line up to here holds no place to divide it, but for a first cell
}

// How the server writes a row. Inside of strings, quotes have a backslash, so these are nowhere else.
var (
	cellsStart = []byte(`,"cells":[`)
	cellStart  = []byte(`{"column_key":`)
	betweens   = []byte(`},{"column_key":`)
	lastLine   = []byte(`{"statistics":`)
)

// progressEvery is how many rows there are between two events.
const progressEvery = 1000

// copy copies rows up to the last line, and checks that there are as many rows and cells as it says.
func (e *export) copy() error {
	for {
		e.line, e.searched = e.line[:0], 0
		if err := e.readLine(); err != nil {
			return err
		}
		if bytes.HasPrefix(e.line, lastLine) {
			return e.finish()
		}
		if !bytes.HasPrefix(e.line, []byte(`{"row_key":`)) {
			return fmt.Errorf("the server sent a line that is no row: %.100q", e.line)
		}
		if err := e.write(e.line); err != nil {
			return err
		}
		e.done.Rows++
		if e.progress != nil && e.done.Rows%progressEvery == 0 {
			e.progress(e.done)
		}
	}
}

// readLine reads the rest of a line. It writes the beginning of a long row.
func (e *export) readLine() error {
	for {
		part, err := e.in.ReadSlice('\n')
		e.line = append(e.line, part...)
		switch {
		case err == nil:
			return nil
		case err == bufio.ErrBufferFull:
			if len(e.line) >= maxBatchBytes {
				if err := e.divide(); err != nil {
					return err
				}
			}
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return ErrCutExport
		default:
			return fmt.Errorf("%w: %w", ErrCutExport, err)
		}
	}
}

// divide writes the cells of the row that are there, but for the last one, as a line of their own. What is left
// begins again with the key of the row.
func (e *export) divide() error {
	i := bytes.LastIndex(e.line[e.searched:], betweens)
	if i < 0 {
		e.searched = max(e.searched, len(e.line)-len(betweens)+1)
		return nil
	}
	i += e.searched
	start := bytes.Index(e.line, cellsStart)
	if start < 0 || start > i {
		return fmt.Errorf("the server sent a line that is no row: %.100q", e.line)
	}
	start += len(cellsStart)
	rest := bytes.Clone(e.line[i+len("},"):])
	e.line = append(e.line[:i+len("}")], "]}\n"...)
	if err := e.write(e.line); err != nil {
		return err
	}
	e.line = append(e.line[:start], rest...)
	e.searched = start
	return nil
}

func (e *export) write(line []byte) error {
	e.done.Cells += int64(bytes.Count(line, cellStart))
	n, err := e.out.Write(line)
	e.done.Bytes += int64(n)
	e.done.Input = e.done.Bytes
	return err
}

// finish checks the last line, and that nothing follows.
func (e *export) finish() error {
	var last struct {
		Statistics struct {
			Rows  int64 `json:"row_count"`
			Cells int64 `json:"cell_count"`
		}
	}
	if err := json.Unmarshal(e.line, &last); err != nil {
		return fmt.Errorf("the last line of the answer: %w", err)
	}
	if s := last.Statistics; s.Rows != e.done.Rows || s.Cells != e.done.Cells {
		return fmt.Errorf("the server counted %d rows and %d cells, but %d and %d came", s.Rows, s.Cells, e.done.Rows, e.done.Cells)
	}
	switch _, err := e.in.ReadByte(); {
	case err == nil:
		return errors.New("the answer goes on behind its last line")
	case err != io.EOF:
		return fmt.Errorf("%w: %w", ErrCutExport, err)
	}
	if e.progress != nil {
		e.progress(e.done)
	}
	return nil
}
