package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// TestPagingOfTheDocs sends the requests of the section on paging in docs/api.md, each with the token of the page
// before in place of the one that stands there, until there is none. Every row comes once, also if a key is another
// one with a NUL behind.
func TestPagingOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?s)\*\*Paging\.\*\*.*?` + "```sh\n(.*?)```").FindSubmatch(text)
	if section == nil {
		t.Fatal("docs/api.md has no example of paging")
	}
	bodies := regexp.MustCompile(`-d '(.*)'`).FindAllSubmatch(section[1], -1)
	if len(bodies) != 2 {
		t.Fatalf("the example has %d requests, want that of the first page and of the next", len(bodies))
	}
	first, next := string(bodies[0][1]), regexp.MustCompile(`("page_token": ")[^"]*`)
	if !next.Match(bodies[1][1]) {
		t.Fatalf("%s has no page token", bodies[1][1])
	}

	c := newClient(t)
	c.must(201, "PUT", "/v1/table/webtable", `{"column_families":[{"name":"title"}]}`)
	want := []string{"org.example.a/", "org.example.a/\x00", "org.example.a/\x00\x00", "org.example.a/b", "org.example.z/"}
	for _, key := range append(want, "org.example", "org.example/", "org.exampla.z") {
		quoted, _ := json.Marshal(key)
		c.must(200, "POST", "/v1/table/webtable/write", fmt.Sprintf(`{"items":[{"row_key":%s,"cells":[{"column_key":"title:","type":"i64","value":1}]}]}`, quoted))
	}
	var got []string
	for body := first; body != ""; {
		p := c.page("webtable", body)
		for _, row := range p.Rows {
			got = append(got, row.Key)
		}
		body = ""
		if p.Next != nil {
			body = next.ReplaceAllString(string(bodies[1][1]), "${1}"+*p.Next)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows %q, want %q", got, want)
	}
}

// pageOf is the answer to a scan.
type pageOf struct {
	Rows []struct {
		Key     string                                  `json:"row_key"`
		Columns map[string]map[string][]json.RawMessage `json:"columns"`
	} `json:"rows"`
	Statistics map[string]int64 `json:"statistics"` // of lines
	RowCount   int              `json:"row_count"`
	More       *bool            `json:"has_more"`
	Next       *string          `json:"next_page_token"`
}

// page scans a table. It checks that has_more and next_page_token say the same.
func (c *client) page(table, body string) (p pageOf) {
	c.t.Helper()
	if err := json.Unmarshal(c.must(200, "POST", "/v1/table/"+table+"/scan", body), &p); err != nil {
		c.t.Fatal(err)
	}
	c.checkMore(body, &p)
	return p
}

func (c *client) checkMore(body string, p *pageOf) {
	c.t.Helper()
	if p.More == nil || *p.More != (p.Next != nil) || p.Next != nil && !regexp.MustCompile("^[A-Za-z0-9_-]+$").MatchString(*p.Next) {
		c.t.Fatalf("%s: has_more and next_page_token are %v, %v", body, p.More, p.Next)
	}
}

// cells returns the versions of a page, one a string.
func (p *pageOf) cells() (cells []string) {
	for _, row := range p.Rows {
		families := []string{}
		for family := range row.Columns {
			families = append(families, family)
		}
		slices.Sort(families)
		for _, family := range families {
			qualifiers := []string{}
			for q := range row.Columns[family] {
				qualifiers = append(qualifiers, q)
			}
			slices.Sort(qualifiers)
			for _, q := range qualifiers {
				for _, v := range row.Columns[family][q] {
					cells = append(cells, fmt.Sprintf("%s %s:%s %s", row.Key, family, q, v))
				}
			}
		}
	}
	return cells
}

// paged writes a table of 12 rows with up to 6 versions each.
func (c *client) paged(table string) {
	c.t.Helper()
	c.must(201, "PUT", "/v1/table/"+table, `{"column_families":[{"name":"a"},{"name":"b"}]}`)
	var items []string
	for i := range 12 {
		cells := []string{`{"column_key":"a:x","type":"i64","value":1,"time":9}`}
		for k := range i % 6 {
			cells = append(cells, fmt.Sprintf(`{"column_key":"%c:%c","type":"i64","value":%d,"time":%d}`, 'a'+k%2, 'x'+k%3, i, k+1))
		}
		items = append(items, fmt.Sprintf(`{"row_key":"row%02d","cells":[%s]}`, i, strings.Join(cells, ",")))
	}
	c.must(200, "POST", "/v1/table/"+table+"/write", `{"items":[`+strings.Join(items, ",")+`]}`)
}

// scanBody builds the body of a scan from its parts, each with a comma behind or empty.
func scanBody(row, cell, more string) string {
	trim := func(s string) string { return strings.TrimSuffix(s, ",") }
	return fmt.Sprintf(`{"row":{%s},"cell":{%s}%s}`, trim(row), trim(cell), more)
}

// TestPages: the pages of a query are its answer without limits, in JSON and as lines.
func TestPages(t *testing.T) {
	c := newClient(t)
	c.paged("t")
	const copies = `,"filter":{"interleave":{"filters":[{"pass_all_filter":true},{"pass_all_filter":true},{"family_name_regex_filter":"a"}]}}`
	for _, q := range []struct{ row, cell, more string }{
		{"", "", ""},
		{`"reverse":true,`, "", ""},
		{`"offset":3,`, "", ""},
		{`"sample":0.3,"offset":1,`, "", ""},
		{`"sample":0.5,"reverse":true,`, "", ""},
		{`"cell_limit":3,`, "", ""},
		{`"prefix":"row0",`, `"time":{"start":2},`, ""},
		{`"keys":["row11","row03","row05"],`, "", ""},
		{`"ranges":[{"end":"row04"},{"start":"row07"}],"reverse":true,`, "", `,"column":{"families":["b"],"cell_limit":1}`},
		{"", `"strip_value":true,`, ""},
		{"", "", copies},
		{`"cell_limit":5,"reverse":true,`, "", copies},
	} {
		var whole pageOf
		if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/scan", scanBody(q.row, q.cell, q.more)), &whole); err != nil {
			t.Fatal(err)
		}
		if whole.More != nil || whole.Next != nil {
			t.Errorf("%v: a scan without limits tells of more", q)
		}
		want := whole.cells()
		for _, limits := range []struct{ row, cell string }{{`"limit":1,`, ""}, {`"limit":4,`, ""}, {`"limit":100,`, ""}, {"", `"limit":1,`}, {"", `"limit":7,`}, {`"limit":2,`, `"limit":3,`}} {
			for _, asLines := range []bool{false, true} {
				var got, lines []string
				token, pages := "", 0
				for {
					body := scanBody(q.row+limits.row+token, q.cell+limits.cell, q.more)
					var p pageOf
					if asLines {
						rows, last := c.lines("/v1/table/t/scan", body)
						lines = append(lines, rows...)
						if err := json.Unmarshal([]byte(last), &p); err != nil {
							t.Fatal(err)
						}
						c.checkMore(body, &p)
					} else {
						p = c.page("t", body)
						got = append(got, p.cells()...)
					}
					if pages++; p.Next == nil || pages > 200 {
						break
					}
					token = fmt.Sprintf(`"page_token":%q,`, *p.Next)
				}
				if !asLines && !slices.Equal(got, want) {
					t.Fatalf("%v, pages of %v:\ngot  %q\nwant %q", q, limits, got, want)
				}
				if cells := strings.Count(strings.Join(lines, ""), `"column_key"`); asLines && cells != len(want) {
					t.Errorf("%v, pages of %v: got %d cells in lines, want %d", q, limits, cells, len(want))
				}
			}
		}
	}
}

// TestPageTokens: a token is good for one query of one table, and for nothing when a bit of it is wrong.
func TestPageTokens(t *testing.T) {
	c := newClient(t)
	c.paged("t")
	c.paged("u")
	const column = `,"column":{"multi_key":["a:x","b:"]}`
	token := *c.page("t", `{"row":{"prefix":"row","limit":3}`+column+`}`).Next
	scan := func(table, row, more string) envelope {
		return c.call("POST", "/v1/table/"+table+"/scan", fmt.Sprintf(`{"row":{"page_token":%q%s}%s}`, token, row, more))
	}
	for _, same := range []struct{ row, more string }{
		{`,"prefix":"row"`, column},
		{`,"prefix":"row","limit":1`, column + `,"cell":{"limit":1}`},
		{`,"range":{"start":"row","end":"rox"},"offset":0,"sample":1,"reverse":false`, `,"column":{"multi_key":["b:","a:x","a:x"]},"cell":{"time":{},"strip_value":false}`},
	} {
		if e := scan("t", same.row, same.more); e.Status != 200 {
			t.Errorf("%v: got %d %+v", same, e.Status, e.Error)
		}
	}
	for _, other := range []struct{ table, row, more string }{
		{"u", `,"prefix":"row"`, column},
		{"t", `,"prefix":"row"`, ``},
		{"t", `,"prefix":"row0"`, column},
		{"t", ``, column},
		{"t", `,"prefix":"row","reverse":true`, column},
		{"t", `,"prefix":"row","offset":1`, column},
		{"t", `,"prefix":"row","cell_limit":9`, column},
		{"t", `,"prefix":"row","sample":0.5`, column},
		{"t", `,"prefix":"row"`, `,"column":{"multi_key":["a:x","b:"],"cell_limit":9}`},
		{"t", `,"prefix":"row"`, column + `,"cell":{"time":{"start":1}}`},
		{"t", `,"prefix":"row"`, column + `,"cell":{"value":{"op":"=","type":"i64","value":1}}`},
		{"t", `,"prefix":"row"`, column + `,"cell":{"strip_value":true}`},
		{"t", `,"prefix":"row"`, column + `,"filter":{"pass_all_filter":true}`},
	} {
		if e := scan(other.table, other.row, other.more); e.Status != 400 || e.Error == nil || e.Error.Code != "page_token_mismatch" || e.Error.At != "row.page_token" {
			t.Errorf("%v: got %d %+v, want a mismatch", other, e.Status, e.Error)
		}
	}
	raw, _ := tokenText.DecodeString(token)
	wrong := []string{token + "=", token + "\\n", token[:len(token)/2] + "\\r\\n" + token[len(token)/2:], strings.ReplaceAll(token, token[:1], "+"), token + token}
	for i := range raw {
		b := slices.Clone(raw)
		b[i] ^= 1 << (i % 8)
		wrong = append(wrong, tokenText.EncodeToString(b), tokenText.EncodeToString(raw[:i]))
	}
	for _, bad := range []pageToken{
		{at: widecol.Position{Row: []byte("r"), Seen: 1, Kept: 2}},
		{at: widecol.Position{Column: []byte("a\x00x")}},
		{at: widecol.Position{Row: []byte("r"), Seen: -1}},
	} {
		wrong = append(wrong, tokenText.EncodeToString(bad.append(nil)))
	}
	for _, text := range wrong {
		c.refused(400, "invalid_page_token", "row.page_token", "POST", "/v1/table/t/scan", fmt.Sprintf(`{"row":{"prefix":"row","page_token":"%s"}%s}`, text, column))
	}
}

// TestTokenForms: a token decodes to what was encoded.
func TestTokenForms(t *testing.T) {
	for _, at := range []widecol.Position{
		{},
		{Row: []byte("r"), Seen: 1, Kept: 1},
		{Row: []byte{0, 255}, Seen: 1 << 62, Kept: 1<<62 - 1, Column: []byte("a\x00x"), Time: 1<<63 - 1, Copies: 3},
		{Row: []byte(long(widecol.MaxRowKey)), Column: []byte("a\x00" + long(widecol.MaxQualifier)), Copies: 1},
	} {
		want := pageToken{query: querySum{1, 2, 7: 3}, at: at}
		got, ok := decodePageToken([]byte(tokenText.EncodeToString(want.append(nil))))
		if !ok || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}

// TestPageOfNothing: a limit of 0 asks only whether there is anything, and its token stays at its place.
func TestPageOfNothing(t *testing.T) {
	c := newClient(t)
	c.paged("t")
	p := c.page("t", `{"row":{"limit":2}}`)
	none := c.page("t", fmt.Sprintf(`{"row":{"limit":0,"page_token":%q}}`, *p.Next))
	if len(none.Rows) != 0 || none.Next == nil || *none.Next != *p.Next {
		t.Errorf("got %+v, want the token %s", none, *p.Next)
	}
	first := c.page("t", `{"cell":{"limit":0}}`)
	rest := c.page("t", fmt.Sprintf(`{"row":{"page_token":%q}}`, *first.Next))
	if rest.RowCount != 12 || rest.Next != nil {
		t.Errorf("from the start there are %d rows", rest.RowCount)
	}
	c.must(202, "DELETE", "/v1/table/t", "")
	c.must(201, "PUT", "/v1/table/t", "")
	if p := c.page("t", `{"row":{"limit":0}}`); *p.More {
		t.Error("an empty table has more")
	}
}

// TestPagesAreDivided: what is left of a scan without limits is divided like another one, behind a whole row.
func TestPagesAreDivided(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	c.paged("t")
	var asked []widecol.Query
	store.onDivide = func(q *widecol.Query) { asked = append(asked, *q) }
	next := *c.page("t", `{"row":{"limit":3,"offset":1}}`).Next
	asked = nil
	if p := c.page("t", fmt.Sprintf(`{"row":{"offset":1,"page_token":%q}}`, next)); p.RowCount != 8 {
		t.Errorf("%d rows are left, want 8", p.RowCount)
	}
	if len(asked) > 0 && (asked[0].After != nil || asked[0].Offset != 0 || string(asked[0].Rows[0].Start) != "row03\x00") {
		t.Errorf("divided was %+v", asked[0])
	}
}

// TestLookForMoreFails: an error behind the last row of a page is no end of the answer.
func TestLookForMoreFails(t *testing.T) {
	store := &failingMore{memstore.New(memstore.Options{})}
	c := clientOf(t, store, Options{})
	c.paged("t")
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader(`{"row":{"limit":1}}`)))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"corruption"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// failingMore is a store that cannot look for more.
type failingMore struct{ *memstore.Store }

func (s *failingMore) View(ctx context.Context, table string) (widecol.View, error) {
	view, err := s.Store.View(ctx, table)
	return failingMoreView{view}, err
}

type failingMoreView struct{ widecol.View }

func (v failingMoreView) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	rows, err := v.View.Scan(ctx, q)
	return &failingMoreRows{Rows: rows}, err
}

type failingMoreRows struct {
	widecol.Rows
	err error
}

func (r *failingMoreRows) More() (p widecol.Position, more bool) {
	r.err = widecol.Errorf(widecol.Corrupt, "corruption", "a block is damaged")
	return p, false
}

func (r *failingMoreRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.Rows.Err()
}
