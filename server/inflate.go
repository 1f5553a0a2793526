package server

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// inflaterMemory is charged for inflating a body, in addition to the body: the largest window
// allowed.
const inflaterMemory = maxWindow

// maxWindow is the window that RFC 8878 recommends decoders of zstd to support.
const maxWindow = 8 << 20

var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdReaders = sync.Pool{New: func() any {
		r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)) // the options are valid
		return r
	}}
)

// contentEncoding returns the encoding of a request's body: gzip, zstd or none.
func contentEncoding(h http.Header) (string, error) {
	all := strings.Join(h["Content-Encoding"], ",")
	switch name := strings.ToLower(strings.TrimSpace(all)); name {
	case "", "identity":
		return "", nil
	case "gzip", "zstd":
		return name, nil
	case "x-gzip":
		return "gzip", nil
	}
	return "", refuse(http.StatusUnsupportedMediaType, "unsupported_encoding", atHeader, "content encoding %q is not taken: send gzip, zstd or none", shorten(all))
}

// inflate reads a compressed body. It counts the inflated bytes against the limits as they come,
// and ignores the size that the body claims.
func (x *requestContext) inflate(encoding string) error {
	if err := charge(&x.admitted, inflaterMemory); err != nil {
		return err
	}
	r, release, err := inflater(encoding, x.r.Body)
	defer release()
	if err != nil {
		return readFailure(err)
	}
	return x.readAll(r, firstRead)
}

// inflater returns a reader of what body is the compressed form of, and what releases it. It reads the
// beginning of body. encoding is gzip or zstd.
func inflater(encoding string, body io.Reader) (r io.Reader, release func(), err error) {
	if encoding == "gzip" {
		r := gzipReaders.Get().(*gzip.Reader)
		return r, func() {
			_ = r.Reset(http.NoBody) // lets go of the body
			gzipReaders.Put(r)
		}, r.Reset(body)
	}
	z := zstdReaders.Get().(*zstd.Decoder)
	return z, func() {
		_ = z.Reset(nil) // lets go of the body
		zstdReaders.Put(z)
	}, z.Reset(body)
}
