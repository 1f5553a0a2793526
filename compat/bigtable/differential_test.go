package bigtable

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed of the differential test")
	seeds     = flag.Uint64("seeds", 100, "how many seeds the differential test tries")
)

// length is how many operations a seed has.
const length = 150

// TestDifferential sends the same random operations to this emulator and to Google's, and compares the answers. The
// differences that it knows are mended in Google's: theirs has them. go test -run 'Differential$' -seed N -seeds 1
// repeats a seed.
func TestDifferential(t *testing.T) {
	d := newDifferential(t, googleEmulator(t, ""))
	if testing.Short() {
		*seeds = min(*seeds, 30)
	}
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		if found := d.try(seed); found != "" {
			t.Fatalf("seed %d: %s", seed, d.shrunk(seed))
		}
	}
}

// TestDifferentialFinds: each difference is one, and the test above finds it.
func TestDifferentialFinds(t *testing.T) {
	long(t)
	for _, difference := range theirs {
		t.Run(difference.name, func(t *testing.T) {
			t.Parallel()
			d := newDifferential(t, googleEmulator(t, difference.name))
			for seed := uint64(1); seed <= 100; seed++ {
				if found := d.try(seed); found != "" {
					t.Logf("seed %d: %s", seed, found)
					return
				}
			}
			t.Error("100 seeds do not find it: make more of what it takes, or drop the difference")
		})
	}
}

// differential compares two servers.
type differential struct {
	testing.TB
	ours, theirs *peer
	tries        int
}

func newDifferential(t *testing.T, address string) *differential {
	t.Helper()
	d := &differential{TB: t}
	for _, side := range []struct {
		to      **peer
		address string
	}{{&d.ours, emulator(t)}, {&d.theirs, address}} {
		p, err := connect(t.Context(), side.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.conn.Close() })
		*side.to = p
	}
	return d
}

// instanceOf names an instance that no try before had.
func (d *differential) instanceOf() string {
	d.tries++
	return fmt.Sprintf("projects/p/instances/i%d", d.tries)
}

// operationsOf returns the operations of a seed, on the tables of an instance.
func operationsOf(seed uint64, instance string) []proto.Message {
	g := newGenerator(seed, instance)
	list := []proto.Message{g.first()}
	for len(list) < length {
		list = append(list, g.next())
	}
	return list
}

// try runs the operations of a seed, and returns the first difference, "" for none.
func (d *differential) try(seed uint64) string {
	_, found := d.run(operationsOf(seed, d.instanceOf()))
	return found
}

// run returns how many operations were run, and the difference of the last.
func (d *differential) run(list []proto.Message) (int, string) {
	for i, op := range list {
		ours, theirs := d.ours.answer(op), d.theirs.answer(op)
		if ours != theirs {
			return i + 1, fmt.Sprintf("operation %d\n%s\nours:\n%s\ntheirs:\n%s", i, operationText(op), ours, theirs)
		}
	}
	return len(list), ""
}

func operationText(op proto.Message) string {
	return fmt.Sprintf("%s { %s }", op.ProtoReflect().Descriptor().Name(), prototext.MarshalOptions{}.Format(op))
}

// shrunk returns as few operations of a seed as it finds, of which the last differs. The first, which creates the table,
// stays.
func (d *differential) shrunk(seed uint64) string {
	last, _ := d.run(operationsOf(seed, d.instanceOf()))
	left := make([]bool, last) // left out
	build := func() []proto.Message {
		var list []proto.Message
		for i, op := range operationsOf(seed, d.instanceOf())[:last] {
			if !left[i] {
				list = append(list, op)
			}
		}
		return list
	}
	for step := (last + 1) / 2; step > 0; step /= 2 {
		for from := 1; from < last-1; from += step {
			before := slices.Clone(left)
			for i := from; i < min(from+step, last-1); i++ {
				left[i] = true
			}
			list := build()
			if n, found := d.run(list); found == "" || n < len(list) {
				left = before
			}
		}
	}
	return d.report(build())
}

// report runs operations, of which the last differs, and tells them.
func (d *differential) report(list []proto.Message) string {
	_, found := d.run(list)
	var text strings.Builder
	for _, op := range list[:len(list)-1] {
		text.WriteString("\n" + operationText(op))
	}
	text.WriteString("\n" + found)
	if r, ok := list[len(list)-1].(*btpb.ReadRowsRequest); ok && r.Filter != nil {
		text.WriteString("\nthe least filter: " + prototext.MarshalOptions{}.Format(d.leastFilter(r)))
	}
	return text.String()
}

// leastFilter returns the least part of the filter of a request that also differs.
func (d *differential) leastFilter(r *btpb.ReadRowsRequest) *btpb.RowFilter {
	for _, sub := range below(r.Filter) {
		smaller := proto.CloneOf(r)
		if smaller.Filter = sub; d.ours.answer(smaller) != d.theirs.answer(smaller) {
			return d.leastFilter(smaller)
		}
	}
	return r.Filter
}

func below(f *btpb.RowFilter) (list []*btpb.RowFilter) {
	c := f.GetCondition()
	for _, sub := range append(append(f.GetChain().GetFilters(), f.GetInterleave().GetFilters()...), c.GetPredicateFilter(), c.GetTrueFilter(), c.GetFalseFilter()) {
		if sub != nil {
			list = append(list, sub)
		}
	}
	return list
}
