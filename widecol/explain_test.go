package widecol_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// setAll sets every number in v to n.
func setAll(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint16:
		v.SetUint(uint64(n))
	case reflect.Struct:
		for i := range v.NumField() {
			setAll(v.Field(i), n)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			setAll(v.Index(i), n)
		}
	}
}

// TestExplainAdd: what is added up has every number of both, and partitions and levels once. What there is of files
// and memtables does not add up.
func TestExplainAdd(t *testing.T) {
	full := func(n int64) *widecol.Explain {
		e := new(widecol.Explain)
		e.Partition("p").Level(2)
		setAll(reflect.ValueOf(e).Elem(), n)
		return e
	}
	sum := new(widecol.Explain)
	sum.Add(full(1))
	sum.Add(full(1))
	want := full(2)
	want.PushedDown, want.Checked = 1, 1
	p := &want.Partitions[0]
	p.Memtables = 1
	p.Levels[0].Level, p.Levels[0].Files = 1, 1
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("got  %+v\nwant %+v", sum, want)
	}

	e := new(widecol.Explain)
	for _, level := range []int{7, 0, 3, 7, 0} {
		e.Partition("q").Level(level).Files++
	}
	e.Add(full(1))
	if p := e.Partition("q"); len(p.Levels) != 3 || p.Levels[0].Level != 0 || p.Levels[1].Level != 3 || p.Levels[2].Files != 2 || len(e.Partitions) != 2 {
		t.Errorf("got %+v", e.Partitions)
	}
}

// TestExplainNames: each part of a query and each reason for its end has a name of its own.
func TestExplainNames(t *testing.T) {
	names := widecol.AllParts.Names()
	for p := widecol.PartRows; p <= widecol.PartFilterLimits; p <<= 1 {
		if one := p.Names(); len(one) != 1 || !slices.Contains(names, one[0]) {
			t.Errorf("part %b is called %q", p, one)
		}
	}
	for reason := range widecol.EndReasons {
		names = append(names, "end "+widecol.EndReason(reason).String())
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 12+widecol.EndReasons || widecol.QueryParts(0).Names() != nil {
		t.Errorf("%d names: %q", n, names)
	}
}

// TestDroppedSum: the sum has every count.
func TestDroppedSum(t *testing.T) {
	var d widecol.DroppedCells
	setAll(reflect.ValueOf(&d).Elem(), 1)
	if n := reflect.TypeOf(d).NumField(); d.Sum() != int64(n) {
		t.Errorf("the sum of %d counts of 1 is %d", n, d.Sum())
	}
}
