package overload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/remote"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// The trials with a disk in trouble have the server in this process: over HTTP as
// others, but with a file system that does as it is told.

// How long a write waits for its sync there, and for room.
const (
	syncTimeout  = time.Second
	stallTimeout = 100 * time.Millisecond
)

// mostResume bounds the time until writes resume by themselves.
const mostResume = 5 * time.Second

// local is a server in this process.
type local struct {
	*remote.Client
	server *server.Server
	store  *lsmstore.Store
	served chan error
}

func serve(ctx context.Context, fs vfs.FS) (*local, error) {
	store, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{
		FS: fs, Clock: clock.System, MemtableBytes: 4 << 20, SegmentBytes: 1 << 20, ReserveBytes: 2 << 20,
		SyncTimeout: syncTimeout, StallTimeout: stallTimeout,
	}})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	l := &local{server: server.New(store, server.Options{Now: time.Now}), store: store, served: make(chan error, 1)}
	l.Client = remote.NewClient("http://"+listener.Addr().String(), 16)
	go func() { l.served <- l.server.Serve(listener) }()
	return l, nil
}

// mostClose bounds the end of server and store: 10 s for requests under way, and some more.
const mostClose = 20 * time.Second

// close ends the server and its store. Both must end, whatever has happened.
func (l *local) close(ctx context.Context) error {
	l.Client.Close()
	done := make(chan error, 1)
	go func() { done <- errors.Join(l.server.Shutdown(ctx), <-l.served, l.store.Close()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(mostClose):
		return fmt.Errorf("the server and its store have not ended after %v", mostClose)
	}
}

// begin creates the table and a row that must stay readable.
func (l *local) begin(ctx context.Context) error {
	if err := l.Do(ctx, http.MethodPut, table, []byte(`{"column_families":[{"name":"f"}]}`), nil); err != nil {
		return err
	}
	return l.Do(ctx, http.MethodPost, table+"/write", batch("first", 1, 2, 100), nil)
}

// read reads the first row.
func (l *local) read(ctx context.Context) error {
	var result struct {
		Rows int64 `json:"row_count"`
	}
	err := l.Do(ctx, http.MethodPost, table+"/rows", rowOf("first00000"), &result)
	if err == nil && result.Rows != 1 {
		err = errors.New("the first row is gone")
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// resume waits until a write succeeds, and returns how long that took.
func (l *local) resume(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	for {
		err := l.Do(ctx, http.MethodPost, table+"/write", batch("resumed", 1, 2, 100), nil)
		took := time.Since(begin)
		if err == nil || took > 2*mostResume {
			if err == nil && took > mostResume {
				err = fmt.Errorf("writes went on after %v, want at most %v", took, mostResume)
			}
			return took, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// statusOf returns the status of a failed request, 200 for a success, and 0 without a response.
func statusOf(err error) int {
	var status *remote.StatusError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &status):
		return status.Status
	}
	return 0
}

// fullDisk fills the disk, twice, and frees it again.
func fullDisk(ctx context.Context, r *run) error {
	mem := vfs.NewMem()
	l, err := serve(ctx, mem)
	if err != nil {
		return err
	}
	var all acked
	err = l.begin(ctx)
	for round := 1; round <= 2 && err == nil; round++ {
		err = r.fillDisk(ctx, l, mem, int64(round)*(24<<20)+int64(r.Seed%16)<<16, fmt.Sprintf("full%d-", round), &all)
	}
	if err == nil {
		err = all.check(ctx, l.Client)
	}
	if err = errors.Join(err, l.close(ctx)); err != nil {
		return err
	}
	if l, err = serve(ctx, mem); err != nil {
		return err
	}
	return errors.Join(all.check(ctx, l.Client), l.close(ctx))
}

// fillDisk writes to a disk of the given capacity until it is full, keeps trying, and removes the limit.
func (r *run) fillDisk(ctx context.Context, l *local, mem *vfs.Mem, capacity int64, prefix string, all *acked) error {
	mem.SetCapacity(capacity)
	refused := 0
	for n := 0; refused < 20; n++ {
		if int64(n)*(rowsPerBatch*2*2000) > 10*capacity {
			return fmt.Errorf("a disk of %d bytes is never full", capacity)
		}
		name := fmt.Sprintf("%s%06d-", prefix, n)
		err := l.Do(ctx, http.MethodPost, table+"/write", batch(name, rowsPerBatch, 2, 2000), nil)
		switch statusOf(err) {
		case http.StatusOK:
			all.prefixes = append(all.prefixes, name)
		case http.StatusInsufficientStorage, http.StatusServiceUnavailable:
			refused++
		default:
			return fmt.Errorf("a write to a full disk: %w", err)
		}
		if refused > 0 || n%64 == 0 {
			if err := l.read(ctx); err != nil {
				return fmt.Errorf("the disk is full: %w", err)
			}
		}
	}
	r.Add("disk_full_writes_refused", int64(refused))
	mem.SetCapacity(1 << 40)
	took, err := l.resume(ctx)
	r.Largest("disk_full_resume_ms", took.Milliseconds())
	if err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	return nil
}

// slowDisk makes syncs of the log hang, and then return.
func slowDisk(ctx context.Context, r *run) error {
	release := make(chan struct{})
	var hanging atomic.Bool
	mem := vfs.NewMem()
	fs := vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if hanging.Load() && op.Kind == vfs.OpSync && strings.Contains(op.Name, "/wal/") {
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	})
	l, err := serve(ctx, fs)
	if err != nil {
		return err
	}
	if err = l.begin(ctx); err == nil {
		hanging.Store(true)
		err = r.hang(ctx, l)
		hanging.Store(false)
		close(release)
	}
	if err == nil {
		err = r.afterHang(ctx, l)
	}
	return errors.Join(err, l.close(ctx))
}

// hang writes while the disk does not respond.
func (r *run) hang(ctx context.Context, l *local) error {
	begin := time.Now()
	err := l.Do(ctx, http.MethodPost, table+"/write", batch("hung", rowsPerBatch, 2, 100), nil)
	r.Largest("hung_write_ms", time.Since(begin).Milliseconds())
	if statusOf(err) != http.StatusGatewayTimeout {
		return fmt.Errorf("a write whose sync hangs: got %v, want status 504", err)
	}
	r.Add("hung_writes_unknown", 1)
	for range 20 {
		err := l.Do(ctx, http.MethodPost, table+"/write", batch("more", 1, 2, 100), nil)
		if status := statusOf(err); status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
			return fmt.Errorf("a write while the disk hangs: got %v, want status 503 or 504", err)
		}
		if err := l.read(ctx); err != nil {
			return fmt.Errorf("the disk hangs: %w", err)
		}
	}
	if n, err := count(ctx, l.Client); err != nil || n != 1 {
		return fmt.Errorf("the disk hangs: a count has %d rows and %v, want the one that is durable", n, err)
	}
	if message := l.ready(); !strings.Contains(message, "slow") {
		return fmt.Errorf("the disk hangs: /readyz says %q, want that the disk is slow", message)
	}
	return nil
}

// afterHang judges the outcome of that write, after the next one.
func (r *run) afterHang(ctx context.Context, l *local) error {
	took, err := l.resume(ctx)
	r.Largest("hung_resume_ms", took.Milliseconds())
	if err != nil {
		return fmt.Errorf("the disk answers again: %w", err)
	}
	var result struct {
		Rows int64 `json:"row_count"`
	}
	if err := l.Do(ctx, http.MethodPost, table+"/count", []byte(`{"row":{"prefix":"hung"}}`), &result); err != nil {
		return err
	}
	if result.Rows != 0 && result.Rows != rowsPerBatch {
		return fmt.Errorf("of a write whose outcome was unknown there are %d of %d rows", result.Rows, rowsPerBatch)
	}
	if message := l.ready(); strings.Contains(message, "slow") {
		return fmt.Errorf("the disk answers again, and /readyz says %q", message)
	}
	return nil
}

// ready returns the message of /readyz.
func (l *local) ready() string {
	w := &message{header: http.Header{}}
	request, err := http.NewRequest(http.MethodGet, "/readyz", nil)
	if err != nil {
		return err.Error()
	}
	l.server.Handler().ServeHTTP(w, request)
	return w.String()
}

// message is an answer as text.
type message struct {
	strings.Builder
	header http.Header
}

func (m *message) Header() http.Header { return m.header }
func (m *message) WriteHeader(int)     {}
