package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// script describes a segment: groups of batches, each group synced.
type script struct {
	size   int64
	number uint64
	groups [][]int // lengths of payloads
	fill   func(r *rand.Rand, p []byte)
	seed   uint64
}

// segment is a script that was carried out.
type segment struct {
	data    []byte
	batches []batch
	ends    []int // offsets behind each group
	counts  []int // batches up to there
}

// run writes the segment over the bytes of base, which it does not change.
func (s script) run(t testing.TB, base []byte) segment {
	t.Helper()
	f := newFile(s.size)
	copy(f.data, base)
	w := NewWriter(f, Header{Store: testStore, Number: s.number, Size: s.size})
	r := rand.New(rand.NewPCG(s.seed, s.number))
	var g segment
	for _, group := range s.groups {
		for _, n := range group {
			p := make([]byte, n)
			s.fill(r, p)
			b := batch{uint64(len(g.batches) + 1), p}
			g.batches = append(g.batches, b)
			w.Append(b.seq, b.payload)
		}
		must(t, w.Sync())
		g.ends = append(g.ends, f.off)
		g.counts = append(g.counts, len(g.batches))
	}
	g.data = f.data
	return g
}

// Contents of payloads: what they have in common is that old and new bytes at
// the same place often differ by few bits, or that they are mostly zeros.
var contents = map[string]func(*rand.Rand, []byte){
	"random": func(r *rand.Rand, p []byte) {
		for i := range p {
			p[i] = byte(r.Uint32())
		}
	},
	"digits": func(r *rand.Rand, p []byte) {
		for i := range p {
			p[i] = '0'
		}
		for range len(p)/40 + 1 {
			if len(p) > 0 {
				p[r.IntN(len(p))] = byte('0' + r.IntN(10))
				p[len(p)-1] = byte('0' + r.IntN(10))
			}
		}
	},
	"sparse": func(r *rand.Rand, p []byte) {
		if len(p) > 0 {
			p[r.IntN(len(p))] = 1 << r.IntN(8)
			p[len(p)-1] = byte(r.IntN(2))
		}
	},
}

// bases returns what can lie in a file before a segment is written to it:
// zeros, older segments of the same shape, random bytes.
func bases(t testing.TB, s script) map[string][]byte {
	older := func(number uint64) []byte {
		o := s
		o.number = number
		return o.run(t, nil).data
	}
	return map[string][]byte{
		"zeros":  make([]byte, s.size),
		"one":    bytes.Repeat([]byte{0xff}, int(s.size)),
		"random": random(s.seed, int(s.size)),
		"old 6":  older(6),
		"old 3":  older(3), // its number is one bit away
	}
}

// checkTorn requires that an image, whose last group may be torn, is read
// without complaint and without half a batch.
func (g *segment) checkTorn(image []byte, acked int) error {
	got, end, err := readAll(image)
	if err != nil {
		return err
	}
	if err := samePrefix(got, g.batches, acked); err != nil {
		return err
	}
	want := end.Kind == Torn
	if len(got) == 0 {
		want = end.Kind == Empty || end.Kind == Unwritten
	}
	if !want {
		return fmt.Errorf("got end %v behind %d batches", end, len(got))
	}
	return nil
}

func TestTornAtEveryByte(t *testing.T) {
	for name, fill := range contents {
		for seed := range uint64(2) {
			s := script{size: 4096, number: 7, seed: seed, fill: fill,
				groups: [][]int{{100, 30, 1}, {20}, {1, 300 + int(seed), 700, 0, 2}}}
			for base, old := range bases(t, s) {
				g := s.run(t, old)
				image := bytes.Clone(old)
				for cut := 0; cut <= g.ends[2]; cut++ {
					copy(image, g.data[:cut])
					acked := 0
					for i, end := range g.ends {
						if cut >= end {
							acked = g.counts[i]
						}
					}
					if err := g.checkTorn(image, acked); err != nil {
						t.Fatalf("%s over %s, seed %d, cut at %d of %v: %v", name, base, seed, cut, g.ends, err)
					}
				}
			}
		}
	}
}

