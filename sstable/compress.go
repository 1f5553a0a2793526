package sstable

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Compression is how the blocks of a file are compressed. The numbers are part
// of the format.
type Compression uint8

const (
	None Compression = 0
	S2   Compression = 1 // fast
	Zstd Compression = 2 // small, with large blocks; slow to read
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
// start no goroutines and need no closing. Only options can keep them from being made,
// and these are constants, so there is no error to look at.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderLevel(zstd.SpeedDefault))
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(8*zstdWindow))
		return d
	})
)

// compress appends the compressed form of raw to dst. A block that would save
// less than an eighth is not worth decompressing: it is left as it is, and the
// answer says so.
func compress(c Compression, dst, raw []byte) ([]byte, Compression) {
	from := len(dst)
	switch c {
	case S2:
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(raw)))
		dst = dst[:from+len(s2.Encode(dst[from:cap(dst)], raw))]
	case Zstd:
		dst = zstdEncoder().EncodeAll(raw, dst)
	}
	if c == None || len(dst)-from > len(raw)-len(raw)/8 {
		return append(dst[:from], raw...), None
	}
	return dst, c
}

// quietFrame is the length from which a Zstandard frame has to tell it; part of the
// format.
const minSizedFrame = 256

var errRawLength = errors.New("decompressed length differs from the trailer's")

// checkLength compares the length that a trailer claims with the one that the stored
// bytes speak of, before there is memory for it: so it takes a whole block that was
// made to lie, and not a number in it, to ask for much. A Zstandard frame may leave
// out a length below quietFrame.
func checkLength(c Compression, stored []byte, rawLength uint32) error {
	claimed := uint64(rawLength)
	switch c {
	case None:
		claimed = uint64(len(stored))
	case S2:
		n, err := s2.DecodedLen(stored)
		if err != nil {
			return err
		}
		claimed = uint64(n)
	case Zstd:
		var h zstd.Header
		if err := h.Decode(stored); err != nil {
			return err
		}
		if h.HasFCS {
			claimed = h.FrameContentSize
		} else if rawLength >= minSizedFrame {
			return errRawLength
		}
	}
	if claimed != uint64(rawLength) {
		return errRawLength
	}
	return nil
}

// decompress fills raw from the stored bytes. The length of raw is the one that
// the trailer claims, and was checked; a decompressor never gets more room than its capacity.
// A decompressor that panics has met damage that it did not foresee.
func decompress(c Compression, raw, stored []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decompressor failed: %v", p)
		}
	}()
	switch c {
	case None:
		copy(raw, stored)
		return nil
	case S2:
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
