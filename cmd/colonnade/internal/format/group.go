package format

import "bytes"

// Of a row in the form of cells, so much becomes one item at most.
const (
	maxItemCells = 1000
	maxItemBytes = 1 << 20
)

// group joins the cells of a row that follow each other into items.
type group struct {
	// read reads the next cell. Its errors are as those of Reader.Next.
	read func() (cellRecord, error)

	next        cellRecord
	err         error
	have        bool // next or err was read
	key         []byte
	first, last int64
	item        item
}

// cellRecord is a cell in the form of cells, valid until the next is read.
type cellRecord struct {
	key    []byte // of the row
	head   []byte // of cellHead
	value  []byte // in JSON
	time   []byte // its text, empty for none
	number int64  // of the record
}

// Next returns the next item.
func (g *group) Next() (Row, error) {
	cells, size := 0, 0
	for ; ; g.have = false {
		if !g.have {
			g.next, g.err = g.read()
			g.have = true
		}
		c := &g.next
		full := g.err != nil || cells > 0 && !bytes.Equal(c.key, g.key) || cells == maxItemCells || size >= maxItemBytes
		switch {
		case full && cells > 0:
			return Row{g.item.end(), g.first, g.last}, nil
		case g.err != nil:
			g.have = false
			return Row{}, g.err
		case cells == 0:
			g.key, g.first = append(g.key[:0], c.key...), c.number
			g.item.begin(g.key)
		}
		g.item.cell(c.head)
		g.item.text = append(g.item.text, c.value...)
		g.item.endCell(c.time)
		g.last = c.number
		cells, size = cells+1, len(g.item.text)
	}
}

// Field returns "": each record names its column key.
func (g *group) Field(string) string { return "" }
