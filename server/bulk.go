package server

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/cellstream"
	"github.com/colonnade-db/colonnade/widecol"
)

// A body of sorted cells, of any length, is loaded: the store builds files of it while it comes, and switches all of them
// in when it has ended. Until then nobody sees anything of it. If it is cut off, nothing is left of it.

var bulkOperation = operation{
	does: "Loads sorted cells, of any number, as one change.", binary: cellstream.MediaType,
	answer:  answer{status: http.StatusOK, result: objectOf(schema{"items": itemsSchema})},
	refuses: []int{http.StatusConflict},
}

// bulkWrite is a load under way.
type bulkWrite struct {
	*requestContext
	source *lineSource
	text   chargedBytes // what was taken from the source; its memory is that of x.body
	begin  int          // of the next frame in text
	over   error        // of the source, when text has the rest
	magic  bool         // was read
	load   widecol.BulkLoad
	cells  int64 // of the frames before
	rows   int64
	row    []byte // the last
}

// bulk is POST /v1/table/{table}/bulk.
func (s *Server) bulk(x *requestContext) error {
	kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != cellstream.MediaType {
		return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", atHeader, "a body of type %q is not taken: send %s", shorten(x.r.Header.Get("Content-Type")), cellstream.MediaType)
	}
	loader, ok := s.store.(widecol.BulkLoader)
	if !ok {
		return refuse(http.StatusConflict, "no_loads", atPath, "the store of this server takes no loads")
	}
	encoding, err := contentEncoding(x.r.Header)
	if err != nil {
		return err
	}
	w := &bulkWrite{requestContext: x, source: x.startSource(encoding)}
	w.text = chargedBytes{bytes: x.body[:0], memory: &x.admitted}
	defer func() {
		w.source.stop()
		x.bodyRead = w.source.err == io.EOF
		x.body = w.text.bytes
		clear(x.mutations[:cap(x.mutations)]) // they point into all that the body was
	}()
	if w.load, err = loader.NewLoad(x.ctx(), x.table); err != nil {
		return placed(err, func(string, int) string { return atPath })
	}
	defer w.load.Abandon()
	return w.run()
}

// run takes frame after frame, and switches the load in behind the last one.
func (w *bulkWrite) run() error {
	for {
		cells, end, err := w.await()
		switch {
		case err != nil:
			return err
		case w.server.admission.Draining():
			return shuttingDown()
		}
		w.payQuota()
		if err := w.awaitQuota(); err != nil {
			return err
		}
		if err := w.work(); err != nil {
			return err
		}
		if end {
			return w.commit()
		}
		if err := w.add(cells); err != nil {
			return err
		}
	}
}

// work takes a slot. Only the first time it may be refused.
func (w *bulkWrite) work() error {
	if w.Limited() {
		return w.Reacquire()
	}
	return w.takeSlot()
}

// await waits for a whole frame, and returns its cells. It gives the slot up meanwhile.
func (w *bulkWrite) await() (cells []byte, end bool, err error) {
	for {
		cells, end, err := w.frame()
		if cells != nil || end || err != nil {
			return cells, end, err
		}
		switch {
		case w.over == io.EOF:
			return nil, false, refuse(http.StatusBadRequest, "invalid_stream", atBody, "the body ends before the empty frame at the end of a stream of cells")
		case w.over != nil:
			return nil, false, w.over
		}
		w.Release()
		b := w.text.bytes
		w.text.bytes, w.begin = b[:copy(b, b[w.begin:])], 0
		before := len(w.text.bytes)
		over, err := w.source.take(&w.text)
		w.received += int64(len(w.text.bytes) - before)
		switch {
		case over:
			w.over = err
		case err != nil:
			return nil, false, err
		}
	}
}

// frame returns the cells of the next frame, nil if it has not come yet.
func (w *bulkWrite) frame() (cells []byte, end bool, err error) {
	text := w.text.bytes[w.begin:]
	if !w.magic {
		if n := min(len(text), len(cellstream.Magic)); string(text[:n]) != cellstream.Magic[:n] {
			return nil, false, refuse(http.StatusBadRequest, "invalid_stream", atBody, "%v", cellstream.ErrMagic)
		}
		if len(text) < len(cellstream.Magic) {
			return nil, false, nil
		}
		w.magic = true
		w.begin += len(cellstream.Magic)
		text = w.text.bytes[w.begin:]
	}
	cells, n, end, err := cellstream.Split(text)
	if err != nil {
		return nil, false, refuse(http.StatusBadRequest, "invalid_stream", atBody, "%v", err)
	}
	w.begin += n
	return cells, end, nil
}

// add adds the cells of a frame to the load.
func (w *bulkWrite) add(frame []byte) error {
	w.mutations = w.mutations[:0]
	var d cellstream.Decoder
	var c cellstream.Cell
	for d.Reset(frame); d.Next(&c); {
		if c.Type == cell.String && !utf8.Valid(c.Value) {
			return refuse(http.StatusBadRequest, "invalid_utf8", w.place(len(w.mutations)), "the value is a string that is not UTF-8")
		}
		if string(c.Row) != string(w.row) {
			w.rows++
			w.row = append(w.row[:0], c.Row...)
		}
		w.mutations = append(w.mutations, widecol.Mutation{Op: widecol.Set, Row: c.Row, Family: c.Family, Qualifier: c.Qualifier, Value: c.Value, Time: c.Time, Type: c.Type})
	}
	if err := d.Err(); err != nil {
		return refuse(http.StatusBadRequest, "invalid_stream", w.place(len(w.mutations)), "%v", err)
	}
	if err := w.admitStorage(w.mutations); err != nil {
		return err
	}
	if err := w.load.Add(w.mutations); err != nil {
		return w.failed(err)
	}
	w.cells += int64(len(w.mutations))
	w.stats.Rows, w.stats.Cells = w.rows, w.cells
	return nil
}

// place is the place of a cell of the frame in the stream.
func (w *bulkWrite) place(i int) string { return fmt.Sprintf("cells[%d]", w.cells+int64(i)) }

// failed adds to an error of the store its place in the stream.
func (w *bulkWrite) failed(err error) error {
	return placed(err, func(code string, i int) string {
		switch {
		case code == "unknown_table":
			return atPath
		case i < 0:
			return atBody
		}
		return w.place(i)
	})
}

// commit switches the load in. It takes as long as the memtables of the table take to be flushed.
func (w *bulkWrite) commit() error {
	if w.cells == 0 {
		return refuse(http.StatusBadRequest, emptyList, atBody, "the body has no cell")
	}
	if _, err := w.load.Commit(w.ctx()); err != nil {
		return w.failed(err)
	}
	x := w.requestContext
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"items":{"row_count":`, w.rows)
	x.out = appendField(x.out, `,"cell_count":`, w.cells)
	x.out = append(x.out, "}}"...)
	return x.finish("Load successful")
}
