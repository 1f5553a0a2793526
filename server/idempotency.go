package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

// takeKey takes the Idempotency-Key of a write. Other changes refuse the header, so that clients do
// not rely on it: creating or dropping a table a second time fails with a clear code. Reads ignore
// it.
func (x *requestContext) takeKey() error {
	if x.class != admission.Write {
		return nil
	}
	keys := x.r.Header["Idempotency-Key"]
	switch {
	case keys == nil:
		return nil
	case !x.keyed:
		return refuse(http.StatusBadRequest, "unsupported_header", atHeader,
			"Idempotency-Key has no effect on a change of tables or column families: leave it out, and take what a repeated request is answered as the outcome")
	case len(keys) > 1:
		return refuse(http.StatusBadRequest, "invalid_idempotency_key", atHeader, "Idempotency-Key is given %d times", len(keys))
	}
	x.key = keys[0]
	return placed(widecol.CheckIdempotencyKey(x.key), func(string, int) string { return atHeader })
}
