package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/colonnade-db/colonnade/server/strictjson/jsonsuite"
)

// FuzzCheck holds the Reader against encoding/json: what the Reader accepts,
// encoding/json accepts, and both see the same value.
func FuzzCheck(f *testing.F) {
	for _, list := range [][]string{jsonsuite.Accepted, jsonsuite.Refused, jsonsuite.Undecided} {
		for _, text := range list {
			if len(text) < 200 {
				f.Add([]byte(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Reader
		r.Reset(bytes.Clone(text))
		got := value(&r)
		r.End()
		if r.Err() != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted %q, encoding/json does not: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, encoding/json has %#v", text, got, want)
		}
		if err := Check(bytes.Clone(text)); err != nil {
			t.Fatalf("%q: reads without an error, but Check says %v", text, err)
		}
	})
}

// value reads any value the way encoding/json represents it.
func value(r *Reader) any {
	switch r.peek() {
	case '{':
		object := map[string]any{}
		r.Object()
		for r.Key() {
			name := string(r.Name())
			object[name] = value(r)
		}
		return object
	case '[':
		array := []any{}
		r.Array()
		for r.Next() {
			array = append(array, value(r))
		}
		return array
	}
	switch t := r.Scalar(); t.Kind {
	case String:
		return string(t.Text())
	case Number:
		return json.Number(t.Raw)
	case True, False:
		return t.Kind == True
	}
	return nil
}
