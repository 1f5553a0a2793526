package main

import (
	"fmt"
	"math"
	"strings"
)

// target is what the engine must reach: a figure relative to the best of some others in the same run,
// or an absolute number.
type target struct {
	number int
	table  string
	figure string
	cpu    string  // the CPU time figure that goes with it; "" for none
	most   bool    // at most, not at least
	times  float64 // the best of the engines
	of     []string
	// Instead of engines: a bound in the figure's unit, or the name of another figure of this
	// engine.
	bound  float64
	within string // a bound in MB, to which slack is added
	clean  string // a figure to be multiplied by times
}

var (
	peers      = []string{"pebble-tuned", "pebble", "badger", "bbolt", "goleveldb"}
	anyPebble  = []string{"pebble-tuned", "pebble"}
	targetList = append(numbered, historyTargets()...)
	numbered   = []target{
		{number: 1, table: "commits", figure: "rate64", cpu: "cpu64", times: 2, of: peers},
		{number: 1, table: "commits", figure: "p99-64", most: true, times: 0.25, of: peers},
		{number: 1, table: "commits", figure: "rate64", cpu: "cpu64", times: 0.65, of: []string{"log"}},
		{number: 2, table: "commits", figure: "rate1", times: 1.2, of: peers},
		{number: 3, table: "random", figure: "rate", cpu: "cpu", times: 2, of: peers},
		{number: 3, table: "random", figure: "written", most: true, times: 1, of: peers},
		{number: 3, table: "random", figure: "worst", most: true, bound: 100},
		{number: 4, table: "ordered", figure: "rate", cpu: "cpu", times: 1.2, of: peers},
		{number: 5, table: "reads", figure: "scan-warm", cpu: "scan-cpu", times: 3, of: anyPebble},
		{number: 5, table: "reads", figure: "scan-warm", cpu: "scan-cpu", times: 1, of: []string{"bbolt"}},
		{number: 5, table: "reads", figure: "scan-first", times: 4, of: anyPebble},
		{number: 6, table: "reads", figure: "pages1", cpu: "pages-cpu", times: 3, of: anyPebble},
		{number: 6, table: "reads", figure: "pages1", cpu: "pages-cpu", times: 1, of: []string{"bbolt"}},
		{number: 7, table: "reads", figure: "rows1", cpu: "rows-cpu", times: 1.5, of: anyPebble},
		{number: 7, table: "reads", figure: "rows1", cpu: "rows-cpu", times: 1, of: []string{"bbolt"}},
		{number: 7, table: "reads", figure: "rows4", times: 1.5, of: anyPebble},
		{number: 7, table: "reads", figure: "rows4", times: 1, of: []string{"bbolt"}},
		{number: 8, table: "reads", figure: "small1", cpu: "small-cpu", times: 1.5, of: anyPebble},
		{number: 9, table: "reads", figure: "absent1", cpu: "absent-cpu", times: 1.3, of: peers},
		{number: 9, table: "reads", figure: "absent4", times: 1.3, of: peers},
		{number: 10, table: "wide", figure: "together-ms", most: true, times: 0.1, of: anyPebble},
		{number: 10, table: "wide", figure: "apart-ms", most: true, times: 0.5, of: anyPebble},
		{number: 10, table: "wide", figure: "apart-read", most: true, times: 0.5, of: anyPebble},
		{number: 11, table: "random", figure: "disk", most: true, times: 0.75, of: peers},
		{number: 11, table: "ordered", figure: "disk", most: true, times: 0.75, of: peers},
		{number: 12, table: "reopen", figure: "killed", most: true, times: 0.5, of: []string{"pebble-tuned"}},
		{number: 12, table: "reopen", figure: "closed", most: true, bound: 10},
		{number: 13, table: "ordered", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "random", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "commits", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "reads", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "reads", figure: "small-memory", most: true, within: "small-budget"},
		{number: 13, table: "spaces", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "wide", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "reopen", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "history", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "values", figure: "memory", most: true, within: "budget"},
		{number: 13, table: "columns", figure: "memory", most: true, within: "budget"},
		{number: 14, table: "ordered", figure: "allocs", most: true, bound: noAllocs},
		{number: 14, table: "random", figure: "allocs", most: true, bound: noAllocs},
		{number: 14, table: "commits", figure: "allocs64", most: true, bound: noAllocs},
		{number: 14, table: "reads", figure: "scan-allocs", most: true, bound: noAllocs},
		{number: 14, table: "reads", figure: "rows-allocs", most: true, bound: noAllocs},
		{number: 18, table: "growth", figure: "load", bound: 0.7},
		{number: 18, table: "growth", figure: "rows", most: true, bound: 1.3},
		{number: 18, table: "growth", figure: "absent", most: true, bound: 1.3},
		{number: 18, table: "growth", figure: "pages", most: true, bound: 1.3},
	}
)

