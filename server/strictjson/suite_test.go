package strictjson

import (
	"errors"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/server/strictjson/jsonsuite"
)

// exact is the one text of those left to the parser that is accepted here: 10 to
// the 20th, which a float64 holds exactly and which programs print like that.
const exact = `[100000000000000000000]`

// TestSuite: the grammar is that of RFC 8259, and what it leaves open is refused
// (H1).
func TestSuite(t *testing.T) {
	if a, r, u := len(jsonsuite.Accepted), len(jsonsuite.Refused), len(jsonsuite.Undecided); a != 95 || r != 188 || u != 35 {
		t.Fatalf("got %d, %d and %d texts, want 95, 188 and 35", a, r, u)
	}
	for _, text := range append([]string{exact}, jsonsuite.Accepted...) {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%.60q: got %v, want it accepted", text, err)
		}
	}
	for _, text := range append(jsonsuite.Undecided, jsonsuite.Refused...) {
		if err := Check([]byte(text)); err == nil && text != exact {
			t.Errorf("%.60q: got it accepted, want an error", text)
		}
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if err := Check([]byte(deep)); err != nil {
		t.Errorf("depth %d: got %v, want it accepted", MaxDepth, err)
	}
	checkRefused(t, "["+deep+"]", TooDeep, strings.Repeat("[0]", MaxDepth))
	checkRefused(t, strings.Repeat(`{"a":`, MaxDepth+1), TooDeep, "a"+strings.Repeat(".a", MaxDepth-1))
	checkRefused(t, strings.Repeat("[", 1_000_000), TooDeep, strings.Repeat("[0]", MaxDepth))

	checkRefused(t, `{"row":1,"r\u006fw":2}`, DuplicateField, "row")
	checkRefused(t, `{"a":{"x":1},"b":[{"x":1},{"x":1,"\u0078":2}]}`, DuplicateField, "b[1].x")
	checkRefused(t, fields(MaxFields+1), TooManyFields, "f64")
	if err := read(fields(MaxFields)); err != nil {
		t.Errorf("%d fields: got %v, want them accepted", MaxFields, err)
	}
	if err := read(`{"row":1,"ROW":2,"a":{"row":1},"\u0000":1,"\u0000\u0000":2}`); err != nil {
		t.Errorf("different keys: got %v, want them accepted", err)
	}

	checkRefused(t, `{} {}`, InvalidJSON, "")
	checkRefused(t, "{}\x00", InvalidJSON, "")
	checkRefused(t, `{"a":[1,2,"b`, InvalidJSON, "a[2]")
	checkRefused(t, `{"a":[1,{"b":"\ud800"}]}`, InvalidUTF8, "a[1].b")
	checkRefused(t, "{\"a\":1,\"\xc3\":2}", InvalidUTF8, "")
	checkRefused(t, `{"a":1,b:2}`, InvalidJSON, "")
	checkRefused(t, "[\"\xe2\x82\"]", InvalidUTF8, "[0]")
}

func TestNumberRange(t *testing.T) {
	for _, text := range []string{
		"9223372036854775807", "-9223372036854775808", "9007199254740993", "9223372036854776000",
		"9223372036854775808", "100000000000000000000", "1e308", "5e-324", "0e999", "-0.0e-999", "1.7976931348623157e+308",
		strings.Repeat("1", 1) + "." + strings.Repeat("3", MaxNumber-2),
	} {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%s: got %v, want it accepted", text, err)
		}
	}
	for _, text := range []string{
		"9223372036854775809", "-9223372036854775809", "18446744073709551615", "1e309", "-1e400", "1e-400",
		"1" + strings.Repeat("0", 400), strings.Repeat("7", 100_000), "0." + strings.Repeat("3", MaxNumber-1), "1e" + strings.Repeat("9", 1000),
	} {
		checkRefused(t, text, NumberOutOfRange, "")
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"f` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":1`)
	}
	return "{" + b.String()[1:] + "}"
}

// read reads a text with all its fields.
func read(text string) error {
	var r Reader
	r.Reset([]byte(text))
	value(&r)
	r.End()
	return r.Err()
}

func checkRefused(t *testing.T, text, code, at string) {
	t.Helper()
	var e *Error
	if err := read(text); !errors.As(err, &e) {
		t.Errorf("%.60q: got %v, want an error with code %s", text, err, code)
	} else if e.Code != code || e.At != at {
		t.Errorf("%.60q: got code %s at %q, want %s at %q", text, e.Code, e.At, code, at)
	}
}
