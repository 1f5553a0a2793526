package server

import (
	"encoding/base64"

	"github.com/colonnade-db/colonnade/widecol"
)

// Row keys and qualifiers are bytes. JSON has them as a string if they are UTF-8, otherwise as
// {"base64": "…"}. A request may use either for any bytes.

// bytes reads a string, or bytes in base64. A string may be part of the body.
func (d *decoder) bytes() []byte {
	if !d.AtObject() {
		return d.Text()
	}
	var b []byte
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "base64":
			b = d.base64()
		default:
			d.unknown()
		}
	}
	d.require(b != nil, "base64")
	return b
}

// base64Text is the pattern of what base64 takes.
const base64Text = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

// bytesSchema is the schema of bytes whose string must be as text says.
func bytesSchema(text schema) schema {
	encoded := schema{"type": "string", "contentEncoding": "base64", "pattern": base64Text}
	return either(text, objectSchema(schema{"base64": encoded}, "base64"))
}

var (
	anyBytes    = named("Bytes", bytesSchema(textSchema))
	rowKeyBytes = named("RowKey", bytesSchema(schema{"type": "string", "minLength": 1, "maxLength": widecol.MaxRowKey}))

	bytesShape  = value((*decoder).bytes, anyBytes)
	rowKeyShape = value((*decoder).rowKey, rowKeyBytes)
)

// base64 reads a string in base64. The result is not nil.
func (d *decoder) base64() []byte {
	text := d.Text()
	b := make([]byte, strictBase64.DecodedLen(len(text)))
	n, err := strictBase64.Decode(b, text)
	if err != nil || strictBase64.EncodedLen(n) != len(text) {
		d.Fail("invalid_base64", "bytes must be in base64 (RFC 4648, section 4, padded)")
	}
	return b[:n]
}

// appendBytes appends bytes as JSON.
func appendBytes(dst, b []byte) []byte {
	if text, ok := appendUTF8(dst, b); ok {
		return text
	}
	dst = append(dst, `{"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}
