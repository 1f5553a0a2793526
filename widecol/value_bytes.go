package widecol

import (
	"encoding/binary"

	"github.com/colonnade-db/colonnade/cell"
)

// ValueBytes appends the value of a cell to dst as Bigtable has it, to whose filters and clients all values are bytes:
// a string its UTF-8, numbers big-endian (i64 and f64 8 bytes, i32 and f32 4), byte and boolean 1, bytes themselves.
func ValueBytes(dst []byte, c *cell.Cell) []byte {
	switch {
	case (c.Type == cell.I64 || c.Type == cell.F64) && len(c.Value) == 8:
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(c.Value))
	case (c.Type == cell.I32 || c.Type == cell.F32) && len(c.Value) == 4:
		return binary.BigEndian.AppendUint32(dst, binary.LittleEndian.Uint32(c.Value))
	}
	return append(dst, c.Value...)
}
