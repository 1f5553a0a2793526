package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

// route is an endpoint: a method and a path with open segments for names.
type route struct {
	pattern string // the method and the path as they are written here
	method  string
	path    []string
	handle  func(*Server, *requestContext) error
	class   admission.Class
	scope   access.Scope // what a token must allow
	bulk    bool         // its bodies may have Options.MaxBody bytes
	keyed   bool         // it takes an Idempotency-Key
	lists   bool         // it is about what the token allows, not about all tables
	event   string       // of its requests in the audit log; "" for none
	operation
}

// unknownRoute stands for the pattern of a request without a route.
const unknownRoute = "unknown"

// Open segments of a path.
const (
	tableSegment  = "{table}"
	familySegment = "{family}"

	checkpointSegment = "{checkpoint}"
	fileSegment       = "{file}"
)

var routes = []route{
	endpoint(admission.Quick, "GET /healthz", (*Server).health, healthOperation),
	endpoint(admission.Quick, "GET /readyz", (*Server).ready, readyOperation),
	reads(endpoint(admission.Quick, "GET /metrics", (*Server).metrics, metricsOperation)),
	endpoint(admission.Quick, "GET /v1/openapi.json", (*Server).openAPI, openAPIOperation),
	lists(reads(endpoint(admission.Quick, "GET /v1/token", (*Server).whoAsks, tokenOperation))),
	lists(endpoint(admission.Read, "GET /v1/table", (*Server).listTables, listTablesOperation)),
	admin(endpoint(admission.Write, "PUT /v1/table/{table}", (*Server).createTable, createTableOperation)),
	endpoint(admission.Read, "GET /v1/table/{table}", (*Server).describeTable, describeTableOperation),
	admin(endpoint(admission.Write, "PATCH /v1/table/{table}", (*Server).alterTable, alterTableOperation)),
	admin(endpoint(admission.Write, "DELETE /v1/table/{table}", (*Server).dropTable, dropTableOperation)),
	admin(endpoint(admission.Write, "POST /v1/table/{table}/column-family", (*Server).createFamilies, createFamiliesOperation)),
	admin(endpoint(admission.Write, "PATCH /v1/table/{table}/column-family/{family}", (*Server).alterFamily, alterFamilyOperation)),
	admin(endpoint(admission.Write, "DELETE /v1/table/{table}/column-family/{family}", (*Server).dropFamily, dropFamilyOperation)),
	audited("compaction", endpoint(admission.Write, "POST /v1/table/{table}/compact", (*Server).compact, compactOperation)),
	keyed(bulk(admission.Write, "POST /v1/table/{table}/write", (*Server).write, writeOperation)),
	keyed(bulk(admission.Write, "POST /v1/table/{table}/mutate", (*Server).mutate, mutateOperation)),
	keyed(bulk(admission.Write, "POST /v1/table/{table}/check-and-mutate", (*Server).checkAndMutate, checkAndMutateOperation)),
	keyed(bulk(admission.Write, "POST /v1/table/{table}/read-modify-write", (*Server).readModifyWrite, readModifyWriteOperation)),
	keyed(endpoint(admission.Write, "POST /v1/table/{table}/delete", (*Server).deleteRows, deleteRowsOperation)),
	bulk(admission.Read, "POST /v1/table/{table}/rows", (*Server).rows, rowsOperation),
	endpoint(admission.Scan, "POST /v1/table/{table}/scan", (*Server).scan, scanOperation),
	endpoint(admission.Scan, "POST /v1/table/{table}/count", (*Server).count, countOperation),
	endpoint(admission.Scan, "POST /v1/table/{table}/aggregate", (*Server).aggregate, aggregateOperation),
	endpoint(admission.Scan, "GET /v1/table/{table}/advice", (*Server).advice, adviceOperation),
	endpoint(admission.Scan, "GET /v1/table/{table}/keyspace", (*Server).keySpace, keySpaceOperation),
	endpoint(admission.Read, "GET /v1/table/{table}/row", (*Server).getRow, getRowOperation),
	keyed(endpoint(admission.Write, "DELETE /v1/table/{table}/row", (*Server).deleteRow, deleteRowOperation)),
	audited("", endpoint(admission.Read, "GET /v1/slow-query", (*Server).slowQueries, slowQueriesOperation)),
	audited("", endpoint(admission.Read, "GET /v1/checkpoint", (*Server).listCheckpoints, listCheckpointsOperation)),
	audited("checkpoint", endpoint(admission.Write, "POST /v1/checkpoint", (*Server).createCheckpoint, createCheckpointOperation)),
	audited("", endpoint(admission.Read, "GET /v1/checkpoint/{checkpoint}/file/{file}", (*Server).checkpointFile, checkpointFileOperation)),
	audited("checkpoint", endpoint(admission.Write, "DELETE /v1/checkpoint/{checkpoint}", (*Server).removeCheckpoint, removeCheckpointOperation)),
}

func endpoint(class admission.Class, pattern string, handle func(*Server, *requestContext) error, o operation) route {
	method, path, _ := strings.Cut(pattern, " ")
	return route{pattern: pattern, class: class, scope: scopeOf[class], method: method, path: strings.Split(path[1:], "/"), handle: handle, operation: o}
}

