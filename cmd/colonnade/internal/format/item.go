package format

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// appendKey appends a row key or column key: a string if it is UTF-8, otherwise {"base64": "…"}.
func appendKey(dst, key []byte) []byte {
	if utf8.Valid(key) {
		return jsontext.AppendString(dst, key)
	}
	dst = append(dst, `{"base64":`...)
	return append(appendBytes(dst, key), '}')
}

// appendBytes appends bytes as a JSON string in base64.
func appendBytes(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}

// item builds the item of a row.
type item struct {
	text  []byte
	cells int
}

// begin starts an item.
func (b *item) begin(key []byte) {
	b.text = append(b.text[:0], `{"row_key":`...)
	b.text = append(appendKey(b.text, key), `,"cells":[`...)
	b.cells = 0
}

// cell begins a cell. The caller appends its value to text, and calls endCell.
func (b *item) cell(head []byte) {
	if b.cells > 0 {
		b.text = append(b.text, ',')
	}
	b.cells++
	b.text = append(b.text, head...)
}

// endCell ends a cell. time is the text of its time, empty for none.
func (b *item) endCell(time []byte) {
	if len(time) > 0 {
		b.text = append(append(b.text, `,"time":`...), time...)
	}
	b.text = append(b.text, '}')
}

// end ends the item and returns it.
func (b *item) end() []byte {
	b.text = append(b.text, "]}"...)
	return b.text
}

// cellHead returns how a cell begins, up to its value.
func cellHead(dst, columnKey []byte, typ string) []byte {
	dst = append(dst, `{"column_key":`...)
	dst = append(appendKey(dst, columnKey), `,"type":"`...)
	dst = append(dst, typ...)
	return append(dst, `","value":`...)
}
