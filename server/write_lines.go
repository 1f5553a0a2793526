package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// A body of lines, of any length, is written in batches while it comes:
//
//	body     {"row_key":"a",…}⏎ {"row_key":"b",…}⏎ {"row_key":"c",…}⏎ …
//	answer   {"lines":[1,2],"time":17}⏎            {"lines":[3,3],"time":18}⏎ …
//
// A batch is what has come while the one before was written, within bounds. It is one write: atomic, and
// durable when its line is sent. The first error is the last line of the answer. All lines before those it
// names are written, and none of those and after them, unless its code is outcome_unknown. If nothing was
// written yet, the answer is the error alone, with its status.

const (
	// batchBytes and batchRows bound a batch; a line that is longer is a batch of its own.
	batchBytes = 1 << 20
	batchRows  = 4096
)

// lineWrite is a write of lines under way.
type lineWrite struct {
	*requestContext
	source *lineSource
	text   chargedBytes // what was taken from the source; its memory is that of x.body
	begin  int          // of the next line in text
	end    int          // behind it, without its line end; valid after findLine has returned true
	seen   int          // text from begin to here has no line end
	over   error        // of the source, when text has the rest

	line     int64   // number of the last line that was taken from text
	answered int64   // number of the last line that an answer covers
	numbers  []int64 // of the items of the batch
}

// writtenSchema is the schema of a line of the answer.
var writtenSchema = either(
	objectOf(schema{"lines": linesSchema, "time": timeSchema}),
	objectOf(schema{"lines": linesSchema, "error": outcomeSchema}))

var linesSchema = listSchema(integerSchema(1, math.MaxInt64)).and("minItems", 2).and("maxItems", 2)

// writeLines is POST /v1/table/{table}/write for a body of lines.
func (s *Server) writeLines(x *requestContext) error {
	encoding, err := x.checkLines()
	if err != nil {
		return err
	}
	// net/http's own server and http1 know this. Other writers, such as those of tests, never minded.
	_ = http.NewResponseController(x.w).EnableFullDuplex()
	w := &lineWrite{requestContext: x, source: x.startSource(encoding)}
	w.text = chargedBytes{bytes: x.body[:0], memory: &x.admitted}
	defer func() {
		w.source.stop()
		x.bodyRead = w.source.err == io.EOF
		x.body = w.text.bytes
		clear(x.mutations[:cap(x.mutations)]) // they point into all that the body was
	}()
	return w.run()
}

// checkLines checks the header.
func (x *requestContext) checkLines() (encoding string, err error) {
	if x.key != "" {
		return "", refuse(http.StatusBadRequest, "unsupported_header", atHeader,
			"Idempotency-Key is for one change, and a body of lines is many: leave it out, and give every cell a time, so that lines can be written again")
	}
	value := x.r.Header.Get("Content-Type")
	_, parameters, err := mime.ParseMediaType(value)
	if charset := parameters["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", atHeader, "a body of type %q is not taken: send %s in UTF-8", shorten(value), linesType)
	}
	return contentEncoding(x.r.Header)
}

// run writes batch after batch.
func (w *lineWrite) run() error {
	for {
		switch err := w.await(); {
		case err == io.EOF:
			if !w.sent {
				return refuse(http.StatusBadRequest, emptyList, atBody, "the body has no row")
			}
			return nil
		case err != nil:
			return w.fail(err, w.line+1, w.line+1)
		}
		if w.server.admission.Draining() {
			return w.fail(shuttingDown(), w.line+1, w.line+1)
		}
		w.payQuota()
		if err := w.awaitQuota(); err != nil {
			return w.fail(err, w.line+1, w.line+1)
		}
		if err := w.work(); err != nil {
			return w.fail(err, w.line+1, w.line+1)
		}
		err := w.decodeBatch()
		if end, err := w.writeBatch(err); end || err != nil {
			return err
		}
		w.reuse()
	}
}

// await waits until there is a whole line. It gives the slot up meanwhile.
func (w *lineWrite) await() error {
	for !w.findLine() {
		if w.over != nil {
			return w.over
		}
		if int64(len(w.text.bytes)-w.begin) > w.maxBody {
			return refuse(http.StatusRequestEntityTooLarge, "line_too_large", atBody, "the line has more than %d bytes", w.maxBody)
		}
		w.Release()
		w.dropTaken()
		before := len(w.text.bytes)
		over, err := w.source.take(&w.text)
		w.received += int64(len(w.text.bytes) - before)
		switch {
		case over:
			w.over = err
		case err != nil:
			return err
		}
	}
	return nil
}

// findLine reports whether there is a whole line in text. The last one needs no line end.
func (w *lineWrite) findLine() bool {
	if i := bytes.IndexByte(w.text.bytes[w.seen:], '\n'); i >= 0 {
		w.end = w.seen + i
		return true
	}
	w.seen = len(w.text.bytes)
	w.end = w.seen
	return w.over == io.EOF && w.begin < w.end
}

// dropTaken drops the lines that were taken.
func (w *lineWrite) dropTaken() {
	b := w.text.bytes
	w.text.bytes = b[:copy(b, b[w.begin:])]
	w.seen -= w.begin
	w.begin = 0
}

// work takes a slot. Only the first time it may be refused.
func (w *lineWrite) work() error {
	if w.Limited() {
		return w.Reacquire()
	}
	return w.takeSlot()
}

