package branches

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// profile is the statements that have run, in the text form of go tool cover:
//
//	file:line.column,line.column statements count
type profile map[string][]span

// span is a stretch of code that runs as a whole or not at all.
type span struct {
	fromLine, fromColumn int
	toLine, toColumn     int
	ran                  bool
}

func readProfile(r io.Reader) (profile, error) {
	p := make(profile)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		colon := strings.LastIndexByte(line, ':')
		if colon < 0 {
			return nil, fmt.Errorf("coverage profile: line %q has no file", line)
		}
		var s span
		var statements, count int
		if _, err := fmt.Sscanf(line[colon+1:], "%d.%d,%d.%d %d %d",
			&s.fromLine, &s.fromColumn, &s.toLine, &s.toColumn, &statements, &count); err != nil {
			return nil, fmt.Errorf("coverage profile: line %q: %w", line, err)
		}
		s.ran = count > 0
		p[line[:colon]] = append(p[line[:colon]], s)
	}
	return p, lines.Err()
}

// ran reports whether the statement at a place has run. A place that the profile
// does not know has not.
func (p profile) ran(b branch) bool {
	for _, s := range p[b.file] {
		if s.ran && s.contains(b.line, b.lineBegins) {
			return true
		}
	}
	return false
}

func (s span) contains(line, column int) bool {
	after := line > s.fromLine || line == s.fromLine && column >= s.fromColumn
	before := line < s.toLine || line == s.toLine && column < s.toColumn
	return after && before
}
