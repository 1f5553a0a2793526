package overload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// What memory writes: 2 GiB in all, by clients that together have more under way
// than the process may use.
const (
	memoryLimitMiB  = 256
	largeBatches    = 256
	largeBatchMiB   = 8
	largeClients    = 40
	mostResidentMiB = 2 * memoryLimitMiB // GOMEMLIMIT is a goal of the collector, not a wall
)

// memory writes far more than fits into the memory of a server.
func memory(ctx context.Context, r *run) error {
	n, err := r.start(ctx, "memory", largeClients, []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", memoryLimitMiB)}, "--memtable-mib", "32", "--cache-mib", "32")
	if err != nil {
		return err
	}
	defer n.end()
	var next, written atomic.Int64
	bodies := make([][]byte, largeClients)
	failures := make(chan error, largeClients)
	for i := range bodies {
		go func() {
			// The same rows again and again: this measures memory, not the disk.
			body := batch(fmt.Sprintf("m%02d-", i), 16, 16, largeBatchMiB<<20/256)
			for next.Add(1) <= largeBatches {
				if err := insist(ctx, n.Client, table+"/write", body); err != nil {
					failures <- err
					return
				}
				written.Add(int64(len(body)) >> 20)
			}
			failures <- nil
		}()
	}
	for range bodies {
		err = errors.Join(err, <-failures)
	}
	r.Add("large_batches_mib", written.Load())
	_, most, memErr := n.resident()
	r.Largest("memory_mib", most)
	if err = errors.Join(err, memErr, n.alive(ctx)); err != nil {
		return err
	}
	if most > mostResidentMiB {
		return fmt.Errorf("with GOMEMLIMIT at %d MiB the server has taken %d MiB, want at most %d MiB", memoryLimitMiB, most, mostResidentMiB)
	}
	return nil
}

// insist sends a write until it is accepted. It repeats what was refused or had no answer.
func insist(ctx context.Context, c *remote.Client, path string, body []byte) error {
	for end := time.Now().Add(time.Minute); ; {
		err := c.Do(ctx, http.MethodPost, path, body, nil)
		if out := remote.OutcomeOf(err); out != remote.Refused && out != remote.Lost || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// What fewHandles allows.
const (
	handles       = 64
	handleClients = 16
	handleTime    = 3 * time.Second
)

// fewHandles writes to a server with few file handles and connections, and looks for the acknowledged rows, there
// and after a restart with many handles.
func fewHandles(ctx context.Context, r *run) error {
	data := filepath.Join(r.Dir, "handles")
	// The shell sets the limit for itself, and then becomes the server.
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, handles), "sh",
		r.Server, "serve", "--data", data, "--listen", "127.0.0.1:0", "--memtable-mib", "1", "--cache-mib", "1")
	n, err := startCommand(ctx, cmd, handleClients, nil)
	if err != nil {
		return err
	}
	defer n.end()
	acked := r.fill(ctx, n, handleClients, handleTime)
	r.Add("handles_acked_rows", acked.rows())
	if err := acked.check(ctx, n.Client); err != nil {
		return fmt.Errorf("with %d file handles: %w", handles, err)
	}
	if err := n.Terminate(0); err != nil {
		return err
	}
	again, err := r.start(ctx, "handles", handleClients, nil)
	if err != nil {
		return fmt.Errorf("after %d file handles were not enough: %w", handles, err)
	}
	defer again.end()
	return acked.check(ctx, again.Client)
}
