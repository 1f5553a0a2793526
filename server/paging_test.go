package server

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPagingOfTheDocs sends the requests of the section on paging in docs/api.md, with the key of
// the last row in place of the one that stands there, until a page is short. Every row comes once,
// also if a key is another one with a NUL behind.
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
	first, next := string(bodies[0][1]), regexp.MustCompile(`("start": ")[^"]*(\\u0000")`)
	if !next.Match(bodies[1][1]) {
		t.Fatalf("%s does not begin behind a key", bodies[1][1])
	}

	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	want := []string{"org.example.a/", "org.example.a/\x00", "org.example.a/\x00\x00", "org.example.a/b", "org.example.z/"}
	for _, key := range append(want, "org.example", "org.example/", "org.exampla.z") {
		quoted, _ := json.Marshal(key)
		c.must(200, "POST", "/v1/table/t/write", fmt.Sprintf(`{"items":[{"row_key":%s,"cells":[{"column_key":"f:","type":"i64","value":1}]}]}`, quoted))
	}
	var got []string
	for body := first; ; {
		var page struct {
			Rows []struct {
				Key string `json:"row_key"`
			} `json:"rows"`
		}
		if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/scan", body), &page); err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			got = append(got, row.Key)
		}
		if len(page.Rows) < 2 || len(got) > 2*len(want) {
			break
		}
		last, _ := json.Marshal(got[len(got)-1])
		body = next.ReplaceAllString(string(bodies[1][1]), "${1}"+string(last[1:len(last)-1])+"${2}")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows %q, want %q", got, want)
	}
}
