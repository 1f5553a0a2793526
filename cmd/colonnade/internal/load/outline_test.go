package load

import (
	"slices"
	"strings"
	"testing"
)

func TestOutline(t *testing.T) {
	tests := []struct {
		line     string
		cells    int
		stamped  string // the line after times were put in; "" when unchanged
		families []string
	}{
		{line: `{"row_key":"a","cells":[{"column_key":"f:","type":"string","value":"x","time":3}]}`, cells: 1, families: []string{"f"}},
		{
			line:     `{"row_key":"a","cells":[{"column_key":"f:q","value":"x"},{"column_key":"g","time":1},{"column_key":"h:"}]}`,
			stamped:  `{"row_key":"a","cells":[{"column_key":"f:q","value":"x","time":7},{"column_key":"g","time":1},{"column_key":"h:","time":7}]}`,
			cells:    3,
			families: []string{"f", "g", "h"},
		},
		{
			line:     `{"cells":[{"column_key":"\u0066\":x","value":"}]\\"}],"row_key":"cells"}`,
			stamped:  `{"cells":[{"column_key":"\u0066\":x","value":"}]\\","time":7}],"row_key":"cells"}`,
			cells:    1,
			families: []string{`f"`},
		},
		{ // a time that is not the cell's own
			line:    `{"cells":[{"value":{"time":1,"column_key":"no:"}}],"x":[{"column_key":"no:"}]}`,
			stamped: `{"cells":[{"value":{"time":1,"column_key":"no:"},"time":7}],"x":[{"column_key":"no:"}]}`,
			cells:   1,
		},
		{line: `{"row_key":"time","cells":[{},[1],2]}`, stamped: `{"row_key":"time","cells":[{"time":7},[1],2]}`, cells: 1},
		{line: `{"cells":[{"column_key":5,"ti\u006de":null}, {"time":1}], "row_key":"white space stays"}`, cells: 2},
		{line: `{"cells":{"column_key":"no:"}}`},
		{ // what a server refuses stays as it is spelled
			line:     `{"cells":[{"column_key":"f:\ud800\q	","value":01e}],"row_key":"\x","row_key":nan}`,
			stamped:  `{"cells":[{"column_key":"f:\ud800\q	","value":01e,"time":7}],"row_key":"\x","row_key":nan}`,
			cells:    1,
			families: []string{"f"},
		},
		{ // bytes
			line:     `{"cells":[{"column_key":{"base64":"aDr/"},"time":1},{"column_key":{"base64":"?"},"time":1},{"column_key":{},"time":1},{"column_key":{"base64":"aA=="},"time":1}]}`,
			cells:    4,
			families: []string{"h", "h"},
		},
		{line: `{"a":{"cells":[{"column_key":"no:"}]}}`},
		{line: `{}`},
	}
	for _, test := range tests {
		var got []string
		o := outliner{family: func(name []byte) { got = append(got, string(name)) }}
		if err := o.scan([]byte(test.line), 7); err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		if o.cells != test.cells {
			t.Errorf("%s: %d cells, want %d", test.line, o.cells, test.cells)
		}
		if !slices.Equal(got, test.families) {
			t.Errorf("%s: families %q, want %q", test.line, got, test.families)
		}
		var b batch
		b.add(1, 1, &o)
		if o.stamped != (test.stamped != "") {
			t.Errorf("%s: stamped %v", test.line, o.stamped)
		}
		if test.stamped == "" {
			test.stamped = test.line
		}
		if got := string(b.body); got != bodyStart+test.stamped {
			t.Errorf("stamped\n%s, want\n%s%s", got, bodyStart, test.stamped)
		}
	}
}

func TestOutlineOfBadLines(t *testing.T) {
	for line, want := range map[string]string{
		``:                           "unexpected end",
		`[1]`:                        "jq -c '.[]'",
		`[`:                          "jq -c '.[]'",
		` [{"row_key":"a"},`:         "jq -c '.[]'",
		`{`:                          "jq -c . FILE",
		`{"row_key":"a","cells":[`:   "jq -c . FILE",
		`{"row_key":"a",`:            "jq -c . FILE",
		`[nux`:                       "invalid character",
		`{"a":1},{"b":2}`:            "after top-level value",
		`{"a":1} {"b":2}`:            "after top-level value",
		`{"a":[1}`:                   "invalid character '}'",
		`{"a":1`:                     "unexpected end",
		`{"a":"1}`:                   "unexpected end",
		`{"a":"1\"}`:                 "unexpected end",
		`{"a":nul}`:                  "invalid character '}'",
		"{\"a\":nul,\"b\":\"\xff\"}": "not UTF-8",
		`{"a":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}`: "nests deeper",
	} {
		var o outliner
		if err := o.scan([]byte(line), 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

// FuzzOutline holds a line that passes to the promise that it does not change
// the meaning of its neighbours: if a request of lines is JSON, each line is
// exactly one of its items.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"row_key":"a","cells":[{"column_key":"f:","value":"x"}]}`))
	f.Add([]byte(`{"a":"\\\""}`))
	f.Add([]byte(`{"a":1},{"b":[]}`))
	f.Add([]byte(`{"cells":[{"column_key":"\ud800","\q":nan},{}],"cells":-}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var o outliner
		if o.scan(line, 7) != nil {
			return
		}
		var b batch
		first, last := []byte(`{"n":"first"}`), []byte(`{"n":"last"}`)
		for i, l := range [][]byte{first, line, last} {
			if err := o.scan(l, 7); err != nil {
				t.Fatal(err)
			}
			b.add(int64(i+1), int64(i+1), &o)
		}
		b.seal()
		items, err := decodeItems(b.body)
		if err != nil {
			return // the server refuses the request as a whole
		}
		if len(items) != 3 || string(items[0]) != string(first) || string(items[2]) != string(last) {
			t.Errorf("line %q makes the request %s", line, b.body)
		}
	})
}

func BenchmarkOutline(b *testing.B) {
	line := []byte(`{"row_key":"com.example.news/2026/08/a-page","cells":[` + strings.Repeat(
		`{"column_key":"anchor:com.example","type":"string","value":"a text of thirty bytes or so","time":1787062574000000},`, 9) +
		`{"column_key":"meta:size","type":"i64","value":10,"time":1787062574000000}]}`)
	var o outliner
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := o.scan(line, 7); err != nil {
			b.Fatal(err)
		}
	}
}
