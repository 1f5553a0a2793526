package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/colonnade-db/colonnade/internal/cellstream"
)

// Load loads a stream of sorted cells, whose format is that of POST /v1/table/{table}/bulk, as one change. It returns what
// the server has loaded. It is sent once: after ErrUnavailable, or an unknown outcome, the same stream can be loaded
// again, since its cells have times of their own.
func (t *Table) Load(ctx context.Context, stream io.Reader) (rows, cells int64, err error) {
	body, err := t.c.send(ctx, &request{class: once, method: http.MethodPost, path: t.path + "/bulk", source: stream, kind: cellstream.MediaType})
	if err != nil {
		return 0, 0, err
	}
	defer body.Close()
	var answer struct {
		Result struct {
			Items struct {
				Rows  int64 `json:"row_count"`
				Cells int64 `json:"cell_count"`
			} `json:"items"`
		} `json:"result"`
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return 0, 0, brokeOff(ctx, err)
	}
	return answer.Result.Items.Rows, answer.Result.Items.Cells, nil
}
