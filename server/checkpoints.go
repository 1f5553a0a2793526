package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
)

// checkpoints are those that clients have asked for. Each keeps files on the disk that the store has replaced, so
// there are few, and one that nobody has asked for in a while goes.
type checkpoints struct {
	store widecol.Checkpointer // nil if the store makes none
	clock clock.Clock
	log   *slog.Logger

	mu     sync.Mutex
	open   map[string]*checkpoint
	making int
}

// checkpoint is one of them. checkpoints.mu guards its fields.
type checkpoint struct {
	widecol.Checkpoint
	readers int
	expires int64       // when it goes, in microseconds since the Unix epoch, if nobody reads it
	cancel  func() bool // of the timer that removes it
}

const (
	// maxCheckpoints bounds how many there are, with those that are being made.
	maxCheckpoints = 8
	// checkpointIdle is how long one stays without a request for a file of it.
	checkpointIdle = 10 * time.Minute
)

// begin takes a place for a new checkpoint, which add or giveUp uses.
func (c *checkpoints) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open)+c.making == maxCheckpoints {
		return refuse(http.StatusConflict, "too_many_checkpoints", atBody, "there are %d checkpoints: delete one, or wait: each goes %v after it was last read", maxCheckpoints, checkpointIdle)
	}
	c.making++
	return nil
}

func (c *checkpoints) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making--
}

func (c *checkpoints) add(made widecol.Checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making--
	cp := &checkpoint{Checkpoint: made}
	c.open[made.ID] = cp
	c.armLocked(cp)
}

// armLocked has the checkpoint removed once it was idle for long enough.
func (c *checkpoints) armLocked(cp *checkpoint) {
	cp.expires = c.clock.Now() + checkpointIdle.Microseconds()
	cp.cancel = c.clock.AfterFunc(checkpointIdle, func() {
		if c.expire(cp) {
			if err := c.store.RemoveCheckpoint(cp.ID); err != nil {
				c.log.Warn("checkpoint not removed, the next start tries again", "path", cp.Path, "cause", err)
			}
		}
	})
}

// list returns what is there, the newest first.
func (c *checkpoints) list() (all []listedCheckpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cp := range c.open {
		l := listedCheckpoint{Checkpoint: cp.Checkpoint}
		if cp.readers == 0 {
			l.expires = cp.expires
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b listedCheckpoint) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.ID, b.ID)) })
	return all
}

// listedCheckpoint is a checkpoint, and when it goes: 0 while it is being read.
type listedCheckpoint struct {
	widecol.Checkpoint
	expires int64
}

// expire takes a checkpoint out, unless it is being read again or was deleted.
func (c *checkpoints) expire(cp *checkpoint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cp.readers > 0 || c.open[cp.ID] != cp {
		return false
	}
	delete(c.open, cp.ID)
	return true
}

// read begins a request for a file, which done ends. Meanwhile the checkpoint does not expire.
func (c *checkpoints) read(id, name string) (file widecol.CheckpointFile, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cp := c.open[id]
	if cp == nil {
		return file, nil, unknownCheckpoint(id)
	}
	i, found := slices.BinarySearchFunc(cp.Files, name, func(f widecol.CheckpointFile, name string) int {
		if f.Name < name {
			return -1
		} else if f.Name > name {
			return 1
		}
		return 0
	})
	if !found {
		return file, nil, refuse(http.StatusNotFound, "unknown_file", atPath, "the checkpoint has no file %q", shorten(name))
	}
	cp.readers++
	cp.cancel()
	return cp.Files[i], func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if cp.readers--; cp.readers == 0 {
			c.armLocked(cp)
		}
	}, nil
}

// take takes a checkpoint out, to be removed.
func (c *checkpoints) take(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cp := c.open[id]
	if cp == nil {
		return unknownCheckpoint(id)
	}
	cp.cancel()
	delete(c.open, id)
	return nil
}

func unknownCheckpoint(id string) error {
	return refuse(http.StatusNotFound, "unknown_checkpoint", atPath, "there is no checkpoint %q: it was deleted, or not read for %v, or the server was restarted", shorten(id), checkpointIdle)
}
