package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestReadyWithoutWrites: reads go on when the store takes no writes, and who asks
// is told why, and for how long.
func TestReadyWithoutWrites(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	for _, state := range []struct {
		health error
		want   string
	}{
		{nil, "The server takes requests"},
		{errors.New("the log failed"), "restarted"},
		{widecol.Errorf(widecol.ReadOnly, "read_only", "the log failed"), "restarted"},
		{widecol.Errorf(widecol.Overloaded, "slow_disk", "the sync hangs"), "slow"},
		{widecol.Errorf(widecol.DiskFull, "disk_full", "no room"), "full"},
	} {
		store.health = state.health
		if e := c.call("GET", "/readyz", ""); e.Status != 200 || !strings.Contains(e.Message, state.want) {
			t.Errorf("%v: got %d %q, want %q in it", state.health, e.Status, e.Message, state.want)
		}
	}
}

// TestReadyWithDamage: the server goes on, and whoever asks is told where the damage
// is.
func TestReadyWithDamage(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	for range 7 {
		store.damage = append(store.damage, errors.New("partition _dat_t is damaged"))
	}
	e := c.call("GET", "/readyz", "")
	if e.Status != 200 || strings.Count(e.Message, "_dat_t") != 5 || !strings.Contains(e.Message, "and 2 more") {
		t.Errorf("got %d %q, want five damages and the number of the others", e.Status, e.Message)
	}
}
