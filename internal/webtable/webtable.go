// Package webtable generates a table of web pages of any size: the same one for the same options, row by
// row, in bounded memory.
//
// A row is a page under its reversed domain. It has ten cells, all with the time when the page was
// fetched:
//
//	com.mibaloru/culture/3-island      row key, 20 to 30 bytes
//	  title:      language:            text, in one of several languages
//	  contents:                        text, Options.Contents bytes on average
//	  meta:etag   meta:mime            text
//	  meta:size   meta:status          i64
//	  anchor:<domain>                  three links to the page, with their text
//
// Without shuffling, rows come in key order.
package webtable

import (
	"errors"
	"fmt"
	"strconv"
)

// Options describe a table.
type Options struct {
	Rows int64
	Seed uint64
	// Contents is the mean length of the column contents: in bytes. Lengths are uniform from half of it
	// to one and a half times of it.
	Contents int
	// Shuffle returns the rows in random order.
	Shuffle bool
}

const (
	pagesPerSite = 64 // len(sections) * len(slugs)
	nameLength   = 4  // syllables of a site's name
	maxRows      = 1 << 32

	// firstFetch is the time of the oldest page, 2024-01-01 in microseconds.
	// Pages were fetched during the fetchDays after it.
	firstFetch  = 1_704_067_200_000_000
	fetchDays   = 700
	dayMicros   = 24 * 3600 * 1_000_000
	maxContents = 1 << 20
)

// CellsPerRow is the number of cells of each row.
const CellsPerRow = 10

// Generator makes the rows of a table. It is for one goroutine at a time.
type Generator struct {
	o     Options
	order permutation
	// spread is the number of names between a site and the next one.
	spread uint64
	rnd    random
	host   []byte // scratch: the name of a linking site
}

// New returns a generator for the table that o describes.
func New(o Options) (*Generator, error) {
	if o.Rows < 0 || o.Rows > maxRows {
		return nil, fmt.Errorf("rows must be from 0 to %d", int64(maxRows))
	}
	if o.Contents < 2 || o.Contents > maxContents {
		return nil, fmt.Errorf("contents must be from 2 to %d bytes", maxContents)
	}
	if len(sections)*len(slugs) != pagesPerSite {
		return nil, errors.New("pagesPerSite does not fit the lists of sections and slugs")
	}
	sites := (uint64(o.Rows) + pagesPerSite - 1) / pagesPerSite
	return &Generator{o: o, order: newPermutation(uint64(o.Rows), o.Seed), spread: names() / max(sites, 1)}, nil
}

// names returns the number of site names.
func names() uint64 {
	n := uint64(len(domains))
	for range nameLength {
		n *= uint64(len(syllables))
	}
	return n
}

// AppendRow appends row i, counted from 0, as a line of JSON in the form of the items of a write request,
// with a newline.
func (g *Generator) AppendRow(dst []byte, i int64) []byte {
	n := uint64(i)
	if g.o.Shuffle {
		n = g.order.at(n)
	}
	g.rnd = newRandom(g.o.Seed, n)
	r := &g.rnd
	lang := &languages[r.below(uint64(len(languages)))]
	time := firstFetch + int64(r.below(fetchDays*dayMicros))

	dst = append(dst, `{"row_key":"`...)
	dst = g.appendKey(dst, n)
	dst = append(dst, `","cells":[`...)
	dst = g.text(dst, "title:", lang, 24, time)
	dst = g.string(dst, "language:", lang.code, time)
	contents := uint64(g.o.Contents)
	dst = g.text(dst, "contents:", lang, int(contents/2+r.below(contents+1)), time)
	dst = g.number(dst, "meta:size", int64(200+r.below(200_000)), time)
	dst = g.number(dst, "meta:status", statuses[r.below(uint64(len(statuses)))], time)
	dst = g.string(dst, "meta:mime", mimes[r.below(uint64(len(mimes)))], time)
	dst = append(dst, `{"column_key":"meta:etag","type":"string","value":"`...)
	dst = strconv.AppendUint(dst, r.next()>>1|1<<63, 36)
	dst = closeString(dst, time)
	for range 3 {
		g.host = g.appendSite(g.host[:0], r.below(names()))
		dst = g.text(dst, "anchor:"+string(g.host), lang, 10+int(r.below(12)), time)
	}
	dst[len(dst)-1] = ']' // the comma after the last cell
	return append(dst, '}', '\n')
}

// appendKey appends the key of the row with number n in key order.
func (g *Generator) appendKey(dst []byte, n uint64) []byte {
	site, page := n/pagesPerSite, n%pagesPerSite
	jitter := newRandom(g.o.Seed, ^site)
	dst = g.appendSite(dst, site*g.spread+jitter.below(g.spread))
	dst = append(dst, '/')
	dst = append(dst, sections[page/uint64(len(slugs))]...)
	dst = append(dst, '/')
	slug := page % uint64(len(slugs))
	dst = append(dst, '1'+byte(slug), '-')
	return append(dst, slugs[slug]...)
}

// appendSite appends the reversed domain with the given number. Larger numbers
// give larger names.
func (g *Generator) appendSite(dst []byte, name uint64) []byte {
	base := uint64(len(syllables))
	var digits [nameLength]uint64
	for i := nameLength - 1; i >= 0; i-- {
		digits[i] = name % base
		name /= base
	}
	dst = append(dst, domains[name]...)
	dst = append(dst, '.')
	for _, d := range digits {
		dst = append(dst, syllables[d]...)
	}
	return dst
}

// text appends a cell with words of a language, up to size bytes of them, and
// at least two bytes.
func (g *Generator) text(dst []byte, column string, lang *language, size int, time int64) []byte {
	dst = openString(dst, column)
	start := len(dst)
	for {
		word := lang.words[g.rnd.below(uint64(len(lang.words)))]
		if len(dst) > start {
			if len(dst)-start+1+len(word) > size {
				return closeString(dst, time)
			}
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
}

func (g *Generator) string(dst []byte, column, value string, time int64) []byte {
	dst = openString(dst, column)
	dst = append(dst, value...)
	return closeString(dst, time)
}

func (g *Generator) number(dst []byte, column string, value, time int64) []byte {
	dst = append(dst, `{"column_key":"`...)
	dst = append(dst, column...)
	dst = append(dst, `","type":"i64","value":`...)
	dst = strconv.AppendInt(dst, value, 10)
	return closeCell(dst, time)
}

func openString(dst []byte, column string) []byte {
	dst = append(dst, `{"column_key":"`...)
	dst = append(dst, column...)
	return append(dst, `","type":"string","value":"`...)
}

func closeString(dst []byte, time int64) []byte { return closeCell(append(dst, '"'), time) }

func closeCell(dst []byte, time int64) []byte {
	dst = append(dst, `,"time":`...)
	dst = strconv.AppendInt(dst, time, 10)
	return append(dst, '}', ',')
}
