package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described is the document as a client gets it.
var described = sync.OnceValue(func() map[string]any {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document(routes)))
	if err != nil {
		panic(err)
	}
	return doc.(map[string]any)
})

// schemaAt returns the compiled schema at a JSON pointer into the document.
func schemaAt(pointer string) *jsonschema.Schema {
	compiling.Lock()
	defer compiling.Unlock()
	if s := compiled[pointer]; s != nil {
		return s
	}
	if compiler == nil {
		compiler = jsonschema.NewCompiler()
		if err := compiler.AddResource(documentURL, described()); err != nil {
			panic(err)
		}
	}
	s := compiler.MustCompile(documentURL + "#" + pointer)
	compiled[pointer] = s
	return s
}

const documentURL = "mem:///openapi.json"

var (
	compiling sync.Mutex
	compiler  *jsonschema.Compiler
	compiled  = map[string]*jsonschema.Schema{}
)

// pointerTo returns the JSON pointer of a path of names.
func pointerTo(names ...string) (pointer string) {
	for _, name := range names {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
	}
	return pointer
}

// ServeHTTP holds every answer that a test gets by a recorder against the document.
func (c *client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Server.ServeHTTP(w, r)
	recorder, ok := w.(*httptest.ResponseRecorder)
	if !ok || r.Method == http.MethodHead || recorder.Header().Get("Content-Encoding") != "" {
		return
	}
	if err := conforms(r, recorder); err != nil {
		c.t.Errorf("%s %s: the answer is not what the document says: %v\n%.2000s", r.Method, r.URL, err, recorder.Body)
	}
}

// conforms checks an answer against the document.
func conforms(r *http.Request, w *httptest.ResponseRecorder) error {
	route := routeOf(r)
	if route == nil {
		if w.Code/100 != 4 {
			return fmt.Errorf("status %d without a route", w.Code)
		}
		return nil
	}
	at := []string{"paths", "/" + strings.Join(route.path, "/"), strings.ToLower(r.Method), "responses", strconv.Itoa(w.Code)}
	succeeds := func(a answer) bool { return a.status == w.Code }
	if !slices.ContainsFunc(append(route.also, route.answer), succeeds) {
		if !slices.Contains(route.refusals(), w.Code) {
			return fmt.Errorf("status %d is not declared", w.Code)
		}
		at = []string{"components", "responses", strconv.Itoa(w.Code)}
	}
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		return err
	}
	at = append(at, "content", kind)
	if slices.Contains(route.answer.texts, kind) && w.Code == route.answer.status {
		return schemaAt(pointerTo(append(at, "schema")...)).Validate(w.Body.String())
	}
	if kind != linesType {
		return validate(append(at, "schema"), w.Body.Bytes())
	}
	for line := range bytes.Lines(w.Body.Bytes()) {
		if err := validate(append(at, "x-line"), line); err != nil {
			return err
		}
	}
	return nil
}

func validate(at []string, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schemaAt(pointerTo(at...)).Validate(v)
}

// routeOf returns the route of a request, or nil.
func routeOf(r *http.Request) *route {
	var segments [maxSegments]string
	path, ok := split(segments[:0], r.URL)
	for i := range routes {
		if ok && routes[i].matches(path) && routes[i].method == r.Method {
			return &routes[i]
		}
	}
	return nil
}

// TestOpenAPI: the document is served as it is made, and its schemas are schemas.
func TestOpenAPI(t *testing.T) {
	c := newClient(t)
	w := c.send("GET", "/v1/openapi.json", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || !bytes.Equal(w.Body.Bytes(), document(routes)) {
		t.Fatalf("got %d %s of %d bytes", w.Code, w.Header().Get("Content-Type"), w.Body.Len())
	}
	for i := range routes {
		r := &routes[i]
		at := []string{"paths", "/" + strings.Join(r.path, "/"), strings.ToLower(r.method)}
		for _, kind := range append(r.answer.texts, "application/json")[:max(len(r.answer.texts), 1)] {
			schemaAt(pointerTo(append(at, "responses", strconv.Itoa(r.answer.status), "content", kind, "schema")...))
		}
		if r.body != nil {
			schemaAt(pointerTo(append(at, "requestBody", "content", "application/json", "schema")...))
		}
		if r.operation.lines != nil {
			schemaAt(pointerTo(append(at, "requestBody", "content", linesType, "x-line")...))
		}
	}
	for name := range components {
		schemaAt(pointerTo("components", "schemas", name))
	}
	ids := map[string]bool{}
	for i := range routes {
		if id := routes[i].id(); ids[id] {
			t.Errorf("two operations are called %s", id)
		} else {
			ids[id] = true
		}
	}
}

// TestConforms: an answer that the document does not declare is found.
func TestConforms(t *testing.T) {
	good := `{"result":{"micros":1},"message":"m","status":202,"time_ms":1}`
	for _, e := range []struct {
		status int
		kind   string
		body   string
		ok     bool
	}{
		{202, "application/json", good, true},
		{409, "application/json", `{"result":null,"message":"m","status":409,"time_ms":1,"error":{"code":"c","at":""}}`, true},
		{202, linesType, good, false},
		{200, "application/json", strings.Replace(good, "202", "200", 1), false},
		{202, "application/json", strings.Replace(good, "202", "200", 1), false},
		{202, "application/json", strings.Replace(good, `"micros":1`, ``, 1), false},
		{202, "application/json", strings.Replace(good, `"micros":1`, `"micros":"1"`, 1), false},
		{202, "application/json", strings.Replace(good, `"micros":1`, `"micros":1,"more":1`, 1), false},
		{202, "application/json", strings.Replace(good, `"time_ms":1`, `"time_ms":1,"more":1`, 1), false},
		{202, "application/json", strings.Replace(good, `,"time_ms":1`, ``, 1), false},
		{422, "application/json", `{"result":null,"message":"m","status":422,"time_ms":1,"error":{"code":"c","at":""}}`, false},
		{409, "application/json", `{"result":null,"message":"m","status":409,"time_ms":1}`, false},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", e.kind)
		w.WriteHeader(e.status)
		w.Body.WriteString(e.body)
		if err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%v", p) // there is no such place in the document
				}
			}()
			return conforms(httptest.NewRequest("DELETE", "/v1/table/t", nil), w)
		}(); (err == nil) != e.ok {
			t.Errorf("%d %s %s: got %v", e.status, e.kind, e.body, err)
		}
	}
}

