package quota

import (
	"fmt"
	"sync"
	"time"
)

// Control keeps the balances of tables and tokens. It is safe for concurrent use. All methods take nil, which has no
// quotas.
type Control struct {
	tables, tokens []Rule // sorted

	mu       sync.Mutex
	accounts map[holder]*account // of those that have used something lately; guarded by mu
}

// holder is what has an account.
type holder struct {
	token bool // a token, or else a table
	name  string
}

// maxAccounts is from how many accounts on those that have paid are forgotten: a client may name tables that are not
// there.
const maxAccounts = 20_000

// New returns a Control without debts, nil without rules.
func New(r Rules) *Control {
	if len(r.Tables)+len(r.Tokens) == 0 {
		return nil
	}
	return &Control{tables: sorted(r.Tables), tokens: sorted(r.Tokens), accounts: make(map[holder]*account)}
}

// Admit returns nil if a request may run, or a *Refusal. token is the name of its token, "" for none.
func (c *Control) Admit(table, token string, now time.Time) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var longest *Refusal
	c.each(table, token, func(h holder, r *Rule) {
		a := c.accounts[h]
		if a == nil {
			return
		}
		for _, limit := range [...]struct {
			unit string
			rate int64
			debt *debt
		}{{"rows", r.Rows, &a.rows}, {"bytes", r.Bytes, &a.bytes}} {
			if wait := limit.debt.wait(limit.rate, now); wait > 0 && (longest == nil || wait > longest.RetryAfter) {
				longest = &Refusal{Token: h.token, Name: h.name, Pattern: r.Pattern, Unit: limit.unit, Limit: limit.rate, RetryAfter: wait}
			}
		}
	})
	if longest == nil {
		return nil
	}
	return longest
}

// Charge charges what a request has used.
func (c *Control) Charge(table, token string, rows, bytes int64, now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.each(table, token, func(h holder, r *Rule) {
		a := c.accounts[h]
		if a == nil {
			c.makeRoomLocked(now)
			a = new(account)
			c.accounts[h] = a
		}
		a.rule = r
		a.rows.add(rows, r.Rows, now)
		a.bytes.add(bytes, r.Bytes, now)
	})
}

// Storage returns how many bytes a table may have and the pattern that says so. 0 is any number.
func (c *Control) Storage(table string) (limit int64, pattern string) {
	if c == nil {
		return 0, ""
	}
	if r := of(c.tables, table); r != nil {
		return r.Storage, r.Pattern
	}
	return 0, ""
}

// each calls do for the table and the token of a request, if they have a rule.
func (c *Control) each(table, token string, do func(holder, *Rule)) {
	if table != "" {
		if r := of(c.tables, table); r != nil {
			do(holder{name: table}, r)
		}
	}
	if token != "" {
		if r := of(c.tokens, token); r != nil {
			do(holder{token: true, name: token}, r)
		}
	}
}

// makeRoomLocked forgets the accounts without a debt, if there are too many.
func (c *Control) makeRoomLocked(now time.Time) {
	if len(c.accounts) < maxAccounts {
		return
	}
	for h, a := range c.accounts {
		if a.rows.now(a.rule.Rows, now) == 0 && a.bytes.now(a.rule.Bytes, now) == 0 {
			delete(c.accounts, h)
		}
	}
}

// account is what one table or token has used and the rate has not made up for yet.
type account struct {
	rule        *Rule
	rows, bytes debt
}

// longestDebt is the time whose rate is owed at most. More would let one request of one client, by mistake or not, shut
// all out of a table for days.
const longestDebt = time.Hour

// debt is an amount that shrinks with time.
type debt struct {
	amount float64
	at     time.Time
}

// now returns the amount at some time, at a rate a second; 0 is without a limit.
func (d *debt) now(rate int64, now time.Time) float64 {
	return max(0, d.amount-max(0, now.Sub(d.at).Seconds())*float64(rate))
}

func (d *debt) add(n, rate int64, now time.Time) {
	if rate > 0 {
		*d = debt{min(d.now(rate, now)+float64(n), longestDebt.Seconds()*float64(rate)), now}
	}
}

// wait returns how long it takes until no more is owed than the rate gives in a second.
func (d *debt) wait(rate int64, now time.Time) time.Duration {
	if rate == 0 {
		return 0
	}
	over := d.now(rate, now) - float64(rate)
	if over <= 0 {
		return 0
	}
	return time.Duration(over / float64(rate) * float64(time.Second))
}

// Refusal is the error of a request over a quota. Nothing has happened.
type Refusal struct {
	Token      bool // it is that of a token, or else of a table
	Name       string
	Pattern    string // of the rule
	Unit       string // rows or bytes
	Limit      int64  // a second
	RetryAfter time.Duration
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s %q has used more than its quota of %d %s a second", r.Holder(), r.Name, r.Limit, r.Unit)
}

// Holder says whose quota it is: table or token.
func (r *Refusal) Holder() string {
	if r.Token {
		return "token"
	}
	return "table"
}
