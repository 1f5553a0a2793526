package client

import (
	"net/http"
	"testing"
)

func TestMetrics(t *testing.T) {
	attempts := 0
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts++; attempts == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path != "/metrics" || r.Header.Get("Accept") != "text/plain" {
			t.Errorf("%s, accepting %q", r.URL, r.Header.Get("Accept"))
		}
		_, _ = w.Write([]byte("colonnade_reads_total 5\n"))
	}), Options{})
	text, err := c.Metrics(t.Context())
	if err != nil || string(text) != "colonnade_reads_total 5\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestRowAsJSON: a row that was read is written again as it was.
func TestRowAsJSON(t *testing.T) {
	row := Row{Key: "a\xff", Cells: []Cell{{Family: "f", Qualifier: "q", Value: F64(1), Time: At(5)}, {Family: "f", Qualifier: "r", Value: Bytes([]byte{255})}}}
	want := `{"row_key":{"base64":"Yf8="},"cells":[{"column_key":"f:q","type":"f64","value":1.0,"time":5},{"column_key":"f:r","type":"bytes","value":"/w=="}]}`
	if got := string(row.AppendJSON([]byte("x"))); got != "x"+want {
		t.Errorf("got %s", got)
	}
}

func TestEncodedValues(t *testing.T) {
	for want, v := range map[string]Value{
		"ab": String("ab"), "\xff": Bytes([]byte{255}), "\xff\xff\xff\xff\xff\xff\xff\xfe": I64(-2), "\xff\xff\xff\xfe": I32(-2),
		"\x07": Byte(7), "\x3f\xf0\x00\x00\x00\x00\x00\x00": F64(1), "\x3f\x80\x00\x00": F32(1), "\x01": Bool(true), "": {},
	} {
		if got := string(v.Encoded()); got != want {
			t.Errorf("%v %v: got %q, want %q", v.Type(), v, got, want)
		}
	}
}