// scopeOf is what a token must allow for the routes of a class. Those that change schemas are admin routes.
var scopeOf = [...]access.Scope{admission.Quick: access.None, admission.Read: access.Read, admission.Scan: access.Read, admission.Write: access.Write}

func reads(r route) route {
	r.scope = access.Read
	return r
}

func admin(r route) route { return audited("schema_change", r) }

// audited is an admin route whose requests are in the audit log under a name.
func audited(event string, r route) route {
	r.scope, r.event = access.Admin, event
	return r
}

func lists(r route) route {
	r.lists = true
	return r
}

func bulk(class admission.Class, pattern string, handle func(*Server, *requestContext) error, o operation) route {
	r := endpoint(class, pattern, handle, o)
	r.bulk = true
	return r
}

func keyed(r route) route {
	r.keyed = true
	return r
}

// routesByEnd has the routes that a path may have, as indices of routes, by the last segment of the path. Under
// openSegment are those of all other paths: the routes that end with a name.
var routesByEnd = byEnd(routes)

const openSegment = "{}"

func byEnd(routes []route) map[string][]int {
	ends := map[string][]int{openSegment: nil}
	for i := range routes {
		if end := routes[i].end(); end != openSegment {
			ends[end] = nil
		}
	}
	for i := range routes {
		for end := range ends {
			if last := routes[i].end(); last == end || last == openSegment {
				ends[end] = append(ends[end], i)
			}
		}
	}
	return ends
}

// end returns the last segment of the route.
func (r *route) end() string {
	end := r.path[len(r.path)-1]
	if end[0] == '{' {
		return openSegment
	}
	return end
}

// maxSegments is the number of segments of the longest route.
const maxSegments = 5

// find returns the handler for a request and records the names in its path.
//
// It splits the path before unescaping, so an escaped slash is part of a name. It does not clean the
// path: /v1//table is no route.
func (x *requestContext) find() (func(*Server, *requestContext) error, error) {
	var segments [maxSegments]string
	path, ok := split(segments[:0], x.r.URL)
	if ok {
		candidates, known := routesByEnd[path[len(path)-1]]
		if !known {
			candidates = routesByEnd[openSegment]
		}
		var allow []string
		for _, i := range candidates {
			r := &routes[i]
			switch {
			case !r.matches(path):
			case r.method == x.r.Method || r.method == http.MethodGet && x.r.Method == http.MethodHead:
				x.health = path[0] != "v1"
				x.pattern, x.meter = r.pattern, x.server.meters.routes[i]
				x.class, x.scope, x.listing, x.event = r.class, r.scope, r.lists, r.event
				x.keyed = r.keyed
				if r.params == nil && x.r.URL.RawQuery != "" {
					return nil, refuse(http.StatusBadRequest, "unknown_parameter", atQuery, "this endpoint takes no parameters in the query of the URL")
				}
				if !r.bulk {
					x.maxBody = min(x.maxBody, maxSmallBody)
				}
				return r.handle, x.name(r, path)
			default:
				allow = append(allow, r.method)
				if r.method == http.MethodGet {
					allow = append(allow, http.MethodHead)
				}
			}
		}
		if allow != nil {
			methods := strings.Join(allow, ", ")
			return nil, refuse(http.StatusMethodNotAllowed, "method_not_allowed", atPath, "%s is not allowed here, but %s", shorten(x.r.Method), methods).with("Allow", methods)
		}
	}
	if handle, err := x.findPage(); handle != nil || err != nil {
		return handle, err
	}
	return nil, refuse(http.StatusNotFound, "unknown_route", atPath, "there is nothing at %q", shorten(x.r.URL.Path))
}

// split appends the unescaped segments of a path to dst.
func split(dst []string, u *url.URL) (segments []string, ok bool) {
	escaped := u.RawPath != "" // otherwise no slash is, and Path has the same segments
	whole := u.Path
	if escaped {
		whole = u.EscapedPath()
	}
	rest, ok := strings.CutPrefix(whole, "/")
	for ok {
		segment, after, more := strings.Cut(rest, "/")
		var err error
		if escaped {
			segment, err = url.PathUnescape(segment)
		}
		if err != nil || len(dst) == cap(dst) {
			return nil, false
		}
		dst = append(dst, segment)
		if !more {
			return dst, true
		}
		rest = after
	}
	return nil, false
}

func (r *route) matches(path []string) bool {
	if len(path) != len(r.path) {
		return false
	}
	for i, segment := range r.path {
		if segment != path[i] && segment[0] != '{' {
			return false
		}
	}
	return true
}

// name records the names in the open segments of the route.
func (x *requestContext) name(r *route, path []string) error {
	for i, segment := range r.path {
		var err error
		switch segment {
		case tableSegment:
			x.table = path[i]
			err = widecol.CheckTableName(x.table)
			if x.table == "." || x.table == ".." {
				// Clients resolve these in a path before they send it.
				err = widecol.Errorf(widecol.Invalid, "invalid_table_name", "table name %q means something else in a path", x.table)
			}
		case familySegment:
			x.family = path[i]
			err = widecol.CheckFamilyName(x.family)
		case checkpointSegment:
			x.checkpoint = path[i]
		case fileSegment:
			x.file = path[i]
		}
		if err != nil {
			return placed(err, func(string, int) string { return atPath })
		}
	}
	return nil
}
