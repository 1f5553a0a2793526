package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// numbered returns n rows with a cell in each of two families, and a binary column in every third.
func numbered(n int) (rows []Row) {
	for i := range n {
		row := Row{Key: fmt.Sprintf("r%05d", i), Cells: []Cell{{Family: "anchor", Qualifier: "q", Value: I64(int64(i)), Time: At(2)}, {Family: "title", Qualifier: "", Value: String(strings.Repeat("x", 50)), Time: At(1)}}}
		if i%3 == 0 {
			row.Cells = slices.Insert(row.Cells, 1, Cell{Family: "anchor", Qualifier: "q\xff", Value: I64(-1), Time: At(int64(i))})
		}
		rows = append(rows, row)
	}
	return rows
}

func TestScan(t *testing.T) {
	for _, compression := range []Compression{Zstd, Gzip, Uncompressed} {
		table := webtable(t, open(t, newServer(t), Options{Compression: compression}))
		rows := numbered(3000)
		if err := table.Write(t.Context(), rows...); err != nil {
			t.Fatal(err)
		}
		var stats Stats
		if got := all(t, table, Query{Stats: &stats}); !sameRows(got, rows) {
			t.Fatalf("got %d rows, want those that were written", len(got))
		}
		if want := (Stats{Rows: 3000, Cells: 7000, RowsScanned: 3000, CellsScanned: 7000, BytesScanned: stats.BytesScanned, LocalityGroups: 2, Took: stats.Took}); stats != want || stats.BytesScanned < 100_000 {
			t.Errorf("got %+v, want %+v", stats, want)
		}
		tests := []struct {
			q    Query
			want []Row
		}{
			{Query{Rows: Key("r00003")}, rows[3:4]},
			{Query{Rows: Keys("r00004", "r00003", "x")}, rows[3:5]},
			{Query{Rows: Prefix("r0001")}, rows[10:20]},
			{Query{Rows: Ranges(Range{Start: "r02998"}, Range{Start: "r00001", End: "r00003", IncludeEnd: true, ExcludeStart: true})}, append(slices.Clone(rows[2:4]), rows[2998:]...)},
			{Query{Limit: Limit{Rows: 2, Offset: 5}}, rows[5:7]},
			{Query{Sample: 0.001, Limit: Limit{Rows: 2}}, []Row{rows[0], rows[1000]}},
			{Query{Rows: Key("r00003"), Columns: Families("title")}, []Row{{"r00003", rows[3].Cells[2:]}}},
			{Query{Rows: Key("r00003"), Columns: Columns("anchor:q\xff", "title")}, []Row{{"r00003", rows[3].Cells[1:]}}},
			{Query{Rows: Key("r00003"), Columns: ColumnPrefix("anchor:q\xff")}, []Row{{"r00003", rows[3].Cells[1:2]}}},
			{Query{Rows: Key("r00003"), Times: Times{Start: At(2), End: At(3)}}, []Row{{"r00003", rows[3].Cells[:1]}}},
			{Query{Value: &ValueFilter{">=", I64(2998)}}, []Row{{"r02998", rows[2998].Cells[:1]}, {"r02999", rows[2999].Cells[:1]}}},
			{Query{Limit: Limit{Cells: 4}}, []Row{rows[0], {"r00001", rows[1].Cells[:1]}}},
			{Query{Limit: Limit{Rows: 2, CellsPerRow: 1, CellsPerColumn: 1}}, []Row{{"r00000", rows[0].Cells[:1]}, {"r00001", rows[1].Cells[:1]}}},
		}
		for i, test := range tests {
			if got := all(t, table, test.q); !sameRows(got, test.want) {
				t.Errorf("query %d: got %+v, want %+v", i, got, test.want)
			}
			test.q.Limit = Limit{}
			test.q.Sample = 0
			n, err := table.Count(t.Context(), test.q)
			if scanned := all(t, table, test.q); err != nil || int(n.Rows) != len(scanned) {
				t.Errorf("query %d: counted %+v, %v, and read %d rows", i, n, err, len(scanned))
			}
		}
		stripped := all(t, table, Query{Rows: Key("r00001"), StripValues: true})
		if c := stripped[0].Cells[0]; !c.Value.IsNull() || c.Value.Type() != TypeI64 || c.Time != At(2) || c.Value.String() != "null" {
			t.Errorf("got %+v", c)
		}
	}
}