const (
	// noAllocs counts as no allocations per cell: those per batch of 1,000 cells, per block, or per
	// commit group are not per cell.
	noAllocs = 0.05
	// slack is the memory besides memtables and cache, in MB.
	slack = 67.1
)

// historyTargets: no rate of a used table is below half of a clean one's. They have no number.
func historyTargets() (list []target) {
	for _, h := range stories[1:] {
		for _, figure := range []string{"load", "cells", "absent", "pages", "scan"} {
			list = append(list, target{table: "history", figure: h.name + "-" + figure, times: 0.5, clean: "clean-" + figure})
		}
		if h.deleted > 0 {
			list = append(list, target{table: "history", figure: h.name + "-gone", times: 0.5, clean: "clean-absent"})
		}
	}
	return list
}

// verdict is the result of a target.
type verdict struct {
	target
	what   Figure
	title  string // of the table
	ours   float64
	rival  string  // the engine compared with, or ""
	theirs float64 // its figure, or the bound
	known  bool    // both figures are there
	work   string  // the ratio by CPU time, "" for none
}

func (v *verdict) ratio() string {
	if v.theirs == 0 {
		return ""
	}
	return significant(v.ours / v.theirs)
}

func (v *verdict) met() bool {
	limit := v.times * v.theirs
	if v.rival == "" {
		limit = v.theirs
	}
	if v.most {
		return v.ours <= limit
	}
	return v.ours >= limit
}

// wanted returns the target in words.
func (v *verdict) wanted() string {
	than := "at least"
	if v.most {
		than = "at most"
	}
	switch {
	case v.clean != "":
		return fmt.Sprintf("%s %g of a clean table", than, v.times)
	case len(v.of) == 0:
		return than + " " + format(v.theirs, v.what.Unit)
	case len(v.of) == len(peers):
		return fmt.Sprintf("%s %g of the best peer", than, v.times)
	case len(v.of) > 1:
		return fmt.Sprintf("%s %g of the better Pebble", than, v.times)
	default:
		return fmt.Sprintf("%s %g of %s", than, v.times, strings.Join(v.of, ", "))
	}
}

// judge compares the medians of a target.
func (r results) judge(t target) verdict {
	v := verdict{target: t}
	for _, table := range tables {
		if table.Name == t.table {
			v.title, v.what = table.Title, *table.figure(t.figure)
		}
	}
	var ok bool
	if v.ours, _, ok = r.median(t.table, colonnade.Name, t.figure); !ok {
		return v
	}
	switch {
	case t.within != "":
		v.theirs, _, v.known = r.median(t.table, colonnade.Name, t.within)
		v.theirs += slack
	case t.clean != "":
		v.rival = "clean"
		v.theirs, _, v.known = r.median(t.table, colonnade.Name, t.clean)
	case len(t.of) == 0:
		v.theirs, v.known = t.bound, true
	}
	for _, e := range t.of {
		x, _, ok := r.median(t.table, e, t.figure)
		if ok && (!v.known || t.most && x < v.theirs || !t.most && x > v.theirs) {
			v.rival, v.theirs, v.known = e, x, true
		}
	}
	v.work = r.work(t)
	return v
}

// work is the ratio of CPU times: that of the best of the others to that of this engine. It is what the
// ratio of rates would be on an idle machine, if nothing had to wait for a disk.
func (r results) work(t target) string {
	ours, _, ok := r.median(t.table, colonnade.Name, t.cpu)
	least := math.Inf(1)
	for _, e := range t.of {
		if x, _, ok := r.median(t.table, e, t.cpu); ok {
			least = min(least, x)
		}
	}
	if !ok || ours == 0 || math.IsInf(least, 1) {
		return ""
	}
	return significant(least / ours)
}
