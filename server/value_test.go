package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cell"
)

// TestValues writes values of every type and reads them back as they were
// written, or in the one other form that means the same.
func TestValues(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, e := range []struct{ typ, in, out string }{
		{"string", `""`, ``},
		{"string", `"plain"`, ``},
		{"string", `"\u0000\u001f\u007f \"\\ \u2028\u2029 ä€𝄞"`, "\"\\u0000\\u001f\u007f \\\"\\\\ \\u2028\\u2029 ä€𝄞\""},
		{"string", `"\u00e4\ud834\udd1e\/\b\f\n\r\t"`, `"ä𝄞/\b\f\n\r\t"`},
		{"i64", "0", ""}, {"i64", "-0", "0"}, {"i64", "9223372036854775807", ""}, {"i64", "-9223372036854775808", ""},
		{"i64", "9007199254740993", ""},
		{"i64", `"9223372036854775807"`, "9223372036854775807"}, {"i64", `"-9223372036854775808"`, "-9223372036854775808"}, {"i64", `"0"`, "0"},
		{"i64", `"\u0031"`, "1"},
		{"i32", "2147483647", ""}, {"i32", "-2147483648", ""}, {"i32", "0", ""},
		{"byte", "0", ""}, {"byte", "255", ""},
		{"boolean", "true", ""}, {"boolean", "false", ""},
		{"bytes", `""`, ""}, {"bytes", `"AA=="`, ""}, {"bytes", `"AP8="`, ""}, {"bytes", `"+\/+\/"`, `"+/+/"`},
		{"f64", "0", "0.0"}, {"f64", "-0", "-0.0"}, {"f64", "-0.0", ""}, {"f64", "1", "1.0"}, {"f64", "1.0", ""}, {"f64", "-3e2", "-300.0"}, {"f64", "0.1", ""}, {"f64", "1.7976931348623157e+308", ""},
		{"f64", "5e-324", ""}, {"f64", "1e-7", "1e-07"}, {"f64", "100000000000000000000", "100000000000000000000.0"}, {"f64", "1E21", "1e+21"}, {"f64", "9007199254740992", "9007199254740992.0"},
		{"f64", "9223372036854775808", "9223372036854776000.0"}, {"f64", "123456789.125", ""},
		{"f32", "0.1", ""}, {"f32", "16777216", "16777216.0"}, {"f32", "-0", "-0.0"}, {"f32", "2", "2.0"}, {"f32", "3.4028235e+38", ""}, {"f32", "1e-45", ""}, {"f32", "0.10000000149011612", "0.1"},
	} {
		c.must(200, "POST", "/v1/table/t/write", cellOf(e.typ, e.in))
		result := c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"r","cell_limit":1}}]}`)
		want := e.out
		if want == "" {
			want = e.in
		}
		want = fmt.Sprintf(`"type":%q,"value":%s}`, e.typ, want)
		if !strings.Contains(string(result), want) {
			t.Errorf("%s %s: got %s, want %s", e.typ, e.in, result, want)
		}
	}
}

func TestRefusedValues(t *testing.T) {
	c := newClient(t)
	c.webtable()
	const at = "items[0].cells[0].value"
	for _, e := range []struct{ typ, code, value string }{
		{"string", "invalid_value", "1"}, {"string", "invalid_value", "null"}, {"string", "invalid_value", "true"},
		{"i64", "invalid_value", "9223372036854775808"}, {"i64", "number_out_of_range", "-9223372036854775809"}, {"i64", "invalid_value", "1.0"},
		{"i64", "invalid_value", "1e3"}, {"i64", "invalid_value", `""`}, {"i64", "invalid_value", `"01"`}, {"i64", "invalid_value", `"+1"`},
		{"i64", "invalid_value", `" 1"`}, {"i64", "invalid_value", `"-"`}, {"i64", "invalid_value", `"9223372036854775808"`},
		{"i64", "invalid_value", "null"}, {"i64", "invalid_value", "true"},
		{"i32", "invalid_value", "2147483648"}, {"i32", "invalid_value", "-2147483649"}, {"i32", "invalid_value", `"1"`},
		{"byte", "invalid_value", "256"}, {"byte", "invalid_value", "-1"}, {"byte", "invalid_value", `"1"`},
		{"boolean", "invalid_value", "1"}, {"boolean", "invalid_value", `"true"`}, {"boolean", "invalid_value", "null"},
		{"bytes", "invalid_value", `"A"`}, {"bytes", "invalid_value", `"AA="`}, {"bytes", "invalid_value", `"AA"`}, {"bytes", "invalid_value", `"AB=="`},
		{"bytes", "invalid_value", `"A\nA=="`}, {"bytes", "invalid_value", `"AAAA\n"`}, {"bytes", "invalid_value", `"-_-_"`}, {"bytes", "invalid_value", "1"},
		{"f64", "number_out_of_range", "1e400"}, {"f64", "number_out_of_range", "1e-400"}, {"f64", "invalid_value", "9007199254740993"},
		{"f64", "invalid_value", `"NaN"`}, {"f64", "invalid_value", `"1"`}, {"f64", "invalid_json", "NaN"}, {"f64", "invalid_json", "Infinity"},
		{"f32", "invalid_value", "1e39"}, {"f32", "invalid_value", "1e-50"}, {"f32", "invalid_value", "16777217"},
	} {
		c.refused(400, e.code, at, "POST", "/v1/table/t/write", cellOf(e.typ, e.value))
	}
}

// TestFloatsReadBack: what is answered can be written again, and is the same.
func TestFloatsReadBack(t *testing.T) {
	x := &requestContext{scratch: newScratch()}
	bits := uint64(0x9e3779b97f4a7c15)
	for range 100_000 {
		bits = bits*6364136223846793005 + 1442695040888963407
		for _, typ := range []cell.Type{cell.F64, cell.F32} {
			size := map[cell.Type]int{cell.F64: 8, cell.F32: 4}[typ]
			x.values = x.values[:0]
			value := x.keepValue(bits, size)
			text := appendValue(nil, typ, value)
			if string(text) == "null" {
				continue
			}
			var d decoder
			d.Reset(text)
			again, reason := x.encodeValue(typ, d.Scalar())
			if d.Err() != nil || reason != "" || string(again) != string(value) {
				t.Fatalf("%s %x: was answered as %s and read as %x, %v", typ, value, text, again, d.Err())
			}
		}
	}
}

func TestAppendText(t *testing.T) {
	for _, s := range []string{
		"", "a", "abcdefgh", "abcdefg\"", "\"abcdefgh", "abcdefgh\\ijklmno", "\x00\x01\x1f\x7f", "ä", "aäbcdefghi€", "\u2028x\u2029",
		"\xff", "abc\xc3", "äöü€\u2028日本", "日本\"x", "日本\xe6\x97", "ä\xc3", "\xc1\x80", "\xe0\x80\x80", "\xe1\x80", "ab\"cdefghi", "слово слово", "abc\xed\xa0\x80def", "𝄞", strings.Repeat("long text ", 100) + "\n", "</script>",
	} {
		got := string(appendText([]byte("x"), []byte(s)))
		checkText(t, []byte(s), []byte(got[1:]))
		if strings.ContainsAny(got, "\u2028\u2029") {
			t.Errorf("%q: got %s with a bare line end", s, got)
		}
	}
}

func TestAppendValueOfNaN(t *testing.T) {
	x := &requestContext{scratch: newScratch()}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(appendValue(nil, cell.F64, x.keepValue(math.Float64bits(f), 8))); got != "null" {
			t.Errorf("%v: got %s, want null", f, got)
		}
	}
}

// FuzzAppendText: any bytes make a JSON string that is read as the same text.
func FuzzAppendText(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add([]byte("\"\\\x00\u2028ä\xff"))
	f.Fuzz(func(t *testing.T, s []byte) {
		checkText(t, s, appendText(nil, s))
	})
}

// checkText checks that JSON text is read as what encoding/json makes of s.
func checkText(t *testing.T, s, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		t.Errorf("%q: got %q, which is not UTF-8", s, text)
	}
	theirs, err := json.Marshal(string(s))
	if err != nil {
		t.Fatal(err)
	}
	var got, want string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Errorf("%q: got %s: %v", s, text, err)
	}
	if err := json.Unmarshal(theirs, &want); err != nil || got != want {
		t.Errorf("%q: got %q, want %q", s, got, want)
	}
}

// FuzzEndpoints: no body makes the server panic or answer anything but an
// envelope, and a refused one leaves the store as it was.
func FuzzEndpoints(f *testing.F) {
	seeds := []string{
		`{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"i64","value":"5","time":3}]}]}`,
		`{"items":[{"row":{"key":"org.a","cell_limit":2},"column":{"multi_key":["title:","anchor:c"]}}]}`,
		`{"row":{"prefix":"o","limit":5,"offset":1,"sample":0.5},"column":{"key":"title"},"cell":{"limit":3}}`,
		`{"row":{"range":{"start":"a","end":"b","inclusive":true},"reverse":true}}`,
		`{"column_families":[{"name":"n","gc_settings":{"ttl_secs":1,"version_limit":null,"mode":"union"}}],"locality_group":true}`,
		`{"row_key":"org.a","column_filter":{"prefix":"title:"}}`,
		`{"gc_settings":{"version_limit":2}}`,
	}
	endpoints := []string{"POST /write", "POST /rows", "POST /scan", "POST /count", "POST /aggregate", "POST /column-family", "DELETE /row", "PATCH /column-family/title", "PUT "}
	for _, seed := range seeds {
		for i := range endpoints {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, endpoint uint8, body []byte) {
		method, path, _ := strings.Cut(endpoints[int(endpoint)%len(endpoints)], " ")
		table := "t"
		if method == "PUT" {
			table = "new"
		}
		c := newClient(t)
		c.webtable()
		before := c.everything()
		e := c.call(method, "/v1/table/"+table+path, string(body))
		if e.Status >= 500 {
			t.Fatalf("%s %s %q: got %d %s", method, path, body, e.Status, e.Message)
		}
		if e.Status >= 400 && c.everything() != before {
			t.Fatalf("%s %s %q: was refused, but changed something", method, path, body)
		}
	})
}
