package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestDocumentedMetrics: docs/metrics.md has every metric that a server answers with, with its kind, its labels and its
// text, and no other.
func TestDocumentedMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "colonnade.toml")
	if err := os.WriteFile(file, []byte("[quota.table.t]\nrows-per-second = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--config", file)
	s.call("PUT", "/v1/table/t", "")
	refused(t, s)
	s.call("POST", "/v1/table/t/rows", `{"items":[`+strings.Repeat(`{"row":{"key":"a"}},`, 1000)+`{"row":{"key":"a"}}]}`)
	if status, _, text := s.ask("", "GET", "/v1/table/t", ""); status != http.StatusTooManyRequests {
		t.Fatalf("over a quota: %d %s", status, text)
	}
	text := s.call("GET", "/metrics", "")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.SplitN(line, " | ", 5); len(cells) == 5 && strings.HasPrefix(line, "| `colonnade_") {
			documented[strings.Trim(cells[0], "| `")] = strings.Join(cells[:4], " | ")
		}
	}
	for name, f := range families {
		if !strings.HasPrefix(name, "colonnade_") {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("docs/metrics.md says nothing of %s", name)
			}
			continue
		}
		kind := strings.ToLower(f.GetType().String())
		want := fmt.Sprintf("| `%s` | %s | %s | %s", name, kind, labelsOf(f.GetMetric()[0]), f.GetHelp())
		if got := documented[name]; got != want {
			t.Errorf("docs/metrics.md has\n%s\nand should have\n%s", got, want)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/metrics.md has %s, which is not there", name)
	}
}

// refused makes a request that is refused, so that there is a metric of it.
func refused(t *testing.T, s *served) {
	t.Helper()
	resp, err := http.Get(s.url + "/v1/table/nope")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Fatalf("a table that is not there: got %d", resp.StatusCode)
	}
}

func labelsOf(m *dto.Metric) string {
	var names []string
	for _, l := range m.GetLabel() {
		names = append(names, "`"+l.GetName()+"`")
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
