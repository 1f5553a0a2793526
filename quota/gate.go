package quota

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Gate is what all front ends ask: the Control in force, and how large tables are. It is safe for concurrent use.
type Gate struct {
	control atomic.Pointer[Control]
	look    func(context.Context) (map[string]int64, error)
	refused func(of, pattern, limit string)

	mu    sync.Mutex
	at    time.Time        // of the last look; guarded by mu
	bytes map[string]int64 // by table; guarded by mu
}

// NewGate returns a Gate with rules. look returns the bytes of each table; asking goes through all partitions, so it is
// called about once a second at most. refused is told of each refusal: table or token, the pattern of its rule, and what
// was used too much: rows, bytes or storage.
func NewGate(r Rules, look func(context.Context) (map[string]int64, error), refused func(of, pattern, limit string)) *Gate {
	g := &Gate{look: look, refused: refused}
	g.Set(r)
	return g
}

// Set puts other rules in force, for requests from now on. It forgives what was used too much before.
func (g *Gate) Set(r Rules) { g.control.Store(New(r)) }

// Control returns what is in force, nil without quotas. A request is admitted and charged by the same one.
func (g *Gate) Control() *Control { return g.control.Load() }

// Admit is Control.Admit of c, whose refusals it counts.
func (g *Gate) Admit(c *Control, table, token string, now time.Time) error {
	err := c.Admit(table, token, now)
	if r, ok := err.(*Refusal); ok {
		g.refused(r.Holder(), r.Pattern, r.Unit)
	}
	return err
}

// AdmitStorage returns a *StorageRefusal if a table has more bytes than c allows, or the error of the look.
func (g *Gate) AdmitStorage(ctx context.Context, c *Control, table string, now time.Time) error {
	limit, pattern := c.Storage(table)
	if limit == 0 {
		return nil
	}
	size, err := g.size(ctx, table, now)
	if err != nil || size <= limit {
		return err
	}
	g.refused("table", pattern, "storage")
	return &StorageRefusal{Table: table, Size: size, Limit: limit}
}

// sizesEvery is the time between two looks.
const sizesEvery = time.Second

// size returns the bytes of a table. Those who come during a look wait for it.
func (g *Gate) size(ctx context.Context, table string, now time.Time) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes == nil || now.Sub(g.at) >= sizesEvery {
		bytes, err := g.look(ctx)
		if err != nil {
			return 0, err
		}
		g.bytes, g.at = bytes, now
	}
	return g.bytes[table], nil
}

// StorageRefusal is the error of a write to a table that is too large. Nothing has happened.
type StorageRefusal struct {
	Table       string
	Size, Limit int64 // in bytes
}

func (r *StorageRefusal) Error() string {
	return fmt.Sprintf("table %q has %d bytes, and its quota is %d: delete rows, which takes effect as they are compacted, or raise the quota", r.Table, r.Size, r.Limit)
}
