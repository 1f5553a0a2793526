package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// FuzzCellValueDecode reads any JSON as a value of any type, and answers any stored
// bytes that fit theirs. What is accepted fits, and is the same after it was
// answered; what is answered is JSON.
func FuzzCellValueDecode(f *testing.F) {
	for _, text := range []string{`""`, `"ä\u0000"`, "0", "-1", "255", "9223372036854775807", `"-5"`, "0.1", "1e300", "true", "null", `"AP8="`, `"A"`, "[1]"} {
		for t := cell.Type(0); t < cell.TypeCount; t++ {
			f.Add(uint8(t), []byte(text), []byte("12345678"))
		}
	}
	f.Add(uint8(cell.F64), []byte("1"), binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())))
	f.Add(uint8(cell.String), []byte("1"), []byte("\xff\u2028"))
	f.Fuzz(func(t *testing.T, kind uint8, text, stored []byte) {
		typ := cell.String + cell.Type(kind)%(cell.TypeCount-cell.String)
		if typ.Fits(stored) && !json.Valid(appendValue(nil, typ, stored)) {
			t.Errorf("%s %x is answered as %q", typ, stored, appendValue(nil, typ, stored))
		}
		value, ok := decodeValue(typ, text)
		if !ok {
			return
		}
		if !typ.Fits(value) {
			t.Fatalf("%s %q becomes %x, which is none", typ, text, value)
		}
		answer := appendValue(nil, typ, value)
		if again, ok := decodeValue(typ, answer); !ok || !bytes.Equal(again, value) {
			t.Errorf("%s %q is answered as %q, which becomes %x instead of %x", typ, text, answer, again, value)
		}
	})
}

// decodeValue reads a whole text as a value.
func decodeValue(t cell.Type, text []byte) ([]byte, bool) {
	x := &requestContext{scratch: newScratch()}
	var d decoder
	d.Reset(bytes.Clone(text))
	value, reason := x.encodeValue(t, d.Scalar())
	d.End()
	return slices.Clone(value), d.Err() == nil && reason == ""
}

// jsonWrite is the body of a write as encoding/json reads it.
type jsonWrite struct {
	Items []struct {
		RowKey string `json:"row_key"`
		Cells  []struct {
			ColumnKey string       `json:"column_key"`
			Type      string       `json:"type"`
			Value     any          `json:"value"`
			Time      *json.Number `json:"time"`
		} `json:"cells"`
	} `json:"items"`
}

// FuzzJSONWrite holds the decoder of writes against encoding/json: what it accepts,
// that accepts as well, and both see the same cells.
func FuzzJSONWrite(f *testing.F) {
	for _, body := range []string{
		`{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"i64","value":"5","time":3}]}]}`,
		`{"items":[{"cells":[{"value":true,"type":"boolean","column_key":"a:b:c"},{"column_key":"a","type":"f32","value":0.1}],"row_key":"\u00e4"},{"row_key":"s","cells":[{"column_key":"b:","type":"bytes","value":"AP8="}]}]}`,
		`{"items":[{"row_key":"r","cells":[{"column_key":"t:\ud834\udd1e","type":"string","value":"\n"},{"column_key":"t:","type":"byte","value":255},{"column_key":"t:","type":"i32","value":-1},{"column_key":"t:","type":"f64","value":1e-7}]}]}`,
		`{"items":[{"row_key":"r","cells":[]}]}`,
		`{"items":[],"items":[]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x := &requestContext{scratch: newScratch()}
		x.mutations, x.ends, x.values = x.mutations[:0], x.ends[:0], x.values[:0]
		var d decoder
		d.Reset(bytes.Clone(body))
		x.decodeWrite(&d)
		d.End()
		if d.Err() != nil {
			return
		}
		var want jsonWrite
		in := json.NewDecoder(bytes.NewReader(body))
		in.UseNumber()
		in.DisallowUnknownFields()
		if err := in.Decode(&want); err != nil {
			t.Fatalf("accepted %q, encoding/json does not: %v", body, err)
		}
		i := 0
		for _, item := range want.Items {
			for _, c := range item.Cells {
				if i == len(x.mutations) {
					t.Fatalf("%q: %d cells", body, i)
				}
				m := &x.mutations[i]
				i++
				time := "-1"
				if c.Time != nil {
					time = c.Time.String()
				}
				if at, err := strconv.ParseInt(time, 10, 64); err != nil || at != m.Time {
					t.Errorf("%q: time %d, not %s", body, m.Time, time)
				}
				key := string(m.Family) + ":" + string(m.Qualifier)
				if string(m.Row) != item.RowKey || m.Type.String() != c.Type || key != c.ColumnKey && key != c.ColumnKey+":" {
					t.Errorf("%q: cell %q %q of type %s, not %+v of %q", body, m.Row, key, m.Type, c, item.RowKey)
				}
				if !sameValue(m, c.Value) {
					t.Errorf("%q: %s %x, not %v", body, m.Type, m.Value, c.Value)
				}
			}
		}
		if i != len(x.mutations) {
			t.Errorf("%q: %d cells, not %d", body, len(x.mutations), i)
		}
	})
}

// sameValue compares a value with what encoding/json has read.
func sameValue(m *widecol.Mutation, want any) bool {
	text, isText := want.(string)
	number, isNumber := want.(json.Number)
	var bits uint64
	for i := len(m.Value) - 1; i >= 0 && m.Type != cell.String && m.Type != cell.Bytes; i-- {
		bits = bits<<8 | uint64(m.Value[i])
	}
	switch m.Type {
	case cell.String:
		return isText && text == string(m.Value)
	case cell.Bytes:
		value, err := base64.StdEncoding.Strict().DecodeString(text)
		return isText && err == nil && bytes.Equal(value, m.Value)
	case cell.Bool:
		return want == (bits == 1)
	case cell.F64:
		v, err := number.Float64()
		return isNumber && err == nil && math.Float64bits(v) == bits
	case cell.F32:
		v, err := strconv.ParseFloat(number.String(), 32)
		return isNumber && err == nil && math.Float32bits(float32(v)) == uint32(bits)
	}
	if isNumber {
		text = number.String()
	}
	v, err := strconv.ParseInt(text, 10, 64)
	have := map[cell.Type]int64{cell.I64: int64(bits), cell.I32: int64(int32(bits)), cell.Byte: int64(bits)}
	return err == nil && v == have[m.Type]
}
