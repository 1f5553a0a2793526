package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

// Token is what a server knows of a token. It is not changed after it is in Tokens.
type Token struct {
	ID      string    // part of the secret, but not secret: it is in logs
	Name    string    // who has it, for people; may be empty
	Scope   Scope     // not None
	Tables  []string  // patterns, of which one must match; * stands for any characters
	Created time.Time // in UTC, to the second
	Expires time.Time // zero for never

	sum [sha256.Size]byte // of the secret
}

// Allows reports whether the token may do what needs a scope to a table. The name "" means all tables together.
func (t *Token) Allows(scope Scope, table string) bool {
	if scope > t.Scope {
		return false
	}
	for _, pattern := range t.Tables {
		if pattern == "*" || table != "" && Matches(pattern, table) {
			return true
		}
	}
	return false
}

// Expired reports whether the token is no longer valid.
func (t *Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// AppendTo appends what a line of a log says of the token. A nil Token says nothing.
func (t *Token) AppendTo(line []slog.Attr) []slog.Attr {
	if t == nil {
		return line
	}
	line = append(line, slog.String("token", t.ID))
	if t.Name != "" {
		line = append(line, slog.String("token_name", t.Name))
	}
	return line
}

// Matches reports whether a pattern, in which * stands for any characters, matches a whole name.
func Matches(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	// Between stars the first place is as good as any later one; the last part must end the name.
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], after
	}
}

// A secret is
//
//	cln_ID_RANDOM
//
// with 8 characters of ID and 26 of RANDOM, in base32 without padding, lower case (RFC 4648, section 6). The prefix
// lets scanners of source code find secrets that were committed.
const (
	secretPrefix = "cln_"
	idBytes      = 5
	randomChars  = 26 // 130 bits
	idChars      = idBytes * 8 / 5
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Limits of what a token has, so that the token file and logs stay readable.
const (
	maxName     = 100
	maxPatterns = 100
	maxPattern  = 200
)

// NewToken makes a token and its secret. t has everything but ID. It returns an error if random does, or if t breaks a
// rule.
func NewToken(random io.Reader, t Token) (_ *Token, secret string, err error) {
	var id [idBytes]byte
	var bits [17]byte // 136 bits
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return nil, "", err
	}
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return nil, "", err
	}
	t.ID = base32Lower.EncodeToString(id[:])
	secret = secretPrefix + t.ID + "_" + base32Lower.EncodeToString(bits[:])[:randomChars]
	t.sum = sha256.Sum256([]byte(secret))
	t.Created, t.Expires = t.Created.UTC().Truncate(time.Second), t.Expires.UTC().Truncate(time.Second)
	if err := t.check(); err != nil {
		return nil, "", err
	}
	return &t, secret, nil
}

// idOf returns the ID in a secret. It returns false if the text cannot be one.
func idOf(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(rest) != idChars+1+randomChars || rest[idChars] != '_' {
		return "", false
	}
	return rest[:idChars], true
}

// is reports whether a secret is that of the token. How long it takes tells nothing of the secret.
func (t *Token) is(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

// check reports which rule a token breaks.
func (t *Token) check() error {
	if id, err := base32Lower.DecodeString(t.ID); err != nil || len(id) != idBytes {
		return fmt.Errorf("id %q is not %d characters of base32 in lower case", t.ID, idChars)
	}
	switch {
	case t.Scope < Read || t.Scope > Admin:
		return errors.New("a scope is missing: read, write or admin")
	case len(t.Name) > maxName || !printable(t.Name):
		return fmt.Errorf("the name must be at most %d printable bytes of UTF-8", maxName)
	case len(t.Tables) == 0:
		return errors.New("a pattern of table names is missing: * means all tables")
	case len(t.Tables) > maxPatterns:
		return fmt.Errorf("%d patterns of table names are more than %d", len(t.Tables), maxPatterns)
	}
	for _, pattern := range t.Tables {
		if pattern == "" || len(pattern) > maxPattern || !printable(pattern) {
			return fmt.Errorf("the pattern of table names %q must be 1 to %d printable bytes", pattern, maxPattern)
		}
	}
	return nil
}

// printable reports whether a text can be in a line of a listing.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
