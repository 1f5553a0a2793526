package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
)

// Batch is rows that one commit of WriteLines has written: from First to Last, counted from 1.
type Batch struct {
	First, Last int64
	Time        Time // of the commit
}

func (b Batch) rows() string {
	if b.First == b.Last {
		return fmt.Sprintf("row %d", b.First)
	}
	return fmt.Sprintf("rows %d to %d", b.First, b.Last)
}

// batchJSON is a line of the answer.
type batchJSON struct {
	Lines [2]int64 `json:"lines"`
	Time  int64    `json:"time"`
	Error *outcome `json:"error"`
}

// WriteLines writes any number of rows in one request, and returns its batches as they are committed. Neither side
// holds more than a few MiB of them. Each batch is atomic, the request is not: Write is the way to write a few rows
// together, WriteLines to load many.
//
// The first error ends the iteration. Rows up to Last of the last Batch without an error are written. Rows behind them
// are not, or may be if the error is an ErrOutcomeUnknown, as after a connection that broke. An *Error in the middle
// comes with the Batch that the server has refused; its place is one in a row. Nothing is sent again: write rows again
// from the first that is not known to be written, with a Time in each cell.
//
// Another goroutine calls rows. The iteration ends when that has returned: rows must not wait for the loop to go on.
// Leaving the loop ends the request; what was sent may be written.
func (t *Table) WriteLines(ctx context.Context, rows iter.Seq[Row]) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		lines := newLineSource(rows, t.c.opt.Compression)
		defer cancel()
		defer lines.end()
		r := &request{class: once, method: http.MethodPost, path: t.path + "/write", source: lines, encoding: t.c.opt.Compression.encoding(), lines: true}
		answer, err := t.c.send(ctx, r)
		if err != nil {
			if v := judge(err); v == lost || mayBeApplied(err) {
				err = &unsettled{err}
			}
			yield(Batch{}, err)
			return
		}
		defer answer.Close()
		written := int64(0)
		for decoder := json.NewDecoder(answer); ; {
			b, err := nextBatch(ctx, decoder)
			if err == io.EOF {
				if sent := lines.end(); sent != written {
					yield(Batch{}, &unsettled{malformed(fmt.Errorf("it ends with row %d, and %d were sent", written, sent))})
				}
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
			written = b.Last
		}
	}
}

// lineSource is rows as a body of lines. A goroutine calls rows, and a Read gets what there is: the server has a row when
// there is no other one yet.
type lineSource struct {
	done chan struct{} // closed when rows has returned

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte // lines that no Read has taken
	rows    int64  // that were begun
	whole   bool   // there are no more
	closed  bool   // nobody reads on

	packer      packer // nil for none
	taken, rest []byte // what a Read has taken, and what is to be read of it, or of its compressed form
}

// maxWaiting bounds what waits when one more row comes, in bytes.
const maxWaiting = 64 << 10

func newLineSource(rows iter.Seq[Row], compression Compression) *lineSource {
	s := &lineSource{done: make(chan struct{}), packer: compression.packer()}
	s.changed.L = &s.mu
	go func() {
		defer close(s.done)
		for row := range rows {
			if !s.put(row) {
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.whole = true
		s.changed.Broadcast()
	}()
	return s
}

// put lets a row wait to be read. It reports whether more may come.
func (s *lineSource) put(row Row) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) >= maxWaiting && !s.closed {
		s.changed.Wait()
	}
	s.rows++
	s.waiting = append(appendRow(s.waiting, row), '\n')
	s.changed.Broadcast()
	return !s.closed
}

func (s *lineSource) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next makes rest the next piece: of a compressed body, what ends it is the last one.
func (s *lineSource) next() error {
	err := s.take()
	switch {
	case err == nil && s.packer == nil:
		s.rest = s.taken
	case err == nil:
		s.rest = s.packer.pack(s.taken)
	case err == io.EOF && s.packer != nil:
		s.rest, s.packer = s.packer.end(), nil
		if len(s.rest) > 0 {
			return nil
		}
	}
	return err
}

// take takes what waits, in exchange for what was taken before.
func (s *lineSource) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) == 0 && !s.whole && !s.closed {
		s.changed.Wait()
	}
	switch {
	case s.closed:
		return io.ErrClosedPipe
	case len(s.waiting) == 0:
		return io.EOF
	}
	s.taken, s.waiting = s.waiting, s.taken[:0]
	s.changed.Broadcast()
	return nil
}

// Close ends reading.
func (s *lineSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
	return nil
}

// end ends the goroutine, if need be with its next row. It returns how many rows it has begun.
func (s *lineSource) end() int64 {
	s.Close()
	<-s.done
	return s.rows
}

// nextBatch reads a line of the answer: io.EOF behind the last one.
func nextBatch(ctx context.Context, lines *json.Decoder) (Batch, error) {
	var line batchJSON
	switch err := lines.Decode(&line); {
	case err == io.EOF:
		return Batch{}, err
	case err != nil:
		return Batch{}, &unsettled{brokeOff(ctx, err)}
	}
	b := Batch{First: line.Lines[0], Last: line.Lines[1]}
	if line.Error == nil {
		b.Time = At(line.Time)
		return b, nil
	}
	e := newError(0, line.Error.Code, line.Error.At, line.Error.Message)
	e.Message = fmt.Sprintf("%s, in %s", e.Message, b.rows())
	return b, e
}
