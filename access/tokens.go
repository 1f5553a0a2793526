package access

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Tokens are those of a token file. A Tokens is not changed: With and Without return new ones.
//
// The file is JSON, with the SHA-256 sum of each secret in hexadecimal:
//
//	{"tokens": [
//	  {"id": "k3vq7yfa", "name": "crawler", "scope": "write", "tables": ["web*"], "created": "2026-11-28T10:00:00Z",
//	   "expires": "2027-02-26T10:00:00Z", "sha256": "9f86d08188…"}
//	]}
//
// name and expires may be left out. Anything unknown is an error.
type Tokens struct {
	all  []*Token // in the order of the file
	byID map[string]*Token
}

// maxTokens bounds a file.
const maxTokens = 10_000

type tokenFile struct {
	Tokens []tokenJSON `json:"tokens"`
}

type tokenJSON struct {
	ID      string     `json:"id"`
	Name    string     `json:"name,omitempty"`
	Scope   string     `json:"scope"`
	Tables  []string   `json:"tables"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Sum     string     `json:"sha256"`
}

// ParseTokens reads a token file. The error says which token is wrong.
func ParseTokens(text []byte) (*Tokens, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var file tokenFile
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the end of the JSON")
	}
	if n := len(file.Tokens); n > maxTokens {
		return nil, fmt.Errorf("%d tokens are more than %d", n, maxTokens)
	}
	all := make([]*Token, len(file.Tokens))
	for i := range file.Tokens {
		t, err := file.Tokens[i].token()
		if err != nil {
			return nil, fmt.Errorf("token %d of the file: %w", i+1, err)
		}
		all[i] = t
	}
	return newTokens(all)
}

func (j *tokenJSON) token() (*Token, error) {
	scope, err := ParseScope(j.Scope)
	if err != nil {
		return nil, err
	}
	t := &Token{ID: j.ID, Name: j.Name, Scope: scope, Tables: j.Tables, Created: j.Created}
	if j.Expires != nil {
		t.Expires = *j.Expires
	}
	if n, err := hex.Decode(t.sum[:], []byte(j.Sum[:min(len(j.Sum), 2*len(t.sum))])); err != nil || 2*n != len(j.Sum) || n != len(t.sum) {
		return nil, errors.New("sha256 must be 64 hexadecimal digits")
	}
	return t, t.check()
}

func newTokens(all []*Token) (*Tokens, error) {
	s := &Tokens{all: all, byID: make(map[string]*Token, len(all))}
	for _, t := range all {
		if s.byID[t.ID] != nil {
			return nil, fmt.Errorf("two tokens have the id %q", t.ID)
		}
		s.byID[t.ID] = t
	}
	return s, nil
}

// Encode returns the text of the token file.
func (s *Tokens) Encode() []byte {
	file := tokenFile{Tokens: make([]tokenJSON, len(s.all))}
	for i, t := range s.all {
		j := tokenJSON{ID: t.ID, Name: t.Name, Scope: t.Scope.String(), Tables: t.Tables, Created: t.Created, Sum: hex.EncodeToString(t.sum[:])}
		if !t.Expires.IsZero() {
			j.Expires = &t.Expires
		}
		file.Tokens[i] = j
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		panic(err) // it is made of text and times within range
	}
	return append(text, '\n')
}

// All returns the tokens in the order in which they were made. The caller must not change the slice.
func (s *Tokens) All() []*Token { return s.all }

// With returns the tokens and one more. It returns an error if its ID is taken, or there are too many.
func (s *Tokens) With(t *Token) (*Tokens, error) {
	if len(s.all) >= maxTokens {
		return nil, fmt.Errorf("there are %d tokens already, and no more are allowed: revoke some", maxTokens)
	}
	return newTokens(append(slices.Clone(s.all), t))
}

// Without returns the tokens without the one of an ID. It returns false if there is none.
func (s *Tokens) Without(id string) (*Tokens, bool) {
	i := slices.IndexFunc(s.all, func(t *Token) bool { return t.ID == id })
	if i < 0 {
		return s, false
	}
	rest, err := newTokens(slices.Delete(slices.Clone(s.all), i, i+1))
	if err != nil {
		panic(err) // the IDs were distinct
	}
	return rest, true
}

// find returns the token of a secret, or nil.
func (s *Tokens) find(secret string) *Token {
	id, ok := idOf(secret)
	if !ok {
		return nil
	}
	if t := s.byID[id]; t != nil && t.is(secret) {
		return t
	}
	return nil
}

// Changes returns the tokens that were removed since before, and those that were added. One that was changed is in
// both.
func (s *Tokens) Changes(before *Tokens) (removed, added []*Token) {
	for _, t := range before.all {
		if now := s.byID[t.ID]; now == nil || !now.equal(t) {
			removed = append(removed, t)
		}
	}
	for _, t := range s.all {
		if old := before.byID[t.ID]; old == nil || !old.equal(t) {
			added = append(added, t)
		}
	}
	return removed, added
}

func (t *Token) equal(o *Token) bool {
	return t.sum == o.sum && t.Name == o.Name && t.Scope == o.Scope && slices.Equal(t.Tables, o.Tables) && t.Created.Equal(o.Created) && t.Expires.Equal(o.Expires)
}
