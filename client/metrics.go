package client

import (
	"context"
	"io"
	"net/http"
)

// Metrics returns the metrics of the server, in the text format of Prometheus. docs/metrics.md has them all.
func (c *Client) Metrics(ctx context.Context) (text []byte, err error) {
	r := &request{class: read, method: http.MethodGet, path: "/metrics", text: true}
	err = c.retry(ctx, r.class, func() error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		defer body.Close()
		if text, err = io.ReadAll(body); err != nil {
			return brokeOff(ctx, err)
		}
		return nil
	})
	return text, err
}
