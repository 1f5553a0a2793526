package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/engine"
)

// logDir has the objects of the log, each with one segment:
//
//	log/STORE/TIMELINE/NUMBER-AFTER-LAST-TIME-CONTENT-SUM.zst[.KEY.age]
//
// The numbers have a fixed width, so names sort by NUMBER, that of the segment. The object has all batches above
// AFTER up to LAST, and with those of the objects before it tells of all that was committed, and all partitions that
// were dropped, up to TIME. CONTENT is the xxh64 of its batches, SUM the beginning of the SHA-256 of what is stored.
//
// The content, before compression, is a line with a logHeader, and batches until the end:
//
//	+-----+--------+-------+-----
//	| seq | length | batch | …
//	+-----+--------+-------+-----
//	  8     4        length        little endian
const logDir = "log/"

// logFormat is the format of the objects of the log.
const logFormat = 1

// logObject is an object of the log, as its name describes it.
type logObject struct {
	name            string
	stored          int64 // bytes
	store, timeline string
	number          uint64
	after, last     uint64
	time            int64 // in microseconds
	content, sum    string
	forked          bool // there is one of the same number with other batches
}

func (o *logObject) setName(key string) {
	o.name = fmt.Sprintf("%s%020d-%020d-%016d-%s-%s.zst", o.namePrefix(), o.after, o.last, o.time, o.content, o.sum)
	if key != "" {
		o.name += "." + key + encrypted
	}
}

// namePrefix is how the names of all objects of the segment begin.
func (o *logObject) namePrefix() string {
	return fmt.Sprintf("%s%s/%s/%012d-", logDir, o.store, o.timeline, o.number)
}

// parseLogName returns the object of a name.
func parseLogName(o Object) (l logObject, err error) {
	dirs := strings.Split(o.Name, "/")
	base, _, ok := strings.Cut(path.Base(o.Name), ".zst")
	fields := strings.Split(base, "-")
	if len(dirs) != 4 || !ok || len(fields) != 6 {
		return l, errors.New("it has no name of an object of the log")
	}
	l = logObject{name: o.Name, stored: o.Size, store: dirs[1], timeline: dirs[2], content: fields[4], sum: fields[5]}
	for i, to := range []*uint64{&l.number, &l.after, &l.last} {
		if *to, err = strconv.ParseUint(fields[i], 10, 64); err != nil {
			return l, err
		}
	}
	l.time, err = strconv.ParseInt(fields[3], 10, 64)
	return l, err
}

// logHeader stands before the batches of a segment.
type logHeader struct {
	Format        int              `json:"format"`
	Store         string           `json:"store"`
	Timeline      string           `json:"timeline"`
	Number        uint64           `json:"number"`
	Partitions    []logPartition   `json:"partitions"`
	Dropped       []droppedByStore `json:"dropped"`
	NextPartition uint64           `json:"next_partition"`
}

type logPartition struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type droppedByStore struct {
	logPartition
	Time int64 `json:"time"` // later than all commits before, earlier than all after
}

func newLogHeader(o *logObject, s *engine.LogSegment) *logHeader {
	h := &logHeader{Format: logFormat, Store: o.store, Timeline: o.timeline, Number: o.number, NextPartition: uint64(s.NextPartition)}
	for _, p := range s.Partitions {
		h.Partitions = append(h.Partitions, logPartition{uint64(p.ID), p.Name})
	}
	for _, d := range s.Dropped {
		h.Dropped = append(h.Dropped, droppedByStore{logPartition{uint64(d.ID), d.Name}, d.Time})
	}
	return h
}

// timelineText is how a timeline is written.
func timelineText(timeline uint64) string { return fmt.Sprintf("%016x", timeline) }

// batchSums is the checksum of batches.
type batchSums struct {
	sum  *xxhash.Digest
	head [12]byte
}

func newBatchSums() *batchSums { return &batchSums{sum: xxhash.New()} }

// add adds a batch, and returns what stands before it.
func (s *batchSums) add(seq uint64, payload []byte) []byte {
	binary.LittleEndian.PutUint64(s.head[:], seq)
	binary.LittleEndian.PutUint32(s.head[8:], uint32(len(payload)))
	s.sum.Write(s.head[:])
	s.sum.Write(payload)
	return s.head[:]
}

func (s *batchSums) text() string { return fmt.Sprintf("%016x", s.sum.Sum64()) }

