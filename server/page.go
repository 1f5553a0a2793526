package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

// A page token is a place in the answer of a scan. It holds all that the next page needs. In base64url:
//
//	version   1 byte: 2
//	query     8 bytes: the sum of the table and the query, without its limits (sumOf)
//	row       length (uvarint), key of the last row; 0 before the first
//	seen      uvarint: rows that the sample has decided about
//	kept      uvarint: those that it kept
//	column    length (uvarint), column of the last version; 0 if the row had no more
//	time      uvarint   (with a column)
//	copies    uvarint   (with a column)
//	checksum  4 bytes: CRC-32C of all before, little-endian
//
// The parts from row to copies are those of widecol.Position.

const (
	tokenVersion  = 2
	tokenCRCBytes = 4
)

// pageToken is a decoded page token.
type pageToken struct {
	query querySum
	at    widecol.Position
}

var (
	tokenText = base64.RawURLEncoding.Strict()
	tokenCRC  = crc32.MakeTable(crc32.Castagnoli)
)

// page is what a scan knows of its place among the pages of its query.
type page struct {
	limited bool       // the answer tells whether more follows
	from    *pageToken // nil for the first page
	apart   bool       // the query does not know the pages before
	more    bool
	next    widecol.Position // if more
}

var pageTokenShape = value((*decoder).pageToken, schema{"type": "string", "pattern": "^[A-Za-z0-9_-]+$"})

// pageToken reads a page token.
func (d *decoder) pageToken() *pageToken {
	text := d.Text()
	if d.Err() != nil {
		return nil
	}
	token, ok := decodePageToken(text)
	if !ok {
		d.Fail("invalid_page_token", "this is not a page token of this server's version: use next_page_token of an answer as it is, or start with the first page")
	}
	return token
}

// begin makes the query of a scan begin where its page token says.
func (p *page) begin(table string, q *widecol.Query) error {
	p.limited = p.from != nil || q.RowLimit != widecol.NoLimit || q.CellLimit != widecol.NoLimit
	if p.from == nil {
		return nil
	}
	if p.from.query != sumOf(table, q) {
		return refuse(http.StatusBadRequest, "page_token_mismatch", "row.page_token",
			"the page token belongs to another query or table: between pages, only row.limit and cell.limit may change")
	}
	at := &p.from.at
	switch {
	case at.Row == nil:
	case at.Column == nil && q.Sample >= 1: // such a query can be divided
		q.Rows, q.Offset, p.apart = q.Rows.Behind(at.Row, q.Reverse), 0, true
	default:
		q.After = at
	}
	return nil
}

// end asks a result that has been read whether more follows.
func (p *page) end(rows widecol.Rows) error {
	if !p.limited {
		return nil
	}
	if p.next, p.more = rows.More(); p.apart {
		p.next.Seen += p.from.at.Seen
		p.next.Kept += p.from.at.Kept
	}
	return rows.Err()
}

// appendPage appends the fields that tell whether more follows. q is the query, as it was if this is the first
// page.
func (x *requestContext) appendPage(p *page, q *widecol.Query) {
	if !p.limited || x.explain.alone() {
		return
	}
	if !p.more {
		x.out = append(x.out, `,"has_more":false,"next_page_token":null`...)
		return
	}
	token := pageToken{at: p.next}
	switch {
	case p.from == nil:
		token.query = sumOf(x.table, q)
	case p.next.Row == nil: // nothing was returned
		token = *p.from
	default:
		token.query = p.from.query
	}
	x.out = append(x.out, `,"has_more":true,"next_page_token":"`...)
	var room [256]byte // enough for most
	x.out = tokenText.AppendEncode(x.out, token.append(room[:0]))
	x.out = append(x.out, '"')
}

// withPage is the schema of an object with what appendPage appends.
func withPage(of schema) schema {
	properties := of["properties"].(schema).and("has_more", booleanSchema).and("next_page_token", orNull(textSchema))
	return of.and("properties", properties).and("dependentRequired", schema{"has_more": []string{"next_page_token"}, "next_page_token": []string{"has_more"}})
}

// append appends the token to b, which is empty.
func (t *pageToken) append(b []byte) []byte {
	b = append(b, tokenVersion)
	b = append(b, t.query[:]...)
	b = appendCounted(b, t.at.Row)
	b = binary.AppendUvarint(b, uint64(t.at.Seen))
	b = binary.AppendUvarint(b, uint64(t.at.Kept))
	b = appendCounted(b, t.at.Column)
	if len(t.at.Column) > 0 {
		b = binary.AppendUvarint(b, uint64(t.at.Time))
		b = binary.AppendUvarint(b, uint64(t.at.Copies))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, tokenCRC))
}

func appendCounted(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decodePageToken returns the token of a text, if it is one.
func decodePageToken(text []byte) (*pageToken, bool) {
	b := make([]byte, tokenText.DecodedLen(len(text)))
	n, err := tokenText.Decode(b, text)
	if b = b[:n]; err != nil || bytes.ContainsAny(text, "\r\n") || n < 1+querySumBytes+tokenCRCBytes || b[0] != tokenVersion {
		return nil, false
	}
	body, sum := b[:n-tokenCRCBytes], b[n-tokenCRCBytes:]
	if crc32.Checksum(body, tokenCRC) != binary.LittleEndian.Uint32(sum) {
		return nil, false
	}
	t := new(pageToken)
	r := tokenReader{rest: body[1+copy(t.query[:], body[1:]):]}
	t.at.Row = r.counted()
	t.at.Seen, t.at.Kept = r.number(), r.number()
	if t.at.Column = r.counted(); t.at.Column != nil {
		t.at.Time, t.at.Copies = r.number(), r.number()
	}
	if r.bad || len(r.rest) > 0 || t.at.Kept > t.at.Seen || t.at.Row == nil && t.at.Column != nil {
		return nil, false
	}
	return t, true
}

// tokenReader reads the parts of a token.
type tokenReader struct {
	rest []byte
	bad  bool
}

func (r *tokenReader) number() int64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > math.MaxInt64 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return int64(v)
}

// counted reads a byte string, nil if it is empty.
func (r *tokenReader) counted() []byte {
	n := r.number()
	if n > int64(len(r.rest)) {
		r.rest, r.bad = nil, true
	}
	if r.bad || n == 0 {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
