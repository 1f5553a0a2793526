package load

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/internal/cellstream"
)

// sortBytes is how much of the rows a sorter keeps in memory, until it writes them to the disk.
const sortBytes = 256 << 20

// rowBytes is about what a sorter needs for a row beside its text and key.
const rowBytes = 80

// sortedRow is a row of a sorter.
type sortedRow struct {
	key   string
	text  []byte // the cells, as cellstream.Encoder.Take has returned them
	at    int    // of text in that of its part
	size  int
	cells int
	line  int64
}

// sorter sorts rows by key and line. What does not fit into memory goes to temporary files, each of which is sorted.
type sorter struct {
	most int // bytes; 0 for sortBytes

	mu    sync.Mutex // guards all until seal
	list  []sortedRow
	held  int
	rows  int64
	bytes int64 // of the lines
	runs  []*os.File
}

// add adds rows, whose cells are in text, and which had bytes in the input.
func (s *sorter) add(text []byte, rows []sortedRow, bytes int64) error {
	for i := range rows {
		rows[i].text = text[rows[i].at : rows[i].at+rows[i].size]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, rows...)
	s.rows += int64(len(rows))
	s.bytes += bytes
	s.held += len(text)
	for i := range rows {
		s.held += rowBytes + len(rows[i].key)
	}
	most := s.most
	if most == 0 {
		most = sortBytes
	}
	if s.held < most {
		return nil
	}
	return s.spill()
}

func compareRows(a, b sortedRow) int {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c
	}
	switch {
	case a.line < b.line:
		return -1
	case a.line > b.line:
		return 1
	}
	return 0
}

func (s *sorter) sort() {
	if !slices.IsSortedFunc(s.list, compareRows) {
		slices.SortFunc(s.list, compareRows)
	}
}

// spill writes the rows in memory to a file.
func (s *sorter) spill() error {
	s.sort()
	f, err := os.CreateTemp("", "colonnade-import-")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	_ = os.Remove(f.Name()) // where a file that is open can go; otherwise close does it
	w := bufio.NewWriterSize(f, 1<<20)
	var head []byte
	for i := range s.list {
		r := &s.list[i]
		head = binary.AppendUvarint(head[:0], uint64(r.line))
		head = binary.AppendUvarint(head, uint64(r.cells))
		head = binary.AppendUvarint(head, uint64(len(r.key)))
		head = binary.AppendUvarint(head, uint64(len(r.text)))
		head = append(head, r.key...)
		if _, err := w.Write(head); err != nil {
			return err
		}
		if _, err := w.Write(r.text); err != nil {
			return err
		}
	}
	clear(s.list)
	s.list, s.held = s.list[:0], 0
	return w.Flush()
}

// seal ends the input.
func (s *sorter) seal() error {
	s.sort()
	return nil
}

// close removes the files.
func (s *sorter) close() {
	for _, f := range s.runs {
		f.Close()
		_ = os.Remove(f.Name())
	}
}

// run is a sorted list of rows: a file, or those in memory.
type run struct {
	row  sortedRow
	list []sortedRow
	file *bufio.Reader
}

// next moves to the next row. It returns io.EOF at the end.
func (r *run) next() error {
	if r.file == nil {
		if len(r.list) == 0 {
			return io.EOF
		}
		r.row, r.list = r.list[0], r.list[1:]
		return nil
	}
	var n [4]uint64
	for i := range n {
		var err error
		if n[i], err = binary.ReadUvarint(r.file); err != nil {
			if i > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	text := make([]byte, n[2]+n[3])
	if _, err := io.ReadFull(r.file, text); err != nil {
		return err
	}
	r.row = sortedRow{line: int64(n[0]), cells: int(n[1]), key: string(text[:n[2]]), text: text[n[2]:]}
	return nil
}

type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return compareRows(h[i].row, h[j].row) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}

// each calls f for all rows in order, those of one key together. It can be called again.
func (s *sorter) each(f func(rows []sortedRow) error) error {
	var h runHeap
	runs := []*run{{list: s.list}}
	for _, file := range s.runs {
		size, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		runs = append(runs, &run{file: bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 256<<10)})
	}
	for _, r := range runs {
		switch err := r.next(); err {
		case nil:
			h = append(h, r)
		case io.EOF:
		default:
			return err
		}
	}
	heap.Init(&h)
	var same []sortedRow
	for len(h) > 0 {
		r := h[0]
		if len(same) > 0 && same[0].key != r.row.key {
			if err := f(same); err != nil {
				return err
			}
			same = same[:0]
		}
		same = append(same, r.row)
		switch err := r.next(); {
		case err == nil && len(h) > 1:
			heap.Fix(&h, 0)
		case err == io.EOF:
			heap.Pop(&h)
		case err != nil:
			return err
		}
	}
	if len(same) > 0 {
		return f(same)
	}
	return nil
}

// write writes the frames of all rows, and the empty one.
func (s *sorter) write(w io.Writer) error {
	var e cellstream.Encoder
	flush := func() error {
		_, err := w.Write(e.Frame())
		return err
	}
	err := s.each(func(rows []sortedRow) error {
		if len(rows) == 1 && len(rows[0].text) <= cellstream.FrameBytes {
			e.AddEncoded(rows[0].text, rows[0].cells)
		} else {
			cells, _, err := merge(rows)
			if err != nil {
				return err
			}
			for i := range cells {
				e.Add(&cells[i])
				if e.Size() >= cellstream.FrameBytes {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
		if e.Size() >= cellstream.FrameBytes {
			return flush()
		}
		return nil
	})
	if err == nil && e.Cells() > 0 {
		err = flush()
	}
	if err == nil {
		err = flush() // the empty frame
	}
	return err
}

// merge returns the cells of rows of one key, and the line of each. Of equal cells those of later lines come first.
func merge(rows []sortedRow) (cells []cellstream.Cell, lines []int64, err error) {
	type placed struct {
		cellstream.Cell
		line int64
	}
	var all []placed
	for _, row := range slices.Backward(rows) {
		var d cellstream.Decoder
		var c cellstream.Cell
		for d.Reset(row.text); d.Next(&c); {
			all = append(all, placed{c, row.line})
		}
		if d.Err() != nil {
			return nil, nil, d.Err()
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return compareCells(&a.Cell, &b.Cell) })
	for _, p := range all {
		cells, lines = append(cells, p.Cell), append(lines, p.line)
	}
	return cells, lines, nil
}

var errFound = errors.New("found")

// lineOf returns the line of cell n of what write writes, 0 if there is none.
func (s *sorter) lineOf(n int64) (line int64, err error) {
	err = s.each(func(rows []sortedRow) error {
		count := int64(0)
		for _, r := range rows {
			count += int64(r.cells)
		}
		if n >= count {
			n -= count
			return nil
		}
		line = rows[0].line
		if len(rows) > 1 {
			_, lines, err := merge(rows)
			if err != nil {
				return err
			}
			line = lines[n]
		}
		return errFound
	})
	if err == errFound {
		err = nil
	}
	return line, err
}
