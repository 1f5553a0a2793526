package sstable

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestShortLived: compression that saves little is rarely tried, one that saves much is used
// as in any file, and reads return the same.
func TestShortLived(t *testing.T) {
	const rows = 3000
	r := rand.New(rand.NewPCG(1, 1))
	value := make([]byte, 200)
	var list []entry
	for i := range 3 * rows { // little, much, little
		for k := range value {
			value[k] = byte(r.Uint32())
		}
		clear(value[160:])
		if i/rows == 1 {
			clear(value)
		}
		c := cell.Cell{Column: []byte("f\x00q"), Time: int64(i), Seq: uint64(i + 1), Type: cell.Bytes, Value: bytes.Clone(value)}
		list = append(list, entry{fmt.Appendf(nil, "%06d", i), c})
	}
	compressed := make(map[bool][3]int)
	for _, short := range []bool{false, true} {
		file, _ := build(t, list, WriterOptions{ID: testID, Compression: S2, ShortLived: short})
		reader := open(t, file, testID, nil)
		it := reader.NewIterator(ReadOptions{})
		diff(t, fmt.Sprint("short-lived: ", short), collect(it, nil, math.MaxInt), list)
		it.Close()
		blocks := blocksOf(t, file, testID)
		var n [3]int
		for i, h := range blocks {
			_, trailer, ok := reader.sum.split(file[h.offset:h.end()], h.offset)
			if !ok {
				t.Fatalf("block %d is damaged", i)
			}
			if part := i * 3 / len(blocks); trailer.compression == S2 && !trailer.encoded { // of the values
				n[part]++
			}
		}
		compressed[short] = n
	}
	all, few := compressed[false], compressed[true]
	if all[0] == 0 || all[2] == 0 || few[0] > all[0]/skippedBlocks+1 || few[2] > all[2]/skippedBlocks+1 {
		t.Errorf("of blocks that save little %d and %d are compressed, in a file that is short-lived %d and %d", all[0], all[2], few[0], few[2])
	}
	if few[1] < all[1]-skippedBlocks-2 {
		t.Errorf("of blocks that save much %d are compressed, in a file that is short-lived %d", all[1], few[1])
	}
}
