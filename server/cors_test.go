package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// TestOrigins sends what browsers send for pages of other origins.
func TestOrigins(t *testing.T) {
	const page = "https://console.example.com"
	for name, c := range map[string]struct {
		allowed   []string
		origin    string
		preflight bool // is answered with the origin
		request   int  // status of what follows
	}{
		"allowed":            {[]string{page}, page, true, 200},
		"one of two":         {[]string{"http://localhost:3000", page}, page, true, 200},
		"another":            {[]string{page}, "https://evil.example.com", false, 403},
		"another port":       {[]string{page}, page + ":8443", false, 403},
		"another scheme":     {[]string{page}, "http://console.example.com", false, 403},
		"a longer name":      {[]string{page}, page + ".evil.com", false, 403},
		"none is configured": {nil, page, false, 403},
	} {
		server := clientOf(t, memstore.New(memstore.Options{}), Options{Origins: c.allowed})
		server.must(201, "PUT", "/v1/table/t", "")
		h := server.Handler()
		send := func(method, body string, header ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/v1/table/t/scan", strings.NewReader(body))
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		w := send(http.MethodOptions, "", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
		got := w.Header().Get("Access-Control-Allow-Origin")
		if (got == c.origin) != c.preflight || !c.preflight && got != "" {
			t.Errorf("%s: the preflight allows %q", name, got)
		}
		if c.preflight && (w.Header().Get("Access-Control-Allow-Methods") != "POST" || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "idempotency-key")) {
			t.Errorf("%s: the preflight allows %v", name, w.Header())
		}
		w = send(http.MethodPost, "{}", "Content-Type", "application/json")
		if w.Code != c.request || (w.Header().Get("Access-Control-Allow-Origin") == c.origin) != c.preflight {
			t.Errorf("%s: the request is answered with %d %v", name, w.Code, w.Header())
		}
		if exposed := w.Header().Get("Access-Control-Expose-Headers"); strings.Contains(exposed, "Retry-After") != c.preflight {
			t.Errorf("%s: the page sees the headers %q", name, exposed) // without Retry-After it would try again too soon
		}
		if c.allowed != nil && !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Origin") {
			t.Errorf("%s: Vary is %q", name, w.Header().Values("Vary"))
		}
	}
	for origin, ok := range map[string]bool{page: true, "http://localhost:3000": true, "*": false, "https://*": false, "https://*.example.com": false, "console.example.com": false, page + "/": false, "": false} {
		if err := CheckOrigin(origin); (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
