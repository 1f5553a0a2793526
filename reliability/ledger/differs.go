package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differs tells a person how cells differ from what the account allows.
func (a *account) differs(writer int, cells Cells) string {
	text := fmt.Sprintf("writer %d, after %d steps, from what is certain by %s", writer, a.tries, difference(a.must, cells))
	if a.may != nil {
		text += "; from what was under way by " + difference(a.may, cells)
	}
	return text
}

// shown bounds how many cells of a difference are told.
const shown = 4

func difference(want, got Cells) string {
	places := maps.Clone(want)
	maps.Copy(places, got)
	var list []string
	for _, place := range slices.Sorted(maps.Keys(places)) {
		w, wanted := want[place]
		g, there := got[place]
		switch {
		case !there:
			list = append(list, fmt.Sprintf("%s is missing, it was %s", place, short(w)))
		case !wanted:
			list = append(list, fmt.Sprintf("%s is there as %s, and should not be", place, short(g)))
		case w != g:
			list = append(list, fmt.Sprintf("%s is %s, it was %s", place, short(g), short(w)))
		}
	}
	more := len(list) - shown
	if more <= 0 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(list[:shown], ", "), more)
}

func short(value string) string {
	const most = 12
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q… (%d bytes)", value[:most], len(value))
}
