package server

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/server/strictjson/jsonsuite"
)

// ofTheText are the codes that find fault with a text, not with what it says.
var ofTheText = map[string]bool{strictjson.InvalidJSON: true, strictjson.InvalidUTF8: true, strictjson.TooDeep: true, strictjson.NumberOutOfRange: true}

// TestSuiteAsBody sends the texts of JSONTestSuite as bodies. None of them is a
// request; what is wrong with the good ones is that, and never that they are no
// JSON (H1).
func TestSuiteAsBody(t *testing.T) {
	c := newClient(t)
	c.webtable()
	before := c.everything()
	for _, text := range jsonsuite.Accepted {
		e := c.call("POST", "/v1/table/t/scan", text)
		if text != "{}" && text != "{}\n" && (e.Status != 400 || ofTheText[e.Error.Code]) {
			t.Errorf("%.60q: got %d %+v, want it refused for what it says", text, e.Status, e.Error)
		}
	}
	for _, text := range append(jsonsuite.Refused, jsonsuite.Undecided...) {
		e := c.call("POST", "/v1/table/t/write", text)
		if e.Status != 400 || e.Error == nil {
			t.Errorf("%.60q: got %d, want 400", text, e.Status)
		}
	}
	for _, text := range jsonsuite.Refused {
		e := c.call("POST", "/v1/table/t/write", `{"items":[{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":`+text+`}]}]}`)
		if e.Status != 400 {
			t.Errorf("%.60q as a value: got %d, want 400", text, e.Status)
		}
	}
	if after := c.everything(); after != before {
		t.Errorf("bodies that were refused have changed\n%s\nto\n%s", before, after)
	}
}

// TestSuiteAsValue writes the scalars of the accepted texts as values and reads
// them back as what encoding/json sees in them (H1).
func TestSuiteAsValue(t *testing.T) {
	c := newClient(t)
	c.webtable()
	written := 0
	for _, text := range jsonsuite.Accepted {
		raw := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]"))
		var want any
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			continue // it has more than one value
		}
		kind := ""
		switch want.(type) {
		case string:
			kind = "string"
		case float64:
			kind = "f64"
		case bool:
			kind = "boolean"
		default:
			continue
		}
		written++
		c.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":"suite","cells":[{"column_key":"title:","type":"`+kind+`","value":`+raw+`}]}]}`)
		var got struct {
			Rows []struct {
				Columns map[string]map[string][]struct{ Value any }
			}
		}
		body := c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"suite"},"column":{"key":"title:","cell_limit":1}}]}`)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if v := got.Rows[0].Columns["title"][""][0].Value; !reflect.DeepEqual(v, want) {
			t.Errorf("%s: got %v, want %v", raw, v, want)
		}
	}
	if written < 70 {
		t.Errorf("only %d of the texts are values, want most", written)
	}
}
