package sstable

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Compression is the compression of a file's blocks. The numbers are part of the
// format.
type Compression uint8

const (
	None Compression = 0
	S2   Compression = 1 // 22 bytes/cell, 3.1 µs to read a row
	Zstd Compression = 2 // 18 bytes/cell, 9 µs to read a row, which grows with the block
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
// except those of one large value.
const zstdWindow = 1 << 20

// The zstd coders are shared by all files. They handle whole blocks, so they start
// no goroutines and need no closing. The constructors fail only on bad options,
// and these are constant.
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

// compress appends raw, compressed, to dst, and returns the compression used. If
// it saves less than an eighth, decompressing is not worth it: the block is stored
// as it is.
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

// minSizedFrame is the content length from which a Zstandard frame must state it.
// Part of the format.
const minSizedFrame = 256

var errRawLength = errors.New("decompressed length differs from the trailer's")

// checkLength compares the raw length in a trailer with the one that the stored
// bytes state, before memory is allocated: a large allocation takes a whole forged
// block, not one bad number. A Zstandard frame may omit a length below
// minSizedFrame.
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

// decompress fills raw from the stored bytes. The length of raw is the trailer's,
// after checkLength. Decompressors never write beyond the capacity of raw. A panic
// of a decompressor is reported as damage.
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
		copy(raw, got) // no copy unless the decoder allocated
		return err
	}
	return fmt.Errorf("unknown compression %d", c)
}
