package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// Locks keep Prune away from what a backup that is being made will need. Both need storages on which a List shows
// every Put before it, as directories and S3 do.
//
//  1. Who begins writes a lock, and renews it every few seconds with another content.
//  2. Then it looks for locks of the other kind (prunes also for other prunes). If it finds one, it watches it for three
//     times as long. If the content changes, the other is alive: it gives up. If not, its process was killed: it removes
//     that lock.
//  3. A backup looks whether its own lock is still there before and after it writes its description, and whether its objects are.
//     A prune looks before it removes anything. So a process that was only asleep for that long does no harm.
//
// As both write before they look, at least one of two that begin at the same time sees the other.

const locksDir = "locks/"

// Kinds of locks, as their names begin.
const (
	lockCreate = "create-"
	lockPrune  = "prune-"
)

// lock is a lock that is held.
type lock struct {
	r    *Repository
	name string
	stop context.CancelFunc
	done sync.WaitGroup
}

// lock takes a lock, or returns who is in the way.
func (r *Repository) lock(ctx context.Context, kind string, excludes ...string) (*lock, error) {
	id := make([]byte, 8)
	if _, err := io.ReadFull(r.opt.Rand, id); err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lock{r: r, name: locksDir + kind + hex.EncodeToString(id) + ".json", stop: stop}
	if err := l.beat(ctx, 0); err != nil {
		stop()
		return nil, err
	}
	l.done.Go(func() {
		for n := 1; sleep(beating, r.opt.Clock, r.opt.Beat) == nil; n++ {
			if l.held(beating) != nil {
				return
			}
			_ = l.beat(beating, n) // if it fails for long, others take the lock for dead, and held says so
		}
	})
	if err := r.awaitNone(ctx, l.name, excludes); err != nil {
		l.release(ctx)
		return nil, err
	}
	return l, nil
}

// beat writes the lock anew.
func (l *lock) beat(ctx context.Context, n int) error {
	text := fmt.Sprintf("{\"beat\":%d}\n", n)
	return l.r.storage.Put(ctx, l.name, strings.NewReader(text), int64(len(text)))
}

// held returns an error if somebody has taken the lock for that of a dead process.
func (l *lock) held(ctx context.Context) error {
	_, err := l.r.read(ctx, l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("this process was asleep, or the storage did not answer, for so long that another one took it for dead: run it again")
	}
	return err
}

func (l *lock) release(ctx context.Context) {
	l.stop()
	l.done.Wait()
	_ = l.r.storage.Remove(context.WithoutCancel(ctx), l.name) // if it fails, others find it dead
}

// awaitNone removes the locks of dead processes, and returns an error if one of another is alive.
func (r *Repository) awaitNone(ctx context.Context, own string, kinds []string) error {
	objects, err := r.storage.List(ctx, locksDir)
	if err != nil {
		return err
	}
	before := make(map[string]string)
	for _, o := range objects {
		for _, kind := range kinds {
			if o.Name == own || !strings.HasPrefix(o.Name, locksDir+kind) {
				continue
			}
			text, err := r.read(ctx, o.Name)
			if err == nil {
				before[o.Name] = string(text)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if len(before) == 0 {
		return nil
	}
	r.say(fmt.Sprintf("waiting %v to see whether another backup or prune is alive", 3*r.opt.Beat))
	if err := sleep(ctx, r.opt.Clock, 3*r.opt.Beat); err != nil {
		return err
	}
	for name, text := range before {
		now, err := r.read(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case string(now) != text:
			what := "a backup is being made"
			if strings.HasPrefix(name, locksDir+lockPrune) {
				what = "a prune is running"
			}
			return busy(what, r.storage)
		default:
			if err := r.storage.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ErrBusy is that a prune runs beside a backup that is being made, or the other way round.
var ErrBusy = errors.New("wait for its end")

func busy(what string, in Storage) error { return fmt.Errorf("%s in %s: %w", what, in, ErrBusy) }

func (r *Repository) say(text string) {
	if r.opt.Log != nil {
		r.opt.Log(text)
	}
}

// sleep waits, or returns the error of the context.
func sleep(ctx context.Context, c clock.Clock, d time.Duration) error {
	over := make(chan struct{})
	defer c.AfterFunc(d, func() { close(over) })()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
