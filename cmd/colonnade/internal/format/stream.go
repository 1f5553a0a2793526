package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Stream is the bytes of an input, decompressed. The first bytes tell gzip, zstd and what is not compressed apart.
type Stream struct {
	*bufio.Reader
	raw        *counter
	compressed bool
	closers    []func()
}

const streamBuffer = 256 << 10

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

	// Excel and PowerShell start files with a byte order mark.
	markUTF8    = []byte{0xef, 0xbb, 0xbf}
	markUTF16LE = []byte{0xff, 0xfe}
	markUTF16BE = []byte{0xfe, 0xff}
)

// ErrUTF16 is returned for a text that starts with the byte order mark of UTF-16.
var ErrUTF16 = errors.New("the text is UTF-16, and import reads UTF-8: convert it, as with iconv -f UTF-16 -t UTF-8")

// NewStream starts to read r. It skips a byte order mark of UTF-8 at the start, and refuses one of UTF-16
// with ErrUTF16.
func NewStream(r io.Reader) (*Stream, error) {
	raw := &counter{r: r}
	b := bufio.NewReaderSize(raw, streamBuffer)
	magic, err := b.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s := &Stream{Reader: b, raw: raw}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		s.Reader, s.compressed = bufio.NewReaderSize(z, streamBuffer), true
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		s.Reader, s.compressed = bufio.NewReaderSize(z, streamBuffer), true
		s.onClose(z.Close)
	}
	if err := s.skipMark(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// skipMark skips the byte order mark of UTF-8. It leaves an error of the stream to its reader, which reports the
// line.
func (s *Stream) skipMark() error {
	mark, _ := s.Peek(len(markUTF8))
	switch {
	case bytes.HasPrefix(mark, markUTF8):
		_, err := s.Discard(len(markUTF8))
		return err
	case bytes.HasPrefix(mark, markUTF16LE), bytes.HasPrefix(mark, markUTF16BE):
		return ErrUTF16
	}
	return nil
}

// Offset returns how many bytes of the input were read, before decompression.
func (s *Stream) Offset() int64 { return s.raw.n.Load() }

// Close releases what is held beside the input.
func (s *Stream) Close() {
	for _, c := range s.closers {
		c()
	}
}

func (s *Stream) onClose(c func()) { s.closers = append(s.closers, c) }

type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
