package access

import (
	"net/netip"
	"sync/atomic"
	"time"
)

// Control identifies the senders of requests by the tokens that are in force. It is safe for concurrent use.
type Control struct {
	tokens   atomic.Pointer[Tokens]
	failures failures
}

// NewControl returns a Control with tokens, nil if SetTokens comes before requests. After perMinute failures in a
// minute, further ones of an address are TooManyFailures, which count no more; 0 is without that limit.
func NewControl(tokens *Tokens, perMinute int) *Control {
	c := new(Control)
	c.failures.allow(perMinute)
	c.tokens.Store(tokens)
	return c
}

// Tokens returns those in force.
func (c *Control) Tokens() *Tokens { return c.tokens.Load() }

// SetTokens puts others in force, for requests from now on. Requests under way go on.
func (c *Control) SetTokens(tokens *Tokens) { c.tokens.Store(tokens) }

// Identify returns the token of a secret that came from an address. "" is no secret. The error is a *Refusal.
func (c *Control) Identify(secret string, from netip.Addr, now time.Time) (*Token, error) {
	t := c.tokens.Load().find(secret)
	if t != nil && !t.Expired(now) {
		// Whatever others behind the same address send: a valid token is not guessed.
		return t, nil
	}
	if wait := c.failures.add(from, now); wait > 0 {
		return nil, &Refusal{Reason: TooManyFailures, RetryAfter: wait}
	}
	switch {
	case secret == "":
		return nil, &Refusal{Reason: Missing}
	case t == nil:
		return nil, &Refusal{Reason: Unknown}
	}
	return nil, &Refusal{Reason: Expired, Token: t}
}

// Reason says why a sender was not identified.
type Reason uint8

const (
	Missing         Reason = iota // the request has no token
	Unknown                       // there is no such token, or no longer
	Expired                       // its time is over
	TooManyFailures               // its address has failed too often
)

// Refusal is the error of a sender that was not identified. Nothing has happened.
type Refusal struct {
	Reason     Reason
	Token      *Token        // of Expired
	RetryAfter time.Duration // of TooManyFailures
}

func (r *Refusal) Error() string {
	switch r.Reason {
	case Missing:
		return "this server needs a token: send it as Authorization: Bearer TOKEN"
	case Expired:
		return "the token " + r.Token.ID + " expired at " + r.Token.Expires.Format(time.RFC3339)
	case TooManyFailures:
		return "too many requests from this address had no valid token: try again later"
	}
	return "the token is not valid: it was revoked, or never was one of this server's"
}
