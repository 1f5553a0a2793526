package server

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encoder compresses a response.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

const (
	// compressFrom is the size from which a response is compressed.
	compressFrom = 1 << 10
	// encoderMemory is charged for an encoder.
	encoderMemory = 2 << 20
)

var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return w
	}},
	"zstd": {New: func() any {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)) // the options are valid
		return w
	}},
}

// chooseEncoder compresses the response if the client accepts that and there is memory for it.
func (x *requestContext) chooseEncoder() {
	name := acceptable(x.r.Header["Accept-Encoding"])
	if name == "" || !x.admitted.Charge(encoderMemory) {
		return
	}
	x.encoder = encoders[name].Get().(encoder)
	x.encoder.Reset(x.w)
	x.w.Header().Set("Content-Encoding", name)
}

// dropEncoder makes the encoder available again, without ending what it began.
func (x *requestContext) dropEncoder() {
	if x.encoder == nil {
		return
	}
	x.encoder.Reset(nil)
	encoders[x.w.Header().Get("Content-Encoding")].Put(x.encoder)
	x.encoder = nil
}

// acceptable returns the best encoding that the header values accept: the one with the larger q,
// zstd before gzip; "" for none.
func acceptable(values []string) string {
	best, bestQ := "", 0.0
	for name, q := range weights(values) {
		if encoders[name] != nil && (q > bestQ || q == bestQ && name == "zstd" && q > 0) {
			best, bestQ = name, q
		}
	}
	return best
}
