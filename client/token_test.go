package client

import (
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

func TestToken(t *testing.T) {
	if token, err := open(t, newServer(t), Options{}).Token(t.Context()); token != nil || err != nil {
		t.Errorf("without access control: %+v, %v", token, err)
	}
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	made, secret, err := access.NewToken(rand.NewChaCha8([32]byte{}), access.Token{Name: "crawler", Scope: access.Write, Tables: []string{"web*"}, Created: time.Now(), Expires: expires})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := new(access.Tokens).With(made)
	if err != nil {
		t.Fatal(err)
	}
	guarded := server.New(memstore.New(memstore.Options{}), server.Options{Now: time.Now, Access: access.NewControl(tokens, 0)}).Handler()
	got, err := open(t, guarded, Options{Token: secret}).Token(t.Context())
	want := &TokenInfo{ID: made.ID, Name: "crawler", Scope: "write", Tables: []string{"web*"}, Expires: At(expires.UnixMicro())}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := open(t, guarded, Options{}).Token(t.Context()); err == nil {
		t.Error("without a token there is an answer")
	}
}

// TestTokenForever: a token that does not expire has no time.
func TestTokenForever(t *testing.T) {
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"result": {"token": {"id": "a", "name": "", "scope": "read", "tables": ["*"], "expires": null}}}`)
	}), Options{})
	if token, err := c.Token(t.Context()); err != nil || !token.Expires.IsZero() {
		t.Errorf("got %+v, %v", token, err)
	}
}
