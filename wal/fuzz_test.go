package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// repair gives every record of data that it can walk to good checksums, so
// that a fuzzer gets past them.
func repair(data []byte) {
	for off := 0; len(data)-off >= frameSize; {
		h := decodeHead(data[off:])
		if !h.fits(h.number, int64(off), int64(len(data))) {
			return
		}
		end := off + headSize + int(h.length)
		s := sums{}.update(data[off+atLength : end])
		binary.LittleEndian.PutUint32(data[off:], s.head)
		binary.LittleEndian.PutUint32(data[end:], s.foot)
		off = end + footSize
	}
}

// FuzzWALReplay reads any bytes: no panic, no more memory than the file has,
// and no error but those promised.
func FuzzWALReplay(f *testing.F) {
	w, file := testWriter(1024)
	w.Append(1, []byte("one"))
	w.Sync()
	w.Append(2, make([]byte, 300))
	w.Seal()
	f.Add(bytes.Clone(file.data), false)
	w.Append(9, []byte("three"))
	w.Finish()
	f.Add(bytes.Clone(file.data), true)
	f.Add(file.data[:100], true)
	f.Add(craft(nil, head{typ: typeBatch, number: 7, seq: 1}, head{typ: typeSeal, number: 7, seq: 1}), true)
	f.Add(crowded(2048), false)
	f.Add([]byte{}, false)

	f.Fuzz(func(t *testing.T, data []byte, good bool) {
		if good {
			data = bytes.Clone(data)
			repair(data)
		}
		r, err := NewReader(bytes.NewReader(data), int64(len(data)), testStore, 7)
		var last uint64
		total := 0
		for err == nil {
			var seq uint64
			var payload []byte
			if seq, payload, err = r.Next(); err != nil {
				break
			}
			if seq <= last {
				t.Errorf("got sequence number %d after %d", seq, last)
			}
			last = seq
			total += len(payload) + frameSize
		}
		var v *VersionError
		if err != io.EOF && !isCorrupt(err) && !errors.As(err, &v) {
			t.Errorf("got %v, want the end, corruption or a newer version", err)
		}
		if total > len(data) {
			t.Errorf("got %d bytes of records from %d", total, len(data))
		}
		if r != nil && cap(r.buf) > max(chunkSize, len(data)) {
			t.Errorf("got a buffer of %d bytes for a file of %d", cap(r.buf), len(data))
		}
	})
}

// FuzzWALRecordRoundTrip writes batches made of data in groups, over what an
// older segment left; reads them back; tears the last group at a byte; and
// flips a bit.
func FuzzWALRecordRoundTrip(f *testing.F) {
	f.Add([]byte("a"), uint64(1), uint16(0), uint32(0))
	f.Add(make([]byte, 3000), uint64(2), uint16(1000), uint32(900))
	f.Add(bytes.Repeat([]byte("0123456789"), 70), uint64(3), uint16(333), uint32(5000))
	f.Add([]byte{}, uint64(4), uint16(9), uint32(77))

	f.Fuzz(func(t *testing.T, data []byte, seed uint64, cut uint16, bit uint32) {
		data = data[:min(len(data), 4000)]
		size := MinSegment(len(data)) + 20*frameSize
		r := rand.New(rand.NewPCG(seed, 1))
		old := newFile(size)
		o := NewWriter(old, Header{Store: testStore, Number: 1 + seed%6, Size: size})
		o.Append(1, data)
		must(t, o.Finish())

		file := &memFile{data: bytes.Clone(old.data)}
		w := NewWriter(file, Header{Store: testStore, Number: 7, Size: size})
		var g segment
		acked, synced := 0, 0
		for rest := data; len(g.batches) < 20 && w.Room() >= 0; {
			n := min(r.IntN(len(rest)+1), int(w.Room()))
			b := batch{uint64(len(g.batches)*2 + 1), rest[:n]}
			rest = rest[n:]
			g.batches = append(g.batches, b)
			w.Append(b.seq, b.payload)
			if r.IntN(3) == 0 {
				must(t, w.Sync())
				acked, synced = len(g.batches), file.off
			}
		}
		must(t, w.Sync())
		got, end, err := readAll(file.data)
		if err == nil {
			err = samePrefix(got, g.batches, len(g.batches))
		}
		if err != nil || end != (End{Torn, int64(file.off)}) {
			t.Fatalf("got end %v, %v", end, err)
		}

		torn := bytes.Clone(old.data)
		copy(torn, file.data[:synced+int(cut)%(file.off-synced+1)])
		if err := g.checkTorn(torn, acked); err != nil {
			t.Errorf("torn: %v", err)
		}

		at := int(bit/8) % file.off
		checksum := checksumAt(file.data, file.off)[at]
		file.data[at] ^= 1 << (bit % 8)
		if got, _, err = readAll(file.data); !checksum && !isCorrupt(err) {
			t.Errorf("flip in byte %d: got %d of %d batches and %v, want corruption", at, len(got), len(g.batches), err)
		} else if checksum && (err != nil || samePrefix(got, g.batches, len(g.batches)) != nil) {
			t.Errorf("flip in checksum at byte %d: got %d of %d batches and %v", at, len(got), len(g.batches), err)
		}
	})
}
