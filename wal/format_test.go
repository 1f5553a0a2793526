package wal

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// golden is a whole segment of version 1.
const golden = `
0ad1958328000000010700000000000000000000000000000000000000000000
00636f6c6f2e77616c0100000001000000d30000000000000001020304050607
08090a0b0c0d0e0f108670c9dba61a8e09170000000207000000000000000807
060504030201000000000000000029bf51b6cdea2a7017a938381a2ab127fb75
15f8a9158f352228157b247d8500000000030700000000000000080706050403
02018900000000000000032b40c73536aab80000000004070000000000000008
07060504030201ae00000000000000e4bca3fa
`

// TestFormatIsFixed: what is written today is what was always written, to the
// bit. A change here is a new version of the format.
func TestFormatIsFixed(t *testing.T) {
	want, err := hex.DecodeString(strings.Join(strings.Fields(golden), ""))
	must(t, err)
	size := int64(len(want))
	f := newFile(size)
	w := NewWriter(f, Header{Store: testStore, Number: 7, Size: size, Copy: true})
	w.Append(0x0102030405060708, []byte("one batch of the engine"))
	must(t, w.Seal())
	must(t, w.Finish())
	if !bytes.Equal(f.data, want) {
		t.Errorf("got\n%x\nwant\n%x", f.data, want)
	}
	got, end, err := readAll(want)
	must(t, err)
	if len(got) != 1 || string(got[0].payload) != "one batch of the engine" || end != (End{Finished, size}) {
		t.Errorf("got %v, end %v", got, end)
	}
}
