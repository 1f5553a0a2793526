//go:build race

package poison

import "bytes"

var pattern = bytes.Repeat([]byte{Byte}, 4<<10)

// Bytes overwrites b, which its owner releases, up to its capacity.
func Bytes(b []byte) {
	for b = b[:cap(b)]; len(b) > 0; {
		b = b[copy(b, pattern):]
	}
}
