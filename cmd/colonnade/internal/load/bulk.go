package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/internal/cellstream"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol"
)

// A bulk load sorts all rows, on the disk if they do not fit into memory, and sends them as one request, which the server
// applies as a whole:
//
//	input ──► parts of lines ──► cells of each row, by all cores ──► sorter ──► request
//
// Before the input has ended nothing is sent.

// bulk is one bulk load under way.
type bulk struct {
	*loader
	sorter sorter

	mu       sync.Mutex // guards what follows
	families *families
	wrong    *LineError // of the lowest line
}

// part is some lines of the input.
type part struct {
	text  []byte
	lines []partLine
}

type partLine struct {
	end         int // in text
	first, last int64
}

const partBytes = 1 << 20

// runBulk is run for a bulk load.
func (l *loader) runBulk(ctx context.Context, in format.Reader) (Progress, error) {
	l.in = in
	ctx, l.stop = context.WithCancel(ctx)
	defer l.stop()
	families, err := l.prepare(ctx)
	if err != nil {
		return Progress{}, err
	}
	b := &bulk{loader: l, families: families, sorter: sorter{most: l.o.sortBytes}}
	defer b.sorter.close()
	err = b.read(ctx)
	switch {
	case b.wrong != nil:
		err = b.wrong
	case err == nil:
		err = l.err
	}
	if err == nil {
		err = b.send(ctx)
	}
	l.done.Stamped = false // nothing is written, or all
	return l.done, err
}

// read reads the input into the sorter.
func (b *bulk) read(ctx context.Context) error {
	parts, free := make(chan *part), make(chan *part, runtime.GOMAXPROCS(0)+1)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			w := bulkWorker{bulk: b}
			for p := range parts {
				if err := w.take(p); err != nil {
					b.fail(err)
				}
				select {
				case free <- p:
				default:
				}
			}
		})
	}
	err := b.divide(ctx, parts, free)
	close(parts)
	workers.Wait()
	return err
}

// divide divides the input into parts.
func (b *bulk) divide(ctx context.Context, parts chan<- *part, free <-chan *part) error {
	p := new(part)
	pass := func() error {
		select {
		case parts <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case p = <-free:
			p.text, p.lines = p.text[:0], p.lines[:0]
		default:
			p = &part{text: make([]byte, 0, partBytes+partBytes/8)}
		}
		b.loader.mu.Lock()
		defer b.loader.mu.Unlock()
		b.done.Input = b.in.Offset()
		if b.o.Events.Progress != nil {
			b.o.Events.Progress(b.done)
		}
		return nil
	}
	for {
		row, err := b.in.Next()
		if err == io.EOF {
			return pass()
		}
		var bad *format.RowError
		if errors.As(err, &bad) {
			if err := b.bad(&LineError{b.o.Name, bad.First, bad.Last, bad.Cause}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.o.Name, err)
		}
		p.text = append(p.text, row.Item...)
		p.lines = append(p.lines, partLine{len(p.text), row.First, row.Last})
		if len(p.text) >= partBytes {
			if err := pass(); err != nil {
				return err
			}
		}
	}
}

// bulkWorker makes rows of lines.
type bulkWorker struct {
	*bulk
	items   server.Items
	outline outliner // says what is wrong with a line that is no JSON, as other imports do
	cells   []cellstream.Cell
	order   []int // of cells
	encoder cellstream.Encoder
	text    []byte // the cells of a part
	known   string // the family found last
}

// take makes rows of the lines of a part.
func (w *bulkWorker) take(p *part) error {
	rows, text := make([]sortedRow, 0, len(p.lines)), w.text[:0]
	lineBytes := int64(0)
	wanted := map[string]bool{}
	from := 0
	for _, line := range p.lines {
		item := p.text[from:line.end]
		from = line.end
		size := len(item) + 1
		mutations, err := w.items.Decode(item)
		if err != nil {
			if e := w.outline.scan(item, 0); e != nil {
				err = e
			}
			w.blame(&LineError{w.o.Name, line.first, line.last, err})
			if !w.o.SkipBad {
				return nil
			}
			continue
		}
		block := w.encode(mutations, w.o.Time+line.first, wanted)
		at := len(text)
		text = append(text, block...)
		rows = append(rows, sortedRow{at: at, size: len(block), cells: len(mutations), line: line.first, key: string(mutations[0].Row)})
		lineBytes += int64(size)
	}
	w.bulk.mu.Lock()
	for family := range wanted {
		if w.o.CreateFamilies {
			w.families.want([]byte(family))
		}
	}
	w.bulk.mu.Unlock()
	w.text = text
	return w.sorter.add(slices.Clone(text), rows, lineBytes)
}

