package load

import "slices"

const (
	bodyStart = `{"items":[`
	bodyEnd   = `]}`
)

// batch is a number of lines as the body of one write request.
type batch struct {
	body   []byte // bodyStart, lines with commas between, bodyEnd
	lines  []lineRef
	cells  int64
	bytes  int64 // of the lines as they were read
	offset int64 // of the input after its last line
	// Of the journal: how many batches are before this one, and where its last line ends.
	order   int64
	reached position
	// stamped says that the loader set the time of some cells.
	stamped bool
	// lent says that a request has failed, maybe before the server had read it. net/http may still be
	// sending the body.
	lent bool
}

// lineRef is a line in a batch.
type lineRef struct {
	first, last int64 // in the input, from 1; the same but for a row that several lines had
	start, end  int   // in batch.body
	cells       int
	bytes       int
}

// add appends the line that o has scanned.
func (b *batch) add(first, last int64, o *outliner) {
	if len(b.lines) == 0 {
		b.body = append(b.body[:0], bodyStart...)
	} else {
		b.body = append(b.body, ',')
	}
	start, size := len(b.body), len(o.line)+1
	b.body = o.appendLine(b.body)
	b.lines = append(b.lines, lineRef{first: first, last: last, start: start, end: len(b.body), cells: o.cells, bytes: size})
	b.cells += int64(o.cells)
	b.bytes += int64(size)
	b.stamped = b.stamped || o.stamped
}

func (b *batch) seal() { b.body = append(b.body, bodyEnd...) }

// parts divides a sealed batch into at most n batches that do not share its memory.
func (b *batch) parts(n int) []*batch {
	var parts []*batch
	size := (len(b.lines) + n - 1) / n
	for lines := range slices.Chunk(b.lines, size) {
		p := &batch{offset: b.offset, body: []byte(bodyStart)}
		for i, l := range lines {
			if i > 0 {
				p.body = append(p.body, ',')
			}
			start := len(p.body)
			p.body = append(p.body, b.body[l.start:l.end]...)
			p.lines = append(p.lines, lineRef{first: l.first, last: l.last, start: start, end: len(p.body), cells: l.cells, bytes: l.bytes})
			p.cells += int64(l.cells)
			p.bytes += int64(l.bytes)
		}
		p.seal()
		parts = append(parts, p)
	}
	return parts
}