// pack reads a segment, the batches above o.after, and returns what is stored of it. It completes o.
func (k *Keys) pack(o *logObject, s *engine.LogSegment) ([]byte, error) {
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := json.NewEncoder(w).Encode(newLogHeader(o, s)); err != nil {
		return nil, err
	}
	sums := newBatchSums()
	err = eachBatch(s, o, func(b engine.LogBatch) error {
		_, err := w.Write(sums.add(b.Seq, b.Payload))
		if err == nil {
			_, err = w.Write(b.Payload)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	sealed, end := k.encrypt(&packed)
	defer end()
	stored, err := io.ReadAll(sealed)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(stored)
	o.content, o.sum, o.stored = sums.text(), hex.EncodeToString(sum[:8]), int64(len(stored))
	o.setName(k.key)
	return stored, nil
}

// errForked is that a segment does not follow the one that was archived before.
var errForked = errors.New("it goes another way than the log that is archived")

// eachBatch calls f with the batches of a segment above o.after, and sets what o says of them.
func eachBatch(s *engine.LogSegment, o *logObject, f func(engine.LogBatch) error) error {
	o.last = o.after
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if b.Seq <= o.last {
			if !s.Copies() {
				return errForked
			}
			continue // the object before this one has it
		}
		if err := f(b); err != nil {
			return err
		}
		o.last, o.time = b.Seq, b.Time
	}
	for _, d := range s.Dropped {
		if d.Segment <= s.Number {
			o.time = max(o.time, d.Time)
		}
	}
	return nil
}

// logReader reads an object of the log.
type logReader struct {
	object  *logObject
	header  logHeader
	stored  *summed
	plain   *zstd.Decoder
	r       *bufio.Reader
	sums    *batchSums
	last    uint64
	payload bytes.Buffer
}

// newLogReader reads the header. The caller closes the reader.
func (k *Keys) newLogReader(o *logObject, in io.Reader) (*logReader, error) {
	l := &logReader{object: o, stored: newSummed(in, sha256.New()), sums: newBatchSums(), last: o.after}
	packed, err := k.decrypt(o.name, l.stored)
	if err != nil {
		return nil, err
	}
	if l.plain, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1)); err != nil {
		return nil, err
	}
	l.r = bufio.NewReaderSize(l.plain, 64<<10)
	if err := l.readHeader(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *logReader) readHeader() error {
	line, err := l.r.ReadBytes('\n')
	if err != nil {
		return err
	}
	h := &l.header
	if err := json.Unmarshal(line, h); err != nil {
		return err
	}
	if h.Format != logFormat {
		return fmt.Errorf("it has format %d, and this program knows format %d", h.Format, logFormat)
	}
	if h.Store != l.object.store || h.Timeline != l.object.timeline || h.Number != l.object.number {
		return errors.New("it has the name of another object")
	}
	return nil
}

// next returns the next batch, valid until the next call. io.EOF says that all of it was as it was written.
func (l *logReader) next() (seq uint64, payload []byte, err error) {
	var head [12]byte
	if _, err := io.ReadFull(l.r, head[:]); err == io.EOF {
		return 0, nil, l.end()
	} else if err != nil {
		return 0, nil, err
	}
	seq = binary.LittleEndian.Uint64(head[:])
	if seq <= l.last || seq > l.object.last {
		return 0, nil, fmt.Errorf("batch %d follows batch %d", seq, l.last)
	}
	l.last = seq
	l.payload.Reset()
	n := int64(binary.LittleEndian.Uint32(head[8:]))
	if _, err := io.CopyN(&l.payload, l.r, n); err != nil { // grows as it reads, whatever the length says
		return 0, nil, err
	}
	l.sums.add(seq, l.payload.Bytes())
	return seq, l.payload.Bytes(), nil
}

func (l *logReader) end() error {
	if l.last != l.object.last || l.sums.text() != l.object.content {
		return errors.New("it has other batches than its name says")
	}
	if err := checkStored(l.stored, l.object); err != nil {
		return err
	}
	return io.EOF
}

func (l *logReader) close() { l.plain.Close() }

// checkStored reads the rest of an object, and holds it against its name.
func checkStored(stored *summed, o *logObject) error {
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{stored}); err != nil {
		return err
	}
	if got := stored.sum.Sum(nil); hex.EncodeToString(got[:8]) != o.sum {
		return errors.New("it is not what was written: a checksum differs")
	}
	return nil
}
