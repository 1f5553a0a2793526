package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestExportDividesLongRows: a row is divided between cells, into lines that import takes; nothing is lost, and
// nothing else is changed.
func TestExportDividesLongRows(t *testing.T) {
	key := `{"base64":"/w=="}`
	cell := func(i, size int) string {
		return fmt.Sprintf(`{"column_key":"f:%d","type":"string","value":"\"},{\"column_key\":%s","time":%d}`, i, strings.Repeat("x", size), i)
	}
	for _, e := range []struct{ cells, size, lines int }{
		{1, 10, 1}, {1, 3 * maxBatchBytes, 1}, {3, 2 * maxBatchBytes, 3}, {9000, 1000, 3}, {2, maxBatchBytes - 100, 2},
	} {
		var cells []string
		for i := range e.cells {
			cells = append(cells, cell(i, e.size))
		}
		line := `{"row_key":` + key + `,"cells":[` + strings.Join(cells, ",") + "]}\n"
		small := `{"row_key":"b","cells":[` + cell(1, 1) + "]}\n"
		answer := line + small + fmt.Sprintf(`{"statistics":{"row_count":2,"cell_count":%d}}`+"\n", e.cells+1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, answer)
		}))
		var out bytes.Buffer
		done, err := Export(t.Context(), &out, ExportOptions{Server: Server{URL: server.URL}, Table: "t", Since: -1, Until: -1, Versions: -1})
		server.Close()
		if err != nil || done.Rows != 2 || done.Cells != int64(e.cells+1) {
			t.Fatalf("%+v: got %v, %+v", e, err, done)
		}
		var got []string
		lines, longest := 0, 0
		for s := bufio.NewReader(&out); ; lines++ {
			text, err := s.ReadString('\n')
			if err == io.EOF {
				break
			}
			longest = max(longest, len(text))
			if text == small {
				continue
			}
			text, head := strings.CutPrefix(text, `{"row_key":`+key+`,"cells":[`)
			text, tail := strings.CutSuffix(text, "]}\n")
			if !head || !tail {
				t.Fatalf("%+v: got the line %.100s", e, text)
			}
			got = append(got, text)
		}
		if strings.Join(got, ",") != strings.Join(cells, ",") {
			t.Errorf("%+v: the cells differ", e)
		}
		if lines != e.lines+1 {
			t.Errorf("%+v: got %d lines", e, lines)
		}
		if longest > maxBatchBytes+max(e.size, 1<<20)+1000 {
			t.Errorf("%+v: got a line of %d bytes", e, longest)
		}
	}
}
