package prefetch

import (
	"fmt"
	"testing"
	"unsafe"
)

// Whatever is asked for, nothing is read: neither what no memory is at, nor what
// the caller does not own.
func TestNothingIsRead(t *testing.T) {
	Bytes(nil)
	Bytes([]byte{})
	b := make([]byte, 1<<16)
	for from := range 130 {
		for _, n := range []int{0, 1, 63, 64, 65, 1000} {
			Bytes(b[from : from+n])
		}
	}
	Lines(unsafe.Pointer(unsafe.SliceData(b)), 1<<30)
	Lines(nil, 1<<12)
}

var otherWork int

// A walk along a chain whose elements are strewn over memory, of which each names
// the one after the next.
func BenchmarkChain(b *testing.B) {
	const elements, apart = 1 << 17, 1 << 10
	memory := make([]byte, elements*apart)
	at := func(i int) *int { return (*int)(unsafe.Pointer(&memory[i*apart])) }
	const step = 48271 // odd, so that all elements are met
	for i := range elements {
		*at(i) = (i + step) % elements
	}
	for _, ahead := range []bool{true, false} {
		b.Run(fmt.Sprintf("asked=%t", ahead), func(b *testing.B) {
			i := 0
			for b.Loop() {
				next := *at(i)
				if ahead {
					Lines(unsafe.Pointer(at((next+step)%elements)), 1)
				}
				for range 100 {
					otherWork++
				}
				i = next
			}
		})
	}
}
