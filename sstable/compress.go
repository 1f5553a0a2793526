package sstable

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Compression is how the blocks of a file are compressed. The numbers are part
// of the format.
type Compression uint8

const (
	None Compression = 0
	S2   Compression = 1 // fast: for files that will be rewritten soon
	Zstd Compression = 2 // small: for files that stay
)

func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case S2:
		return "s2"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compression(%d)", uint8(c))
}

// zstdWindow limits the memory of the encoders and decoders. Blocks are smaller,
// but for single large values.
const zstdWindow = 1 << 20

// The zstd coders are shared by all files. Used for whole blocks only, they
// start no goroutines and need no closing.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(8*zstdWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)

// compress replaces dst by the compressed form of raw. A block that would save
// less than an eighth is not worth decompressing: it is left as it is, and the
// answer says so.
func compress(c Compression, dst, raw []byte) ([]byte, Compression) {
	switch c {
	case S2:
		if n := s2.MaxEncodedLen(len(raw)); cap(dst) < n {
			dst = make([]byte, n, n+trailerSize)
		}
		dst = s2.Encode(dst[:cap(dst)], raw)
	case Zstd:
		dst = zstdEncoder().EncodeAll(raw, dst[:0])
	}
	if c == None || len(dst) > len(raw)-len(raw)/8 {
		return append(dst[:0], raw...), None
	}
	return dst, c
}

var errRawLength = errors.New("decompressed length differs from the trailer's")

// decompress fills raw from the stored bytes. The length of raw is the one that
// the trailer claims, and a decompressor never gets more room than its capacity.
// A decompressor that panics has met damage that it did not foresee.
func decompress(c Compression, raw, stored []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decompressor failed: %v", p)
		}
	}()
	switch c {
	case None:
		if len(stored) != len(raw) {
			return errRawLength
		}
		copy(raw, stored)
		return nil
	case S2:
		if n, err := s2.DecodedLen(stored); err != nil {
			return err
		} else if n != len(raw) {
			return errRawLength
		}
		_, err := s2.Decode(raw, stored)
		return err
	case Zstd:
		got, err := zstdDecoder().DecodeAll(stored, raw[:0])
		if err == nil && len(got) != len(raw) {
			err = errRawLength
		}
		copy(raw, got) // they are the same bytes, unless the decoder chose a buffer of its own
		return err
	}
	return fmt.Errorf("unknown compression %d", c)
}