// TestTornSectors writes every subset of the sectors of the last group.
func TestTornSectors(t *testing.T) {
	images := 0
	for name, fill := range contents {
		for seed := range uint64(12) {
			// The place of the group in its first sector differs by seed.
			s := script{size: 16384, number: 7, seed: seed, fill: fill,
				groups: [][]int{{100}, {int(seed * 37)}, {1, 300, 700, 0, 500, 1400 + int(seed)}}}
			for base, old := range bases(t, s) {
				g := s.run(t, old)
				images += g.subsets(t, old, func(image []byte, subset int) {
					if err := g.checkTorn(image, g.counts[1]); err != nil {
						t.Fatalf("%s over %s, seed %d, sectors %b: %v", name, base, seed, subset, err)
					}
				})
			}
		}
	}
	t.Logf("%d images", images)
}

// subsets calls f with every image in which some sectors of the last group
// hold what was there before. It returns their number.
func (g *segment) subsets(t testing.TB, old []byte, f func(image []byte, subset int)) int {
	from, to := 0, g.ends[len(g.ends)-1]
	if len(g.ends) > 1 {
		from = g.ends[len(g.ends)-2]
	}
	first := from / sectorSize
	sectors := (to-1)/sectorSize - first + 1
	image := make([]byte, len(old))
	for subset := range 1 << sectors {
		copy(image, old)
		copy(image, g.data[:from])
		for i := range sectors {
			if subset>>i&1 != 0 {
				a, b := max(from, (first+i)*sectorSize), min(to, (first+i+1)*sectorSize)
				copy(image[a:b], g.data[a:b])
			}
		}
		f(image, subset)
	}
	return 1 << sectors
}

// TestTornNearSectorBoundary moves a record over a sector boundary byte by
// byte, so that every number of its first and last bytes is lost at some time.
// Many segments make sure that what is lost is often one bit away from what
// was there.
func TestTornNearSectorBoundary(t *testing.T) {
	const before = headerSize + frameSize
	for seed := range uint64(8) {
		for pad := 2*sectorSize - before - 2*frameSize; pad < 2*sectorSize-before+10; pad++ {
			s := script{size: 4096, number: 7, seed: seed, fill: contents["digits"],
				groups: [][]int{{pad}, {int(seed)}}}
			for base, old := range bases(t, s) {
				g := s.run(t, old)
				g.subsets(t, old, func(image []byte, subset int) {
					if err := g.checkTorn(image, 1); err != nil {
						t.Fatalf("over %s, seed %d, pad %d, sectors %b: %v", base, seed, pad, subset, err)
					}
				})
			}
		}
	}
}

