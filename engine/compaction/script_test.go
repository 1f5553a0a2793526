package compaction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// TestScripts runs the scripts in testdata. With -rewrite it writes the results as the expected
// output. The command
//
//	pick [busy=(NUMBER, …)] [all-ranges] [early] [stuck] [ranges-full] [read-paid=NUMBER]
//	     [bottommost=(FROM, TO, LAST)] [intermediate=(FROM, TO, LAST)]
//
// takes a version, a line for each level as in manifesttest.Version, and the run merges under way. It
// prints the next run merges, if any, and then the choice of Pick. The options are testPickOptions:
// level 0 is full with 4 files or 200 bytes, 100 bytes below it are little, and a file has 10.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "pick" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return scriptPick(t, d)
		})
	})
}

func scriptPick(t *testing.T, d *datadriven.TestData) string {
	v := new(manifest.Version)
	if d.Input != "" {
		v = manifesttest.Version(strings.Split(strings.TrimSpace(d.Input), "\n")...)
	}
	if err := v.Check(); err != nil {
		d.Fatalf(t, "%v", err)
	}
	o := testPickOptions
	var busy []uint64
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "busy":
			busy = numbers(t, d, arg, -1)
		case "early":
			o.Early = true
		case "all-ranges":
			o.AllRanges = true
		case "ranges-full":
			o.RangesFull = true
		case "stuck":
			o.Stuck = true
		case "read-paid":
			o.ReadPaid = numbers(t, d, arg, 1)[0]
		case "bottommost":
			o.RunMerges.Bottommost = scriptRunMerge(t, d, arg)
		case "intermediate":
			o.RunMerges.Intermediate = scriptRunMerge(t, d, arg)
		default:
			d.Fatalf(t, "unknown argument %q", arg.Key)
		}
	}
	isBusy := func(f *manifest.File) bool { return slices.Contains(busy, f.Number) }
	o.RunMerges = o.RunMerges.Next(v, isBusy, o)
	c := Pick(v, isBusy, o)
	return runMergeText("bottommost", o.RunMerges.Bottommost) + runMergeText("intermediate", o.RunMerges.Intermediate) + c.String() + "\n"
}

// numbers returns the values of an argument. It must have n values, or any number if n is -1.
func numbers(t *testing.T, d *datadriven.TestData, arg datadriven.CmdArg, n int) (list []uint64) {
	for _, text := range arg.Vals {
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			d.Fatalf(t, "%s: %v", arg.Key, err)
		}
		list = append(list, number)
	}
	if n >= 0 && len(list) != n {
		d.Fatalf(t, "%s has %d values, want %d", arg.Key, len(list), n)
	}
	return list
}

func scriptRunMerge(t *testing.T, d *datadriven.TestData, arg datadriven.CmdArg) RunMerge {
	n := numbers(t, d, arg, 3)
	return RunMerge{From: int(n[0]), To: int(n[1]), Last: n[2]}
}

func runMergeText(kind string, m RunMerge) string {
	if m == (RunMerge{}) {
		return ""
	}
	return fmt.Sprintf("%s: levels 1 to %d into %d, files up to %d\n", kind, m.From, m.To, m.Last)
}
