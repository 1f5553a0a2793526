package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const lines = `{"row_key":"b","cells":[{"column_key":"f:y","type":"i64","value":-7,"time":5},{"column_key":"f:x:z","type":"string","value":"","time":6}]}
{"row_key":"a","cells":[{"column_key":"g:","type":"string","value":"v","time":0}]}
`

// read returns the table that lines describe.
func read(t *testing.T) *Table {
	t.Helper()
	got, err := Read(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// check compares a table with lines.
func check(t *testing.T, got *Table) {
	t.Helper()
	var list []string
	for i := range got.Len() {
		key, cells := got.Row(i, nil)
		if !bytes.Equal(key, got.Key(i)) {
			t.Errorf("row %d is %q, and its key %q", i, key, got.Key(i))
		}
		for _, c := range cells {
			list = append(list, fmt.Sprintf("%s %q %d %s %q", key, c.Column, c.Time, c.Type, c.Value))
		}
	}
	want := []string{
		`a "g\x00" 0 string "v"`,
		`b "f\x00x:z" 6 string ""`,
		`b "f\x00y" 5 i64 "\xf9\xff\xff\xff\xff\xff\xff\xff"`,
	}
	if !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
	if got.Cells() != 3 || got.Raw() != (1+2+8+1)+(1+5+8+0)+(1+3+8+8) {
		t.Errorf("%d cells of %d raw bytes", got.Cells(), got.Raw())
	}
}

func TestTableGivesBackWhatItWasGiven(t *testing.T) { check(t, read(t)) }

func TestTableGoesThroughAFile(t *testing.T) {
	var file bytes.Buffer
	n, err := read(t).WriteTo(&file)
	if err != nil || n != int64(file.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, file.Len(), err)
	}
	name := filepath.Join(t.TempDir(), "table")
	open := func(text []byte) (*Table, error) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return Open(name)
	}
	got, err := open(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
	for _, bad := range [][]byte{nil, file.Bytes()[:file.Len()-1], file.Bytes()[1:]} {
		os.Remove(name) // it is still mapped
		if _, err := open(bad); !errors.Is(err, errNoTable) {
			t.Errorf("a file of %d bytes: %v, want %v", len(bad), err, errNoTable)
		}
	}
}

func TestInHasTheRowsInItsOrder(t *testing.T) {
	data := read(t)
	in := data.In([]int{1, 0})
	check(t, in.In([]int{1, 0}))
	if string(in.Key(0)) != "b" || string(in.Key(1)) != "a" {
		t.Errorf("rows %q and %q, want b and a", in.Key(0), in.Key(1))
	}
	if one := data.In([]int{0}); one.Len() != 1 || one.Cells() != 1 || string(one.Key(0)) != "a" {
		t.Errorf("%d rows of %d cells, the first %q: want one, a, of one cell", one.Len(), one.Cells(), one.Key(0))
	}
}

func TestNthNeverRepeatsAKey(t *testing.T) {
	data := read(t)
	seen := make(map[string]bool)
	for n := range 3 * data.Len() {
		key, cells := data.Nth(n, nil, nil)
		if seen[string(key)] || len(cells) == 0 {
			t.Errorf("row %d is %q, with %d cells", n, key, len(cells))
		}
		seen[string(key)] = true
	}
}

func TestStreamsHaveEachRowOnce(t *testing.T) {
	data := read(t)
	const streams = 3
	var list [streams]*Stream
	for g := range list {
		list[g] = data.Stream(g, streams)
	}
	for n := range 4 * data.Len() {
		wantKey, want := data.Nth(n, nil, nil)
		key, cells := list[n%streams].Next(nil, nil)
		if !bytes.Equal(key, wantKey) || !reflect.DeepEqual(cells, want) {
			t.Errorf("row %d is %q %v, want %q %v", n, key, cells, wantKey, want)
		}
	}
}

func TestGeneratedIsTheSameEveryTime(t *testing.T) {
	var files [2]bytes.Buffer
	for i := range files {
		data, err := Generated(50, 100)
		if err != nil {
			t.Fatal(err)
		}
		if data.Len() != 50 || data.Cells() != 500 {
			t.Errorf("%d rows of %d cells", data.Len(), data.Cells())
		}
		for k := range data.Len() - 1 {
			if bytes.Compare(data.Key(k), data.Key(k+1)) >= 0 {
				t.Errorf("row %q comes before %q", data.Key(k), data.Key(k+1))
			}
		}
		data.WriteTo(&files[i])
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two tables of the same options differ")
	}
}
