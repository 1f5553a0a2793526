package overload

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/remote"
)

// node is a server process with its own directory and a table t that has a family f.
type node struct {
	*process.Process
	*remote.Client
	url string
}

// start starts a server on a directory. Each of the clients may keep a connection.
func (r *run) start(ctx context.Context, dir string, clients int, environment []string, args ...string) (*node, error) {
	args = append([]string{"serve", "--data", filepath.Join(r.Dir, dir), "--listen", "127.0.0.1:0"}, args...)
	return startCommand(ctx, exec.CommandContext(ctx, r.Server, args...), clients, environment)
}

func startCommand(ctx context.Context, cmd *exec.Cmd, clients int, environment []string) (*node, error) {
	cmd.Env = append(os.Environ(), environment...)
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	url, err := p.URL()
	if err != nil {
		return nil, err
	}
	n := &node{p, remote.NewClient(url, clients), url}
	err = n.Do(ctx, http.MethodPut, table, []byte(`{"column_families":[{"name":"f"}]}`), nil)
	if status := statusOf(err); status != http.StatusOK && status != http.StatusConflict { // created, or there since an earlier life
		n.end()
		return nil, fmt.Errorf("create the table: %w", err)
	}
	return n, nil
}

const table = "/v1/table/t"

// address returns the server's host and port.
func (n *node) address() string { return strings.TrimPrefix(n.url, "http://") }

// end kills the server.
func (n *node) end() {
	n.Client.Close()
	n.Kill()
}

// resident returns how many MiB of memory the server has, now and at most.
func (n *node) resident() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			now = kib >> 10
		case "VmHWM":
			most = kib >> 10
		}
	}
	if now == 0 || most == 0 {
		return 0, 0, fmt.Errorf("/proc tells nothing of the memory of process %d", n.PID())
	}
	return now, most, nil
}

// batch returns a write of rows whose keys start with prefix. Their values hardly compress.
func batch(prefix string, rows, cells, bytesEach int) []byte {
	var b bytes.Buffer
	b.Grow(rows * cells * (bytesEach + 100))
	b.WriteString(`{"items":[`)
	at := int(crc32.ChecksumIEEE([]byte(prefix)))
	for row := range rows {
		if row > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"row_key":"%s%05d","cells":[`, prefix, row)
		for c := range cells {
			if c > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"column_key":"f:q%d","type":"string","value":"`, c)
			at = (at + 7919) % (len(noise) - bytesEach)
			b.Write(noise[at : at+bytesEach])
			b.WriteString(`"}`)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.Bytes()
}

// noise is what values are made of.
var noise = func() []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rnd := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 4<<20)
	for i := range text {
		text[i] = letters[rnd.IntN(len(letters))]
	}
	return text
}()

// rowOf is a request for one row.
func rowOf(key string) []byte { return fmt.Appendf(nil, `{"items":[{"row":{"key":"%s"}}]}`, key) }

// count returns how many rows the table has.
func count(ctx context.Context, c *remote.Client) (int64, error) {
	var result struct {
		Rows int64 `json:"row_count"`
	}
	err := c.Do(ctx, http.MethodPost, table+"/count", []byte("{}"), &result)
	return result.Rows, err
}
