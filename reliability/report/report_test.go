package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReport: sums add up over rounds, largest figures stay, and a round that
// does too little, or finds something, turns the report red.
func TestReport(t *testing.T) {
	least := map[string]int64{"cases": 10}
	p := Part{Name: "p", About: "about p", Minimum: Least(least)}
	round := func(cases, slowest int64) *Section {
		var s Section
		s.Add("cases", cases-1)
		s.Add("cases", 1)
		s.Largest("slowest", slowest)
		return &s
	}
	var r Report
	r.Add(p, Env{}, round(10, 7), time.Second)
	r.Add(p, Env{}, round(11, 3), time.Second)
	r.Finish(time.Now())
	e := r.Parts["p"]
	if !r.Green || e.Rounds != 2 || e.Figures["cases"].Value != 21 || e.Figures["slowest"].Value != 7 {
		t.Errorf("two good rounds: %+v", r)
	}
	r.Add(p, Env{Seed: 3}, round(9, 1), time.Second)
	r.Finish(time.Now())
	if r.Green || len(e.Failures) != 1 || !strings.HasSuffix(e.Failures[0].Repeat, "-part p -seed 3") {
		t.Errorf("after a round that did too little: %+v", r)
	}
	if text := r.String(); !strings.Contains(text, "RED") || !strings.Contains(text, "cases is 9") {
		t.Errorf("shown as\n%s", text)
	}
	failed := round(9, 1)
	failed.Fail("-part p -seed 4", "row 7 is gone")
	least["rows"] = 1
	r = Report{}
	r.Add(p, Env{Seed: 4}, failed, time.Second)
	r.Finish(time.Now())
	text := r.String()
	if r.Green || len(r.Parts["p"].Failures) != 3 {
		t.Errorf("after a round that failed and did too little: %+v", r)
	}
	for _, want := range []string{"row 7 is gone", "cases is 9", "rows is 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	var empty Report
	if empty.Finish(time.Now()); empty.Green {
		t.Error("a report without parts is green")
	}
}

// TestShort: a short round may do a sixteenth of the work, no less, and says how to repeat it.
func TestShort(t *testing.T) {
	p := Part{Name: "p", Minimum: Least(map[string]int64{"cases": 32})}
	short := Env{Seed: 3, Short: true}
	for _, test := range []struct {
		env   Env
		cases int64
		want  string
	}{
		{short, 2, ""},
		{short, 1, "-part p -seed 3 -short"},
		{Env{Seed: 3}, 31, "-part p -seed 3"},
	} {
		var s Section
		s.Add("cases", test.cases)
		var r Report
		r.Add(p, test.env, &s, time.Second)
		failures, got := r.Parts["p"].Failures, ""
		if len(failures) > 0 {
			_, got, _ = strings.Cut(failures[0].Repeat, "go run . ")
		}
		if got != test.want {
			t.Errorf("%d cases in %+v: repeat with %q, want %q", test.cases, test.env, got, test.want)
		}
	}
}

// TestShares: eight short rounds with successive seeds do everything once, a full one does all.
func TestShares(t *testing.T) {
	for i := range 19 {
		done := 0
		for seed := range uint64(Shares) {
			if (Env{Seed: 70 + seed, Short: true}).Chosen(i) {
				done++
			}
		}
		if done != 1 || !(Env{Seed: 70}).Chosen(i) {
			t.Errorf("%d is done by %d of eight short rounds", i, done)
		}
	}
	if short, full := (Env{Short: true}).Share(19), (Env{}).Share(19); short != 3 || full != 19 {
		t.Errorf("of 19 a short round does %d and a full one %d, want 3 and 19", short, full)
	}
}

// TestMissing: what is below its least is named, and what is not there at all too.
func TestMissing(t *testing.T) {
	var s Section
	s.Add("met", 3)
	s.Add("short", 2)
	got := s.Missing(map[string]int64{"short": 3, "met": 3, "absent": 1})
	if want := []string{"absent", "short"}; !slices.Equal(got, want) {
		t.Errorf("missing are %q, want %q", got, want)
	}
}

// TestSectionTravels: what a process says arrives in the one that asked.
func TestSectionTravels(t *testing.T) {
	var s, got Section
	s.Add("n", 3)
	s.Largest("m", 4)
	for range maxFailures + 2 {
		s.Fail("-part x", "row %d", 1)
	}
	data, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var r Report
	r.Add(Part{Name: "p", Minimum: Least(nil)}, Env{}, &got, 0)
	e := r.Parts["p"]
	if e.Figures["m"] != (Figure{Value: 4, Largest: true}) || len(e.Failures) != maxFailures || e.More != 2 {
		t.Errorf("arrived as %+v", e)
	}
}
