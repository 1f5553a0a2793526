package verbs

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

func TestKeysRoundTrip(t *testing.T) {
	for key, want := range map[string]string{
		"com.example/": "com.example/", "ä 語": "ä 語", `a\b`: `a\\b`, "\xff\x00": `\xff\x00`, "a\nb\u2028": `a\x0ab\xe2\x80\xa8`, "\xc3": `\xc3`,
	} {
		if got := Escape(key); got != want {
			t.Errorf("%q is printed %s, want %s", key, got, want)
		}
	}
	const bytes = "\\xff0a\xc3\xa4\xffäb\n"
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		key := make([]byte, random.IntN(12))
		for i := range key {
			key[i] = bytes[random.IntN(len(bytes))]
		}
		if back, err := Unescape(Escape(string(key))); err != nil || back != string(key) {
			t.Fatalf("%q is printed %s and read %q, %v", key, Escape(string(key)), back, err)
		}
	}
	for _, wrong := range []string{`\`, `a\n`, `\x`, `\xf`, `\xzz`} {
		if got, err := Unescape(wrong); err == nil {
			t.Errorf("%s is read %q", wrong, got)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]client.Value{
		"plain": client.String("plain"), "https://x": client.String("https://x"), "": client.String(""), "string:i64:5": client.String("i64:5"),
		"i64:-5": client.I64(-5), "i32:7": client.I32(7), "byte:255": client.Byte(255), "f64:1.5": client.F64(1.5), "f32:0.5": client.F32(0.5),
		"boolean:true": client.Bool(true), "bytes:AP8=": client.Bytes([]byte{0, 255}), "hex:00ff": client.Bytes([]byte{0, 255}), "bytes:": client.Bytes(nil),
	} {
		got, err := ParseValue(text)
		if err != nil || got != want {
			t.Errorf("%s is %v %v, %v", text, got.Type(), got, err)
		}
		if back, err := ParseValue(Literal(want)); err != nil || back != want {
			t.Errorf("%s is printed %s", text, Literal(want))
		}
	}
	for _, wrong := range []string{"i64:x", "i32:3000000000", "byte:256", "f64:", "boolean:maybe", "bytes:!", "hex:0"} {
		if got, err := ParseValue(wrong); err == nil {
			t.Errorf("%s is %v", wrong, got)
		}
	}
}

func TestFamilies(t *testing.T) {
	for text, want := range map[string]client.Family{
		"f":                          {Name: "f", DefaultGC: true},
		"f:":                         {Name: "f"},
		"f:none":                     {Name: "f"},
		"f:versions=3":               {Name: "f", GC: client.GC{VersionLimit: 3}},
		"f:versions=3,ttl=30d,both":  {Name: "f", GC: client.GC{VersionLimit: 3, TTLSecs: 30 * 86400, Intersection: true}},
		"f:ttl=90m":                  {Name: "f", GC: client.GC{TTLSecs: 5400}},
		"f:ttl=5400s,versions=10000": {Name: "f", GC: client.GC{TTLSecs: 5400, VersionLimit: 10000}},
	} {
		got, err := parseFamily(text)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
		if back, err := parseGC(rules(want.GC)); err != nil || back != want.GC {
			t.Errorf("%s is printed %s", text, rules(want.GC))
		}
	}
	for _, wrong := range []string{"f:3", "f:versions=0", "f:versions=x", "f:ttl=1ms", "f:ttl=1w", "f:ttl=-5s"} {
		if got, err := parseFamily(wrong); err == nil {
			t.Errorf("%s is %+v", wrong, got)
		}
	}
}

func TestTimes(t *testing.T) {
	now := time.UnixMicro(1_700_000_000_000_000)
	for text, want := range map[string]int64{
		"5": 5, "2023-11-14": 1_699_920_000_000_000, "2023-11-14T22:13:20Z": 1_700_000_000_000_000, "90m": 1_699_994_600_000_000, "1d": 1_699_913_600_000_000,
	} {
		if got, err := parseTime("since", text, now); err != nil || got != client.At(want) {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	if _, err := parseTime("since", "yesterday", now); err == nil {
		t.Error("yesterday is a time")
	}
}

// TestGrid: a table is as wide as the terminal at most, and the columns that need most are made narrower.
func TestGrid(t *testing.T) {
	for width, want := range map[int]string{
		0:  "A       B C                               N\n語語語  a long value that does not fit    1\nx       y                               100\n",
		24: "A       B C           N\n語語語  a long val    1\n        ue that do\n        es not fit\nx       y           100\n",
		20: "A       B C       N\n語語語  a long    1\n         value\n         that\n        does n…\nx       y       100\n",
		16: "A       B C       N\n語語語  a long    1\n         value\n         that\n        does n…\nx       y       100\n",
	} {
		var out strings.Builder
		w := bufio.NewWriter(&out)
		g := newGrid(w, width, []string{"a", "b_c", "n"})
		shapes := []shape{{}, {}, {right: true, whole: true}}
		if err := errors.Join(g.add([]string{"語語語", "a long value that does not fit", "1"}, shapes), g.add([]string{"x", "y", "100"}, shapes), g.flush(), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("width %d: got\n%s\nwant\n%s", width, out.String(), want)
		}
	}
	var out strings.Builder
	w := bufio.NewWriter(&out)
	g := newGrid(w, 80, []string{"a"})
	for range 3 * maxHeld {
		g.add([]string{"x"}, []shape{{}})
	}
	g.flush()
	w.Flush()
	if lines := strings.Count(out.String(), "\n"); lines != 3*maxHeld+1 {
		t.Errorf("%d lines of %d records", lines, 3*maxHeld)
	}
}
