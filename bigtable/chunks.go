package bigtable

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Numbers of the fields of ReadRowsResponse and its messages, part of the protocol.
const (
	responseChunks      = 1
	responseLastScanned = 2

	chunkRowKey    = 1
	chunkFamily    = 2
	chunkQualifier = 3
	chunkTime      = 4
	chunkLabels    = 5
	chunkValue     = 6
	chunkValueSize = 7
	chunkCommitRow = 9

	wrapperValue = 1
)

// maxChunkValue is the longest part of a value in a chunk, in bytes. A longer value has several chunks.
const maxChunkValue = 1 << 20

// chunkWriter encodes cells as chunks of ReadRowsResponses, without a message in between. A row key, a family and a
// qualifier stand only where they change. The last chunk of a row says that the row is whole, so the writer holds
// a chunk back until it knows what follows.
type chunkWriter struct {
	out   []byte // a ReadRowsResponse
	held  []byte // the last chunk, which is not in out
	any   bool   // there is a held chunk
	whole int    // bytes of out that are whole rows

	column []byte // of the last cell of the row, nil at its start
	row    []byte // key of the next chunk, if that is the first of its row
	number []byte // scratch
}

// beginRow begins a row. Its key must stay until its first cell. The row before was committed.
func (w *chunkWriter) beginRow(key []byte) {
	w.row, w.column = key, w.column[:0]
}

// commit ends the row, if there is one.
func (w *chunkWriter) commit() {
	if w.any {
		w.held = protowire.AppendVarint(protowire.AppendTag(w.held, chunkCommitRow, protowire.VarintType), 1)
		w.release()
	}
	w.whole = len(w.out)
}

// release puts the held chunk into the response.
func (w *chunkWriter) release() {
	w.out = protowire.AppendBytes(protowire.AppendTag(w.out, responseChunks, protowire.BytesType), w.held)
	w.held, w.any = w.held[:0], false
}

// add adds a cell of the row.
func (w *chunkWriter) add(c *cell.Cell, label string) {
	if w.any {
		w.release()
	}
	if w.row != nil {
		w.field(chunkRowKey, w.row)
	}
	w.columnOf(c.Column)
	if c.Time != 0 {
		w.held = protowire.AppendVarint(protowire.AppendTag(w.held, chunkTime, protowire.VarintType), uint64(c.Time))
	}
	if label != "" {
		w.held = protowire.AppendString(protowire.AppendTag(w.held, chunkLabels, protowire.BytesType), label)
	}
	w.number = w.number[:0]
	value := c.Value
	if c.Type != cell.Bytes && c.Type != cell.String {
		w.number = widecol.ValueBytes(w.number, c)
		value = w.number
	}
	for rest := len(value); len(value) > maxChunkValue; value = value[maxChunkValue:] {
		w.field(chunkValue, value[:maxChunkValue])
		w.held = protowire.AppendVarint(protowire.AppendTag(w.held, chunkValueSize, protowire.VarintType), uint64(rest))
		w.release()
	}
	if len(value) > 0 {
		w.field(chunkValue, value)
	}
	w.row, w.any = nil, true
}

// columnOf writes what of the column has changed.
func (w *chunkWriter) columnOf(column []byte) {
	if w.row == nil && string(column) == string(w.column) {
		return
	}
	family, qualifier := cell.SplitColumn(column)
	before, _ := cell.SplitColumn(w.column)
	if w.row != nil || string(family) != string(before) {
		w.wrapped(chunkFamily, family)
	}
	w.wrapped(chunkQualifier, qualifier)
	w.column = append(w.column[:0], column...)
}

func (w *chunkWriter) field(number protowire.Number, b []byte) {
	w.held = protowire.AppendBytes(protowire.AppendTag(w.held, number, protowire.BytesType), b)
}

// wrapped writes a field of a wrapper type (StringValue, BytesValue), in which an empty value is not a missing one.
func (w *chunkWriter) wrapped(number protowire.Number, b []byte) {
	w.held = protowire.AppendTag(w.held, number, protowire.BytesType)
	if len(b) == 0 {
		w.held = protowire.AppendVarint(w.held, 0)
		return
	}
	w.held = protowire.AppendVarint(w.held, uint64(protowire.SizeTag(wrapperValue)+protowire.SizeBytes(len(b))))
	w.held = protowire.AppendBytes(protowire.AppendTag(w.held, wrapperValue, protowire.BytesType), b)
}

// lastScanned ends the message with the key of the row that was looked at last.
func (w *chunkWriter) lastScanned(key []byte) {
	w.out = protowire.AppendBytes(protowire.AppendTag(w.out, responseLastScanned, protowire.BytesType), key)
}
