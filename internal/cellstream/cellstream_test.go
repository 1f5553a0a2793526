package cellstream

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

func randomCells(r *rand.Rand) (list []Cell) {
	text := func(n int) []byte { return bytes.Repeat([]byte{'a' + byte(r.IntN(3))}, r.IntN(n)) }
	for range r.IntN(40) {
		c := Cell{Row: text(4), Family: text(3), Qualifier: text(3), Value: text(300), Time: int64(r.IntN(3)), Type: cell.Type(r.IntN(cell.TypeCount))}
		list = append(list, c)
	}
	return list
}

// decode returns the cells of a stream of frames, and whether it ends with the empty one.
func decode(stream []byte) (list []Cell, ended bool, err error) {
	for {
		cells, n, end, err := Split(stream)
		if err != nil || end || n == 0 {
			return list, end, err
		}
		var d Decoder
		var c Cell
		for d.Reset(cells); d.Next(&c); {
			list = append(list, c)
		}
		if d.Err() != nil {
			return list, false, d.Err()
		}
		stream = stream[n:]
	}
}

func sameCells(t *testing.T, got, want []Cell) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d cells, want %d", len(got), len(want))
	}
	for i := range got {
		a, b := &got[i], &want[i]
		if !bytes.Equal(a.Row, b.Row) || !bytes.Equal(a.Family, b.Family) || !bytes.Equal(a.Qualifier, b.Qualifier) || !bytes.Equal(a.Value, b.Value) || a.Time != b.Time || a.Type != b.Type {
			t.Fatalf("cell %d is %+v, want %+v", i, *a, *b)
		}
	}
}

// TestStream: what goes in comes out, in frames of any length, also of cells that were encoded before.
func TestStream(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := randomCells(r)
		var stream []byte
		var e, rows Encoder
		for i := 0; i < len(want); i++ {
			if r.IntN(3) == 0 { // a few cells that were encoded before
				n := 0
				for ; i < len(want)-1 && r.IntN(3) > 0; i++ {
					rows.Add(&want[i])
					n++
				}
				if encoded := rows.Take(); n > 0 {
					e.AddEncoded(encoded, n)
				}
			}
			e.Add(&want[i])
			if r.IntN(5) == 0 {
				stream = append(stream, e.Frame()...)
			}
		}
		if e.Cells() > 0 {
			stream = append(stream, e.Frame()...)
		}
		stream = append(stream, e.Frame()...)
		got, ended, err := decode(stream)
		if err != nil || !ended {
			t.Fatalf("seed %d: ended %t, %v", seed, ended, err)
		}
		sameCells(t, got, want)
		if len(stream) > 1 {
			cut := stream[:r.IntN(len(stream)-1)]
			if _, ended, _ := decode(cut); ended {
				t.Fatalf("seed %d: a stream that was cut off has an end", seed)
			}
		}
	}
}

// TestFlippedBit: a bit that is flipped in the cells of a frame is found.
func TestFlippedBit(t *testing.T) {
	var e Encoder
	e.Add(&Cell{Row: []byte("row"), Family: []byte("f"), Qualifier: []byte("q"), Value: []byte("value"), Time: 7, Type: cell.String})
	frame := bytes.Clone(e.Frame())
	for i := range 8 * len(frame) {
		flipped := bytes.Clone(frame)
		flipped[i/8] ^= 1 << (i % 8)
		if cells, n, end, err := Split(flipped); err == nil && !end && n != 0 {
			t.Fatalf("bit %d: got %q", i, cells)
		}
	}
}

// FuzzDecode: no bytes cause a panic, and what is decoded lies in them.
func FuzzDecode(f *testing.F) {
	var e Encoder
	e.Add(&Cell{Row: []byte("row"), Family: []byte("f"), Value: []byte("v"), Type: cell.String})
	e.Add(&Cell{Row: []byte("row"), Family: []byte("f"), Value: []byte("w"), Type: cell.String})
	f.Add(bytes.Clone(e.Take()))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _, _ = Split(data)
		var d Decoder
		var c Cell
		total := 0
		for d.Reset(data); d.Next(&c); {
			total += len(c.Value)
		}
		if total > len(data) {
			t.Fatalf("%d bytes of values in %d", total, len(data))
		}
	})
}
