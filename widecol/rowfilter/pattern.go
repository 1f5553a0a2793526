package rowfilter

import (
	"bytes"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/widecol"
)

// pattern is a compiled regular expression over bytes, and what it says about the start of its matches.
type pattern struct {
	re    *regexp.Regexp // for text that is read as Latin-1
	steps int

	// starts are the texts of which each match starts with one.
	starts [][]byte
	// exact says that they are the matches, rest that every text that starts with one matches.
	exact, rest bool
}

func newPattern(text []byte) (*pattern, error) {
	re, err := widecol.CompilePattern(text)
	if err != nil {
		return nil, err
	}
	tree, failed := syntax.Parse(re.String(), syntax.Perl)
	if failed != nil {
		return nil, failed
	}
	tree = tree.Simplify()
	program, failed := syntax.Compile(tree)
	if failed != nil {
		return nil, failed
	}
	p := &pattern{re: re, steps: len(program.Inst)}
	s := startsOf(whole(tree))
	p.exact, p.rest = s.exact, s.rest
	for _, text := range s.texts {
		p.starts = append(p.starts, []byte(text))
	}
	slices.SortFunc(p.starts, bytes.Compare)
	p.starts = slices.CompactFunc(p.starts, bytes.Equal)
	return p, nil
}

// maxStarts bounds the starts of a pattern: each may become a range of rows or columns to read.
const maxStarts = 64

// starts is what a part of a pattern matches: each match starts with one of texts, is one of them if exact
// holds, and everything that starts with one is a match if rest holds.
type starts struct {
	texts       []string
	exact, rest bool
}

// anything is what nothing is known about.
var anything = starts{texts: []string{""}}

// whole returns a pattern without the marks of start and end of the text at its own start and end: each
// match is of the whole text.
func whole(re *syntax.Regexp) *syntax.Regexp {
	if re.Op != syntax.OpConcat {
		return re
	}
	subs := re.Sub
	for len(subs) > 0 && subs[0].Op == syntax.OpBeginText {
		subs = subs[1:]
	}
	for len(subs) > 0 && subs[len(subs)-1].Op == syntax.OpEndText {
		subs = subs[:len(subs)-1]
	}
	if len(subs) == 1 && len(subs) < len(re.Sub) {
		return whole(subs[0]) // it may have such marks of its own
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: subs}
}

func startsOf(re *syntax.Regexp) starts {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return starts{texts: []string{""}, exact: true}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return literal(re.Rune)
		}
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return startsOf(re.Sub[0])
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	case syntax.OpStar:
		if re.Sub[0].Op == syntax.OpAnyChar {
			return starts{texts: []string{""}, rest: true}
		}
	}
	return anything
}

func literal(runes []rune) starts {
	text := make([]byte, len(runes))
	for i, r := range runes {
		if r > 0xff {
			return anything // it never matches
		}
		text[i] = byte(r)
	}
	return starts{texts: []string{string(text)}, exact: true}
}

// class returns the starts of a class of few characters. ranges has the first and last of each range.
func class(ranges []rune) starts {
	s := starts{exact: true}
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], 0xff); r++ {
			if s.texts = append(s.texts, string([]byte{byte(r)})); len(s.texts) > maxStarts {
				return anything
			}
		}
	}
	return s
}

func concat(subs []*syntax.Regexp) starts {
	all := starts{texts: []string{""}, exact: true}
	for i, sub := range subs {
		next := startsOf(sub)
		if len(all.texts)*len(next.texts) > maxStarts {
			return starts{texts: all.texts}
		}
		var joined []string
		for _, a := range all.texts {
			for _, b := range next.texts {
				joined = append(joined, a+b)
			}
		}
		all.texts = joined
		if !next.exact {
			all.exact, all.rest = false, next.rest && i == len(subs)-1
			return all
		}
	}
	return all
}

func alternate(subs []*syntax.Regexp) starts {
	all := starts{exact: true, rest: true}
	for _, sub := range subs {
		next := startsOf(sub)
		all.texts = append(all.texts, next.texts...)
		all.exact = all.exact && next.exact
		all.rest = all.rest && next.rest
		if len(all.texts) > maxStarts {
			return anything
		}
	}
	return all
}

const (
	// longText is the longest text that is turned into characters as a whole. A longer one is read
	// character by character, which takes longer and no memory.
	longText = 64 << 10
	// checkSteps bounds the steps of a match between two checks of the context: some 10 ms. A match of fewer
	// cannot be cancelled.
	checkSteps = 4 << 20
	// checkBytes is the most bytes of a long text between two checks.
	checkBytes = 512
)

// match reports whether a text matches the pattern as a whole.
func (e *Eval) match(p *pattern, text []byte) bool {
	e.work += len(text) / 64
	switch {
	case p.exact:
		_, found := slices.BinarySearchFunc(p.starts, text, bytes.Compare)
		return found
	case p.rest:
		return slices.ContainsFunc(p.starts, func(start []byte) bool { return bytes.HasPrefix(text, start) })
	case len(text) > longText || len(text)*p.steps > checkSteps:
		e.long = longReader{text: text, every: min(max(checkSteps/p.steps, 1), checkBytes), e: e}
		matched := p.re.MatchReader(&e.long)
		e.long.text = nil
		return matched
	case ascii(text):
		return p.re.Match(text)
	}
	e.characters = e.characters[:0]
	for _, b := range text {
		e.characters = utf8.AppendRune(e.characters, rune(b))
	}
	return p.re.Match(e.characters)
}

func ascii(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// longReader reads a text as Latin-1. It ends early when the evaluation is cancelled.
type longReader struct {
	text  []byte
	at    int
	every int // bytes between two checks
	e     *Eval
}

func (r *longReader) ReadRune() (rune, int, error) {
	if r.at >= len(r.text) || r.at%r.every == 0 && r.e.cancelled() {
		return 0, 0, io.EOF
	}
	r.at++
	return rune(r.text[r.at-1]), 1, nil
}