// decodeBatch decodes lines as items of a write: those that are there, within the bounds of a batch. An
// error is about the last line, which is no item.
func (w *lineWrite) decodeBatch() error {
	w.mutations, w.ends, w.values, w.numbers = w.mutations[:0], w.ends[:0], w.values[:0], w.numbers[:0]
	for from := w.begin; len(w.ends) < batchRows && w.begin-from < batchBytes && w.findLine(); {
		line := w.text.bytes[w.begin:w.end]
		w.begin = min(w.end+1, len(w.text.bytes))
		w.seen = w.begin
		w.line++
		if len(bytes.TrimLeft(line, " \t\r")) == 0 {
			continue
		}
		if err := w.decodeLine(line); err != nil {
			return err
		}
		w.numbers = append(w.numbers, w.line)
	}
	return nil
}

func (w *lineWrite) decodeLine(line []byte) error {
	items, cells := len(w.ends), len(w.mutations)
	d := &w.decoder
	d.Reset(line)
	d.columns = 0
	w.decodeItem(d)
	d.End()
	if d.Err() != nil {
		w.ends, w.mutations = w.ends[:items], w.mutations[:cells]
	}
	return d.Err()
}

// writeBatch writes the batch and answers it. wrong is the error of the line behind it, or nil. If the
// store refuses an item, the items before it are written. end is true behind an error.
func (w *lineWrite) writeBatch(wrong error) (end bool, err error) {
	wrongLine := w.line
	if len(w.ends) > 0 {
		if err := w.admitStorage(w.mutations); err != nil {
			return true, w.fail(err, w.answered+1, w.numbers[len(w.ends)-1])
		}
	}
	for n := len(w.ends); n > 0; {
		ctx, cancel := w.changeContext()
		time, err := w.server.store.Write(ctx, w.table, w.mutations[:w.ends[n-1]], "")
		cancel()
		if err == nil {
			w.stats.Rows += int64(n)
			w.stats.Cells += int64(w.ends[n-1])
			if err := w.answer(w.numbers[n-1], time); err != nil {
				return true, err
			}
			break
		}
		item, err := w.lineFailure(err)
		if item < 0 || item >= n {
			return true, w.fail(err, w.answered+1, w.numbers[n-1])
		}
		wrong, wrongLine, n = err, w.numbers[item], item
	}
	if wrong != nil {
		return true, w.fail(wrong, wrongLine, wrongLine)
	}
	return false, nil
}

// lineFailure adds to a store's error its place in its line. It returns the item of the batch, -1 if the
// error is not about one.
func (w *lineWrite) lineFailure(err error) (item int, _ error) {
	var stored *widecol.Error
	if !errors.As(err, &stored) || stored.Index < 0 || stored.Index >= len(w.mutations) {
		return -1, placed(err, func(string, int) string { return atBody })
	}
	item, first := w.itemOf(stored.Index)
	return item, placed(badFamily(stored, &w.mutations[stored.Index]), func(code string, i int) string {
		return placeInItem(code, i-first)
	})
}

// reuse keeps only the memory of a usual batch.
func (w *lineWrite) reuse() {
	if w.text.charged <= 4*batchBytes {
		return
	}
	w.dropTaken()
	w.text.shrink()
	clear(w.mutations)
	w.mutations, w.ends, w.values = keep(w.mutations, keepMutations), keep(w.ends, keepMutations), keep(w.values, keepBody)
}

// answer sends the line of a batch that ends with line to.
func (w *lineWrite) answer(to, time int64) error {
	w.appendLines(w.answered+1, to)
	w.out = appendField(w.out, `,"time":`, time)
	w.answered = to
	return w.sendLine()
}

// fail ends the answer with an error that is about some lines. If nothing was sent, it returns the error
// to be the whole answer.
func (w *lineWrite) fail(err error, from, to int64) error {
	if errors.Is(err, errGone) || errors.Is(err, context.Canceled) {
		return err
	}
	f := *failureOf(err)
	if !w.sent {
		if from == to && f.status < http.StatusInternalServerError && f.at != atPath {
			f.message = fmt.Sprintf("line %d: %s", from, f.message)
		}
		return &f
	}
	if f.status >= http.StatusInternalServerError && !f.retry {
		w.logFailure(&f)
	}
	w.appendLines(from, to)
	w.out = append(w.out, `,"error":{"code":`...)
	w.out = appendString(w.out, f.code)
	w.out = append(w.out, `,"at":`...)
	w.out = appendString(w.out, f.at)
	w.out = append(w.out, `,"message":`...)
	w.out = appendString(w.out, f.message)
	w.out = append(w.out, '}')
	return w.sendLine()
}

func (w *lineWrite) appendLines(from, to int64) {
	w.out = appendField(w.out[:0], `{"lines":[`, from)
	w.out = appendField(w.out, `,`, to)
	w.out = append(w.out, ']')
}

// sendLine ends a line of the answer and sends it at once. The client may wait for it before it goes on.
func (w *lineWrite) sendLine() error {
	w.out = append(w.out, "}\n"...)
	w.Release()
	now := w.server.opt.Now()
	if !w.sent {
		w.status, w.asLines, w.live = http.StatusOK, true, true
		w.promiseClose()
		w.sendHeader(now, false)
	}
	err := w.requestContext.write(now, w.out, false)
	w.out = w.out[:0]
	if err == nil {
		if err = http.NewResponseController(w.w).Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	if err != nil {
		return errGone
	}
	return nil
}

// promiseClose makes a connection of net/http's server end with the answer if some of the body may stay unread: stop ends
// a Read in the middle of a chunk, and that server would go on with what follows as if it were the next request.
func (w *lineWrite) promiseClose() {
	if w.r.ProtoMajor == 1 && w.r.Context().Value(http.ServerContextKey) != nil && !w.source.whole() {
		w.w.Header().Set("Connection", "close")
	}
}
