package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade"
)

// TestEmbeddedAndServed: a program and the server use one directory in turn, and read what the other has written. At the
// same time they cannot, and are told why.
func TestEmbeddedAndServed(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	s.call("POST", "/v1/table/t/write", `{"items":[{"row_key":"a","cells":[{"column_key":"f:q","type":"i64","value":41}]}]}`)
	if _, err := colonnade.Open(dir, nil); !errors.Is(err, colonnade.ErrInUse) || !strings.Contains(err.Error(), "is open already, in the process with id") {
		t.Errorf("open while it is served: %v", err)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("code %d", code)
	}
	db, err := colonnade.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := db.Table("t").Increment(ctx, "a", "f", "q", 1); err != nil || sum != 42 {
		t.Errorf("sum %d, %v, want 42", sum, err)
	}
	if r := runLine("", "serve", "--data", dir, "--listen", "127.0.0.1:0"); r.code == 0 || !strings.Contains(r.stderr, "is in use by the process") {
		t.Errorf("serve while it is open: code %d, %s", r.code, r.stderr)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = startServe(t, dir)
	if got := s.call("POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}}]}`); !strings.Contains(got, `"value": 42`) && !strings.Contains(got, `"value":42`) {
		t.Errorf("the server reads %s", got)
	}
	if code := s.stop(os.Interrupt); code != 0 {
		t.Errorf("code %d", code)
	}
}
