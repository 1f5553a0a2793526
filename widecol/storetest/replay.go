package storetest

import (
	"fmt"
	"math/rand/v2"
)

// replayed bounds the operations of Replay. Short inputs are enough to be new.
const replayed = 24

// Replay is Random in one configuration, with operations from data instead of a seed. Each byte is
// one decision, and the operations end with the bytes, so a fuzzer finds new ones step by step. The
// first byte decides on the locality groups.
func Replay(open Open, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	in := &decisions{data: data[1:]}
	g := newGenerator(rand.New(in))
	for len(in.data) > 0 && len(g.ops) < replayed {
		g.step(true)
	}
	r := &runner{open: open, seed: uint64(data[0]), grouping: groupingOf(uint64(data[0]), 3)}
	if f := r.try(g.ops); f != nil {
		return fmt.Errorf("%w, after\n%s", f, list(f.ops))
	}
	return nil
}

// decisions is a source of random numbers from bytes. It spreads each byte, so that a choice among
// a few depends on the byte alone. After the last byte it uses a generator: the current operation
// may need more numbers, and some choices are repeated until they fit.
type decisions struct {
	data []byte
	rest *rand.PCG
}

func (d *decisions) Uint64() uint64 {
	if len(d.data) > 0 {
		b := d.data[0]
		d.data = d.data[1:]
		return uint64(b) * 0x0101010101010101
	}
	if d.rest == nil {
		d.rest = rand.NewPCG(0, 0)
	}
	return d.rest.Uint64()
}
