package server

import (
	"errors"
	"testing"
)

// TestReadyWhenReadOnly: reads go on when the store takes no writes any more, and
// who asks is told.
func TestReadyWhenReadOnly(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	if e := c.call("GET", "/readyz", ""); e.Status != 200 || e.Message != "The server takes requests" {
		t.Errorf("in health: got %d %q", e.Status, e.Message)
	}
	store.health = errors.New("the log failed")
	if e := c.call("GET", "/readyz", ""); e.Status != 200 || e.Message == "The server takes requests" {
		t.Errorf("read-only: got %d %q", e.Status, e.Message)
	}
}
