package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// metered is a client of a server with quotas, whose clock the test moves.
type metered struct {
	*client
	now time.Time
}

func newMetered(t *testing.T, store widecol.Store, rules quota.Rules) *metered {
	m := &metered{now: time.Now()}
	m.client = clientOf(t, store, Options{Quotas: rules})
	m.opt.Now = func() time.Time { return m.now }
	return m
}

// over checks that a request is refused for a quota, and how long the client has to wait.
func (m *metered) over(at, wait, method, path, body string) {
	m.t.Helper()
	w := m.send(method, path, body)
	if w.Code != 429 || codeOf(w) != "quota_exceeded" || !strings.Contains(w.Body.String(), `"at":"`+at+`"`) || w.Header().Get("Retry-After") != wait {
		m.t.Errorf("%s %s: %d, retry after %q: %s", method, path, w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}

func tableRule(pattern string, l quota.Limits) quota.Rules {
	return quota.Rules{Tables: []quota.Rule{{Pattern: pattern, Limits: l}}}
}

// TestQuotaOfRows: a large scan is answered, and later requests wait until the rate has made up for it.
func TestQuotaOfRows(t *testing.T) {
	m := newMetered(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), quota.Rules{})
	m.webtable()
	m.must(201, "PUT", "/v1/table/other", `{"column_families":[{"name":"f"}]}`)
	m.SetQuotas(tableRule("t*", quota.Limits{Rows: 1}))
	m.must(200, "POST", "/v1/table/t/scan", `{}`) // three rows
	m.over("path", "2", "POST", "/v1/table/t/scan", `{}`)
	m.over("path", "2", "GET", "/v1/table/t/row?key=a", "")
	m.over("path", "2", "POST", "/v1/table/t/write", `{}`)
	m.over("path", "2", "DELETE", "/v1/table/t", "")
	m.must(200, "POST", "/v1/table/other/scan", `{}`)
	m.must(200, "GET", "/healthz", "")
	m.must(200, "GET", "/v1/table", "")
	m.now = m.now.Add(1500 * time.Millisecond)
	m.over("path", "1", "POST", "/v1/table/t/scan", `{}`)
	m.now = m.now.Add(500 * time.Millisecond)
	m.must(200, "GET", "/v1/table/t/row?key=org.a", "")
	m.now = m.now.Add(time.Hour)
	m.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":"a","cells":[{"column_key":"title:","type":"i64","value":1}]},{"row_key":"b","cells":[{"column_key":"title:","type":"i64","value":1}]}]}`)
	m.over("path", "1", "GET", "/v1/table/t/row?key=a", "")
	m.now = m.now.Add(time.Hour)
	m.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"none"}},{"row":{"key":"none"}},{"row":{"key":"none"}},{"row":{"key":"none"}}]}`)
	m.over("path", "3", "GET", "/v1/table/t/row?key=a", "")
	m.now = m.now.Add(time.Hour)
	m.must(200, "POST", "/v1/table/t/count", `{"cell":{"value":{"op":"=","type":"string","value":"nothing"}}}`) // looks at all rows
	m.over("path", "4", "GET", "/v1/table/t/row?key=a", "")
	if got := scraped(t, m)["colonnade_quota_refusals_total rows table t*"]; got != 8 {
		t.Errorf("%v refusals are counted", got)
	}
	m.SetQuotas(quota.Rules{})
	m.must(200, "GET", "/v1/table/t/row?key=a", "")
}

// TestQuotaOfBytes: bodies of requests and answers count.
func TestQuotaOfBytes(t *testing.T) {
	m := newMetered(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), quota.Rules{})
	m.webtable()
	m.SetQuotas(tableRule("*", quota.Limits{Bytes: 1000}))
	body := `{"items":[{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"` + strings.Repeat("v", 5000) + `"}]}]}`
	w := m.send("POST", "/v1/table/t/write", body)
	wait := strconv.Itoa((len(body)+w.Body.Len()-1000)/1000 + 1)
	m.over("path", wait, "POST", "/v1/table/t/scan", `{}`)
	m.now = m.now.Add(time.Hour)
	w = m.send("POST", "/v1/table/t/scan", `{}`)
	m.over("path", strconv.Itoa((2+w.Body.Len()-1000)/1000+1), "POST", "/v1/table/t/scan", `{}`)
}

// TestQuotaOfToken: a token pays for all tables together.
func TestQuotaOfToken(t *testing.T) {
	g := newGuarded(t)
	now := time.Now()
	g.opt.Now = func() time.Time { return now }
	admin, crawler := g.token(access.Admin, "*"), g.token(access.Read, "*")
	for _, token := range g.control.Tokens().All() {
		if token.Scope == access.Read {
			token.Name = "crawler-1"
		}
	}
	for _, table := range []string{"a", "b"} {
		g.as("Bearer "+admin, "PUT", "/v1/table/"+table, `{"column_families":[{"name":"f"}]}`)
	}
	g.SetQuotas(quota.Rules{Tokens: []quota.Rule{{Pattern: "crawler*", Limits: quota.Limits{Rows: 1}}}})
	for _, table := range []string{"a", "b"} {
		if w := g.as("Bearer "+crawler, "POST", "/v1/table/"+table+"/scan", `{}`); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w := g.as("Bearer "+crawler, "POST", "/v1/table/a/scan", `{}`); codeOf(w) != "quota_exceeded" || !strings.Contains(w.Body.String(), `"at":"header"`) || !strings.Contains(w.Body.String(), `token \"crawler-1\" has used more than its quota of 1 rows a second`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := g.as("Bearer "+crawler, "GET", "/v1/table", ""); codeOf(w) != "quota_exceeded" {
		t.Errorf("a listing: %d %s", w.Code, w.Body)
	}
	if w := g.as("Bearer "+admin, "POST", "/v1/table/a/scan", `{}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// sized is a store whose tables have bytes as the test says.
type sized struct {
	widecol.Store
	bytes int64
	asked int
}

func (s *sized) Tables(context.Context) ([]widecol.Table, error) {
	s.asked++
	return []widecol.Table{{Name: "t", DiskBytes: s.bytes - 10, Partitions: []widecol.Partition{{Stats: widecol.PartitionStats{MemtableBytes: 10}}}}}, nil
}

// TestQuotaOfStorage: a table over its quota takes no more, and deletions stay possible.
func TestQuotaOfStorage(t *testing.T) {
	store := &sized{Store: memstore.New(memstore.Options{MaxValue: 1 << 20}), bytes: 100}
	m := newMetered(t, store, quota.Rules{})
	m.webtable()
	m.SetQuotas(tableRule("t", quota.Limits{Storage: 100}))
	const item = `{"items":[{"row_key":"a","cells":[{"column_key":"title:","type":"i64","value":1}]}]}`
	sets := map[string]string{
		"write": item, "mutate": `{"items":[{"row_key":"a","mutations":[{"delete_row":true}]},{"row_key":"a","mutations":[{"set":{"column_key":"title:","type":"i64","value":1}}]}]}`,
		"read-modify-write": `{"row_key":"a","rules":[{"column_key":"title:","increment":1}]}`,
		"check-and-mutate":  `{"row_key":"a","if":{"exists":true},"else":[{"set":{"column_key":"title:","type":"i64","value":1}}]}`,
	}
	for path, body := range sets {
		if w := m.send("POST", "/v1/table/t/"+path, body); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if store.asked != 1 {
		t.Errorf("the store was asked %d times in a moment", store.asked)
	}
	store.bytes = 101
	if w := m.send("POST", "/v1/table/t/write", item); w.Code != 200 {
		t.Errorf("in the same second: %d %s", w.Code, w.Body)
	}
	m.now = m.now.Add(time.Second)
	for path, body := range sets {
		w := m.send("POST", "/v1/table/t/"+path, body)
		if w.Code != 507 || codeOf(w) != "storage_quota_exceeded" || !strings.Contains(w.Body.String(), `table \"t\" has 101 bytes, and its quota is 100`) || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := m.writeLines(`{"row_key":"a","cells":[{"column_key":"title:","type":"i64","value":1}]}` + "\n"); w.Code != 507 {
		t.Errorf("lines: %d %s", w.Code, w.Body)
	}
	for path, body := range map[string]string{"mutate": `{"items":[{"row_key":"a","mutations":[{"delete_row":true}]}]}`, "delete": `{"row":{"key":"a"}}`, "scan": `{}`} {
		if w := m.send("POST", "/v1/table/t/"+path, body); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := m.send("DELETE", "/v1/table/t/row", `{"row_key":"a"}`); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// steps is a clock on which time passes when the test says so.
type steps struct {
	now atomic.Int64
	due chan func() // what lets the time of a call pass
}

func (c *steps) Now() int64 { return c.now.Load() }

func (c *steps) Elapsed() time.Duration { return time.Duration(c.now.Load()) * time.Microsecond }

func (c *steps) AfterFunc(d time.Duration, f func()) func() bool {
	c.due <- func() {
		c.now.Add(d.Microseconds())
		f()
	}
	return func() bool { return false }
}

// TestQuotaOfLines: a stream of lines that has used too much waits, and goes on.
func TestQuotaOfLines(t *testing.T) {
	c := &steps{due: make(chan func())}
	start := time.Now()
	store := memstore.New(memstore.Options{MaxValue: 1 << 20})
	m := newMetered(t, store, quota.Rules{})
	m.webtable()
	m.opt.Clock = c
	m.opt.Now = func() time.Time { return start.Add(time.Duration(c.Now()) * time.Microsecond) }
	m.SetQuotas(tableRule("t", quota.Limits{Rows: batchRows}))
	const batches = 4
	body := strings.Repeat(`{"row_key":"a","cells":[{"column_key":"title:","type":"i64","value":1,"time":1}]}`+"\n", batches*batchRows)
	r := httptest.NewRequest("POST", "/v1/table/t/write", strings.NewReader(body))
	r.Header.Set("Content-Type", linesType)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.ServeHTTP(w, r)
	}()
	waited := 0
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case pass := <-c.due:
			waited++
			pass()
		}
	}
	if w.Code != 200 || !strings.Contains(w.Body.String(), fmt.Sprintf(",%d],", batches*batchRows)) || strings.Contains(w.Body.String(), "error") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	// A second's worth is free, and the last batch is not waited for.
	if took := time.Duration(c.Now()) * time.Microsecond; took < (batches-2)*time.Second || took > batches*time.Second || waited == 0 {
		t.Errorf("it took %v, and waited %d times", took, waited)
	}
}
