package dataset

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/webtable"
)

// Generated returns the table of `colonnade generate`: rows of ten cells, with contents of the given
// average length. With 100, values have 2 to 150 bytes, and a cell 70 bytes on average.
func Generated(rows, contents int) (*Table, error) {
	o := webtable.Options{Rows: int64(rows), Seed: 1, Contents: contents}
	g, err := webtable.New(o)
	if err != nil {
		return nil, err
	}
	t := new(Table)
	var text []byte
	for i := range o.Rows {
		text = g.AppendRow(text[:0], i)
		if err := t.addLine(text); err != nil {
			return nil, err
		}
	}
	t.sort()
	return t, nil
}

// Read reads a table, one JSON object a line, as `colonnade import` does.
func Read(r io.Reader) (*Table, error) {
	t := new(Table)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := t.addLine(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", t.Len()+1, err)
		}
	}
	t.sort()
	return t, lines.Err()
}

// line is a row in the format of the service's write requests.
type line struct {
	RowKey string `json:"row_key"`
	Cells  []struct {
		ColumnKey string `json:"column_key"`
		Type      string `json:"type"`
		Value     any    `json:"value"`
		Time      int64  `json:"time"`
	} `json:"cells"`
}

// addLine adds the row in a line of JSON.
func (t *Table) addLine(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	cells := make([]cell.Cell, 0, len(l.Cells))
	for _, given := range l.Cells {
		family, qualifier, _ := strings.Cut(given.ColumnKey, ":")
		c := cell.Cell{
			Column: cell.AppendColumn(nil, []byte(family), []byte(qualifier)),
			Type:   cell.TypeOf(given.Type), Time: given.Time,
		}
		switch v := given.Value.(type) {
		case string:
			c.Value = []byte(v)
		case float64:
			c.Value = binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))
		}
		if err := c.Check(); err != nil || !c.Type.Fits(c.Value) {
			return fmt.Errorf("cell %s of row %q: %v", given.ColumnKey, l.RowKey, err)
		}
		cells = append(cells, c)
	}
	slices.SortStableFunc(cells, func(x, y cell.Cell) int { return x.Compare(&y) })
	cells = slices.CompactFunc(cells, func(x, y cell.Cell) bool { return x.Compare(&y) == 0 })
	t.Add([]byte(l.RowKey), cells)
	return nil
}
