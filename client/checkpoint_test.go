package client

import (
	"io"
	"net/http"
	"reflect"
	"testing"
)

// TestCheckpoints: all that a listing says is read.
func TestCheckpoints(t *testing.T) {
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/checkpoint" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		_, _ = io.WriteString(w, `{"result": {"checkpoints": [{"id": "a", "path": "/p", "time": 1, "tables": ["t"], "file_count": 2, "bytes": 3, "expires": 4}, {"id": "b", "expires": null}]}}`)
	}), Options{})
	got, err := c.Checkpoints(t.Context())
	want := []CheckpointInfo{{ID: "a", Path: "/p", Time: 1, Tables: []string{"t"}, Files: 2, Bytes: 3, Expires: 4}, {ID: "b"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}
