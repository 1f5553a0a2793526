//go:build race

package poison

import "testing"

func TestReleased(t *testing.T) {
	for _, size := range []int{0, 1, len(pattern), 2*len(pattern) + 1} {
		all := make([]byte, size+2)
		Bytes(all[1 : 1+size/2 : 1+size])
		for i, b := range all {
			want := byte(Byte)
			if i == 0 || i > size {
				want = 0
			}
			if b != want {
				t.Fatalf("of %d bytes, byte %d is %#x, want %#x", size, i-1, b, want)
			}
		}
	}
	Bytes(nil)
}
