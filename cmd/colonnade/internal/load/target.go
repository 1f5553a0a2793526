package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

// requestTimeout bounds one request. A server responds earlier, if only with 503.
const requestTimeout = 2 * time.Minute

// target is the table that is loaded. It is safe for concurrent use.
type target struct {
	*client.Table
	client *client.Client
}

// newTarget returns the table that is loaded.
func newTarget(o *Options) (*target, error) {
	c, err := o.Server.connect("colonnade-import", o.Parallel, requestTimeout)
	if err != nil {
		return nil, err
	}
	return &target{Table: c.Table(o.Table), client: c}, nil
}

// write sends a batch and compares it with the counts of the response. The lines are sent as they are spelled.
func (t *target) write(ctx context.Context, b *batch) error {
	var result struct {
		Items struct {
			Cells int64 `json:"cell_count"`
		} `json:"items"`
	}
	if err := t.client.Do(ctx, http.MethodPost, "/v1/table/"+url.PathEscape(t.Name())+"/write", b.body, &result); err != nil {
		return err
	}
	if result.Items.Cells != b.cells {
		return fmt.Errorf("the server took %d cells of %d", result.Items.Cells, b.cells)
	}
	return nil
}

// ifNew returns nil for the error that something exists already.
func ifNew(err error) error {
	if errors.Is(err, client.ErrExists) {
		return nil
	}
	return err
}
