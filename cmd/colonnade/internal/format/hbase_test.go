package format

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func hbaseFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hbaseRow is row i of testdata/HBaseExport.java.
func hbaseRow(i int, typed bool) string {
	key := `{"base64":"/wA="}`
	if i > 0 {
		key = fmt.Sprintf(`"row%04d"`, i)
	}
	b64 := func(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` }
	number := func(n int64) string {
		if typed {
			return fmt.Sprintf(`{"column_key":"m:count","type":"i64","value":%d`, n)
		}
		return `{"column_key":"f:n","type":"bytes","value":` + b64(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	cells := []string{
		number(int64(i)-1) + fmt.Sprintf(`,"time":%d}`, (1700000000000+int64(i))*1000),
		number(7) + `,"time":1600000000000000}`,
	}
	if typed {
		cells = append(cells, fmt.Sprintf(`{"column_key":"m:","type":"string","value":"text %d","time":5000}`, i))
	} else {
		cells = append(cells, `{"column_key":"f:t:x","type":"bytes","value":`+b64(fmt.Appendf(nil, "text %d", i))+`,"time":5000}`, `{"column_key":"g:","type":"bytes","value":"","time":6000}`)
	}
	return fmt.Sprintf(`%d-%d: {"row_key":%s,"cells":[%s]}`, i+1, i+1, key, strings.Join(cells, ","))
}

// TestHBase: files that HBase's own classes have written, with each kind of compression.
func TestHBase(t *testing.T) {
	for name, rows := range map[string]int{"plain.seq": 100, "record.seq": 10, "block.seq": 200} {
		for _, typed := range []bool{false, true} {
			var o Options
			if typed {
				o.Columns = []Column{column(t, "m:count=f:n:i64"), column(t, "m:=f:t:x:string")}
			}
			var want []string
			for i := range rows {
				want = append(want, hbaseRow(i, typed))
			}
			got, err := readAll(name, hbaseFile(t, name), o)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, typed %t: %v, %d rows, the first\n%s\n%s", name, typed, err, len(got), got[0], want[0])
			}
		}
	}
}

func TestHBaseRefused(t *testing.T) {
	plain := hbaseFile(t, "plain.seq")
	for _, test := range []struct {
		text string
		o    Options
		want string
	}{
		{strings.Replace(plain, "client.Result", "client.Mutate", 1), Options{}, "no export of HBase"},
		{strings.Replace(hbaseFile(t, "record.seq"), "DefaultCodec", "SnappyCodec_"[:12], 1), Options{}, "SnappyCodec_, which import does not read"},
		{plain, Options{RowKey: "x"}, "--row-key"},
		{"SEQ\x05", Options{Format: HBase}, "another version than 6"},
	} {
		if _, err := readAll("x", test.text, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	got, err := readAll("x", hbaseFile(t, "deleted.seq"), Options{})
	if err != nil || len(got) != 2 || !strings.Contains(got[1], "1-1: bad: it has a deletion") {
		t.Errorf("a deletion: %q, %v", got, err)
	}
	got, err = readAll("x", plain, Options{Columns: []Column{column(t, "m:=f:t:x:i32")}})
	if err != nil || len(got) != 100 || !strings.HasPrefix(got[0], `1-1: bad: column "f:t:x": a value of 6 bytes is no i32`) {
		t.Errorf("another type: %q, %v", got[0], err)
	}
}

// TestHBaseDamage: no damage ends the process, and a file that is cut off within a record is an error.
func TestHBaseDamage(t *testing.T) {
	for _, name := range []string{"record.seq", "block.seq", "deleted.seq"} {
		text := hbaseFile(t, name)
		for i := range text {
			changed := []byte(text)
			changed[i] ^= 1 << (i % 8)
			_, _ = readAll(name, string(changed), Options{})
		}
		whole, _ := readAll(name, text, Options{})
		for i := 1; i < len(text); i += 7 {
			got, err := readAll(name, text[:i], Options{Format: HBase})
			if err == nil && len(got) >= len(whole) {
				t.Errorf("%s, cut off at %d of %d: %d rows", name, i, len(text), len(got))
			}
		}
	}
}

// TestHBaseSync: a sync marker that is not that of the header is damage.
func TestHBaseSync(t *testing.T) {
	for _, name := range []string{"plain.seq", "block.seq"} {
		text := []byte(hbaseFile(t, name))
		s, err := NewStream(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		f, err := newSequenceFile(s)
		if err != nil {
			t.Fatal(err)
		}
		marker := bytes.LastIndex(text, append([]byte("\xff\xff\xff\xff"), f.sync[:]...))
		if marker < 0 {
			t.Fatalf("%s has no marker behind its header", name)
		}
		text[marker+4] ^= 1
		if _, err := readAll(name, string(text), Options{}); !errors.Is(err, errSequence) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVint(t *testing.T) {
	for want, b := range map[int64][]byte{
		0: {0}, 127: {127}, -112: {0x90}, 128: {0x8f, 0x80}, -113: {0x87, 112}, 1 << 40: {0x8a, 1, 0, 0, 0, 0, 0}, -1 << 40: {0x83, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if got, n := vintOf(b); got != want || n != len(b) {
			t.Errorf("%x: %d of %d bytes, want %d", b, got, n, want)
		}
	}
	if _, n := vintOf([]byte{0x8f}); n != 0 {
		t.Errorf("cut off: %d bytes", n)
	}
}