// blame records a wrong line.
func (w *bulkWorker) blame(e *LineError) {
	if w.o.SkipBad {
		_ = w.bad(e)
		return
	}
	w.bulk.mu.Lock()
	if w.wrong == nil || e.First < w.wrong.First {
		w.wrong = e
	}
	w.bulk.mu.Unlock()
	w.stop()
}

// encode returns the cells of a row, sorted.
func (w *bulkWorker) encode(mutations []widecol.Mutation, stamp int64, wanted map[string]bool) []byte {
	w.cells = w.cells[:0]
	sorted := true
	for i := range mutations {
		m := &mutations[i]
		if m.Time == widecol.CommitTime {
			m.Time = stamp
		}
		if string(m.Family) != w.known || len(wanted) == 0 {
			w.known = string(m.Family)
			wanted[w.known] = true
		}
		w.cells = append(w.cells, cellstream.Cell{Row: m.Row, Family: m.Family, Qualifier: m.Qualifier, Value: m.Value, Time: m.Time, Type: m.Type})
		sorted = sorted && (i == 0 || compareCells(&w.cells[i-1], &w.cells[i]) < 0)
	}
	w.order = w.order[:0]
	for i := range w.cells {
		w.order = append(w.order, i)
	}
	if !sorted {
		slices.SortFunc(w.order, func(i, j int) int { // of equal cells the later one comes first, and stays
			return cmp.Or(compareCells(&w.cells[i], &w.cells[j]), cmp.Compare(j, i))
		})
	}
	for _, i := range w.order {
		w.encoder.Add(&w.cells[i])
	}
	return w.encoder.Take()
}

// compareCells orders the cells of a row as the server wants them.
func compareCells(a, b *cellstream.Cell) int {
	if c := bytes.Compare(a.Family, b.Family); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Qualifier, b.Qualifier); c != 0 {
		return c
	}
	return cmp.Compare(b.Time, a.Time)
}

// send sends the sorted rows.
func (b *bulk) send(ctx context.Context) error {
	if b.sorter.rows == 0 {
		return nil
	}
	if err := b.families.create(ctx); err != nil {
		return err
	}
	if err := b.sorter.seal(); err != nil {
		return err
	}
	c, err := b.o.Server.connect("colonnade-import", 1, 0)
	if err != nil {
		return err
	}
	table := c.Table(b.o.Table)
	var rows, cells int64
	err = b.retrier.do(ctx, func() error {
		out, in := io.Pipe()
		written := make(chan struct{})
		go func() {
			defer close(written)
			w := bufio.NewWriterSize(in, 512<<10)
			_, err := w.WriteString(cellstream.Magic)
			if err == nil {
				err = b.sorter.write(w)
			}
			if err == nil {
				err = w.Flush()
			}
			in.CloseWithError(err)
		}()
		var err error
		rows, cells, err = table.Load(ctx, out)
		out.Close()
		<-written
		return err
	})
	if err != nil {
		return b.explain(err)
	}
	b.loader.mu.Lock()
	defer b.loader.mu.Unlock()
	b.done.Rows, b.done.Cells, b.done.Bytes, b.done.Input = rows, cells, b.sorter.bytes, b.in.Offset()
	if b.o.Events.Progress != nil {
		b.o.Events.Progress(b.done)
	}
	return nil
}

// explain names the line of an error about a cell.
func (b *bulk) explain(err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: nothing of it is written, or all: %w", b.o.Name, err)
	}
	if answer.Code == "unknown_column_family" {
		err = fmt.Errorf("%w: create it first, or say --create-families", err)
	}
	digits, ok := strings.CutPrefix(answer.At, "cells[")
	n, e := strconv.ParseInt(strings.TrimSuffix(digits, "]"), 10, 64)
	if !ok || e != nil {
		return fmt.Errorf("%s: %w", b.o.Name, err)
	}
	line, e := b.sorter.lineOf(n)
	if e != nil || line == 0 {
		return fmt.Errorf("%s: %w", b.o.Name, err)
	}
	answer.Message, answer.At = strings.TrimPrefix(answer.Message, answer.At+": "), ""
	return &LineError{b.o.Name, line, line, err}
}