func TestReadRows(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	rows := numbered(10)
	if err := table.Write(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	got, err := table.ReadRows(t.Context(), RowRead{Key: "none"}, RowRead{Key: "r00003"}, RowRead{Key: "\xff"}, RowRead{Key: "r00000", Columns: Families("contents")},
		RowRead{Key: "r00003", CellsPerRow: 1, CellsPerColumn: 1}, RowRead{Key: "r00001", Columns: Columns("title:")}, RowRead{Key: "none"})
	want := []Row{{Key: "none"}, rows[3], {Key: "\xff"}, {Key: "r00000"}, {"r00003", rows[3].Cells[:1]}, {"r00001", rows[1].Cells[1:]}, {Key: "none"}}
	if err != nil || !sameRows(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := table.ReadRow(t.Context(), "r00001", "nope:"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestScanBreaks: an answer that breaks off is never taken for a whole one, wherever it breaks. Up to its first
// row it is asked for again.
func TestScanBreaks(t *testing.T) {
	table, s, _ := scripted(t, Options{})
	rows := numbered(4)
	if err := table.Write(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	answer := 1100
	for n := 0; n < answer; n++ {
		s.play(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := apply(r, next)
			if answer = a.Body.Len(); n < answer {
				r.Body = io.NopCloser(strings.NewReader("{}"))
				cut(n)(w, r, next)
			}
		})
		if n > 150 && n%13 != 0 {
			continue // in the middle all places are alike
		}
		var got []Row
		var failed error
		stats := Stats{Rows: -1}
		for row, err := range table.Scan(t.Context(), Query{Stats: &stats}) {
			if failed = err; err == nil {
				got = append(got, row)
			}
		}
		again := len(s.requests()) > 1
		switch {
		case again && (failed != nil || !sameRows(got, rows)):
			t.Fatalf("cut at %d, and asked again: %v, %+v", n, failed, got)
		case !again && (failed == nil || len(got) == 0 || !sameRows(got, rows[:len(got)])):
			t.Fatalf("cut at %d: %v behind %d rows", n, failed, len(got))
		case !again && (!errors.Is(failed, ErrUnavailable) || errors.Is(failed, ErrOutcomeUnknown) || stats.Rows != -1):
			t.Fatalf("cut at %d: %v, stats %+v", n, failed, stats)
		}
	}
}

// TestScanDecodesWhileTheAnswerComes: the server sends each row only when the one before has come out of the
// iterator, so a client that waits for more would wait forever.
func TestScanDecodesWhileTheAnswerComes(t *testing.T) {
	taken := make(chan bool)
	ended := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"result":{"rows":[`)
		for i := 0; ; i++ {
			if i > 0 {
				io.WriteString(w, ",")
			}
			fmt.Fprintf(w, `{"row_key":"%d","columns":{"f":{"q":[{"time":1,"type":"i64","value":%d}]}}}`, i, i)
			w.(http.Flusher).Flush()
			select {
			case <-taken:
			case <-r.Context().Done():
				ended <- r.Context().Err()
				return
			}
		}
	})
	table := open(t, h, Options{}).Table("t")
	n := 0
	for row, err := range table.Scan(t.Context(), Query{}) {
		if err != nil || row.Key != fmt.Sprint(n) {
			t.Fatal(row, err)
		}
		if n++; n == 100 {
			break // the request ends with the loop
		}
		taken <- true
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the request of a loop that was left: %v", err)
	}
	// The end of the context ends the loop.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range table.Scan(ctx, Query{}) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || errors.Is(last, ErrUnavailable) {
		t.Errorf("got %v", last)
	}
	<-ended
}

// TestScanLeftEarly: whatever the loop does, the body is closed, so that no goroutine stays behind.
func TestScanLeftEarly(t *testing.T) {
	for _, compression := range []Compression{Zstd, Gzip, Uncompressed} {
		bodies := &bodyCounter{next: &http.Transport{}}
		table := webtable(t, open(t, newServer(t), Options{Compression: compression, HTTPClient: &http.Client{Transport: bodies}}))
		if err := table.Write(t.Context(), numbered(5000)...); err != nil {
			t.Fatal(err)
		}
		for range table.Scan(t.Context(), Query{}) {
			break
		}
		all(t, table, Query{})
		all(t, table, Query{Rows: Key("none")})
		for _, err := range table.Scan(t.Context(), Query{Columns: Families("none")}) {
			if !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		}
		func() {
			defer func() { recover() }()
			for range table.Scan(t.Context(), Query{}) {
				panic("in the loop")
			}
		}()
		if bodies.opened != bodies.closed || bodies.opened < 7 {
			t.Errorf("%d bodies were opened, %d closed", bodies.opened, bodies.closed)
		}
	}
}

// bodyCounter counts the bodies of answers.
type bodyCounter struct {
	next           http.RoundTripper
	opened, closed int
}

func (b *bodyCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		b.opened++
		resp.Body = &countedBody{resp.Body, b}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	counter *bodyCounter
}

func (b *countedBody) Close() error {
	b.counter.closed++
	return b.ReadCloser.Close()
}

// rowsOf is an endless-looking answer of n rows.
func rowsOf(n int) io.Reader {
	var readers []io.Reader
	row := func(i int) io.Reader {
		return strings.NewReader(fmt.Sprintf(`%s{"row_key":"%08d","columns":{"f":{"q":[{"time":1,"type":"string","value":"%01000d"}]}}}`, strings.Repeat(",", min(i, 1)), i, i))
	}
	i := 0
	next := readerFunc(func(p []byte) (int, error) {
		for {
			if len(readers) > 0 {
				if k, err := readers[0].Read(p); err == nil {
					return k, nil
				}
				readers = readers[:0]
			}
			if i == n {
				return 0, io.EOF
			}
			readers = append(readers, row(i))
			i++
		}
	})
	return io.MultiReader(strings.NewReader(`{"result":{"rows":[`), next, strings.NewReader(`]}}`))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestScanMemoryIsBounded: the heap does not grow with the answer, of 30 MB here.
func TestScanMemoryIsBounded(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const total = 30_000
	d := newJSONRows(rowsOf(total))
	before, n := heap(), 0
	for ; ; n++ {
		row, err := d.next()
		if err == io.EOF {
			break
		}
		if err != nil || row.Key != fmt.Sprintf("%08d", n) {
			t.Fatal(row, err)
		}
		if n%10_000 == 9_000 {
			if now := heap(); now > before+1<<20 {
				t.Errorf("at row %d the heap has grown by %d bytes", n, now-before)
			}
		}
	}
	if n != total {
		t.Errorf("%d rows", n)
	}
}

const anyOrder = ` { "time_ms" : 1 , "message":"A \"B\" [{", "new":{"a":[1,{"b":null}],"c":{}},"result": {
	"cell_count":2, "new":[],"missing":[ 3 ,4], "rows" : [ { "binary_columns":[{"cells":[{"value":"AAH/","type":"bytes","new":{"x":[true]},"time":5}],"qualifier":{"base64":"/w=="},"family":"f"}],
	"columns":{"f":{"\ud83c\udfdb\u00e9\/\b\f\n\r\t":[{"value":-0.0,"type":"f64","time":0}], "zz":[]},"g":{}},"row_key":{"base64":"\/wA="},"page_token":"x"} ,
	{"row_key":"é","columns":{}}], "row_count":2, "rows_scanned":7, "cells_scanned":8,"bytes_scanned":9,"affected_locality_groups":1,"micros":1000}, "status":200}
`

// TestDecoderTakesAnyOrder: fields may come in any order, unknown ones are passed over, and pieces may be cut
// anywhere.
func TestDecoderTakesAnyOrder(t *testing.T) {
	for name, src := range map[string]io.Reader{"whole": strings.NewReader(anyOrder), "bytes": iotest.OneByteReader(strings.NewReader(anyOrder)), "halves": iotest.HalfReader(strings.NewReader(anyOrder)), "EOF with data": iotest.DataErrReader(strings.NewReader(anyOrder))} {
		d := newJSONRows(src)
		rows, err := collect(d)
		f := F64(0)
		f.bits = 1 << 63
		want := []Row{{"\xff\x00", []Cell{{Family: "f", Qualifier: "🏛é/\b\f\n\r\t", Value: f, Time: At(0)}, {Family: "f", Qualifier: "\xff", Value: Bytes([]byte{0, 1, 0xff}), Time: At(5)}}}, {Key: "é"}}
		if err != nil || !sameRows(rows, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, rows, err, want)
		}
		if got, want := *d.summary(), (summary{Stats{2, 2, 7, 8, 9, 1, 1000 * 1000}, []int{3, 4}, ""}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func collect(d rowDecoder) (rows []Row, err error) {
	for {
		row, err := d.next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

// TestDecoderRefuses: what is no whole answer of rows is an error.
func TestDecoderRefuses(t *testing.T) {
	version := func(text string) string {
		return `{"result":{"rows":[{"row_key":"r","columns":{"f":{"q":[` + text + `]}}}]}}`
	}
	if _, err := collect(newJSONRows(strings.NewReader(version(`{"time":1,"type":"i64","value":1}`)))); err != nil {
		t.Fatal(err)
	}
	bad := []string{
		``, ` `, `null`, `[]`, `{}`, `{"result":null}`, `{"result":{}}`, `{"result":{"rows":null}}`, `{"result":{"rows":[]}} x`, `{"result":{"rows":[1]}}`, `{"result":{"rows":[{},]}}`, `{"result":{"rows":[]},}`,
		`<html>`, "{\"result\"\x00:{\"rows\":[]}}", `{"result":{"rows":[]}`, `{"result" {"rows":[]}}`,
		version(`{"time":1,"type":"i64"}`), version(`{"time":1,"value":1}`), version(`{"time":1,"type":"i65","value":1}`), version(`{"time":"1","type":"i64","value":1}`),
		version(`{"time":1,"type":"i64","value":"1"}`), version(`{"time":1,"type":"i64","value":9223372036854775808}`), version(`{"time":1,"type":"i64","value":1.0}`), version(`{"time":1,"type":"i64","value":true}`),
		version(`{"time":1,"type":"byte","value":256}`), version(`{"time":1,"type":"i32","value":2147483648}`), version(`{"time":1,"type":"f32","value":1e39}`), version(`{"time":1,"type":"f64","value":1e999}`),
		version(`{"time":1,"type":"string","value":1}`), version(`{"time":1,"type":"string","value":"\ud800"}`), version(`{"time":1,"type":"string","value":"\ud800\u0041"}`), version(`{"time":1,"type":"string","value":"\x"}`), version(`{"time":1,"type":"string","value":"\u12x4"}`),
		version(`{"time":1,"type":"bytes","value":"AAH"}`), version(`{"time":1,"type":"bytes","value":1}`), version(`{"time":1,"type":"boolean","value":1}`), version(`{"time":1,"type":"i64","value":}`),
		`{"result":{"rows":[{}]}}`, `{"result":{"rows":[{"row_key":"r","binary_columns":[{}]}]}}`, `{"result":{"rows":[{"row_key":"r","binary_columns":[{"qualifier":""}]}]}}`, `{"result":{"rows":[{"row_key":"r","binary_columns":[{"family":"f"}]}]}}`,
		strings.Replace(version(``), `"r"`, `{"base64":"/"}`, 1), strings.Replace(version(``), `"r"`, `{}`, 1), strings.Replace(version(``), `"r"`, `5`, 1),
	}
	broken := io.MultiReader(strings.NewReader(`{"result":{"rows":[]}}`), iotest.ErrReader(errors.New("no")))
	if _, err := collect(newJSONRows(broken)); err == nil || err.Error() != "no" {
		t.Errorf("an error behind the answer: %v", err)
	}
	for _, text := range bad {
		if rows, err := collect(newJSONRows(strings.NewReader(text))); err == nil {
			t.Errorf("%q was taken for %+v", text, rows)
		}
	}
}

// FuzzDecoder compares the decoder with encoding/json: it must not panic, must not depend on how the text is
// cut, and must not refuse what is JSON of the right shape.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(anyOrder))
	f.Add([]byte(`{"result":{"rows":[{"row_key":"r","columns":{"f":{"":[{"time":1,"type":"i64","value":-5}]}}}]}}`))
	f.Add([]byte(`{"result":{"rows":[{"binary_columns":[{}],"columns":{"":{"":[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := collect(newJSONRows(bytes.NewReader(text)))
		cut, cutErr := collect(newJSONRows(iotest.OneByteReader(bytes.NewReader(text))))
		if (err == nil) != (cutErr == nil) || !sameRows(rows, cut) {
			t.Errorf("got %+v, %v; byte by byte %+v, %v", rows, err, cut, cutErr)
		}
		var answer struct {
			Result *struct {
				Rows *[]struct {
					Key     *string `json:"row_key"`
					Columns map[string]map[string][]struct{}
				}
			}
		}
		d := json.NewDecoder(bytes.NewReader(text))
		if err != nil || d.Decode(&answer) != nil || answer.Result == nil || answer.Result.Rows == nil {
			return
		}
		if n := len(*answer.Result.Rows); n != len(rows) && !bytes.Contains(bytes.ToLower(text), []byte(`\u00`)) && bytes.Count(bytes.ToLower(text), []byte(`"rows"`)) == 1 && bytes.Count(bytes.ToLower(text), []byte(`"result"`)) == 1 {
			t.Errorf("%d rows, encoding/json finds %d", len(rows), n)
		}
	})
}

// FuzzStrings: every string arrives as it is, also where it is no UTF-8.
func FuzzStrings(f *testing.F) {
	f.Add("a\"\\\x00\x1f\xffü\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		in := newJSONReader(bytes.NewReader(appendBytes(nil, s)))
		if got := string(in.bytes()); got != s || in.err != nil {
			t.Errorf("%q arrived as %q, %v", s, got, in.err)
		}
		var std any
		if err := json.Unmarshal(appendBytes(nil, s), &std); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// BenchmarkDecode is the decoder alone: MB/s of an answer with short cells.
func BenchmarkDecode(b *testing.B) {
	table := webtable(b, open(b, newServer(b), Options{Compression: Uncompressed}))
	if err := table.Write(b.Context(), numbered(2000)...); err != nil {
		b.Fatal(err)
	}
	r := &request{class: read, method: "POST", path: table.path + "/scan", body: []byte("{}")}
	body, err := table.c.send(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := collect(newJSONRows(bytes.NewReader(text))); err != nil || len(rows) != 2000 {
			b.Fatal(len(rows), err)
		}
	}
}
