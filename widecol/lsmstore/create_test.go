package lsmstore_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestTwoCreates: no create reports that a table exists while a crash could still undo it. The
// second of two creates waits for the first.
func TestTwoCreates(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var armed atomic.Bool
		held, release := make(chan struct{}), make(chan struct{})
		fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
			if op.Kind != vfs.OpCreate || !strings.HasPrefix(op.Name, "data/manifest") || !armed.CompareAndSwap(true, false) {
				return vfs.Fault{}
			}
			held <- struct{}{}
			f := vfs.Fault{Hold: release}
			if fails {
				f.Err = errors.New("injected")
			}
			return f
		})
		s := openAt(t, fs)
		defer s.Close()
		create := func() <-chan error {
			done := make(chan error, 1)
			go func() { done <- s.CreateTable(context.Background(), "t", widecol.TableSpec{}) }()
			return done
		}
		armed.Store(true)
		first := create()
		<-held
		second := create()
		select {
		case err := <-second:
			close(release)
			t.Fatalf("the second is done before the first, with %v", err)
		case <-time.After(20 * time.Millisecond): // without the wait, the second would return long before
		}
		close(release)
		if err := <-first; (err != nil) != fails {
			t.Errorf("the first: error %v, want one: %v", err, fails)
		}
		if err := <-second; widecol.KindOf(err) == widecol.Exists == fails {
			t.Errorf("the second, when the first fails: %v: error %v", fails, err)
		}
	}
}
