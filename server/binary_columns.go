package server

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
)

// chargeStep is how many bytes of binary columns are charged at a time.
const chargeStep = 64 << 10

// writeBinary writes a version of a binary column to the list that follows the other columns. A row may have any
// number of them, so the list counts as memory of the request.
func (a *rowWriter) writeBinary(c *cell.Cell, i int) error {
	out := a.binary
	switch {
	case len(out) > 0 && bytes.Equal(a.binaryColumn, c.Column):
		out = append(out, ',')
	default:
		if len(out) > 0 {
			out = append(out, "]},"...)
		}
		family, qualifier := cell.SplitColumn(c.Column)
		out = append(out, `{"family":`...)
		out = appendText(out, family)
		out = append(out, `,"qualifier":`...)
		out = appendBytes(out, qualifier)
		out = append(out, `,"cells":[`...)
		a.binaryColumn = append(a.binaryColumn[:0], c.Column...)
	}
	a.binary = a.endVersion(a.beginVersion(out, c), i)
	for len(a.binary) > a.charged+chargeStep {
		if err := charge(a.memory, chargeStep); err != nil {
			return err
		}
		a.charged += chargeStep
	}
	return nil
}

// endBinary writes the list of binary columns.
func (a *rowWriter) endBinary() {
	a.c.out = append(a.c.out, `,"binary_columns":[`...)
	a.c.out = append(a.c.out, a.binary...)
	a.c.out = append(a.c.out, "]}]"...)
	a.binary = a.binary[:0]
}
