package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"
)

// readAll returns the items of a file, with their lines, and the errors.
func readAll(name, text string, o Options) (items []string, err error) {
	s, err := NewStream(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := NewReader(s, name, nil, o)
	if err != nil {
		return nil, err
	}
	for {
		row, err := r.Next()
		var bad *RowError
		switch {
		case err == io.EOF:
			return items, nil
		case errors.As(err, &bad):
			items = append(items, fmt.Sprintf("%d-%d: bad: %v", bad.First, bad.Last, bad))
		case err != nil:
			return items, err
		default:
			items = append(items, fmt.Sprintf("%d-%d: %s", row.First, row.Last, row.Item))
		}
	}
}

func column(t *testing.T, text string) Column {
	t.Helper()
	c, err := ParseColumn(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseColumn(t *testing.T) {
	for text, want := range map[string]Column{
		"title:=col2:i64":        {"title:", "col2", "i64"},
		"title:=col2":            {"title:", "col2", ""},
		"a:http://x?a=b=f:bytes": {"a:http://x?a=b", "f", "bytes"},
		"a:i64=x:y":              {"a:i64", "x:y", ""},
	} {
		if got, err := ParseColumn(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a:", "a=b", "a:=", "a:=:i64"} {
		if got, err := ParseColumn(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// TestCSVRows: what becomes of records, and which place an error has.
func TestCSVRows(t *testing.T) {
	mapped := Options{Columns: []Column{column(t, "p:name=name"), column(t, "p:age=age:i32")}, RowKey: "id"}
	for _, test := range []struct {
		name, file, text string
		o                Options
		want             []string
	}{
		{"by the header", "a.csv", "row_key,f:,f:n:i64\r\nr1,\"a,\"\"b\"\"\n\",-7\r\n\nr2,,\nr3,,08\n", Options{}, []string{
			`2-2: {"row_key":"r1","cells":[{"column_key":"f:","type":"string","value":"a,\"b\"\u000a"},{"column_key":"f:n","type":"i64","value":-7}]}`,
			`6-6: {"row_key":"r3","cells":[{"column_key":"f:n","type":"i64","value":8}]}`,
		}},
		{"by a map, a mark before it", "a.csv", "\ufeffname,id,age\nAnn,7,40\n", mapped, []string{
			`2-2: {"row_key":"7","cells":[{"column_key":"p:name","type":"string","value":"Ann"},{"column_key":"p:age","type":"i32","value":40}]}`,
		}},
		{"bad records", "a.csv", "id,name,age\n1,Ann,x\n,Ann,1\n2,Bob\n3,B\"b,1\n4,\xff,1\n5,Eve,5\n", mapped, []string{
			`2-2: bad: field "age": "x" is no i32`,
			`3-3: bad: field "id": the row key is empty`,
			`4-4: bad: the record has 2 fields, and the first one has 3`,
			`5-5: bad: column 4: bare " in non-quoted-field`,
			`6-6: bad: field "name": it is not UTF-8, as a string must be`,
			`7-7: {"row_key":"5","cells":[{"column_key":"p:name","type":"string","value":"Eve"},{"column_key":"p:age","type":"i32","value":5}]}`,
		}},
		{"without a header, with tabs", "a.tsv", "k\tx\t5\n", Options{NoHeader: true, Columns: []Column{column(t, "f:=2"), column(t, "f:t=3:f64")}, Time: "3"}, []string{
			`1-1: {"row_key":"k","cells":[{"column_key":"f:","type":"string","value":"x","time":5},{"column_key":"f:t","type":"f64","value":5,"time":5}]}`,
		}},
		{"a bad time", "a.csv", "row_key,t,f:\nk,-1,x\nk,,x\n", Options{Time: "t"}, []string{
			`2-2: bad: field "t": "-1" is no time in microseconds since 1970`,
			`3-3: {"row_key":"k","cells":[{"column_key":"f:","type":"string","value":"x"}]}`,
		}},
		{"semicolons", "x", "row_key;f:\nk;a,b\n", Options{Format: CSV, Delimiter: ';'}, []string{
			`2-2: {"row_key":"k","cells":[{"column_key":"f:","type":"string","value":"a,b"}]}`,
		}},
	} {
		got, err := readAll(test.file, test.text, test.o)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.name, err, strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
		}
	}
}

// TestCSVRefused: what no rows can be read from says what to do.
func TestCSVRefused(t *testing.T) {
	for _, test := range []struct {
		text string
		o    Options
		want string
	}{
		{"", Options{}, "begins with a header"},
		{"row_key,age\n1,2\n", Options{}, `--map 'FAMILY:QUALIFIER=age:string'`},
		{"row_key,f:,f:\n1,2,3\n", Options{}, `"f:" is there twice`},
		{"row_key,a\n", Options{Columns: []Column{{"f:", "b", ""}}}, `no field "b"`},
		{"id,a\n", Options{RowKey: "row_key", Columns: []Column{{"f:", "a", ""}}}, `no field "row_key"`},
		{"row_key\n", Options{}, "no field but that of the row key"},
		{"row_key,f:\n\"" + strings.Repeat("x\n", 1+maxLine/2) + strings.Repeat("y\n", maxLine/8), Options{}, "is a quote not closed?"},
	} {
		if got, err := readAll("a.csv", test.text, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: %d items, %v, want %q", test.text, len(got), err, test.want)
		}
	}
}

// TestText: values by their types.
func TestText(t *testing.T) {
	for _, test := range []struct{ typ, text, want string }{
		{"i64", "9223372036854775807", "9223372036854775807"}, {"i64", "9223372036854775808", ""}, {"i64", "1.0", ""}, {"i64", "+5", "5"},
		{"i32", "2147483648", ""}, {"byte", "255", "255"}, {"byte", "-1", ""},
		{"f64", "9007199254740993", "9007199254740993"}, {"f64", ".5", "0.5"}, {"f64", "+1", "1.0"}, {"f64", "1.", "1.0"}, {"f64", "1.e3", "1000.0"},
		{"f64", "NaN", ""}, {"f64", "-Inf", ""}, {"f64", "0x1p4", ""}, {"f64", "007", "7.0"}, {"f64", "-0.0", "-0.0"}, {"f64", "1e999", ""}, {"f64", "1_0", ""},
		{"f32", "1e39", ""}, {"f32", "0.1", "0.1"},
		{"boolean", "TRUE", "true"}, {"boolean", "yes", ""},
		{"bytes", "AP8=", `"AP8="`}, {"bytes", "AP8", ""}, {"string", "\u2028\x00\\", "\"\u2028\\u0000\\\\\""}, {"text", "x", ""},
	} {
		got, err := appendText(nil, test.typ, test.text)
		if (err != nil) != (test.want == "") || err == nil && string(got) != test.want {
			t.Errorf("%s %q: %s, %v, want %q", test.typ, test.text, got, err, test.want)
		}
	}
}

// lines are rows as an export answers with them, with all types and with texts that a format could spoil.
func lines(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	texts := []string{`""`, `"a"`, `"\u000d\u000a"`, `"\u000d"`, `"base64:"`, `" x "`, `"\"\\,\u000a"`, `"\u0000"`, `"ü"`, `"\\."`}
	values := map[string]func() string{
		"string":  func() string { return texts[r.IntN(len(texts))] },
		"i64":     func() string { return fmt.Sprint(r.Int64() - r.Int64()) },
		"i32":     func() string { return fmt.Sprint(int32(r.Uint32())) },
		"byte":    func() string { return fmt.Sprint(r.IntN(256)) },
		"f64":     func() string { return string(appendFloat(nil, r.NormFloat64()*1e200, 64)) },
		"f32":     func() string { return string(appendFloat(nil, float64(r.Float32()), 32)) },
		"boolean": func() string { return fmt.Sprint(r.IntN(2) == 0) },
		"bytes":   func() string { return string(appendBytes(nil, fmt.Appendf(nil, "%x\xff", r.IntN(100))[:r.IntN(2)])) },
	}
	keys := []string{`"a"`, `"base64:x"`, `"c\u000d\u000ad"`, `"e,\""`, `{"base64":"/wA="}`}
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&b, `{"row_key":%s,"cells":[`, key)
		for i := range 1 + r.IntN(40) {
			if i > 0 {
				b.WriteByte(',')
			}
			typ := Types[r.IntN(len(Types))]
			column := []string{`"f:a"`, `"f:\u000d"`, `"g:"`, `{"base64":"Zzr/"}`}[r.IntN(4)]
			fmt.Fprintf(&b, `{"column_key":%s,"type":"%s","value":%s,"time":%d}`, column, typ, values[typ](), r.Int64())
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// write writes lines to a file in memory.
func write(t *testing.T, name, text string, o Options) (string, error) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, name, o)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if _, err := w.Write([]byte(line)); err != nil {
			return "", err
		}
	}
	err = w.Close()
	return b.String(), err
}

// TestCellsRoundTrip: in the form of cells, each format keeps all that a table has, compressed or not, from a stream and from
// a file.
func TestCellsRoundTrip(t *testing.T) {
	for seed := range uint64(50) {
		text := lines(seed)
		want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for _, name := range []string{"t.ndjson", "t.csv", "t.tsv", "t.parquet"} {
			plain, err := write(t, name, text, Options{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			_, _ = z.Write([]byte(plain))
			_ = z.Close()
			for _, file := range []string{plain, zipped.String()} {
				got, err := readAll(name+".gz", file, Options{}) // the content counts for compression
				for i := range got {
					_, got[i], _ = strings.Cut(got[i], ": ")
				}
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("seed %d, %s: %v\ngot  %s\nwant %s", seed, name, err, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
			}
		}
	}
}

// TestRowsRoundTrip: in the form of rows, each format keeps the newest versions of the columns, also of a row in several lines.
func TestRowsRoundTrip(t *testing.T) {
	text := `{"row_key":"a","cells":[{"column_key":"f:s","type":"string","value":"x,y","time":9},{"column_key":"f:s","type":"i64","value":1,"time":8},{"column_key":"f:n","type":"i64","value":-5,"time":7}]}
{"row_key":"a","cells":[{"column_key":"f:x","type":"f64","value":0.1,"time":9},{"column_key":"f:b","type":"boolean","value":true,"time":9}]}
{"row_key":"b","cells":[{"column_key":"f:y","type":"bytes","value":"AP8=","time":9},{"column_key":"f:c","type":"byte","value":200,"time":9}]}
{"row_key":"c","cells":[{"column_key":"f:i","type":"i32","value":-3,"time":9},{"column_key":"f:r","type":"f32","value":1.5,"time":9}]}
`
	var o Options
	for _, m := range []string{"f:s=text", "f:n=n:i64", "f:x=x:f64", "f:b=b:boolean", "f:y=y:bytes", "f:c=c:byte", "f:i=i:i32", "f:r=r:f32"} {
		o.Columns = append(o.Columns, column(t, m))
	}
	cell := func(key, typ, value string) string {
		return `{"column_key":"` + key + `","type":"` + typ + `","value":` + value + `}`
	}
	want := []string{
		`{"row_key":"a","cells":[` + cell("f:s", "string", `"x,y"`) + "," + cell("f:n", "i64", "-5") + "," + cell("f:x", "f64", "0.1") + "," + cell("f:b", "boolean", "true") + "]}",
		`{"row_key":"b","cells":[` + cell("f:y", "bytes", `"AP8="`) + "," + cell("f:c", "byte", "200") + "]}",
		`{"row_key":"c","cells":[` + cell("f:i", "i32", "-3") + "," + cell("f:r", "f32", "1.5") + "]}",
	}
	for _, name := range []string{"t.csv", "t.parquet"} {
		file, err := write(t, name, text, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := readAll(name, file, o)
		for i := range got {
			_, got[i], _ = strings.Cut(got[i], ": ")
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// TestRowsRefused: what the form of rows cannot have is an error, and not left out.
func TestRowsRefused(t *testing.T) {
	o := Options{Columns: []Column{{"f:", "x", "i64"}}}
	for _, name := range []string{"t.csv", "t.parquet"} {
		for line, want := range map[string]string{
			`{"row_key":"a","cells":[{"column_key":"f:","type":"string","value":"x","time":9}]}`:          "has the type string, not i64",
			`{"row_key":{"base64":"/w=="},"cells":[{"column_key":"f:","type":"i64","value":1,"time":9}]}`: "is not UTF-8",
		} {
			if _, err := write(t, name, line+"\n", o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", name, line, err, want)
			}
		}
	}
	if _, err := NewWriter(io.Discard, "t.csv", Options{Columns: []Column{{"f:", "row_key", ""}}}); err == nil {
		t.Error("a field twice: no error")
	}
}

// foreign is a file of another program: other integers, times of each unit, a struct, a list, a decimal.
type foreign struct {
	ID    int64    `parquet:"id"`
	U8    uint8    `parquet:"u8"`
	U16   uint16   `parquet:"u16"`
	U32   uint32   `parquet:"u32"`
	U64   uint64   `parquet:"u64"`
	I8    int8     `parquet:"i8"`
	Milli int64    `parquet:"milli,timestamp(millisecond)"`
	Micro int64    `parquet:"micro,timestamp(microsecond)"`
	Nano  int64    `parquet:"nano,timestamp(nanosecond)"`
	Day   int32    `parquet:"day,date"`
	UUID  [16]byte `parquet:"uuid,uuid"`
	Fixed [3]byte  `parquet:"fixed"`
	Enum  string   `parquet:"enum,enum"`
	Float float64  `parquet:"float"`
	Inner struct {
		A *string `parquet:"a,optional"`
	} `parquet:"inner"`
	List    []int64 `parquet:"list"`
	Decimal int64   `parquet:"decimal,decimal(2:10)"`
}

func foreignFile(t *testing.T, rows ...foreign) string {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestForeignParquet(t *testing.T) {
	text := "ü"
	good := foreign{ID: 7, U8: 200, U16: 60000, U32: 4e9, U64: 9e18, I8: -3, Milli: -5, Micro: 6, Nano: 7000, Day: 9, Fixed: [3]byte{0, 1, 255}, Enum: "E", Float: 1}
	good.Inner.A = &text
	big, nan, fine := good, good, good
	big.U64, nan.Float, fine.Nano = 1<<63, math.NaN(), 7
	file := foreignFile(t, good, big, nan, fine)
	o := Options{RowKey: "id", Time: "micro"}
	for i, name := range []string{"u8", "u16", "u32", "u64", "i8", "milli", "nano", "day", "uuid", "fixed", "enum", "float", "inner.a"} {
		o.Columns = append(o.Columns, Column{Key: fmt.Sprint("f:", i), Field: name})
	}
	got, err := readAll("x", file, o)
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, %q", err, got)
	}
	var values []string
	for _, part := range strings.Split(got[0], `"type":`)[1:] {
		value, _, _ := strings.Cut(part, `,"time":6}`)
		values = append(values, value)
	}
	want := []string{`"byte","value":200`, `"i32","value":60000`, `"i64","value":4000000000`, `"i64","value":9000000000000000000`, `"i32","value":-3`, `"i64","value":-5000`, `"i64","value":7`,
		`"i32","value":9`, `"bytes","value":"AAAAAAAAAAAAAAAAAAAAAA=="`, `"bytes","value":"AAH/"`, `"string","value":"E"`, `"f64","value":1.0`, `"string","value":"ü"`}
	if !slices.Equal(values, want) || !strings.HasPrefix(got[0], `1-1: {"row_key":"7"`) {
		t.Errorf("got  %s\nwant %s\nof %s", values, want, got[0])
	}
	for i, want := range []string{`2-2: bad: field "u64": 9223372036854775808 is no i64`, `3-3: bad: field "float": NaN is no value`, `4-4: bad: field "nano": the time is no whole number`} {
		if !strings.HasPrefix(got[1+i], want) {
			t.Errorf("got %s, want %s", got[1+i], want)
		}
	}
	for field, want := range map[string]string{"list": "is a list", "decimal": "DECIMAL", "none": `no field "none"`, "u8:i64": "have the type byte, not i64"} {
		c := column(t, "f:="+field)
		if _, err := readAll("x", file, Options{RowKey: "id", Columns: []Column{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", field, err, want)
		}
	}
}

// TestParquetFromAFile: a file is read where it is, and the rows are the same.
func TestParquetFromAFile(t *testing.T) {
	var rows []foreign
	for i := range 5000 {
		rows = append(rows, foreign{ID: int64(i), U8: uint8(i)})
	}
	text := foreignFile(t, rows...)
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := NewStream(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(s, name, sizedFile{file, int64(len(text))}, Options{RowKey: "id", Columns: []Column{{"f:", "u8", "byte"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		row, err := r.Next()
		if want := fmt.Sprintf(`{"row_key":"%d","cells":[{"column_key":"f:","type":"byte","value":%d}]}`, i, i%256); err != nil || string(row.Item) != want || row.First != int64(1+i) {
			t.Fatalf("record %d: %s, %v, want %s", i, row.Item, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last: %v", err)
	}
	if r.Field("f:") != "u8" || r.Offset() < 1000 {
		t.Errorf("field %q, offset %d", r.Field("f:"), r.Offset())
	}
}

func TestNoLZ4(t *testing.T) {
	var b bytes.Buffer
	if err := parquet.Write(&b, []foreign{{ID: 1}}, parquet.Compression(&parquet.Lz4Raw)); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll("x", b.String(), Options{RowKey: "id", Columns: []Column{{"f:", "u8", ""}}}); err == nil || !strings.Contains(err.Error(), "LZ4") {
		t.Errorf("LZ4: %v", err)
	}
}

// TestDamage: a changed byte may change a row of a format without checksums, but ends no process, and a file that is cut off is an
// error.
func TestDamage(t *testing.T) {
	text, err := write(t, "t.parquet", lines(1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for _, mask := range []byte{1 << (i % 8)} {
			changed := []byte(text)
			changed[i] ^= mask
			_, _ = readAll("t.parquet", string(changed), Options{})
		}
		if _, err := readAll("t.parquet", text[:i], Options{}); err == nil {
			t.Errorf("cut off at %d of %d: no error", i, len(text))
		}
	}
}
