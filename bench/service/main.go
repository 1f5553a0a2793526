// Service measures the server over loopback: throughput, latency, CPU time and
// memory of the real program, and beside it, in the same run, of a bare net/http
// handler that reads the same bodies and answers as many bytes. That one is the
// ceiling: no server on net/http does better, on the same cores, with the same
// client.
//
//	service -server ../../bin/colonnade -rows 100000 -runs 3 -docs REPORT.md
//
// It prints tables, and writes them between the two markers of the file that -docs
// names. The code is 0 if every answer was right, whatever the figures are.
//
//	service -server NEW -before OLD -runs 40 -time 200ms
//
// compares two programs of the server with each other, in short turns. On a machine
// that is faster at one moment than at the next that tells what one run of each does not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit is how long the whole may take. Ordinary sizes need a part of it.
const limit = 30 * time.Minute

type settings struct {
	server string        // the program that is measured
	before string        // the one that it is compared with, if any
	dir    string        // where the data goes; a directory in it is made and removed
	rows   int           // of the table that is read
	runs   int           // of everything; medians are told
	time   time.Duration // that one measurement takes, of what is not bounded by its number
	docs   string        // the file to write to, if any
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == bareRole {
		exit(serveBare(os.Stdout))
	}
	var s settings
	flag.StringVar(&s.server, "server", "../../bin/colonnade", "the server's program")
	flag.StringVar(&s.before, "before", "", "another program of the server, to compare it with in turns")
	flag.StringVar(&s.dir, "dir", os.TempDir(), "directory on the disk to measure on")
	flag.IntVar(&s.rows, "rows", 100_000, "rows of the table, ten cells each")
	flag.IntVar(&s.runs, "runs", 3, "how often to measure everything")
	flag.DurationVar(&s.time, "time", time.Second, "how long to measure each thing")
	flag.StringVar(&s.docs, "docs", "", "file with the markers that the tables go between")
	flag.Parse()
	if err := s.check(flag.NArg()); err != nil {
		exit(err)
	}
	exit(run(s))
}

// check reports what is wrong with the settings, and with so many arguments beside them.
func (s *settings) check(arguments int) error {
	switch {
	case arguments > 0 || s.rows < leastRows || s.runs < 1 || s.runs > 100 || s.time <= 0 || s.time > time.Minute:
		return fmt.Errorf("service takes no arguments, -rows from %d, -runs from 1 to 100 and -time up to a minute", leastRows)
	case s.before != "" && s.docs != "":
		return errors.New("-docs is for the tables without -before")
	case s.before != "" && s.turnsTime() > limit:
		return fmt.Errorf("-runs %d with -time %v would take %v and more, and this program gives up after %v", s.runs, s.time, s.turnsTime().Round(time.Second), limit)
	}
	return nil
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := os.MkdirTemp(s.dir, "colonnade-service-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.before != "" {
		lines, err := compare(ctx, s, dir)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		fmt.Print(renderTurns(s, lines))
		return nil
	}
	lines, err := measure(ctx, s, dir)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	text := render(s, lines)
	fmt.Print(text)
	if s.docs == "" {
		return nil
	}
	return insert(s.docs, text)
}
