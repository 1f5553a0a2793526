package ledger

import (
	"strings"
	"testing"
)

func cells(n string) Cells { return Cells{"a": n, "b": n} }

// begun returns a ledger in which 1 is certain and 2, if asked for, under way.
func begun(under bool) *Ledger {
	l := New(1)
	l.Begin(0, cells("1"))
	l.Acked(0)
	if under {
		l.Begin(0, cells("2"))
	}
	return l
}

func TestSettle(t *testing.T) {
	tests := []struct {
		name  string
		under bool
		found Cells
		want  string // of the error, "" for none
	}{
		{"all that is certain", false, cells("1"), ""},
		{"not begun", false, cells("2"), `a is "2", it was "1"`},
		{"lost", false, Cells{}, "a is missing"},
		{"half lost", false, Cells{"a": "1"}, "b is missing"},
		{"more", false, Cells{"a": "1", "b": "1", "c": "1"}, "c is there"},
		{"under way, absent", true, cells("1"), ""},
		{"under way, whole", true, cells("2"), ""},
		{"under way, half", true, Cells{"a": "1", "b": "2"}, "from what was under way by a is"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			next, err := begun(test.under).Debts().Settle([]Cells{test.found})
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if have, _ := next.Now(0); len(have) != len(test.found) || have["a"] != test.found["a"] {
					t.Errorf("settled for %v, found %v", have, test.found)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// What a reader was shown is owed, as if it had been acknowledged.
func TestSeenIsOwed(t *testing.T) {
	l := begun(true)
	if err := l.Seen(l.Debts(), []Cells{cells("2")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debts().Settle([]Cells{cells("1")}); err == nil {
		t.Error("what a reader was shown may go")
	}
	if err := l.Refused(0); err == nil {
		t.Error("what a reader was shown may be refused")
	}
}

// What a reader may have been shown before a step began is not owed, though the step
// would leave the same.
func TestSeenBefore(t *testing.T) {
	l := begun(true)
	before := l.Debts()
	l.Acked(0)
	l.Begin(0, cells("1"))
	if err := l.Seen(before, []Cells{cells("1")}); err != nil {
		t.Fatal(err)
	}
	for _, found := range []string{"1", "2"} {
		if _, err := l.Debts().Settle([]Cells{cells(found)}); err != nil {
			t.Error(err)
		}
	}
	if err := l.Seen(l.Debts(), []Cells{cells("1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debts().Settle([]Cells{cells("2")}); err == nil {
		t.Error("what a reader was shown since may go")
	}
}

func TestSeen(t *testing.T) {
	l := begun(true)
	before := l.Debts()
	l.Acked(0)
	if err := l.Seen(before, []Cells{cells("1")}); err != nil {
		t.Errorf("a reader that began earlier: %v", err)
	}
	for _, found := range []Cells{{"a": "1", "b": "2"}, cells("3"), {}} {
		if err := l.Seen(before, []Cells{found}); err == nil {
			t.Errorf("a reader may see %v", found)
		}
	}
	if err := l.Seen(l.Debts(), []Cells{cells("1")}); err == nil {
		t.Error("a reader may see what was before an acknowledged step")
	}
}

func TestRefused(t *testing.T) {
	l := begun(true)
	if err := l.Refused(0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debts().Settle([]Cells{cells("2")}); err == nil {
		t.Error("what was refused may be there")
	}
	if err := l.Shows([]Cells{cells("1")}); err != nil {
		t.Error(err)
	}
}

func TestShows(t *testing.T) {
	if err := begun(true).Shows([]Cells{cells("2")}); err == nil {
		t.Error("what is not certain may be shown")
	}
}