// TestTornLargeRecord: of many garbled bits some are one bit away from any
// checksum of 32 bits.
func TestTornLargeRecord(t *testing.T) {
	s := script{size: 1 << 21, number: 7, fill: contents["random"], groups: [][]int{{10}, {1 << 20}}}
	g := s.run(t, nil)
	for seed := range uint64(40) {
		image := bytes.Clone(g.data)
		copy(image[g.ends[0]+2*sectorSize:], random(seed, 1<<19))
		if err := g.checkTorn(image, 1); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestGarbledByChance makes a payload whose loss of one sector looks like a
// flipped bit to the first checksum, and requires that the second objects.
func TestGarbledByChance(t *testing.T) {
	s := script{size: 8192, number: 7, fill: contents["random"], groups: [][]int{{10}, {2048}}}
	g := s.run(t, nil)
	image := bytes.Clone(g.data)
	start, end := g.ends[0], g.ends[1]-footSize
	const hole = 2 * sectorSize
	copy(image[hole:], random(5, sectorSize))
	// Bend the hole's first bytes so that the checksum differs by one bit of
	// the byte before the record's end.
	want := decodeHead(image[start:]).sum
	target := want ^ shift(1<<3, 2)
	for range 4 {
		image[hole], image[hole+1], image[hole+2], image[hole+3] = 0, 0, 0, 0
	}
	now := sums{}.update(image[start+atLength : end]).head
	delta := now ^ target
	for range end - hole {
		delta = delta<<8 ^ unstep[delta>>24]
	}
	binary.LittleEndian.PutUint32(image[hole:], delta)
	got := sums{}.update(image[start+atLength : end]).head
	if got != target {
		t.Fatalf("got a checksum of %#x, want %#x", got, target)
	}
	if err := g.checkTorn(image, 1); err != nil {
		t.Error(err)
	}
}

// TestUnwrittenSegments reads what a segment holds before its first use, also
// with damage that nobody needs to know of.
func TestUnwrittenSegments(t *testing.T) {
	s := script{size: 1600, number: 7, fill: contents["random"], groups: [][]int{{100}, {100}}}
	for base, old := range bases(t, s) {
		check := func(what string, at int) {
			got, end, err := readAll(old)
			if err != nil || len(got) != 0 || end != (End{}) {
				t.Fatalf("%s, %s %d: got %d batches, end %v, %v, want an unwritten segment", base, what, at, len(got), end, err)
			}
		}
		check("intact", 0)
		for i := range old {
			for bit := range 8 {
				old[i] ^= 1 << bit
				check("flip in byte", i)
				old[i] ^= 1 << bit
			}
		}
	}
}

// TestTornFirstGroup: the header is part of the first group.
func TestTornFirstGroup(t *testing.T) {
	for name, fill := range contents {
		for seed := range uint64(4) {
			s := script{size: 8192, number: 7, seed: seed, fill: fill, groups: [][]int{{1, 300, 700, 0, 500, 1400}}}
			for base, old := range bases(t, s) {
				g := s.run(t, old)
				g.subsets(t, old, func(image []byte, subset int) {
					if err := g.checkTorn(image, 0); err != nil {
						t.Fatalf("%s over %s, seed %d, sectors %b: %v", name, base, seed, subset, err)
					}
				})
			}
		}
	}
}

// checksumAt returns whether a byte of the segment belongs to a checksum.
func checksumAt(data []byte, used int) []bool {
	is := make([]bool, len(data))
	for off := 0; off < used; {
		h := decodeHead(data[off:])
		end := off + frameSize + int(h.length)
		for i := range 4 {
			is[off+i], is[end-footSize+i] = true, true
		}
		off = end
	}
	return is
}

// checkFlips flips every bit of a segment. A bit of a record is detected, one
// of a checksum harmless, since the record has another; bits behind the log
// do not matter.
func (g *segment) checkFlips(t *testing.T, used int) {
	t.Helper()
	checksum := checksumAt(g.data, used)
	image := bytes.Clone(g.data)
	for i := range image {
		for bit := range 8 {
			image[i] ^= 1 << bit
			got, _, err := readAll(image)
			image[i] ^= 1 << bit
			if i < used && !checksum[i] {
				if !isCorrupt(err) {
					t.Fatalf("bit %d of byte %d: got %d of %d batches and %v, want corruption", bit, i, len(got), len(g.batches), err)
				}
				continue
			}
			if err == nil {
				err = samePrefix(got, g.batches, len(g.batches))
			}
			if err != nil {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
}

func TestEveryFlip(t *testing.T) {
	for name, fill := range contents {
		s := script{size: 3300, number: 7, fill: fill, seed: 9,
			groups: [][]int{{100, 30, 1}, {20}, {1, 100, 70, 0, 2}, {600}}}
		for base, old := range bases(t, s) {
			if base != "old 3" {
				continue // what lies behind the log matters little here
			}
			g := s.run(t, old)
			t.Run(name+" over "+base, func(t *testing.T) { g.checkFlips(t, g.ends[3]) })
		}
	}
}

func TestEveryFlipOfSealedSegments(t *testing.T) {
	for _, finish := range []bool{false, true} {
		w, f := testWriter(6000)
		g := segment{batches: []batch{{1, []byte("one")}, {2, []byte("two")}, {3, make([]byte, 500)}}}
		for _, b := range g.batches {
			w.Append(b.seq, b.payload)
			must(t, w.Seal())
		}
		if finish {
			must(t, w.Finish())
		}
		g.data = f.data
		g.checkFlips(t, f.off)
	}
}

// TestDamageBeforeProof damages synced records in ways that no one-bit test
// finds: whole sectors, and runs of every length.
func TestDamageBeforeProof(t *testing.T) {
	s := script{size: 8192, number: 7, fill: contents["digits"],
		groups: [][]int{{100, 30, 1}, {20, 900}, {1, 300, 700, 0, 2}}}
	g := s.run(t, nil)
	proven := g.ends[1] // the third group speaks for the first two
	image := make([]byte, len(g.data))
	for from := range proven {
		for _, n := range []int{1, 2, 7, 40, sectorSize} {
			for _, with := range []byte{0x00, 0xff, 0x5a} {
				copy(image, g.data)
				to := min(from+n, proven)
				for i := from; i < to; i++ {
					image[i] = with
				}
				got, _, err := readAll(image)
				if isCorrupt(err) {
					continue
				}
				// Only checksums were hit, or nothing changed.
				if err := samePrefix(got, g.batches, len(g.batches)); err != nil {
					t.Fatalf("bytes %d to %d set to %#x: %v", from, to, with, err)
				}
			}
		}
	}
}

// TestSealSurvivesASector: the loss of any one sector of a sealed segment is
// noticed, or takes nothing away, wherever in a sector the log ended.
func TestSealSurvivesASector(t *testing.T) {
	for n := range sectorSize + 2 {
		for _, finish := range []bool{false, true} {
			w, f := testWriter(4096)
			want := []batch{{1, []byte("first")}, {2, bytes.Repeat([]byte{7}, n)}}
			for _, b := range want {
				w.Append(b.seq, b.payload)
			}
			must(t, w.Seal())
			if finish {
				must(t, w.Finish())
			}
			for at := 0; at < f.off; at += sectorSize {
				image := bytes.Clone(f.data)
				clear(image[at : at+sectorSize])
				got, _, err := readAll(image)
				if isCorrupt(err) {
					continue
				}
				if err := samePrefix(got, want, len(want)); err != nil {
					t.Fatalf("%d bytes, sector at %d: %v", n, at, err)
				}
			}
		}
	}
}

// TestSealProves: once sealed, no damage to a batch can look like a torn tail.
func TestSealProves(t *testing.T) {
	w, f := testWriter(4096)
	w.Append(1, make([]byte, 1000))
	must(t, w.Seal())
	for _, hole := range []int{0, 512, 1024} {
		image := bytes.Clone(f.data)
		copy(image[hole:hole+64], bytes.Repeat([]byte{0xee}, 64))
		if _, _, err := readAll(image); !isCorrupt(err) {
			t.Errorf("hole at %d: got %v, want corruption", hole, err)
		}
	}
}

// TestProofAnywhere puts the only proof at every distance from the damage, so
// that it crosses every boundary of the reads that look for it.
func TestProofAnywhere(t *testing.T) {
	const size = chunkSize + 4096
	base := script{size: size, number: 7, fill: contents["random"], groups: [][]int{{10}}}.run(t, nil)
	damage := base.ends[0]
	h := head{typ: typeSeal, number: 7, seq: 1, synced: uint64(damage + 1)}
	seal := h.append(nil)
	s := sums{}.update(seal[atLength:])
	binary.LittleEndian.PutUint32(seal, s.head)
	proof := bytes.Clone(seal)
	check := func(at int) {
		t.Helper()
		copy(base.data[at:], seal)
		_, _, err := readAll(base.data)
		clear(base.data[at : at+len(seal)])
		if !isCorrupt(err) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d proves", at)) {
			t.Fatalf("proof at %d: got %v", at, err)
		}
	}
	for at := damage + 1; at < damage+80; at++ {
		check(at)
	}
	for at := damage + chunkSize - 80; at < damage+chunkSize+80; at++ {
		check(at)
	}
	// It proves nothing if it claims to know of itself.
	binary.LittleEndian.PutUint64(seal[atSynced:], 2000)
	binary.LittleEndian.PutUint32(seal, sums{}.update(seal[atLength:]).head)
	copy(base.data[1999:], seal)
	if err := base.checkTorn(base.data, 0); err != nil {
		t.Error(err)
	}
	clear(base.data[1999 : 1999+len(seal)])
	copy(seal, proof)
	for at := size - frameSize - 50; at <= size-frameSize; at++ {
		check(at)
	}
}

// TestHolesDropTheRest: what follows a hole in the same group is good, and was
// never promised. It must not be returned, and proves nothing.
func TestHolesDropTheRest(t *testing.T) {
	s := script{size: 8192, number: 7, fill: contents["random"],
		groups: [][]int{{50}, {600, 600, 600, 600, 600, 600}}}
	for base, old := range bases(t, s) {
		g := s.run(t, old)
		for i := 1; i < 7; i++ {
			start := g.ends[0] + (i-1)*(600+frameSize)
			image := bytes.Clone(g.data)
			copy(image[start+100:start+300], old[start+100:start+300])
			got, end, err := readAll(image)
			if err != nil || len(got) != i || end != (End{Torn, int64(start)}) {
				t.Errorf("over %s, hole in batch %d: got %d batches, end %v, %v", base, i, len(got), end, err)
			}
		}
	}
}

// TestForgedRecordsProveNothing: a payload that holds records of this segment,
// by somebody who does not know the store's id, is no proof.
func TestForgedRecordsProveNothing(t *testing.T) {
	var forged []byte
	for synced := range uint64(40) {
		h := head{typ: typeBatch, number: 7, seq: 9, synced: synced * 20}
		b := h.append(nil)
		binary.LittleEndian.PutUint32(b, crc32.Checksum(b[atLength:], castagnoli))
		forged = append(binary.LittleEndian.AppendUint32(append(forged, b...), crc32.ChecksumIEEE(b[atLength:])), 0)
	}
	f := newFile(8192)
	w := NewWriter(f, Header{Store: testStore, Number: 7, Size: 8192})
	w.Append(1, []byte("first"))
	must(t, w.Sync())
	synced := f.off
	w.Append(2, forged)
	must(t, w.Sync())
	g := segment{batches: []batch{{1, []byte("first")}}}
	clear(f.data[synced : synced+3])
	clear(f.data[f.off-footSize : f.off])
	if err := g.checkTorn(f.data, 1); err != nil {
		t.Error(err)
	}
}

// crowded is a file full of heads of records that would prove something, all
// as long as the file allows.
func crowded(size int) []byte {
	data := make([]byte, size)
	f := newFile(int64(size))
	w := NewWriter(f, Header{Store: testStore, Number: 7, Size: int64(size)})
	w.Append(1, []byte("x"))
	w.Sync()
	copy(data, f.data)
	for at := f.off + 1; at+frameSize <= size; at += headSize {
		h := head{length: uint32(size - at - frameSize), typ: typeBatch, number: 7, seq: 3, synced: uint64(at)}
		copy(data[at:], h.append(nil))
	}
	return data
}

// countReader counts what is read.
type countReader struct {
	r *bytes.Reader
	n int64
}

func (c *countReader) ReadAt(b []byte, off int64) (int, error) {
	c.n += int64(len(b))
	return c.r.ReadAt(b, off)
}

// TestProofIsLinear: the search reads little more than the file, though every
// one of thousands of candidates reaches to the end of it.
func TestProofIsLinear(t *testing.T) {
	const size = 1 << 20
	c := &countReader{r: bytes.NewReader(crowded(size))}
	r, err := NewReader(c, size, testStore, 7)
	must(t, err)
	for err == nil {
		_, _, err = r.Next()
	}
	if r.End().Kind != Torn {
		t.Errorf("got %v, end %v", err, r.End())
	}
	if limit := int64(size/headSize*2*step + 10*size); c.n > limit {
		t.Errorf("got %d bytes read, want at most %d", c.n, limit)
	}
}
