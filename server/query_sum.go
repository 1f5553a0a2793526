package server

import (
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/widecol"
)

const querySumBytes = 8

// querySum is the XXH64 of a table's name and of what a query selects.
type querySum [querySumBytes]byte

// sumOf returns the sum of a query of a table without its limits. Queries that select the same in the same order
// have the same sum, however they are written.
//
// Each part begins with its length or has a fixed one, so that no two queries are the same bytes.
func sumOf(table string, q *widecol.Query) (sum querySum) {
	var room [512]byte // enough for most
	b := binary.AppendUvarint(room[:0], uint64(len(table)))
	b = append(b, table...)
	b = binary.AppendUvarint(b, uint64(len(q.Rows)))
	for _, r := range q.Rows {
		b = appendCounted(appendCounted(b, r.Start), r.End)
	}
	columns := q.Filter.Columns.Ranges()
	b = appendBools(b, q.Filter.Columns != nil, q.KeysOnly, q.Reverse)
	b = binary.AppendUvarint(b, uint64(len(columns)))
	for _, r := range columns {
		b = appendCounted(appendCounted(b, r.Start), r.End)
	}
	for _, n := range [...]int64{q.Times.Start, q.Times.End, q.ColumnCellLimit, q.RowCellLimit, q.Offset} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(q.Sample))
	if b = appendBools(b, q.Value != nil); q.Value != nil {
		b = appendCounted(append(b, byte(q.Value.Op), byte(q.Value.Type)), q.Value.Value)
	}
	if b = appendBools(b, q.RowFilter != nil); q.RowFilter != nil {
		tree, _ := json.Marshal(q.RowFilter) // of plain fields: it cannot fail
		b = append(b, tree...)
	}
	binary.LittleEndian.PutUint64(sum[:], xxhash.Sum64(b))
	return sum
}

func appendBools(dst []byte, flags ...bool) []byte {
	for _, flag := range flags {
		if flag {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	return dst
}
