package load

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

// maxLine bounds a line, in bytes. A server accepts no larger request by default.
const maxLine = 64 << 20

// Input is a stream of lines, decompressed. The first bytes tell gzip, zstd and plain text apart.
type Input struct {
	lines  *bufio.Reader
	raw    *counter
	closer func()
	long   []byte // scratch for a line that does not fit the buffer of lines
}

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

// NewInput starts to read r. It skips a byte order mark of UTF-8 at the start, and refuses one of UTF-16
// with ErrUTF16.
func NewInput(r io.Reader) (*Input, error) {
	raw := &counter{r: r}
	b := bufio.NewReaderSize(raw, 256<<10)
	magic, err := b.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	in := &Input{lines: b, raw: raw, closer: func() {}}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		in.lines = bufio.NewReaderSize(z, 256<<10)
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		in.lines, in.closer = bufio.NewReaderSize(z, 256<<10), z.Close
	}
	if err := in.skipMark(); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// skipMark skips the byte order mark of UTF-8. It leaves an error of the stream to next, which reports the
// line.
func (in *Input) skipMark() error {
	mark, _ := in.lines.Peek(len(markUTF8))
	switch {
	case bytes.HasPrefix(mark, markUTF8):
		_, err := in.lines.Discard(len(markUTF8))
		return err
	case bytes.HasPrefix(mark, markUTF16LE), bytes.HasPrefix(mark, markUTF16BE):
		return ErrUTF16
	}
	return nil
}

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// next returns the next line without white space at its end, valid until the next call. A line of blanks
// is empty. It returns io.EOF after the last line, and errLongLine for a line that it has skipped.
func (in *Input) next() ([]byte, error) {
	line, err := in.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = in.rest(line)
	}
	if err == io.EOF && len(line) > 0 {
		err = nil // the last line needs no newline
	}
	return bytes.TrimRight(line, " \t\r\n"), err
}

// rest reads the rest of a line that starts with start.
func (in *Input) rest(start []byte) ([]byte, error) {
	in.long = append(in.long[:0], start...)
	tooLong := false
	for {
		part, err := in.lines.ReadSlice('\n')
		if tooLong = tooLong || len(in.long)+len(part) > maxLine; !tooLong {
			in.long = append(in.long, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case tooLong && (err == nil || err == io.EOF):
			return nil, errLongLine
		default:
			return in.long, err
		}
	}
}

// offset returns how many bytes of the stream were read, before decompression.
func (in *Input) offset() int64 { return in.raw.n.Load() }

// Close releases the decompressor. It does not close the stream.
func (in *Input) Close() { in.closer() }

type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
