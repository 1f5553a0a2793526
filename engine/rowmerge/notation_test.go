package rowmerge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
)

// Tests write entries as text:
//
//	f:a @5 #3 x    the value x in column f:a, time 5, sequence number 3; may be several words
//	!f:a @5 #3     a tombstone of that version
//	!f:a #3        of the column
//	!f #3          of the family
//	!row #3        of the row
//
// Times are in microseconds, or in seconds with an s: @90s is @90000000.

// parseEntry reads one entry.
func parseEntry(text string) cell.Cell {
	fields := strings.Fields(text)
	name, tombstone := strings.CutPrefix(fields[0], "!")
	family, qualifier, full := strings.Cut(name, ":")
	c := cell.Cell{Type: cell.String, Time: cell.TombstoneTime}
	for i, field := range fields[1:] {
		if field[0] == '@' {
			c.Time = parseTime(field[1:])
		} else if field[0] == '#' {
			c.Seq = must(strconv.ParseUint(field[1:], 10, 64))
		} else {
			c.Value = []byte(strings.Join(fields[1+i:], " "))
			break
		}
	}
	switch {
	case full:
		c.Column = cell.AppendColumn(nil, []byte(family), []byte(qualifier))
	case family != "row":
		c.Column = []byte(family)
	}
	if tombstone {
		c.Type = cell.None
		switch {
		case len(c.Column) == 0:
			c.Kind = cell.DeleteRow
		case !full:
			c.Kind = cell.DeleteFamily
		case c.Time == cell.TombstoneTime:
			c.Kind = cell.DeleteColumn
		default:
			c.Kind = cell.DeleteVersion
		}
	}
	if err := c.Check(); err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
	return c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// entryText is the inverse of parseEntry.
func entryText(c *cell.Cell) string {
	family, qualifier := cell.SplitColumn(c.Column)
	switch c.Kind {
	case cell.Set:
		return fmt.Sprintf("%s:%s @%s #%d %s", family, qualifier, timeText(c.Time), c.Seq, c.Value)
	case cell.DeleteVersion:
		return fmt.Sprintf("!%s:%s @%s #%d", family, qualifier, timeText(c.Time), c.Seq)
	case cell.DeleteColumn:
		return fmt.Sprintf("!%s:%s #%d", family, qualifier, c.Seq)
	case cell.DeleteFamily:
		return fmt.Sprintf("!%s #%d", family, c.Seq)
	}
	return fmt.Sprintf("!row #%d", c.Seq)
}

// seenText is a version without its sequence number, which a compaction may set to 0.
func seenText(c *cell.Cell) string {
	family, qualifier := cell.SplitColumn(c.Column)
	return fmt.Sprintf("%s:%s @%s %s", family, qualifier, timeText(c.Time), c.Value)
}

func parseEntries(texts ...string) []cell.Cell {
	var cells []cell.Cell
	for _, text := range texts {
		cells = append(cells, parseEntry(text))
	}
	return cells
}

func entryTexts(cells []cell.Cell) []string {
	texts := []string{}
	for i := range cells {
		texts = append(texts, entryText(&cells[i]))
	}
	return texts
}

const second = 1_000_000 // in microseconds

func parseTime(text string) int64 {
	whole, seconds := strings.CutSuffix(text, "s")
	if !seconds {
		return must(strconv.ParseInt(text, 10, 64))
	}
	whole, fraction, _ := strings.Cut(whole, ".")
	return must(strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64))
}

func timeText(t int64) string {
	if t < second || t >= cell.MaxTime {
		return strconv.FormatInt(t, 10)
	}
	text := fmt.Sprintf("%d.%06d", t/second, t%second)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "s"
}
