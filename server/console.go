package server

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
)

// consoleFile is one of Options.Console, as it is answered. The names of all but the first have a sum of their content in
// them, so a browser may keep those for ever, and asks for the first each time.
type consoleFile struct {
	content []byte
	header  map[string][]string // besides fixedHeader, and in place of what that says
}

// consoleRoute is the route of all pages in metrics and in the access log.
const consoleRoute = "GET /"

// consolePolicy keeps a page to what this server serves: no script or style in a page, no other host, no frame.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kindOf has the media types of the files of a console, by how their names end. Those of the machine may differ.
var kindOf = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// newConsole reads the files of a console. It returns them by their paths in URLs: index.html is /, and any other file is
// below /console/. They are part of the program, so what is wrong with them is a bug.
func newConsole(files fs.FS) map[string]*consoleFile {
	pages := map[string]*consoleFile{}
	if files == nil {
		return pages
	}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		at, cache := "/console/"+name, "public, max-age=31536000, immutable"
		if name == "index.html" {
			at, cache = "/", "no-cache"
		}
		sum := sha256.Sum256(content)
		pages[at] = &consoleFile{content: content, header: map[string][]string{
			"Content-Type":               {kindOf[path.Ext(name)]},
			"Cache-Control":              {cache},
			"Etag":                       {`W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, // weak: it is that of each encoding
			"Vary":                       {"Accept-Encoding, Accept"},
			"Content-Security-Policy":    {consolePolicy},
			"Referrer-Policy":            {"no-referrer"},
			"Cross-Origin-Opener-Policy": {"same-origin"},
		}}
		return err
	})
	if err == nil && pages["/"] == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		panic("server: Options.Console: " + err.Error())
	}
	return pages
}

// findPage is find for what is no route of the interface. It returns nil if there is no such page either, or the client
// takes no page where it asks for one.
func (x *requestContext) findPage() (func(*Server, *requestContext) error, error) {
	p := x.server.console[x.r.URL.Path]
	if p == nil || x.r.URL.Path == "/" && !takesPages(x.r.Header["Accept"]) {
		return nil, nil
	}
	x.health = true // it takes nothing from the store
	x.pattern, x.meter = consoleRoute, x.server.meters.console
	x.maxBody = min(x.maxBody, maxSmallBody)
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return nil, refuse(http.StatusMethodNotAllowed, "method_not_allowed", atPath, "%s is not allowed here, but GET, HEAD", shorten(x.r.Method)).with("Allow", "GET, HEAD")
	}
	return func(s *Server, x *requestContext) error { return x.sendPage(p) }, nil
}

// sendPage answers with a page, or with 304 if the client has it.
func (x *requestContext) sendPage(p *consoleFile) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	x.console, x.status, x.out = p, http.StatusOK, append(x.out[:0], p.content...)
	if slices.ContainsFunc(x.r.Header["If-None-Match"], p.isOneOf) {
		x.status, x.out = http.StatusNotModified, x.out[:0]
	}
	return x.send(x.server.opt.Now(), true)
}

// isOneOf reports whether a value of If-None-Match has the tag of the page (RFC 9110, section 13.1.2).
func (p *consoleFile) isOneOf(tags string) bool {
	for tag := range strings.SplitSeq(tags, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || "W/"+strings.TrimPrefix(tag, "W/") == p.header["Etag"][0] {
			return true
		}
	}
	return false
}

// takesPages reports whether the values of Accept let a client take HTML. Programs that ask for JSON get what they did
// before there was a console.
func takesPages(values []string) bool {
	for kind, q := range weights(values) {
		if q > 0 && (kind == "text/html" || kind == "text/*" || kind == "*/*") {
			return true
		}
	}
	return values == nil
}
