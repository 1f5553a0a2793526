package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// checkpointStore is a memstore with checkpoints of one file.
type checkpointStore struct {
	widecol.Store
	content string

	mu   sync.Mutex
	made int
	open map[string]bool
	hold chan struct{} // unless nil, of reads: see textFile
}

func newCheckpointStore(content string) *checkpointStore {
	return &checkpointStore{Store: memstore.New(memstore.Options{}), content: content, open: make(map[string]bool)}
}

func (s *checkpointStore) Checkpoint(ctx context.Context, tables []string) (widecol.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []widecol.CheckpointTable
	for _, name := range tables {
		if _, err := s.Table(ctx, name); err != nil {
			return widecol.Checkpoint{}, err
		}
		list = append(list, widecol.CheckpointTable{Name: name, Partitions: []uint64{1, 2}})
	}
	s.made++
	id := fmt.Sprint("id", s.made)
	s.open[id] = true
	return widecol.Checkpoint{ID: id, Store: "aa", Path: "/checkpoints/" + id, Timeline: "00ff", Sequence: 7, Time: 1_700_000_000_000_000, Tables: list,
		Files: []widecol.CheckpointFile{{Name: "a/b", Size: int64(len(s.content)), Checksum: 0x1f}, {Name: "empty"}}}, nil
}

// textFile is a file of a checkpoint. With hold, a read takes one value when it begins, and waits for a second.
type textFile struct {
	*strings.Reader
	hold chan struct{}
}

func (f textFile) ReadAt(p []byte, off int64) (int, error) {
	if f.hold != nil {
		<-f.hold
		<-f.hold
	}
	return f.Reader.ReadAt(p, off)
}

func (textFile) Close() error { return nil }

func (s *checkpointStore) OpenCheckpoint(id, file string) (widecol.CheckpointFileReader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[id] {
		return nil, fs.ErrNotExist
	}
	if file == "empty" {
		return textFile{Reader: strings.NewReader("")}, nil
	}
	return textFile{strings.NewReader(s.content), s.hold}, nil
}

func (s *checkpointStore) RemoveCheckpoint(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[id] {
		return errors.New("removed twice")
	}
	delete(s.open, id)
	return nil
}

func (s *checkpointStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func TestCheckpoint(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 20_000)
	store := newCheckpointStore(content)
	c := clientOf(t, store, Options{})
	c.must(201, "PUT", "/v1/table/t", "")
	c.same(c.must(201, "POST", "/v1/checkpoint", `{"tables":["t"]}`), `{"id":"id1","store":"aa","path":"/checkpoints/id1","timeline":"00ff","sequence":7,"time":1700000000000000,"tables":[{"name":"t","partitions":[1,2]}],
		"files":[{"name":"a/b","size":320000,"xxh64":"000000000000001f"},{"name":"empty","size":0,"xxh64":"0000000000000000"}]}`)
	c.must(201, "POST", "/v1/checkpoint", "")
	c.wantCheckpoints(`"id":"id1","path":"/checkpoints/id1","time":1700000000000000,"tables":["t"],"file_count":2,"bytes":320000,"expires":`, `"id":"id2"`)
	for name, want := range map[string]string{"a/b": content, "empty": ""} {
		r := httptest.NewRequest("GET", "/v1/checkpoint/id1/file/"+url.PathEscape(name), nil)
		r.Header.Set("Accept-Encoding", "gzip, zstd")
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if h := w.Header(); w.Code != 200 || w.Body.String() != want || h.Get("Content-Encoding") != "" || h.Get("Content-Length") != fmt.Sprint(len(want)) || h.Get("Content-Type") != bytesType {
			t.Errorf("%s: got %d, %d bytes, %v", name, w.Code, w.Body.Len(), h)
		}
	}
	c.refused(404, "unknown_file", "path", "GET", "/v1/checkpoint/id1/file/a", "")
	c.refused(404, "unknown_checkpoint", "path", "GET", "/v1/checkpoint/id9/file/a", "")
	c.refused(404, "unknown_table", "tables", "POST", "/v1/checkpoint", `{"tables":["t","none"]}`)
	c.refused(400, "empty_list", "tables", "POST", "/v1/checkpoint", `{"tables":[]}`)
	c.refused(400, "unknown_field", "table", "POST", "/v1/checkpoint", `{"table":["t"]}`)
	c.must(200, "DELETE", "/v1/checkpoint/id1", "")
	c.wantCheckpoints(`"id":"id2"`)
	c.refused(404, "unknown_checkpoint", "path", "DELETE", "/v1/checkpoint/id1", "")
	c.refused(404, "unknown_checkpoint", "path", "GET", "/v1/checkpoint/id1/file/empty", "")
	for store.count() < maxCheckpoints {
		c.must(201, "POST", "/v1/checkpoint", "")
	}
	c.refused(409, "too_many_checkpoints", "", "POST", "/v1/checkpoint", "")
	newClient(t).refused(409, "no_checkpoints", "path", "POST", "/v1/checkpoint", "")
}

// TestCheckpointExpires: a checkpoint goes ten minutes after it was made, or after the last read of it has ended.
func TestCheckpointExpires(t *testing.T) {
	store := newCheckpointStore("content")
	manual := clock.NewManual(1)
	c := clientOf(t, store, Options{Clock: manual})
	c.must(201, "POST", "/v1/checkpoint", "")
	manual.Advance(9 * time.Minute)
	if c.send("GET", "/v1/checkpoint/id1/file/a%2Fb", "").Code != 200 {
		t.Error("the checkpoint has gone early")
	}
	manual.Advance(9 * time.Minute)
	store.mu.Lock()
	store.hold = make(chan struct{})
	store.mu.Unlock()
	done := make(chan int)
	go func() { done <- c.send("GET", "/v1/checkpoint/id1/file/a%2Fb", "").Code }()
	store.hold <- struct{}{} // it is being read
	manual.Advance(time.Hour)
	close(store.hold)
	if code := <-done; code != 200 {
		t.Errorf("a read that takes long: %d", code)
	}
	if store.count() != 1 {
		t.Error("the checkpoint has gone while it was read")
	}
	manual.Advance(11 * time.Minute)
	eventually(t, "the checkpoint goes", func() bool { return store.count() == 0 })
	c.refused(404, "unknown_checkpoint", "path", "DELETE", "/v1/checkpoint/id1", "")
}

// wantCheckpoints checks that the list has these checkpoints, in order.
func (c *client) wantCheckpoints(begins ...string) {
	c.t.Helper()
	text := string(c.must(200, "GET", "/v1/checkpoint", ""))
	parts := strings.Split(text, "{")[2:]
	if len(parts) != len(begins) {
		c.t.Fatalf("got %s, want %d", text, len(begins))
	}
	for i, begin := range begins {
		if !strings.HasPrefix(parts[i], begin) {
			c.t.Errorf("checkpoint %d is %s, want %s", i, parts[i], begin)
		}
	}
}
