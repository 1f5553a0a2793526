package kill9

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// clientLog is the file of the clients' requests, written before they are sent, and their outcomes. After the end
// of the server it alone says what must be there. A line is one of
//
//	write VERSION ROW...
//	delete VERSION ROW
//	acked VERSION
//	refused VERSION
//	read VERSION ROW
//
// It is safe for concurrent use. Waiting clients share a sync.
type clientLog struct {
	file *os.File
	wake chan struct{} // has room for one; closed by close
	done chan struct{} // closed when all is written

	mu     sync.Mutex
	lines  []byte // not written yet
	synced chan struct{}
	err    error
}

func createLog(path string) (*clientLog, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &clientLog{file: file, wake: make(chan struct{}, 1), done: make(chan struct{}), synced: make(chan struct{})}
	go l.write()
	return l, nil
}

// note adds a line.
func (l *clientLog) note(format string, args ...any) { l.add(format, args...) }

// begin adds the line of an attempt, and returns when it is on the disk.
func (l *clientLog) begin(a *attempt) error {
	what := "write"
	if a.deletes {
		what = "delete"
	}
	synced := l.add("%s %d %s", what, a.version, strings.Join(a.rows, " "))
	<-synced
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// add adds a line. The channel is closed once the line is on the disk.
func (l *clientLog) add(format string, args ...any) (synced <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = fmt.Appendf(l.lines, format+"\n", args...)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return l.synced
}

// write writes and syncs what was added, until close.
func (l *clientLog) write() {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		lines, synced := l.lines, l.synced
		l.lines, l.synced = nil, make(chan struct{})
		l.mu.Unlock()
		_, err := l.file.Write(lines)
		err = errors.Join(err, l.file.Sync())
		l.mu.Lock()
		l.err = errors.Join(l.err, err)
		l.mu.Unlock()
		close(synced)
	}
}

// close returns when everything is on the disk. No line may be added any more.
func (l *clientLog) close() error {
	close(l.wake) // what is in there is still received
	<-l.done
	return errors.Join(l.err, l.file.Close())
}

// readLog returns the history of a log.
func readLog(path string, settled map[string]int64) (*history, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := newHistory(settled)
	attempts := make(map[int64]*attempt)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if err := h.replay(lines.Text(), attempts); err != nil {
			return nil, fmt.Errorf("%s: line %q: %w", path, lines.Text(), err)
		}
	}
	return h, lines.Err()
}

// replay applies a line of a log. attempts has the earlier attempts by version.
func (h *history) replay(line string, attempts map[int64]*attempt) error {
	var what string
	var version int64
	if _, err := fmt.Sscan(line, &what, &version); err != nil {
		return err
	}
	rows := strings.Fields(line)[2:]
	a := attempts[version]
	switch what {
	case "write", "delete":
		a = &attempt{version: version, deletes: what == "delete", rows: rows}
		attempts[version] = a
		h.begin(a)
		return nil
	case "read":
		_, err := h.read(rows[0], version, false)
		return err
	}
	if a == nil {
		return errors.New("nobody began that")
	}
	h.end(a, outcome(what))
	return nil
}
