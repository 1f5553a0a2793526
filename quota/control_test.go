package quota

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)

// after returns the wait that a Control asks for, some seconds after the start.
func after(t *testing.T, c *Control, table, token string, seconds float64) time.Duration {
	t.Helper()
	err := c.Admit(table, token, start.Add(time.Duration(seconds*float64(time.Second))))
	var refusal *Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	if refusal == nil {
		return 0
	}
	return refusal.RetryAfter
}

// TestPostPaid: requests are admitted until one has used too much, and again when the rate has made up for it.
func TestPostPaid(t *testing.T) {
	c := New(Rules{Tables: []Rule{{"web*", Limits{Rows: 100, Bytes: 1000}}}})
	if wait := after(t, c, "web1", "", 0); wait != 0 {
		t.Fatalf("at first: %v", wait)
	}
	c.Charge("web1", "", 100, 10, start)
	if wait := after(t, c, "web1", "", 0); wait != 0 {
		t.Errorf("after what a second gives: %v", wait)
	}
	c.Charge("web1", "", 1000, 10, start)
	for seconds, want := range map[float64]time.Duration{0: 10 * time.Second, 4: 6 * time.Second, 10: 0, 1e6: 0, -5: 10 * time.Second} {
		if wait := after(t, c, "web1", "", seconds); wait != want {
			t.Errorf("after %v s: %v, want %v", seconds, wait, want)
		}
	}
	for _, other := range []string{"web2", "other"} {
		if wait := after(t, c, other, "", 0); wait != 0 {
			t.Errorf("%s: %v", other, wait)
		}
	}
	later := start.Add(1000 * time.Second) // the balance has not grown beyond a second
	c.Charge("web1", "", 300, 0, later)
	if wait := after(t, c, "web1", "", 1000); wait != 2*time.Second {
		t.Errorf("after a long rest: %v", wait)
	}
	c.Charge("web1", "", 0, 31_000, later)
	err := c.Admit("web1", "", later)
	if r := err.(*Refusal); r.Unit != "bytes" || r.Limit != 1000 || r.RetryAfter != 30*time.Second || r.Holder() != "table" || r.Name != "web1" || r.Pattern != "web*" {
		t.Errorf("%+v", r)
	}
}

// TestRules: the longest pattern counts, each name for itself; tokens and tables together.
func TestRules(t *testing.T) {
	c := New(Rules{
		Tables: []Rule{{"*", Limits{Rows: 1, Storage: 5}}, {"web*", Limits{Rows: 10}}, {"web1", Limits{Storage: 7}}},
		Tokens: []Rule{{"crawl*", Limits{Rows: 2}}},
	})
	for table, want := range map[string]int64{"web1": 7, "web2": 0, "x": 5} {
		if got, _ := c.Storage(table); got != want {
			t.Errorf("storage of %s is %d, want %d", table, got, want)
		}
	}
	for _, table := range []string{"web1", "web2", "x"} {
		c.Charge(table, "", 31, 0, start)
	}
	c.Charge("web1", "crawler", 12, 0, start)
	for _, want := range []struct {
		table, token string
		wait         time.Duration
	}{
		{"web1", "", 0}, {"web2", "", 2100 * time.Millisecond}, {"x", "", 30 * time.Second},
		{"web1", "crawler", 5 * time.Second}, {"x", "crawler", 30 * time.Second}, {"web1", "crawler2", 0}, {"", "crawler", 5 * time.Second}, {"", "", 0},
	} {
		if wait := after(t, c, want.table, want.token, 0); wait != want.wait {
			t.Errorf("%s, %s: %v, want %v", want.table, want.token, wait, want.wait)
		}
	}
}

// TestWithoutRules: nil has no quotas.
func TestWithoutRules(t *testing.T) {
	c := New(Rules{})
	c.Charge("t", "x", 1<<40, 1<<40, start)
	if limit, _ := c.Storage("t"); c != nil || c.Admit("t", "x", start) != nil || limit != 0 {
		t.Error("there is a quota")
	}
	if n := testing.AllocsPerRun(100, func() { _ = c.Admit("t", "x", start); c.Charge("t", "x", 1, 1, start) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAccountsAreBounded: names that a client makes up take no memory for long, and a debt is not forgotten.
func TestAccountsAreBounded(t *testing.T) {
	c := New(Rules{Tables: []Rule{{"*", Limits{Rows: 10}}}})
	c.Charge("large", "", 1<<40, 0, start)
	for i := range 3 * maxAccounts {
		c.Charge(fmt.Sprint(i), "", 1, 0, start.Add(time.Duration(i)*time.Millisecond))
	}
	if n := len(c.accounts); n > maxAccounts {
		t.Errorf("%d accounts", n)
	}
	if wait := after(t, c, "large", "", 60); wait < time.Hour-2*time.Minute {
		t.Errorf("the debt is %v", wait)
	}
}

// TestHugeDebt: nobody waits longer than an hour, however much was used, and by however many at once.
func TestHugeDebt(t *testing.T) {
	c := New(Rules{Tables: []Rule{{"*", Limits{Rows: 1}}}})
	for range 3 {
		c.Charge("t", "", 1<<62, 0, start)
		if wait := after(t, c, "t", "", 0); wait != time.Hour-time.Second {
			t.Errorf("%v", wait)
		}
	}
	if wait := after(t, c, "t", "", 3599); wait != 0 {
		t.Errorf("after an hour: %v", wait)
	}
}

// TestAtOnce: goroutines charge together what they charge one after the other.
func TestAtOnce(t *testing.T) {
	c := New(Rules{Tables: []Rule{{"*", Limits{Rows: 100}}}, Tokens: []Rule{{"*", Limits{Rows: 1000}}}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				_ = c.Admit("t", "x", start)
				c.Charge("t", "x", 5, 0, start)
			}
		})
	}
	all.Wait()
	if wait := after(t, c, "t", "", 0); wait != 39*time.Second {
		t.Errorf("%v", wait)
	}
}
