package verbs

import (
	"bufio"
	"strings"

	"github.com/rivo/uniseg"
)

// grid draws a table. The first records decide how wide its columns are, so that the others can be drawn as they come.
type grid struct {
	w      *bufio.Writer
	width  int // to fit into, 0 for any
	head   []string
	held   [][]string
	shapes []shape
	widths []int // nil as long as records are held
}

// shape is how a column is drawn.
type shape struct {
	right bool // its texts stand at its right
	whole bool // it is as wide as its texts, whatever other columns need
}

const (
	gap      = 2   // between columns
	narrow   = 6   // no column is made narrower
	maxHeld  = 200 // records that decide on the widths
	maxLines = 4   // of a value that is wider than its column; the rest is left out
)

func newGrid(w *bufio.Writer, width int, fields []string) *grid {
	g := &grid{w: w, width: max(width-1, 0)} // room for an ellipsis
	for _, f := range fields {
		g.head = append(g.head, strings.ToUpper(strings.ReplaceAll(f, "_", " ")))
	}
	return g
}

func (g *grid) add(texts []string, shapes []shape) error {
	g.shapes = shapes
	if g.widths == nil && len(g.held) < maxHeld {
		g.held = append(g.held, texts)
		return nil
	}
	if err := g.flush(); err != nil {
		return err
	}
	return g.draw(texts)
}

// flush draws what is held.
func (g *grid) flush() error {
	if g.widths == nil {
		g.widths = g.fit()
		if err := g.draw(g.head); err != nil {
			return err
		}
	}
	for _, texts := range g.held {
		if err := g.draw(texts); err != nil {
			return err
		}
	}
	g.held = nil
	return nil
}

// fit returns the widths of the columns: what they need, but those that need most get less if all do not fit.
func (g *grid) fit() []int {
	widths := make([]int, len(g.head))
	for _, texts := range append(g.held, g.head) {
		for i, text := range texts {
			widths[i] = max(widths[i], uniseg.StringWidth(text))
		}
	}
	over := gap*(len(widths)-1) - g.width
	for _, w := range widths {
		over += w
	}
	for g.width > 0 && over > 0 {
		widest, second := -1, narrow
		for i, w := range widths {
			switch {
			case i < len(g.shapes) && g.shapes[i].whole:
			case widest < 0 || w > widths[widest]:
				if widest >= 0 {
					second = max(second, widths[widest])
				}
				widest = i
			default:
				second = max(second, w)
			}
		}
		if widest < 0 || widths[widest] <= narrow {
			break
		}
		// As wide as the second one, and then all in turns.
		less := min(over, max(widths[widest]-second, 1))
		widths[widest] -= less
		over -= less
	}
	return widths
}

// draw draws a record, on as many lines as its columns need.
func (g *grid) draw(texts []string) error {
	columns := make([][]string, len(texts))
	lines := 1
	for i, text := range texts {
		columns[i] = g.wrap(text, g.widths[i])
		lines = max(lines, len(columns[i]))
	}
	for n := range lines {
		var line strings.Builder
		for i, column := range columns {
			part := ""
			if n < len(column) {
				part = column[n]
			}
			blank := strings.Repeat(" ", max(g.widths[i]-uniseg.StringWidth(part), 0))
			if i < len(g.shapes) && g.shapes[i].right {
				part = blank + part
			} else {
				part += blank
			}
			line.WriteString(part + strings.Repeat(" ", gap))
		}
		if _, err := g.w.WriteString(strings.TrimRight(line.String(), " ") + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// wrap divides a text into lines of a width. Without a width to fit into it stays whole.
func (g *grid) wrap(text string, width int) []string {
	if g.width == 0 || uniseg.StringWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	start, used := 0, 0
	for graphemes := uniseg.NewGraphemes(text); graphemes.Next(); {
		from, _ := graphemes.Positions()
		if w := graphemes.Width(); used+w > width {
			lines = append(lines, text[start:from])
			if len(lines) == maxLines {
				lines[maxLines-1] = strings.TrimRight(lines[maxLines-1], " ") + "…"
				return lines
			}
			start, used = from, w
		} else {
			used += w
		}
	}
	return append(lines, text[start:])
}
