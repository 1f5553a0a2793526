package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTokenWithoutEncryption: a token that leaves the machine readable is worth a warning. 192.0.2.1 is nobody's address;
// the file is looked for first.
func TestTokenWithoutEncryption(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("cln_abcdefgh_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const warning = "warning: the token goes to http://192.0.2.1:9876 without encryption"
	for _, test := range []struct {
		url, token string
		want       bool
	}{
		{"http://192.0.2.1:9876", token, true}, {"https://192.0.2.1:9876", token, false}, {"http://127.0.0.1:1", token, false}, {"http://192.0.2.1:9876", "", false},
	} {
		got := runLine("", "import", filepath.Join(t.TempDir(), "none.jsonl"), "--table", "t", "--url", test.url, "--token-file", test.token)
		if strings.Contains(got.stderr, warning) != test.want || got.code == 0 {
			t.Errorf("%s: %+v", test.url, got)
		}
	}
}
