package overload

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// acked is what clients know to be stored: the numbers of the acknowledged batches of each client. Every batch has
// its own rows.
type acked struct {
	prefixes []string
	wrong    []error // answers that are none of a server in need
}

const rowsPerBatch = 10

func (a *acked) rows() int64 { return int64(len(a.prefixes) * rowsPerBatch) }

// fill lets clients write new rows for some time.
func (r *run) fill(ctx context.Context, n *node, clients int, long time.Duration) *acked {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	return write(ctx, n.Client, clients)
}

// write lets clients write new rows until ctx is done or the server is gone. Then it waits for the requests under
// way.
func write(ctx context.Context, c *remote.Client, clients int) *acked {
	var all acked
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for n, lost := 0, 0; ctx.Err() == nil && lost < 100; n++ {
				prefix := fmt.Sprintf("c%02d-%06d-", i, n)
				err := c.Do(context.WithoutCancel(ctx), http.MethodPost, table+"/write", batch(prefix, rowsPerBatch, 2, 200), nil)
				outcome := remote.OutcomeOf(err)
				mu.Lock()
				switch outcome {
				case remote.Done:
					lost = 0
					all.prefixes = append(all.prefixes, prefix)
				case remote.Wrong:
					all.wrong = append(all.wrong, err)
				case remote.Lost:
					lost++
				}
				mu.Unlock()
				if outcome != remote.Done {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	wait.Wait()
	return &all
}

// check looks for the rows of all acknowledged batches, and returns the first wrong response, if any.
func (a *acked) check(ctx context.Context, c *remote.Client) error {
	var mu sync.Mutex
	var failed error
	each(a.prefixes, func(prefix string) {
		if err := whole(ctx, c, prefix); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
		}
	})
	if failed != nil {
		return failed
	}
	if len(a.wrong) > 0 {
		return fmt.Errorf("%d answers do not belong here, such as: %w", len(a.wrong), a.wrong[0])
	}
	return nil
}

// whole returns why an acknowledged batch is not there.
func whole(ctx context.Context, c *remote.Client, prefix string) error {
	var result struct {
		Rows int64 `json:"row_count"`
	}
	body := fmt.Appendf(nil, `{"row":{"prefix":"%s"}}`, prefix)
	if err := c.Do(ctx, http.MethodPost, table+"/count", body, &result); err != nil {
		return fmt.Errorf("look for the rows of batch %s: %w", prefix, err)
	}
	if result.Rows != rowsPerBatch {
		return fmt.Errorf("batch %s was acknowledged, and has %d of its %d rows", prefix, result.Rows, rowsPerBatch)
	}
	return nil
}
