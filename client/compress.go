package client

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression is how large bodies are compressed, in both directions.
type Compression int

const (
	Zstd Compression = iota // the default: fast enough for any network
	Gzip
	// Uncompressed is best where the server is on the same machine.
	Uncompressed
)

// accepted is the Accept-Encoding. net/http would ask for gzip if there were none.
func (c Compression) accepted() string {
	switch c {
	case Zstd:
		return "zstd, gzip;q=0.5"
	case Gzip:
		return "gzip"
	}
	return "identity"
}

// encoding is the Content-Encoding of what is compressed, "" for none.
func (c Compression) encoding() string {
	switch c {
	case Zstd:
		return "zstd"
	case Gzip:
		return "gzip"
	}
	return ""
}

// compressFrom is the size from which a body is compressed: what fits into a few packets does not get
// faster.
const compressFrom = 16 << 10

// compress compresses a large body, if that makes it smaller.
func (r *request) compress(c Compression) {
	if len(r.body) < compressFrom || c == Uncompressed {
		return
	}
	var packed []byte
	if c == Gzip {
		packed = gzipped(r.body)
	} else {
		packed = zstdEncoder().EncodeAll(r.body, make([]byte, 0, len(r.body)/4))
	}
	if len(packed) < len(r.body) {
		r.body, r.encoding = packed, c.encoding()
	}
}

// packer compresses a body that is sent in pieces: who has a piece can read all that is in it.
type packer interface {
	// pack returns the next piece, compressed. It is valid until the next call.
	pack(piece []byte) []byte
	// end returns what comes behind the last piece.
	end() []byte
}

// packer returns a new packer, nil for none.
func (c Compression) packer() packer {
	switch c {
	case Zstd:
		return new(zstdPacker)
	case Gzip:
		p := new(gzipPacker)
		p.w, _ = gzip.NewWriterLevel(&p.out, gzip.BestSpeed) // the level is valid
		return p
	}
	return nil
}

// zstdPacker makes each piece a frame.
type zstdPacker struct{ out []byte }

func (p *zstdPacker) pack(piece []byte) []byte {
	p.out = zstdEncoder().EncodeAll(piece, p.out[:0])
	return p.out
}

func (p *zstdPacker) end() []byte { return nil }

// gzipPacker ends each piece with the end of a block.
type gzipPacker struct {
	w   *gzip.Writer
	out bytes.Buffer // it takes everything
}

func (p *gzipPacker) pack(piece []byte) []byte {
	p.out.Reset()
	_, _ = p.w.Write(piece)
	_ = p.w.Flush()
	return p.out.Bytes()
}

func (p *gzipPacker) end() []byte {
	p.out.Reset()
	_ = p.w.Close()
	return p.out.Bytes()
}

// zstdEncoder encodes for all clients at once. Its window is one that servers take.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20)) // the options are valid
	return w
})

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

func gzipped(text []byte) []byte {
	var out bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&out)
	_, _ = w.Write(text) // a Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// maxWindow is the window that RFC 8878 recommends decoders of zstd to support.
const maxWindow = 8 << 20

// Decoders of zstd have no goroutines with a concurrency of 1, so the pool may drop them.
var zstdReaders = sync.Pool{New: func() any {
	r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)) // the options are valid
	return r
}}

// inflate returns the body of an answer without its compression.
func inflate(resp *http.Response) (io.ReadCloser, error) {
	switch resp.Header.Get("Content-Encoding") {
	case "zstd":
		r := zstdReaders.Get().(*zstd.Decoder)
		if err := r.Reset(resp.Body); err != nil {
			return nil, err
		}
		return &inflated{Reader: r, body: resp.Body, release: func() {
			_ = r.Reset(nil) // lets go of the body
			zstdReaders.Put(r)
		}}, nil
	case "gzip":
		r, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, err
		}
		return &inflated{Reader: r, body: resp.Body, release: func() {}}, nil
	}
	return resp.Body, nil
}

// inflated is a body and its decoder. It must not be used after Close.
type inflated struct {
	io.Reader
	body    io.Closer
	release func()
}

func (b *inflated) Close() error {
	b.release()
	return b.body.Close()
}
