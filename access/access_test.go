package access

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 11, 28, 10, 0, 0, 123456789, time.UTC)
	home  = netip.MustParseAddr("192.0.2.1")
)

// random returns bytes that are the same in each run.
func random() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

func newToken(t *testing.T, source *rand.ChaCha8, token Token) (*Token, string) {
	t.Helper()
	made, secret, err := NewToken(source, token)
	if err != nil {
		t.Fatal(err)
	}
	return made, secret
}

func tokensOf(t *testing.T, all ...*Token) *Tokens {
	t.Helper()
	tokens := new(Tokens)
	for _, token := range all {
		var err error
		if tokens, err = tokens.With(token); err != nil {
			t.Fatal(err)
		}
	}
	return tokens
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"web", "web", true}, {"web", "web2", false}, {"web", "we", false},
		{"web*", "web", true}, {"web*", "web-2", true}, {"web*", "aweb", false},
		{"*web", "web", true}, {"*web", "a.web", true}, {"*web", "web2", false},
		{"a*b", "ab", true}, {"a*b", "a", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"a*b*b", "ab", false}, {"a*b*b", "abb", true}, {"a*ab*b", "aabb", true},
		{"*", "x", true}, {"**", "x", true}, {"*b*", "abc", true}, {"*b*", "ac", false}, {"?", "a", false}, {"[a]", "a", false},
	} {
		if got := Matches(c.pattern, c.name); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestAllows(t *testing.T) {
	web := &Token{Scope: Write, Tables: []string{"web*", "log"}}
	all := &Token{Scope: Read, Tables: []string{"*"}}
	for _, c := range []struct {
		token *Token
		scope Scope
		table string
		want  bool
	}{
		{web, Read, "web1", true}, {web, Write, "log", true}, {web, Admin, "web1", false}, {web, Read, "other", false},
		{web, Read, "", false}, {all, Read, "", true}, {all, Read, "x", true}, {all, Write, "x", false},
		{&Token{Scope: Admin, Tables: []string{"w*"}}, Admin, "w", true}, {&Token{Scope: Read, Tables: []string{"w*"}}, Read, "", false},
	} {
		if got := c.token.Allows(c.scope, c.table); got != c.want {
			t.Errorf("%v %v allows %v to %q: %v", c.token.Scope, c.token.Tables, c.scope, c.table, got)
		}
	}
}

// TestSecret looks at the form of a secret, and that the file has nothing of its random part.
func TestSecret(t *testing.T) {
	token, secret := newToken(t, random(), Token{Name: "crawler", Scope: Write, Tables: []string{"web*"}, Created: start, Expires: start.Add(time.Hour)})
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || parts[0] != "cln" || parts[1] != token.ID || len(parts[2]) != randomChars || strings.Trim(parts[2], "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("the secret is %q, of token %q", secret, token.ID)
	}
	file := tokensOf(t, token).Encode()
	if bytes.Contains(file, []byte(parts[2])) || bytes.Contains(file, []byte(secret)) {
		t.Errorf("the file has the secret:\n%s", file)
	}
	other, again := newToken(t, random(), Token{Scope: Read, Tables: []string{"*"}, Created: start})
	if other.ID != token.ID || again != secret {
		t.Error("a token depends on more than its source of randomness")
	}
}

func TestFile(t *testing.T) {
	source := random()
	var all []*Token
	for i := range 5 {
		token := Token{Name: fmt.Sprintf("öne %d", i), Scope: Scope(i%3) + Read, Tables: []string{"a*", `q"<&`}, Created: start}
		if i%2 == 1 {
			token.Expires = start.Add(time.Duration(i) * time.Hour)
		}
		made, _ := newToken(t, source, token)
		all = append(all, made)
	}
	tokens := tokensOf(t, all...)
	read, err := ParseTokens(tokens.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if removed, added := read.Changes(tokens); removed != nil || added != nil {
		t.Errorf("after writing and reading, %v are gone and %v are new", removed, added)
	}
	if !bytes.Equal(read.Encode(), tokens.Encode()) {
		t.Errorf("%s\nis not\n%s", read.Encode(), tokens.Encode())
	}
	less, ok := read.Without(all[2].ID)
	if removed, added := less.Changes(read); !ok || len(removed) != 1 || removed[0].ID != all[2].ID || added != nil {
		t.Errorf("without one: %v, removed %v, added %v", ok, removed, added)
	}
	if _, ok := less.Without(all[2].ID); ok {
		t.Error("a token was removed twice")
	}
	if _, err := less.With(all[0]); err == nil {
		t.Error("a token is there twice")
	}
}

func TestFileRefused(t *testing.T) {
	const good = `{"id":"abcdefgh","scope":"read","tables":["*"],"created":"2026-11-28T10:00:00Z","sha256":"` + sum64 + `"}`
	if _, err := ParseTokens([]byte(`{"tokens":[` + good + `]}`)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing":         ``,
		"no JSON":         `tokens`,
		"more":            `{"tokens":[]} x`,
		"a list":          `[]`,
		"unknown field":   `{"tokens":[],"version":1}`,
		"unknown of one":  `{"tokens":[` + strings.Replace(good, `"id"`, `"colour":"red","id"`, 1) + `]}`,
		"no id":           `{"tokens":[` + strings.Replace(good, `abcdefgh`, ``, 1) + `]}`,
		"short id":        `{"tokens":[` + strings.Replace(good, `abcdefgh`, `abcdefg`, 1) + `]}`,
		"upper case":      `{"tokens":[` + strings.Replace(good, `abcdefgh`, `ABCDEFGH`, 1) + `]}`,
		"scope":           `{"tokens":[` + strings.Replace(good, `read`, `root`, 1) + `]}`,
		"scope none":      `{"tokens":[` + strings.Replace(good, `read`, `none`, 1) + `]}`,
		"no scope":        `{"tokens":[` + strings.Replace(good, `"scope":"read",`, ``, 1) + `]}`,
		"no tables":       `{"tokens":[` + strings.Replace(good, `["*"]`, `[]`, 1) + `]}`,
		"empty pattern":   `{"tokens":[` + strings.Replace(good, `"*"`, `""`, 1) + `]}`,
		"control":         `{"tokens":[` + strings.Replace(good, `"*"`, `"a\u0007"`, 1) + `]}`,
		"short sum":       `{"tokens":[` + strings.Replace(good, sum64, sum64[:62], 1) + `]}`,
		"long sum":        `{"tokens":[` + strings.Replace(good, sum64, sum64+"00", 1) + `]}`,
		"odd sum":         `{"tokens":[` + strings.Replace(good, sum64, sum64[:63]+"g", 1) + `]}`,
		"twice":           `{"tokens":[` + good + `,` + good + `]}`,
		"time":            `{"tokens":[` + strings.Replace(good, `2026-11-28T10:00:00Z`, `today`, 1) + `]}`,
		"expires as text": `{"tokens":[` + strings.Replace(good, `"id"`, `"expires":"","id"`, 1) + `]}`,
	} {
		if tokens, err := ParseTokens([]byte(text)); err == nil {
			t.Errorf("%s: %s was taken, as %d tokens", name, text, len(tokens.All()))
		}
	}
}

const sum64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestIdentify(t *testing.T) {
	source := random()
	reader, readerSecret := newToken(t, source, Token{Scope: Read, Tables: []string{"*"}, Created: start, Expires: start.Add(time.Hour)})
	writer, writerSecret := newToken(t, source, Token{Scope: Write, Tables: []string{"*"}, Created: start})
	c := NewControl(tokensOf(t, reader, writer), 0)
	for name, sent := range map[string]struct {
		secret string
		at     time.Duration
		want   string
	}{
		"reader":       {readerSecret, 0, reader.ID},
		"writer":       {writerSecret, 1000 * time.Hour, writer.ID},
		"last moment":  {readerSecret, time.Hour - time.Second, reader.ID},
		"expired":      {readerSecret, time.Hour, "the token " + reader.ID + " expired"},
		"none":         {"", 0, "this server needs a token"},
		"other ID":     {strings.Replace(readerSecret, reader.ID, writer.ID, 1), 0, "not valid"},
		"unknown ID":   {strings.Replace(readerSecret, reader.ID, "aaaaaaaa", 1), 0, "not valid"},
		"other random": {readerSecret[:len(readerSecret)-1] + "7", 0, "not valid"},
		"longer":       {readerSecret + "a", 0, "not valid"},
		"no prefix":    {readerSecret[1:], 0, "not valid"},
		"upper case":   {strings.ToUpper(readerSecret), 0, "not valid"},
		"sum":          {secretPrefix + reader.ID + "_" + sum64, 0, "not valid"},
	} {
		token, err := c.Identify(sent.secret, home, start.Add(sent.at))
		got := fmt.Sprint(err)
		if err == nil {
			got = token.ID
		}
		if !strings.Contains(got, sent.want) {
			t.Errorf("%s: %s, want %s", name, got, sent.want)
		}
	}
	without, _ := c.Tokens().Without(writer.ID)
	c.SetTokens(without)
	if _, err := c.Identify(writerSecret, home, start); err == nil {
		t.Error("a revoked token is still valid")
	}
}

// TestFailures has an address fail until it has failed too often, and again later. Neither others nor valid tokens of the
// same address are concerned.
func TestFailures(t *testing.T) {
	token, secret := newToken(t, random(), Token{Scope: Read, Tables: []string{"*"}, Created: start})
	c := NewControl(tokensOf(t, token), 10)
	fail := func(from netip.Addr, now time.Time) Reason {
		_, err := c.Identify("wrong", from, now)
		return err.(*Refusal).Reason
	}
	for i := range 10 {
		if r := fail(home, start); r != Unknown {
			t.Fatalf("failure %d has reason %d", i, r)
		}
	}
	_, err := c.Identify("", home, start)
	refusal, ok := err.(*Refusal)
	if !ok || refusal.Reason != TooManyFailures || refusal.RetryAfter != 6*time.Second {
		t.Fatalf("after ten failures: %+v", err)
	}
	if _, err := c.Identify(secret, home, start); err != nil {
		t.Errorf("a valid token of the same address: %v", err)
	}
	if r := fail(netip.MustParseAddr("192.0.2.2"), start); r != Unknown {
		t.Errorf("another address has reason %d", r)
	}
	if r := fail(home, start.Add(refusal.RetryAfter)); r != Unknown {
		t.Errorf("one more failure has reason %d", r)
	}
	if r := fail(home, start.Add(refusal.RetryAfter)); r != TooManyFailures {
		t.Errorf("the next has reason %d", r)
	}

	six := netip.MustParseAddr("2001:db8::1")
	for i := range 10 {
		fail(netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)), start)
	}
	if r := fail(six, start); r != TooManyFailures {
		t.Errorf("addresses of one network of IPv6 count apart: %d", r)
	}
	if r := fail(netip.MustParseAddr("::ffff:192.0.2.9"), start); r != Unknown {
		t.Errorf("reason %d", r)
	}
}

// TestFailuresForgotten: looking through all addresses makes room for many, also if few are even.
func TestFailuresForgotten(t *testing.T) {
	var f failures
	f.allow(1)
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range maxAddresses {
		f.add(address(i), start.Add(time.Duration(i)*time.Microsecond))
	}
	f.add(address(maxAddresses), start.Add(time.Minute+10*time.Microsecond))
	if n := len(f.even); n > maxAddresses/2+1 {
		t.Errorf("%d addresses are left", n)
	}
}

// TestFailuresBounded has more addresses fail than are kept.
func TestFailuresBounded(t *testing.T) {
	c := NewControl(new(Tokens), 1)
	for i := range maxAddresses + 10 {
		from := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if _, err := c.Identify("wrong", from, start.Add(time.Duration(i)*time.Millisecond)); err.(*Refusal).Reason != Unknown {
			t.Fatalf("address %d: %v", i, err)
		}
	}
	if n := len(c.failures.even); n > maxAddresses {
		t.Errorf("%d addresses are kept", n)
	}
}
