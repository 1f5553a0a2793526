package overload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/vfs"
)

// bug makes handlers of the server panic in the middle of a read, and of changes that read a row while they hold its
// lock, and checks that the server goes on.
func bug(ctx context.Context, r *run) error {
	var armed atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		// Only a request's own goroutine: no other recovers, nor should it.
		if op.Kind == vfs.OpRead && path.Ext(op.Name) == ".sst" && strings.Contains(string(debug.Stack()), "ServeHTTP") && armed.Swap(false) {
			panic("a bug, planted by the harness")
		}
		return vfs.Fault{}
	})
	l, err := serve(ctx, fs)
	if err != nil {
		return err
	}
	return errors.Join(r.plant(ctx, l, &armed), l.close(ctx))
}

func (r *run) plant(ctx context.Context, l *local, armed *atomic.Bool) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	for i, hit := range []struct{ method, path, body string }{
		{http.MethodPost, "/rows", `{"items":[{"row":{"key":"bug00000"}}]}`},
		{http.MethodPost, "/scan", `{}`},
		{http.MethodPost, "/count", `{}`},
		{http.MethodDelete, "/row", `{"row_key":"bug00000"}`},
		{http.MethodPost, "/read-modify-write", `{"row_key":"bug00000","rules":[{"column_key":"f:q0","append":"!"}]}`},
		{http.MethodPost, "/check-and-mutate", `{"row_key":"bug00000","if":{"exists":true},"then":[{"delete_row":true}],"else":[{"delete_row":true}]}`},
		{http.MethodPost, "/mutate", `{"items":[{"row_key":"bug00000","mutations":[{"delete_column":{"column_key":"f:q0","time":{"end":1}}}]}]}`},
	} {
		// A new file has no block in the cache.
		if err := l.Do(ctx, http.MethodPost, table+"/write", batch("bug", 1, 2, 100), nil); err != nil {
			return fmt.Errorf("write after %d panics: %w", i, err)
		}
		if err := l.store.Engine().Flush(ctx); err != nil {
			return err
		}
		armed.Store(true)
		err := l.Do(ctx, hit.method, table+hit.path, []byte(hit.body), nil)
		if armed.Swap(false) {
			return fmt.Errorf("%s %s did not read from a file", hit.method, hit.path)
		}
		if statusOf(err) != http.StatusInternalServerError {
			return fmt.Errorf("%s %s in which the server has a bug: got %v, want status 500", hit.method, hit.path, err)
		}
		r.Add("panics", 1)
		soon, cancel := context.WithTimeout(ctx, 5*time.Second) // unless it waits for something that nobody gives back
		err = l.Do(soon, hit.method, table+hit.path, []byte(hit.body), nil)
		cancel()
		if err != nil {
			return fmt.Errorf("%s %s after a panic: %w", hit.method, hit.path, err)
		}
	}
	if err := l.Do(ctx, http.MethodDelete, table, nil, nil); err != nil {
		return fmt.Errorf("drop the table after panics: %w", err)
	}
	return nil
}
