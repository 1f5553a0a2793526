package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/admission"
)

// TestTooLargeForMemory: a request that needs more memory than all requests together may have is not told to come again.
func TestTooLargeForMemory(t *testing.T) {
	c := serverWith(t, Options{Limits: admission.Limits{Memory: 1 << 20}})
	wide := `{"row":{"prefix":"none"}}`
	c.refused(413, "request_too_large", "", "POST", "/v1/table/t/rows", `{"items":[`+wide+strings.Repeat(","+wide, 4096)+"]}")
	c.refused(413, "request_too_large", "", "POST", "/v1/table/t/write", `{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"string","value":"`+strings.Repeat("v", 1<<20)+`"}]}]}`)
	for range 30 {
		c.must(200, "POST", "/v1/table/t/write", fmt.Sprintf(`{"items":[{"row_key":"r","cells":[{"column_key":{"base64":"dGl0bGU6/w=="},"type":"string","value":"%s"}]}]}`, strings.Repeat("v", 50_000)))
	}
	c.refused(413, "request_too_large", "", "POST", "/v1/table/t/scan", `{"row":{"key":"r"}}`)
	for _, w := range []string{
		c.writeLines(lineOf(strings.Repeat(" ", 1<<20), 1)).Body.String(),
		c.writeLines("", "Content-Encoding", "gzip").Body.String(), // the window of an inflater
	} {
		if !strings.Contains(w, `"status":413`) || !strings.Contains(w, `"code":"request_too_large"`) {
			t.Errorf("got %s", w)
		}
	}
	if free := c.admission.Memory().Free(); free != 1<<20 {
		t.Errorf("%d bytes are free at the end", free)
	}
}
