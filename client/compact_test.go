package client

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

func TestCompact(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	info, err := table.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(table.Compact(t.Context()), table.CompactGroup(t.Context(), ""), table.CompactGroup(t.Context(), info.Groups[0].ID)); err != nil {
		t.Error(err)
	}
	if err := table.CompactGroup(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown group: %v", err)
	}
}

// TestCompacting: a description says how far a compaction is.
func TestCompacting(t *testing.T) {
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"result": {"name": "t", "partitions": [{"name": "p", "compaction": {"bytes_left": 7}}, {"name": "q", "compaction": null}]}}`)
	}), Options{})
	info, err := c.Table("t").Describe(t.Context())
	if err != nil || info.Partitions[0].Compaction == nil || info.Partitions[0].Compaction.BytesLeft != 7 || info.Partitions[1].Compaction != nil {
		t.Errorf("%+v, %v", info, err)
	}
}
