package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// decodeItems takes the body of a write request apart.
func decodeItems(body []byte) ([]json.RawMessage, error) {
	var request struct {
		Items []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(body, &request)
	return request.Items, err
}

// fake answers like a server, without a store. Its fields are set before the
// first request and read after the last.
type fake struct {
	t   *testing.T
	url string
	// write decides on the n-th write request, counted from 0: it answers and
	// returns true, or leaves it to be taken.
	write func(w http.ResponseWriter, n int, items []json.RawMessage) bool

	mu       sync.Mutex
	writes   int
	bodies   []string // of every write request
	taken    []string // items of those that were answered with 200
	families []string
	groups   [][]string
	created  bool
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, created: true}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/table/t", f.putTable)
	mux.HandleFunc("GET /v1/table/t", f.getTable)
	mux.HandleFunc("POST /v1/table/t/column-family", f.postFamily)
	mux.HandleFunc("POST /v1/table/t/write", f.postWrite)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func reply(w http.ResponseWriter, status int, message, code, at string, result any) {
	w.WriteHeader(status)
	body := map[string]any{"message": message, "status": status, "time_ms": 0, "result": result}
	if at != "" {
		body["message"] = at + ": " + message
	}
	if code != "" {
		body["error"] = map[string]any{"code": code, "at": at}
	}
	json.NewEncoder(w).Encode(body)
}

func (f *fake) putTable(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.created {
		reply(w, 409, "table exists", "table_exists", "", nil)
		return
	}
	f.created = true
	reply(w, 201, "created", "", "", nil)
}

func (f *fake) getTable(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.created {
		reply(w, 404, `table "t" does not exist`, "unknown_table", "", nil)
		return
	}
	families, groups := []any{}, []any{}
	for _, name := range f.families {
		families = append(families, map[string]any{"name": name, "gc_settings": nil})
	}
	for i, names := range f.groups {
		groups = append(groups, map[string]any{"id": fmt.Sprint(i), "column_families": names})
	}
	reply(w, 200, "ok", "", "", map[string]any{"name": "t", "column_families": families, "locality_groups": groups})
}

func (f *fake) postFamily(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Families []struct {
			Name string `json:"name"`
		} `json:"column_families"`
		Group bool `json:"locality_group"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, family := range body.Families {
		if strings.Contains(family.Name, " ") || family.Name == "" {
			reply(w, 400, "no name", "invalid_column_family_name", "column_families[0].name", nil)
			return
		}
		if slices.Contains(f.families, family.Name) {
			reply(w, 409, "exists", "column_family_exists", "", nil)
			return
		}
		names = append(names, family.Name)
	}
	f.families = append(f.families, names...)
	if body.Group {
		f.groups = append(f.groups, names)
	}
	reply(w, 201, "created", "", "", nil)
}

func (f *fake) postWrite(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	items, err := decodeItems(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.writes
	f.writes++
	f.bodies = append(f.bodies, string(body))
	if err != nil {
		reply(w, 400, err.Error(), "invalid_json", "", nil)
		return
	}
	if f.write != nil && f.write(w, n, items) {
		return
	}
	f.take(w, items)
}

func (f *fake) take(w http.ResponseWriter, items []json.RawMessage) {
	cells := 0
	for _, item := range items {
		f.taken = append(f.taken, string(item))
		var row struct {
			Cells []json.RawMessage `json:"cells"`
		}
		json.Unmarshal(item, &row)
		cells += len(row.Cells)
	}
	reply(w, 200, "ok", "", "", map[string]any{"items": map[string]any{"row_count": len(items), "cell_count": cells}})
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}
