package format

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// sequenceFile reads the values of a Hadoop sequence file of version 6:
//
//	header   "SEQ" 6 · class of keys · class of values · compressed · in blocks · class of the codec, if
//	         compressed · n · n pairs of texts · sync marker of 16 bytes
//	record   length of key and value · length of the key · key · value (compressed)
//	block    -1 · sync marker · vint n · the lengths of keys, the keys, the lengths of values, the values, each
//	         compressed, behind a vint of its size
//
// Between two records there may be -1 and the sync marker. A text is a vint of its size, and its bytes. Integers are
// big-endian.
type sequenceFile struct {
	*Stream
	keyClass, valueClass string
	inBlocks             bool
	decompress           func([]byte) ([]byte, error) // nil if it is not compressed
	sync                 [16]byte

	record          []byte
	lengths, values []byte // of a block, those that are still to come
	left            int
}

var sequenceMagic = []byte("SEQ\x06")

var errSequence = errors.New("the sequence file is damaged")

func newSequenceFile(s *Stream) (*sequenceFile, error) {
	f := &sequenceFile{Stream: s}
	if err := f.header(); err != nil {
		return nil, fmt.Errorf("the header of the sequence file: %w", unexpected(err))
	}
	return f, nil
}

// unexpected makes an end of the file an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (f *sequenceFile) header() error {
	magic := make([]byte, len(sequenceMagic))
	if _, err := io.ReadFull(f, magic); err != nil {
		return err
	}
	if !bytes.Equal(magic, sequenceMagic) {
		return errors.New("it is none, or of another version than 6")
	}
	var texts [2]string
	for i := range texts {
		text, err := f.text()
		if err != nil {
			return err
		}
		texts[i] = text
	}
	f.keyClass, f.valueClass = texts[0], texts[1]
	var flags [2]byte
	if _, err := io.ReadFull(f, flags[:]); err != nil {
		return err
	}
	if f.inBlocks = flags[1] != 0; flags[0] != 0 {
		codec, err := f.text()
		if err != nil {
			return err
		}
		if f.decompress = codecs[codec]; f.decompress == nil {
			return fmt.Errorf("it is compressed with %s, which import does not read: export without compression, and compress the file", codec)
		}
	}
	pairs, err := f.integer()
	if err != nil {
		return err
	}
	for range 2 * max(pairs, 0) {
		if _, err := f.text(); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(f, f.sync[:])
	return err
}

var codecs = map[string]func([]byte) ([]byte, error){
	"org.apache.hadoop.io.compress.DefaultCodec": func(b []byte) ([]byte, error) {
		z, err := zlib.NewReader(bytes.NewReader(b))
		return inflate(z, err)
	},
	"org.apache.hadoop.io.compress.GzipCodec": func(b []byte) ([]byte, error) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		return inflate(z, err)
	},
}

func inflate(r io.Reader, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxLine+1))
	if len(b) > maxLine {
		return nil, fmt.Errorf("a record or block has more than %d MiB", maxLine>>20)
	}
	return b, err
}

// next returns the next value, valid until the one behind it.
func (f *sequenceFile) next() ([]byte, error) {
	if f.inBlocks {
		return f.fromBlock()
	}
	for {
		size, err := f.integer()
		switch {
		case err == io.EOF:
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errSequence, err)
		case size == -1:
			if err := f.checkSync(); err != nil {
				return nil, err
			}
			continue
		}
		keySize, err := f.integer()
		if err != nil || keySize < 0 || keySize > size {
			return nil, errSequence
		}
		if f.record, err = f.bytes(f.record, int64(size)); err != nil {
			return nil, err
		}
		return f.inflated(f.record[keySize:])
	}
}

func (f *sequenceFile) inflated(b []byte) ([]byte, error) {
	if f.decompress == nil {
		return b, nil
	}
	b, err := f.decompress(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSequence, err)
	}
	return b, nil
}

// fromBlock returns the next value of a block.
func (f *sequenceFile) fromBlock() ([]byte, error) {
	for f.left == 0 {
		if err := f.block(); err != nil {
			return nil, err
		}
	}
	size, n := vintOf(f.lengths)
	if n == 0 || size < 0 || size > int64(len(f.values)) {
		return nil, errSequence
	}
	value := f.values[:size]
	f.lengths, f.values, f.left = f.lengths[n:], f.values[size:], f.left-1
	return value, nil
}

// block reads a block.
func (f *sequenceFile) block() error {
	escape, err := f.integer()
	if err == io.EOF {
		return err
	}
	if err != nil || escape != -1 {
		return errSequence
	}
	if err := f.checkSync(); err != nil {
		return err
	}
	left, err := f.vint()
	if err != nil || left < 0 || left > maxLine {
		return errSequence
	}
	for i := range 4 {
		size, err := f.vint()
		if err != nil {
			return errSequence
		}
		if f.record, err = f.bytes(f.record, size); err != nil {
			return err
		}
		if i < 2 {
			continue // the keys, which the values have too
		}
		part, err := f.inflated(f.record)
		if err != nil {
			return err
		}
		if i == 2 {
			f.lengths = bytes.Clone(part)
		} else {
			f.values = part
		}
	}
	f.left = int(left)
	return nil
}

func (f *sequenceFile) checkSync() error {
	var got [16]byte
	if _, err := io.ReadFull(f, got[:]); err != nil || got != f.sync {
		return errSequence
	}
	return nil
}

// bytes reads so many bytes, into dst if it is large enough.
func (f *sequenceFile) bytes(dst []byte, n int64) ([]byte, error) {
	if n < 0 || n > maxLine {
		return dst, fmt.Errorf("%w: it has a record or block of %d bytes", errSequence, n)
	}
	if int64(cap(dst)) < n {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	if _, err := io.ReadFull(f, dst); err != nil {
		return dst, fmt.Errorf("%w: %w", errSequence, unexpected(err))
	}
	return dst, nil
}

func (f *sequenceFile) integer() (int32, error) {
	var b [4]byte
	_, err := io.ReadFull(f, b[:])
	return int32(binary.BigEndian.Uint32(b[:])), err
}

func (f *sequenceFile) text() (string, error) {
	size, err := f.vint()
	if err != nil {
		return "", err
	}
	if size < 0 || size > 1<<16 {
		return "", errSequence
	}
	b, err := f.bytes(nil, size)
	return string(b), err
}

// vint reads an integer as Hadoop's WritableUtils write it: a byte from -112 on is the integer, another one says how many bytes
// of it follow, and its sign.
func (f *sequenceFile) vint() (int64, error) {
	first, err := f.ReadByte()
	if err != nil {
		return 0, err
	}
	b := []byte{first}
	for range vintSize(first) - 1 {
		next, err := f.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		b = append(b, next)
	}
	n, _ := vintOf(b)
	return n, nil
}

// vintSize returns how many bytes an integer has.
func vintSize(first byte) int {
	switch n := int(int8(first)); {
	case n >= -112:
		return 1
	case n >= -120:
		return -111 - n
	default:
		return -119 - n
	}
}

// vintOf returns the integer at the beginning of b, and its size, 0 for none.
func vintOf(b []byte) (value int64, size int) {
	if len(b) == 0 || len(b) < vintSize(b[0]) {
		return 0, 0
	}
	size = vintSize(b[0])
	if size == 1 {
		return int64(int8(b[0])), 1
	}
	for _, next := range b[1:size] {
		value = value<<8 | int64(next)
	}
	if int8(b[0]) < -120 {
		value = ^value
	}
	return value, size
}
