package quota

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/access"
)

// Limits are what one table, or the holders of one token, may use. 0 is without that limit.
type Limits struct {
	Rows    int64 // a second
	Bytes   int64 // a second: bodies of requests and of answers
	Storage int64 // bytes of a table
}

// Rule gives limits to each table or token whose name a pattern matches, to each by itself. A pattern is a name in which
// * stands for any characters.
type Rule struct {
	Pattern string
	Limits
}

// Rules are those in force. Of several patterns that match a name, that with the most characters besides * counts; of several
// such, the first in the order of their bytes.
type Rules struct {
	Tables []Rule // by the names of tables
	Tokens []Rule // by the names of tokens
}

// sorted returns rules so that the first that matches counts.
func sorted(rules []Rule) []Rule {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(said(b.Pattern), said(a.Pattern)), cmp.Compare(a.Pattern, b.Pattern))
	})
	return rules
}

// said returns how many characters of a name a pattern says.
func said(pattern string) int { return len(pattern) - strings.Count(pattern, "*") }

// of returns the rule of a name, nil if there is none.
func of(rules []Rule, name string) *Rule {
	for i := range rules {
		if access.Matches(rules[i].Pattern, name) {
			return &rules[i]
		}
	}
	return nil
}
