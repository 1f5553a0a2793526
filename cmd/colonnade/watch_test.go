package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWatch has a file change while it is read, then an error that ends without a change of the file.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("a")
	transient := errors.New("too many open files")
	outcomes := []error{nil, transient, transient, nil} // of the calls of load
	calls := 0
	done := make(chan error, len(outcomes))
	err := watch(t.Context(), []string{path}, func() error {
		if calls == 0 {
			write("ab")
		}
		calls++
		return outcomes[calls-1]
	}, func(err error) { done <- err })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{transient, nil} { // the second failure is as the first
		if got := <-done; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestWatchFails: what cannot be read at first is not watched.
func TestWatchFails(t *testing.T) {
	want := errors.New("broken")
	if err := watch(t.Context(), nil, func() error { return want }, nil); err != want {
		t.Errorf("got %v", err)
	}
}
