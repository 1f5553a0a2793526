package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// Checkpoint is a copy of tables as of one moment, in files at the server. It goes when it is deleted, or when none of its
// files was read for ten minutes.
type Checkpoint struct {
	ID    string `json:"id"`
	Store string `json:"store"` // the identity of the store
	Path  string `json:"path"`  // the directory of the files, on the machine of the server
	// Where it is in the log of the store: no change in it is later than Time.
	Timeline string            `json:"timeline"`
	Sequence uint64            `json:"sequence"`
	Time     int64             `json:"time"` // in microseconds since the Unix epoch
	Tables   []CheckpointTable `json:"tables"`
	Files    []CheckpointFile  `json:"files"`

	c *Client
}

// CheckpointTable is a table of a checkpoint.
type CheckpointTable struct {
	Name       string   `json:"name"`
	Partitions []uint64 `json:"partitions"`
}

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	XXH64 string `json:"xxh64"` // in hexadecimal
}

// Checkpoint makes a checkpoint of tables, of all if there are none. The caller deletes it.
func (c *Client) Checkpoint(ctx context.Context, tables ...string) (*Checkpoint, error) {
	var body []byte
	if len(tables) > 0 {
		var err error
		if body, err = json.Marshal(map[string][]string{"tables": tables}); err != nil {
			return nil, err
		}
	}
	cp := &Checkpoint{c: c}
	return cp, c.call(ctx, &request{class: once, method: http.MethodPost, path: "/v1/checkpoint", body: body}, cp)
}

// CheckpointInfo is a checkpoint that the server has.
type CheckpointInfo struct {
	ID      string   `json:"id"`
	Path    string   `json:"path"` // the directory of the files, on the machine of the server
	Time    int64    `json:"time"` // no change in it is later; in microseconds since the Unix epoch
	Tables  []string `json:"tables"`
	Files   int64    `json:"file_count"`
	Bytes   int64    `json:"bytes"`   // of the files
	Expires int64    `json:"expires"` // when it goes if nobody reads it, in microseconds since the Unix epoch; 0 while it is read
}

// Checkpoints lists the checkpoints of the server, the newest first.
func (c *Client) Checkpoints(ctx context.Context) ([]CheckpointInfo, error) {
	var result struct {
		Checkpoints []CheckpointInfo `json:"checkpoints"`
	}
	err := c.call(ctx, &request{class: read, method: http.MethodGet, path: "/v1/checkpoint"}, &result)
	return result.Checkpoints, err
}

// Open reads a file. The caller closes it. A file that breaks off ends with an error.
func (cp *Checkpoint) Open(ctx context.Context, name string) (in io.ReadCloser, err error) {
	r := &request{class: read, method: http.MethodGet, path: cp.path() + "/file/" + url.PathEscape(name)}
	err = cp.c.retry(ctx, r.class, func() error {
		in, err = cp.c.send(ctx, r)
		return err
	})
	return in, err
}

// Delete deletes the checkpoint.
func (cp *Checkpoint) Delete(ctx context.Context) error {
	return cp.c.call(ctx, &request{class: once, method: http.MethodDelete, path: cp.path()}, nil)
}

func (cp *Checkpoint) path() string { return "/v1/checkpoint/" + url.PathEscape(cp.ID) }
