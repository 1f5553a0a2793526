package strictjson

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	var r Reader
	var got []string
	r.Reset([]byte(` { "a" : [ "x" , "\u00e4\ud834\udd1e\"\\\/\b\f\n\r\t" , -12.5e3 ] , "b\u0000" : true, "c":null, "d":{} } `))
	r.Object()
	for r.Key() {
		got = append(got, string(r.Name()))
		switch string(r.Name()) {
		case "a":
			r.Array()
			for r.Next() {
				if r.Index() == 2 {
					got = append(got, string(r.Number()))
				} else {
					got = append(got, string(r.Text()))
				}
			}
		case "c":
			if !r.Null() {
				t.Error("got no null at c")
			}
		case "d":
			r.Skip()
		default:
			if r.Null() || !r.Bool() {
				t.Errorf("got null or false at %q, want true", r.Name())
			}
		}
	}
	r.End()
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	want := "a|x|ä𝄞\"\\/\b\f\n\r\t|-12.5e3|b\x00|c|d"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

// TestInPlace makes sure that strings read early survive what is read later:
// they are part of the text, and so are their neighbours.
func TestInPlace(t *testing.T) {
	var r Reader
	r.Reset([]byte(`["\u0041\u0042","plain","\n\n",{"\u006b":"v"}]`))
	r.Array()
	r.Next()
	a := r.Text()
	r.Next()
	b := r.Text()
	r.Next()
	c := r.Scalar()
	r.Next()
	r.Object()
	r.Key()
	k := r.Name()
	v := r.Text()
	if r.Key() || r.Next() || r.Err() != nil {
		t.Fatalf("got more fields or elements, or the error %v", r.Err())
	}
	for _, p := range []struct {
		got  []byte
		want string
	}{{a, "AB"}, {b, "plain"}, {c.Text(), "\n\n"}, {k, "k"}, {v, "v"}} {
		if string(p.got) != p.want {
			t.Errorf("got %q, want %q", p.got, p.want)
		}
	}
}

func TestWrongType(t *testing.T) {
	for _, c := range []struct {
		text string
		read func(*Reader)
		code string
		at   string
	}{
		{`1`, (*Reader).Object, WrongType, ""},
		{`{}`, (*Reader).Array, WrongType, ""},
		{`[]`, func(r *Reader) { r.Text() }, WrongType, ""},
		{`null`, func(r *Reader) { r.Text() }, WrongType, ""},
		{`"1"`, func(r *Reader) { r.Number() }, WrongType, ""},
		{`1`, func(r *Reader) { r.Bool() }, WrongType, ""},
		{`{"a":[1]}`, func(r *Reader) { r.Scalar() }, WrongType, ""},
		{`{"a":[1,2,}`, func(r *Reader) { r.Text() }, InvalidJSON, "a[2]"},
		{`nul`, func(r *Reader) { r.Null() }, InvalidJSON, ""},
		{``, (*Reader).Object, InvalidJSON, ""},
		{`tru`, func(r *Reader) { r.Bool() }, InvalidJSON, ""},
	} {
		var r Reader
		r.Reset([]byte(c.text))
		c.read(&r)
		var e *Error
		if !errors.As(r.Err(), &e) || e.Code != c.code || e.At != c.at {
			t.Errorf("%s: got %v, want code %s at %q", c.text, r.Err(), c.code, c.at)
		}
	}
}

// TestSticky reads on after an error: nothing may panic, move or change the error.
func TestSticky(t *testing.T) {
	var r Reader
	r.Reset([]byte(`{"a":[{"b":1}]}`))
	r.Object()
	r.Key()
	r.Array()
	r.Next()
	r.Object()
	r.Key()
	r.Number()
	r.Fail("too_low", "must be at least %d", 2)
	r.FailIn("x", "other", "other")
	r.Object()
	r.Array()
	r.Skip()
	r.End()
	if r.Key() || r.Next() || r.Null() || r.Bool() || r.Text() != nil || r.Number() != nil || r.Scalar().Kind != Invalid {
		t.Error("got a value after an error")
	}
	var e *Error
	if !errors.As(r.Err(), &e) || e.Code != "too_low" || e.At != "a[0].b" || e.Error() != "a[0].b: must be at least 2" {
		t.Errorf("got %#v, want the first error", r.Err())
	}
	r.Reset([]byte(`{}`))
	r.Object()
	if r.Key() || r.Err() != nil {
		t.Errorf("got %v after Reset, want no error", r.Err())
	}
	r.FailIn("row key", "missing_field", "is required")
	if !errors.As(r.Err(), &e) || e.At != `["row key"]` {
		t.Errorf("got %#v, want a quoted field", r.Err())
	}
}

// TestPathIsOneShortLine uses keys that would break a log line.
func TestPathIsOneShortLine(t *testing.T) {
	checkRefused(t, `{"a\r\n\u001b[31m":{"":[0,x]}}`, InvalidJSON, `["a\r\n\x1b[31m"][""][1]`)
	long := strings.Repeat("k", 5000)
	checkRefused(t, `{"`+long+`":x}`, InvalidJSON, `["`+long[:maxKeyInPath]+`"…]`)
}

func TestInt64(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9007199254740993", 1<<53 + 1, true}, {"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false},
		{"1.0", 0, false}, {"1e3", 0, false}, {"", 0, false}, {"-", 0, false}, {"+1", 0, false}, {"99999999999999999999", 0, false},
		{"00000000000000000000001", 0, false},
	} {
		n, ok := Int64([]byte(c.text))
		if ok != c.ok || ok && n != c.n {
			t.Errorf("%s: got %d, %v, want %d, %v", c.text, n, ok, c.n, c.ok)
		}
	}
}

func TestFloat64(t *testing.T) {
	for _, c := range []struct {
		text string
		f    float64
		ok   bool
	}{
		{"0.1", 0.1, true}, {"-0", math.Copysign(0, -1), true}, {"1e308", 1e308, true}, {"5e-324", 5e-324, true},
		{"9007199254740992", 1 << 53, true}, {"9007199254740993", 0, false}, {"9223372036854776000", 1 << 63, true},
		{"9223372036854775808", 1 << 63, true}, {"9223372036854775807", 0, false}, {"1e400", 0, false}, {"1e-400", 0, false},
		{"0e-400", 0, true}, {"9007199254740993.0", 1 << 53, true}, {"9007199254740993e0", 1 << 53, true},
	} {
		f, ok := Float64([]byte(c.text))
		if ok != c.ok || ok && (f != c.f || math.Signbit(f) != math.Signbit(c.f)) {
			t.Errorf("%s: got %v, %v, want %v, %v", c.text, f, ok, c.f, c.ok)
		}
	}
}

func TestFloat32(t *testing.T) {
	for _, c := range []struct {
		text string
		f    float32
		ok   bool
	}{
		{"0.1", 0.1, true}, {"16777216", 1 << 24, true}, {"16777217", 0, false}, {"16777217.0", 1 << 24, true}, {"-9999999", -9999999, true},
		{"3.4028235e38", math.MaxFloat32, true}, {"3.5e38", 0, false}, {"1e-46", 0, false}, {"1e-45", math.SmallestNonzeroFloat32, true},
		{"340282350000000000000000000000000000000", math.MaxFloat32, true},
	} {
		f, ok := Float32([]byte(c.text))
		if ok != c.ok || ok && f != c.f {
			t.Errorf("%s: got %v, %v, want %v, %v", c.text, f, ok, c.f, c.ok)
		}
	}
}
