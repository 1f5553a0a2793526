package sstable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// randomColumn returns a column of a cell or tombstone. Most qualifiers share prefixes, and
// some differ only in the number of zeros at their end.
func randomColumn(r *rand.Rand, families int) []byte {
	column := fmt.Appendf(nil, "f%d", r.IntN(families))
	switch r.IntN(20) {
	case 0:
		return nil
	case 1:
		return column
	}
	column = append(column, 0)
	if r.IntN(2) == 0 {
		column = append(column, "the same"...)
	}
	column = append(column, byte('a'+r.IntN(4)))
	return append(column, make([]byte, r.IntN(3))...)
}

// A columnDict has the columns of its block only, whatever blocks came before, and in order.
func TestColumnTable(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	var table columnDict
	for block := range 300 {
		table.reset()
		ids, seen := make(map[string]uint32), make(map[string]bool)
		families := 1 + r.IntN(5)
		if block%10 == 0 {
			families = 3 * maxKeptFamilies
		}
		for range 1 + r.IntN(20) {
			var row [][]byte
			for range 1 + r.IntN(30) {
				row = append(row, randomColumn(r, families))
			}
			slices.SortFunc(row, bytes.Compare)
			table.beginRow()
			for _, column := range row {
				if id, ok := table.predict(column); ok && r.IntN(2) == 0 {
					if want, known := ids[string(column)]; !known || id != want {
						t.Fatalf("block %d: %q is expected as %d, want %d, %t", block, column, id, want, known)
					}
					table.setLast(id)
					continue
				}
				want, known := ids[string(column)]
				if !known {
					want = uint32(len(ids))
					ids[string(column)] = want
				}
				id, fresh := table.id(column)
				if id != want || fresh == known || string(table.name(id)) != string(column) {
					t.Fatalf("block %d: %q is %d %q, new %t, want %d, known %t", block, column, id, table.name(id), fresh, want, known)
				}
				family, qualifier := cell.SplitColumn(column)
				name := fmt.Sprint(string(family), qualifier == nil)
				if fresh && table.beganFamily() == seen[name] {
					t.Fatalf("block %d: the family of %q is new: %t", block, column, table.beganFamily())
				}
				seen[name] = true
			}
		}
		table.sort()
		if len(table.sorted) != len(ids) || !slices.IsSortedFunc(table.sorted, func(a, b uint32) int { return bytes.Compare(table.name(a), table.name(b)) }) {
			t.Fatalf("block %d: %d columns, want %d, in order", block, len(table.sorted), len(ids))
		}
	}
}

// A version has one id in its block, whether there are few versions or many.
func TestVersionDict(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	var table versionDict
	for block := range 300 {
		table.reset()
		ids := make(map[cellVersion]uint32)
		most := 1 + r.IntN(3*maxLinearVersions)
		for range 200 {
			v := cellVersion{int64(r.IntN(most) - 1), uint64(r.IntN(2))}
			want, known := ids[v]
			if !known {
				want = uint32(len(ids))
				ids[v] = want
			}
			if id := table.id(v.time, v.seq); id != want || table.list[id] != v {
				t.Fatalf("block %d: %v is %d, want %d", block, v, id, want)
			}
		}
		if len(table.list) != len(ids) {
			t.Fatalf("block %d: %d versions, want %d", block, len(table.list), len(ids))
		}
	}
}