// A prober asks the decoder of a route what it takes, and holds that against the schema of the body.
type prober struct {
	c       *client
	t       *testing.T
	route   *route
	probed  int
	defined map[string]bool // components that are probed already
}

// TestBodies: each field that the document declares is taken by the live decoder, at its place and with its types, and
// no other.
func TestBodies(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for i := range routes {
		r := &routes[i]
		p := &prober{c: c, t: t, route: r, defined: map[string]bool{}}
		if r.body == nil {
			p.refuses(unknownField, "no_such_field", `{"no_such_field":1}`)
			continue
		}
		var body any
		text, _ := json.Marshal(r.body)
		_ = json.Unmarshal(text, &body)
		p.probe(body.(map[string]any), "", func(value string) string { return value })
		if p.probed < 2 {
			t.Errorf("%s %v: only %d places were probed", r.method, r.path, p.probed)
		}
	}
}

// probe checks the place at. in makes a body that has a value at this place.
func (p *prober) probe(s map[string]any, at string, in func(string) string) {
	if ref, ok := s["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if p.defined[name] && name == "RowFilter" {
			return // it has itself in it
		}
		p.defined[name] = true
		text, _ := json.Marshal(components[name])
		var component map[string]any
		_ = json.Unmarshal(text, &component)
		p.probe(component, at, in)
		return
	}
	p.probed++
	p.types(s, at, in)
	for _, alternative := range alternatives(s) {
		p.inside(alternative, at, in)
	}
}

// inside probes what is in an object or a list.
func (p *prober) inside(s map[string]any, at string, in func(string) string) {
	if items, ok := s["items"].(map[string]any); ok {
		p.probe(items, at+"[0]", func(value string) string { return in("[" + value + "]") })
	}
	properties, ok := s["properties"].(map[string]any)
	if !ok {
		return
	}
	p.refuses(unknownField, strings.TrimPrefix(at+".no_such_field", "."), in(`{"no_such_field":1}`))
	for name, property := range properties {
		p.probe(property.(map[string]any), strings.TrimPrefix(at+"."+name, "."), func(value string) string {
			return in(fmt.Sprintf("{%q:%s}", name, value))
		})
	}
}

// types checks that the place takes values of the declared types and of no other.
func (p *prober) types(s map[string]any, at string, in func(string) string) {
	takes := typesOf(s)
	for kind, value := range map[string]string{"null": "null", "boolean": "true", "number": "7", "string": `"7"`, "array": "[]", "object": "{}"} {
		if kind == "null" && strings.HasSuffix(at, ".value") {
			continue // the type of the cell decides
		}
		f := p.failure(in(value))
		refused := f != nil && f.at == at && f.code == "wrong_type"
		if refused == takes[kind] {
			p.t.Errorf("%s %v: at %q the document says %v of %s, the decoder %v", p.route.method, p.route.path, at, takes[kind], kind, f)
		}
		if f != nil && f.at == at && f.code == unknownField {
			p.t.Errorf("%s %v: the field %s is declared, and refused", p.route.method, p.route.path, at)
		}
	}
}

// alternatives returns the schemas of which a value has one.
func alternatives(s map[string]any) (all []map[string]any) {
	anyOf, ok := s["anyOf"].([]any)
	if !ok || s["type"] != nil {
		return []map[string]any{s}
	}
	for _, a := range anyOf {
		a := a.(map[string]any)
		if ref, ok := a["$ref"].(string); ok {
			text, _ := json.Marshal(components[ref[strings.LastIndexByte(ref, '/')+1:]])
			a = nil
			_ = json.Unmarshal(text, &a)
		}
		all = append(all, alternatives(a)...)
	}
	return all
}

// typesOf returns the JSON types that a schema takes.
func typesOf(s map[string]any) map[string]bool {
	takes := map[string]bool{}
	for _, a := range alternatives(s) {
		switch kind := a["type"].(type) {
		case string:
			takes[kind] = true
		case []any:
			for _, k := range kind {
				takes[k.(string)] = true
			}
		}
		switch a["const"].(type) {
		case bool:
			takes["boolean"] = true
		case string:
			takes["string"] = true
		}
	}
	takes["number"] = takes["number"] || takes["integer"]
	return takes
}

func (p *prober) refuses(code, at, body string) {
	p.t.Helper()
	if f := p.failure(body); f == nil || f.code != code || f.at != at {
		p.t.Errorf("%s %v: %s: got %+v, want %s at %q", p.route.method, p.route.path, body, f, code, at)
	}
}

// failure sends a body and returns why it is refused, nil if it is not. A table that does not exist is no reason.
func (p *prober) failure(body string) *failure {
	path := strings.NewReplacer("{table}", "nope", "{family}", "nope").Replace("/" + strings.Join(p.route.path, "/"))
	if len(p.route.params) > 0 {
		path += "?key=k"
	}
	e := p.c.call(p.route.method, path, body)
	if e.Error == nil || e.Error.Code == "unknown_table" {
		return nil
	}
	return &failure{code: e.Error.Code, at: e.Error.At, message: e.Message}
}
