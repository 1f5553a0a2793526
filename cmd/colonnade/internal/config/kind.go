package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is a type of options: how its values are written and read.
type kind interface {
	name() string                                       // of the type, in the help
	limits() string                                     // what a value may be, in short; "" for anything
	rule() string                                       // the same, behind "must be"
	form() string                                       // what to add for a file
	parse(text string) (any, bool)                      // from a variable
	parseFlag(word string, before *setting) (any, bool) // from a flag, and the same flag before it
	convert(value any) (any, bool)                      // from TOML
	toml(value any) string
	show(value any) string // in texts; "" for one that is empty or off
}

// text is any string.
type text struct {
	filled bool // not empty
}

func (text) name() string   { return "string" }
func (text) limits() string { return "" }
func (k text) rule() string {
	if k.filled {
		return "a string that is not empty"
	}
	return "a string"
}
func (text) form() string                                 { return ", in quotes" }
func (k text) parse(s string) (any, bool)                 { return s, s != "" || !k.filled }
func (k text) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (k text) convert(value any) (any, bool) {
	s, ok := value.(string)
	return s, ok && (s != "" || !k.filled)
}
func (text) toml(value any) string { return quote(value) }
func (text) show(value any) string { return value.(string) }

// choice is one of some words.
type choice []string

func (choice) name() string { return "string" }
func (k choice) limits() string {
	return strings.Join(k[:len(k)-1], ", ") + " or " + k[len(k)-1]
}
func (k choice) rule() string                               { return k.limits() }
func (choice) form() string                                 { return "" }
func (k choice) parse(s string) (any, bool)                 { return s, slices.Contains(k, s) }
func (k choice) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (k choice) convert(value any) (any, bool) {
	s, _ := value.(string)
	return k.parse(s)
}
func (choice) toml(value any) string { return quote(value) }
func (choice) show(value any) string { return value.(string) }

// texts is a list of strings that are not empty.
type texts struct{}

func (texts) name() string   { return "string" }
func (texts) limits() string { return "" }
func (texts) rule() string {
	return "a list of strings that are not empty"
}
func (texts) form() string { return `, as ["a", "b"]` }
func (texts) parse(s string) (any, bool) {
	list := strings.Split(s, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list, !slices.Contains(list, "")
}
func (texts) parseFlag(word string, before *setting) (any, bool) {
	var list []string
	if before != nil {
		list = before.value.([]string)
	}
	return append(list, word), word != ""
}
func (texts) convert(value any) (any, bool) {
	values, ok := value.([]any)
	var list []string
	for _, v := range values {
		s, isString := v.(string)
		list, ok = append(list, s), ok && isString && s != ""
	}
	return list, ok
}
func (texts) toml(value any) string {
	if len(value.([]string)) == 0 {
		return "[]"
	}
	return quote(value)
}
func (texts) show(value any) string { return strings.Join(value.([]string), ",") }

// boolean is a switch.
type boolean struct{}

func (boolean) name() string   { return "bool" }
func (boolean) limits() string { return "" }
func (boolean) rule() string   { return "true or false" }
func (boolean) form() string   { return "" }
func (boolean) parse(s string) (any, bool) {
	b, err := strconv.ParseBool(s)
	return b, err == nil
}
func (k boolean) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (boolean) convert(value any) (any, bool) {
	b, ok := value.(bool)
	return b, ok
}
func (boolean) toml(value any) string { return strconv.FormatBool(value.(bool)) }
func (boolean) show(value any) string { return strconv.FormatBool(value.(bool)) }

// A Range is a kind: a whole number.

func (Range) name() string     { return "int" }
func (k Range) limits() string { return fmt.Sprintf("%d to %d %s", k.Min, k.Max, k.Unit) }
func (k Range) rule() string {
	return fmt.Sprintf("a whole number from %d to %d (%s)", k.Min, k.Max, k.Unit)
}
func (k Range) parse(s string) (any, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && k.Min <= n && n <= k.Max
}
func (k Range) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (k Range) convert(value any) (any, bool) {
	n, ok := value.(int64)
	return n, ok && k.Min <= n && n <= k.Max
}
func (Range) form() string          { return "" }
func (Range) toml(value any) string { return strconv.FormatInt(value.(int64), 10) }
func (Range) show(value any) string { return strconv.FormatInt(value.(int64), 10) }

// fraction is a number from 0 to 1.
type fraction struct{}

func (fraction) name() string   { return "float" }
func (fraction) limits() string { return "0 to 1" }
func (fraction) rule() string   { return "a number from 0 to 1" }
func (fraction) form() string   { return "" }
func (fraction) parse(s string) (any, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && 0 <= f && f <= 1
}
func (k fraction) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (fraction) convert(value any) (any, bool) {
	if n, ok := value.(int64); ok {
		return float64(n), n == 0 || n == 1
	}
	f, ok := value.(float64)
	return f, ok && 0 <= f && f <= 1
}
func (k fraction) toml(value any) string { return k.show(value) }
func (fraction) show(value any) string   { return strconv.FormatFloat(value.(float64), 'f', -1, 64) }

// A Span is a kind: a duration.

func (Span) name() string     { return "duration" }
func (k Span) limits() string { return brief(k.Min) + " to " + brief(k.Max) }
func (k Span) rule() string {
	return fmt.Sprintf("a duration from %s to %s, such as 90s", brief(k.Min), brief(k.Max))
}
func (k Span) parse(s string) (any, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && k.Min <= d && d <= k.Max
}
func (k Span) parseFlag(s string, _ *setting) (any, bool) { return k.parse(s) }
func (k Span) convert(value any) (any, bool) {
	s, _ := value.(string)
	return k.parse(s)
}
func (Span) form() string          { return ", in quotes" }
func (Span) toml(value any) string { return quote(brief(value.(time.Duration))) }
func (Span) show(value any) string { return brief(value.(time.Duration)) }

// brief writes 1m rather than 1m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// quote writes strings as TOML. Its basic strings take the escapes of JSON, but want DEL escaped as well.
func quote(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // strings have no errors
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
