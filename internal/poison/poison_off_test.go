//go:build !race

package poison

import "testing"

func TestReleased(t *testing.T) {
	b := []byte("as it is")
	if Bytes(b[:2]); string(b) != "as it is" {
		t.Errorf("became %q", b)
	}
}
