package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
)

// options are the options of a run.
type options struct {
	rows    int
	runs    int
	each    time.Duration
	engines []*Engine
	tables  []*Table
	dir     string
	out     string

	// What a child process of a run does.
	session bool
	victim  bool
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err == nil && o.session:
		err = runSession(o)
	case err == nil:
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.IntVar(&o.rows, "rows", 100_000, "`rows` of ten cells in the data")
	f.IntVar(&o.runs, "runs", 3, "how often everything is measured")
	f.DurationVar(&o.each, "each", time.Second, "how long an operation is repeated")
	engineNames := f.String("engines", "", "only these `engines`, of "+strings.Join(names(engines), ", "))
	tableNames := f.String("tables", "", "only these `tables`, of "+strings.Join(names(tables), ", ")+"; growth runs only if it is asked for")
	f.StringVar(&o.dir, "dir", os.TempDir(), "a `directory` on the disk in question, for data and stores")
	f.StringVar(&o.out, "out", "", "the `document` to write to, between its marks; plots go to the directory plots beside it")
	f.BoolVar(&o.session, "session", false, "run one table on one engine in this process: the program starts itself so")
	f.BoolVar(&o.victim, "victim", false, "write and wait to be killed, likewise")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.rows < 100 || o.runs < 1 || o.each <= 0 {
		return o, errors.New("want no arguments, 100 rows at least, one run at least, and some time for each operation: see -help")
	}
	if o.engines, err = choose(engines, *engineNames, func(*Engine) bool { return true }); err != nil {
		return o, err
	}
	o.tables, err = choose(tables, *tableNames, func(t *Table) bool { return !t.Asked })
	return o, err
}

// named is an engine or a table.
type named interface{ name() string }

func (e *Engine) name() string { return e.Name }
func (t *Table) name() string  { return t.Name }

func names[T named](all []T) (list []string) {
	for _, x := range all {
		list = append(list, x.name())
	}
	return list
}

// choose returns the members of all that a list names, in the order of all; for an empty list, those
// that run by default.
func choose[T named](all []T, list string, usual func(T) bool) (chosen []T, err error) {
	asked := strings.Split(list, ",")
	for _, x := range all {
		if list == "" && usual(x) || slices.Contains(asked, x.name()) {
			chosen = append(chosen, x)
		}
	}
	if list != "" && len(chosen) != len(asked) {
		return nil, fmt.Errorf("no such names in %q: there are %s", list, strings.Join(names(all), ", "))
	}
	return chosen, nil
}

// Paths in the directory of a run.
func rowsFile(dir string) string     { return filepath.Join(dir, "rows") }
func shuffledFile(dir string) string { return filepath.Join(dir, "shuffled") }
func wideFile(dir string) string     { return filepath.Join(dir, "wide") }
func storeDir(dir string) string     { return filepath.Join(dir, "store") }

// runSession runs one table on one engine, and prints the figures.
func runSession(o options) error {
	if len(o.engines) != 1 || len(o.tables) != 1 {
		return errors.New("a session is of one engine and one table")
	}
	s := &session{
		e: o.engines[0], dir: storeDir(o.dir), rows: o.rows, each: o.each, figures: make(map[string]float64),
	}
	var err error
	if s.data, err = dataset.Open(rowsFile(o.dir)); err != nil {
		return err
	}
	if s.shuffled, err = dataset.Open(shuffledFile(o.dir)); err != nil {
		return err
	}
	if s.wide, err = dataset.Open(wideFile(o.dir)); err != nil {
		return err
	}
	if o.victim {
		return s.victim()
	}
	if err := o.tables[0].Run(s); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s.figures)
}
