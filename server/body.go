package server

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
)

// readBody reads the whole body, inflated, into x.body. Its size is limited, and charged to the
// memory that all requests share before it is read.
func (x *requestContext) readBody() error {
	x.body = x.body[:0]
	if x.r.ContentLength != 0 {
		if err := x.readSome(); err != nil {
			return err
		}
	}
	x.bodyRead = true
	return nil
}

func (x *requestContext) readSome() error {
	if err := checkContentType(x.r.Header.Get("Content-Type")); err != nil {
		return err
	}
	if x.r.ContentLength > x.maxBody {
		return x.tooLarge()
	}
	encoding, err := contentEncoding(x.r.Header)
	if err != nil {
		return err
	}
	if encoding != "" {
		return x.inflate(encoding)
	}
	size := int64(firstRead)
	if x.r.ContentLength > 0 {
		size = x.r.ContentLength + 1 // room to see the end
	}
	return x.readAll(x.r.Body, size)
}

// firstRead is the size of the first buffer for a body of unknown size.
const firstRead = 16 << 10

// readAll reads source to its end, into a buffer that has size bytes at first.
func (x *requestContext) readAll(source io.Reader, size int64) error {
	size = min(size, x.maxBody+1)
	if err := charge(&x.admitted, size); err != nil {
		return err
	}
	x.body = grow(x.body, size)
	for {
		n, err := source.Read(x.body[len(x.body):size])
		x.body = x.body[:len(x.body)+n]
		x.received = int64(len(x.body))
		switch {
		case int64(len(x.body)) > x.maxBody:
			return x.tooLarge()
		case err == io.EOF:
			return nil
		case err != nil:
			return readFailure(err)
		case int64(len(x.body)) < size:
			continue
		}
		more := min(size, x.maxBody+1-size)
		if err := charge(&x.admitted, more); err != nil {
			return err
		}
		size += more
		x.body = grow(x.body, size)
	}
}

// grow returns b with a capacity of at least size bytes.
func grow(b []byte, size int64) []byte {
	if int64(cap(b)) >= size {
		return b
	}
	return append(make([]byte, 0, size), b...)
}

// checkContentType accepts JSON, no type, and curl's default.
func checkContentType(value string) error {
	if value == "" || value == "application/json" { // the usual values
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(value)
	charset := strings.ToLower(parameters["charset"])
	known := kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json") || kind == "application/x-www-form-urlencoded"
	if err != nil || !known || charset != "" && charset != "utf-8" {
		return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", atHeader, "a body of type %q is not taken: send application/json in UTF-8", shorten(value))
	}
	return nil
}

func (x *requestContext) tooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, "body_too_large", atBody, "the body has more than %d bytes", x.maxBody)
}

// readFailure says why a body could not be read.
func readFailure(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return refuse(http.StatusRequestTimeout, "request_timeout", atBody, "the body did not arrive in time")
	}
	return refuse(http.StatusBadRequest, "broken_body", atBody, "the body is broken off or damaged")
}
