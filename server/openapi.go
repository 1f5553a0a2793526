package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/access"
)

var openAPIOperation = operation{
	does:   "Describes this interface: this document.",
	answer: answer{status: http.StatusOK, whole: schema{"type": "object", "required": []string{"openapi", "info", "paths"}}},
}

// openAPI is GET /v1/openapi.json. The document is the whole answer, as tools expect it.
func (s *Server) openAPI(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	x.status = http.StatusOK
	x.out = append(x.out[:0], s.document()...)
	return x.send(s.opt.Now(), true)
}

// document returns the OpenAPI document of routes, as JSON.
func document(routes []route) []byte {
	paths := schema{}
	for i := range routes {
		r := &routes[i]
		path := "/" + strings.Join(r.path, "/")
		item, _ := paths[path].(schema)
		if item == nil {
			item = schema{}
			paths[path] = item
		}
		item[strings.ToLower(r.method)] = r.describe()
	}
	text, err := json.Marshal(schema{
		"openapi": "3.1.0",
		"info": schema{"title": "Colonnade", "version": "1", "description": "A wide-column table service. Input is strict: a request that breaks this description is refused, " +
			"and so are some that do not, as of bounds that exclude each other. docs/api.md says more."},
		"paths": paths,
		"components": schema{"schemas": components, "responses": refusals(), "securitySchemes": schema{"token": schema{
			"type": "http", "scheme": "bearer", "description": "A token that `colonnade token create` has made. A server without access control takes none.",
		}}},
	})
	if err != nil {
		panic(err) // it is made of maps and numbers
	}
	return append(text, '\n')
}

// describe returns the operation object of a route.
func (r *route) describe() schema {
	o := schema{"summary": r.does, "operationId": r.id(), "responses": r.responses()}
	if parameters := r.parameters(); parameters != nil {
		o["parameters"] = parameters
	}
	if r.scope != access.None {
		o["security"] = []schema{{}, {"token": []string{r.scope.String()}}}
	}
	if r.body != nil {
		content := schema{"application/json": schema{"schema": r.body}}
		if r.operation.lines != nil {
			content[linesType] = linesContent(r.operation.lines)
		}
		o["requestBody"] = schema{"required": !r.without, "content": content}
	}
	return o
}

// id returns a name for the operation: its method and the words of its path.
func (r *route) id() string {
	words := []string{strings.ToLower(r.method)}
	for _, segment := range r.path {
		if segment != "v1" && segment[0] != '{' {
			words = append(words, strings.TrimSuffix(segment, ".json"))
		}
	}
	if r.path[len(r.path)-1] == tableSegment {
		words = append(words, "one")
	}
	return strings.Join(words, "-")
}

func (r *route) responses() schema {
	all := schema{}
	for _, a := range append(r.also, r.answer) {
		if a.texts != nil {
			all[strconv.Itoa(a.status)] = schema{"description": "Success", "content": textContent(a.texts)}
			continue
		}
		body := a.whole
		if body == nil {
			body = envelopeSchema(a.status, a.result)
		}
		content := schema{"application/json": schema{"schema": body}}
		if a.lines != nil {
			content[linesType] = linesContent(a.lines)
		}
		all[strconv.Itoa(a.status)] = schema{"description": "Success", "content": content}
	}
	for _, status := range r.refusals() {
		all[strconv.Itoa(status)] = schema{"$ref": "#/components/responses/" + strconv.Itoa(status)}
	}
	return all
}

// textContent describes an answer that is text of any of these media types.
func textContent(kinds []string) schema {
	content := schema{}
	for _, kind := range kinds {
		content[kind] = schema{"schema": textSchema}
	}
	return content
}

// linesContent describes lines of JSON, of which OpenAPI 3.1 has no notion: x-line is the schema of each.
func linesContent(line schema) schema {
	return schema{"schema": schema{"type": "string", "description": "A JSON text on each line, of the schema x-line"}, "x-line": line}
}

// envelopeSchema is the schema of an answer with success: see response.go.
func envelopeSchema(status int, result schema) schema {
	return objectSchema(envelopeFields(status, result), "message", "result", "status", "time_ms")
}

func envelopeFields(status int, result schema) schema {
	return schema{"message": textSchema, "result": result, "status": schema{"const": status}, "time_ms": countSchema}
}

// refusals returns the responses with errors by status.
func refusals() schema {
	all := schema{}
	for status, means := range refusalMeans {
		if status == http.StatusRequestHeaderFieldsTooLarge { // http1 answers it, before there is a route
			all[strconv.Itoa(status)] = schema{"description": means, "content": schema{"text/plain": schema{"schema": textSchema}}}
			continue
		}
		fields := envelopeFields(status, nullSchema)
		fields["error"] = objectSchema(schema{"code": textSchema, "at": textSchema}, "code", "at")
		body := objectSchema(fields, "message", "result", "status", "time_ms", "error")
		all[strconv.Itoa(status)] = schema{"description": means, "content": schema{"application/json": schema{"schema": body}}}
	}
	return all
}

// parameters returns those in the path, the query and the header.
func (r *route) parameters() (all []schema) {
	add := func(in, name, does string, required bool, s schema) {
		all = append(all, schema{"in": in, "name": name, "description": does, "required": required, "schema": s})
	}
	if slices.Contains(r.path, tableSegment) {
		add("path", "table", "The table's name.", true, tableNameSchema)
	}
	if slices.Contains(r.path, familySegment) {
		add("path", "family", "The name of a column family.", true, familyNameSchema)
	}
	if slices.Contains(r.path, checkpointSegment) {
		add("path", "checkpoint", "The id of a checkpoint.", true, textSchema)
	}
	if slices.Contains(r.path, fileSegment) {
		add("path", "file", "The name of a file of the checkpoint, each slash as %2F.", true, textSchema)
	}
	for _, p := range r.operation.params {
		add("query", p.name, p.does, p.required, p.schema)
	}
	if r.keyed {
		add("header", "Idempotency-Key", "Under a key a change is applied once, however often it is sent.", false, schema{"type": "string", "pattern": "^[!-~]{1,255}$"})
	}
	return all
}

// tableNameSchema is what widecol.CheckTableName accepts, and a path can have.
var tableNameSchema = schema{"type": "string", "pattern": "^[A-Za-z0-9.#$-][A-Za-z0-9_.#$-]{0,199}$", "not": schema{"enum": []string{".", ".."}}}
