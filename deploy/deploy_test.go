package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/metrics/storemetrics"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

var parse = parser.NewParser(parser.Options{})

// watched is a server and what Prometheus has scraped of it.
type watched struct {
	t      *testing.T
	server *server.Server
	db     *tsdb.DB
	engine *promql.Engine
	now    time.Time
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	m := metrics.New()
	m.AddProcess("v1")
	store, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, LogSynced: storemetrics.LogSynced(m)}})
	if err != nil {
		t.Fatal(err)
	}
	storemetrics.Add(m, store, clock.System.Now)
	m.AddArchive(func() metrics.Archive { return metrics.Archive{} })
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, db: db, now: time.Unix(1_800_000_000, 0), server: server.New(store, server.Options{Now: time.Now, Metrics: m})}
	w.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute, Parser: parse})
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *watched) send(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if path == "/metrics" {
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	}
	recorder := httptest.NewRecorder()
	w.server.ServeHTTP(recorder, r)
	return recorder
}

// scrape takes all metrics over, as of a minute after the last scrape.
func (w *watched) scrape() {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	answer := w.send("GET", "/metrics", "")
	p, err := textparse.New(answer.Body.Bytes(), answer.Header().Get("Content-Type"), labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	app := w.db.Appender(context.Background())
	target := map[string]string{"job": "colonnade", "instance": "127.0.0.1:9876"}
	add := func(l labels.Labels, v float64) {
		b := labels.NewBuilder(l)
		for name, value := range target {
			b.Set(name, value)
		}
		if _, err := app.Append(0, b.Labels(), w.now.UnixMilli(), v); err != nil {
			w.t.Fatal(err)
		}
	}
	add(labels.FromStrings("__name__", "up"), 1)
	for {
		entry, err := p.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			w.t.Fatalf("the answer is no OpenMetrics: %v", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := p.Series()
		var l labels.Labels
		p.Labels(&l)
		add(l, v)
	}
	if err := app.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

// query evaluates an expression and returns how many series it has.
func (w *watched) query(expr string) int {
	w.t.Helper()
	q, err := w.engine.NewInstantQuery(context.Background(), w.db, nil, expr, w.now)
	if err != nil {
		w.t.Errorf("%s: %v", expr, err)
		return 0
	}
	defer q.Close()
	result := q.Exec(context.Background())
	if result.Err != nil {
		w.t.Errorf("%s: %v", expr, result.Err)
		return 0
	}
	v, err := result.Vector()
	if err != nil {
		w.t.Errorf("%s: %v", expr, err)
	}
	return len(v)
}

// check evaluates an expression. Each of its selectors must find something.
func (w *watched) check(expr string) (series int) {
	w.t.Helper()
	parsed, err := parse.ParseExpr(expr)
	if err != nil {
		w.t.Errorf("%s: %v", expr, err)
		return 0
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && w.query(s.String()) == 0 {
			w.t.Errorf("%s: there is no %s", expr, s)
		}
		return nil
	})
	return w.query(expr)
}

// used returns a server that was used for an hour, with errors of its own at the end.
func used(t *testing.T) *watched {
	w := newWatched(t)
	w.send("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	for i := range 60 {
		body := fmt.Sprintf(`{"items":[{"row_key":"row%d","cells":[{"column_key":"f:q","type":"string","value":"v"}]}]}`, i)
		if answer := w.send("POST", "/v1/table/t/write", body); answer.Code != http.StatusOK {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
		w.send("POST", "/v1/table/t/scan", "{}")
		w.send("GET", "/v1/table/none", "")
		w.scrape()
	}
	if err := w.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.send("GET", "/v1/table", "")
		w.scrape()
	}
	return w
}

// TestAlerts: the rules are rules, and each expression is about metrics that a server has.
func TestAlerts(t *testing.T) {
	w := used(t)
	groups, problems := rulefmt.ParseFile("alerts.yml", false, model.UTF8Validation, parse, slog.New(slog.DiscardHandler))
	for _, err := range problems {
		t.Error(err)
	}
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	firing := map[string]bool{"ColonnadeErrors": true} // as of the errors at the end
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			if fires := w.check(r.Expr) > 0; fires != firing[r.Alert] {
				t.Errorf("%s fires: %v", r.Alert, fires)
			}
			if !strings.Contains(string(page), "`"+r.Alert+"`") {
				t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
			}
		}
	}
	if rules < 10 {
		t.Errorf("only %d rules were found", rules)
	}
}

// TestDashboard: each panel shows something of a server that was used.
func TestDashboard(t *testing.T) {
	w := used(t)
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	targets := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			targets++
			if w.check(variables.Replace(target.Expr)) == 0 {
				t.Errorf("panel %q shows nothing for %s", p.Title, target.Expr)
			}
		}
	}
	if targets < 20 {
		t.Errorf("only %d expressions were found", targets)
	}
}
