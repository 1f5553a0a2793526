package main

import (
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/config"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/widecol"
)

// The keys of a table of quotas in the file of options.
const (
	quotaRows    = "rows-per-second"
	quotaBytes   = "bytes-per-second"
	quotaStorage = "storage-mib"
)

// declareQuotas declares the tables of the file that set quotas.
func (o *serveOptions) declareQuotas() {
	rows := config.Field{Name: quotaRows, Range: config.Range{Min: 1, Max: 1_000_000_000, Unit: "rows/s"}, Help: "rows that queries look at and writes write"}
	bytes := config.Field{Name: quotaBytes, Range: config.Range{Min: 1, Max: 1 << 40, Unit: "bytes/s"}, Help: "bodies of requests and of answers, without compression"}
	storage := config.Field{Name: quotaStorage, Range: config.Range{Min: 1, Max: maxMiB, Unit: "MiB"}, Help: "sorted files and memtables of the table; beyond it writes get status 507, and deletions stay possible"}
	o.config.Table(&o.tableQuotas, "quota.table", `"PATTERN"`,
		"what each table may use whose name matches a pattern with * for any characters; the most exact pattern counts; beyond it status 429", checkTablePattern, rows, bytes, storage)
	o.config.Table(&o.tokenQuotas, "quota.token", `"PATTERN"`,
		"the same for each name of tokens, of which several may have the same", checkPattern, rows, bytes)
}

// checkPattern checks the pattern of names.
func checkPattern(pattern string) error {
	const most = 200
	if pattern == "" || len(pattern) > most || !utf8.ValidString(pattern) {
		return errors.New("a pattern must be 1 to 200 bytes: a name in which * stands for any characters")
	}
	return nil
}

// checkTablePattern checks the pattern of names of tables. One that no name can match is a mistake, such as of who takes it for
// a regular expression.
func checkTablePattern(pattern string) error {
	if err := checkPattern(pattern); err != nil {
		return err
	}
	if widecol.CheckTableName(strings.ReplaceAll(pattern, "*", "x")) != nil {
		return errors.New("no table can have such a name: a pattern is a name in which * stands for any characters, and the others are A-Z a-z 0-9 _ . # $ -, the first of them no _")
	}
	return nil
}

// quotas returns those that the file sets.
func (o *serveOptions) quotas() quota.Rules {
	return quota.Rules{Tables: quotaRules(o.tableQuotas), Tokens: quotaRules(o.tokenQuotas)}
}

func quotaRules(entries []config.Entry) (rules []quota.Rule) {
	for _, e := range entries {
		rules = append(rules, quota.Rule{Pattern: e.Key, Limits: quota.Limits{
			Rows: e.Values[quotaRows], Bytes: e.Values[quotaBytes], Storage: e.Values[quotaStorage] << 20,
		}})
	}
	return rules
}

// onChange returns a function that passes a value on if it is another than before: quotas that stay keep their balances.
func onChange[T any](now T, set func(T)) func(T) {
	return func(next T) {
		if !reflect.DeepEqual(now, next) {
			now = next
			set(next)
		}
	}
}
