package client

import (
	"context"
	"net/http"
)

// TokenInfo is what a server says of the token of a Client.
type TokenInfo struct {
	ID      string   `json:"id"`     // part of the secret, but not secret
	Name    string   `json:"name"`   // who has it, for people; may be empty
	Scope   string   `json:"scope"`  // "read", "write" or "admin", each with those before it
	Tables  []string `json:"tables"` // patterns of names, in which * stands for any characters
	Expires Time     `json:"-"`      // zero for never
}

// Token returns what the token of the Client allows. It is nil if the server has no access control: everybody may do
// everything.
func (c *Client) Token(ctx context.Context) (*TokenInfo, error) {
	var result struct {
		Token *struct {
			TokenInfo
			Expires *int64 `json:"expires"`
		} `json:"token"`
	}
	if err := c.call(ctx, &request{class: read, method: http.MethodGet, path: "/v1/token"}, &result); err != nil || result.Token == nil {
		return nil, err
	}
	token := &result.Token.TokenInfo
	if result.Token.Expires != nil {
		token.Expires = At(*result.Token.Expires)
	}
	return token, nil
}
