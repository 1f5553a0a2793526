// Package grouplog is package wal with group commit and nothing else. It is the upper bound for any
// engine that makes batches durable through package wal.
package grouplog

import (
	"fmt"
	"path"
	"sync"

	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// Log is a log in one directory that overwrites its last segment again and again. It is safe for
// concurrent use, except Close.
//
// Payloads that come while a group is written form the next group. The first of them writes it.
type Log struct {
	dir string

	mu      sync.Mutex
	writing bool   // a group is being written
	next    *group // gathering, nil before its first payload

	// The rest belongs to the goroutine that writes.
	w      *wal.Writer
	number uint64
	seq    uint64
}

type group struct {
	payloads [][]byte
	turn     chan struct{} // closed when the group before is written
	done     chan struct{} // closed when this one is
	err      error         // the outcome, once done is closed
}

const segmentBytes = 16 << 20

// Open makes a log in an existing directory. Its segment is already filled.
func Open(dir string) (*Log, error) {
	l := &Log{dir: dir}
	f, err := vfs.OS.Create(l.segment(0))
	if err != nil {
		return nil, err
	}
	if err := wal.Fill(f, segmentBytes); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return l, l.turn()
}

// Close closes the segment. No Append may be running.
func (l *Log) Close() error { return l.w.Close() }

func (l *Log) segment(n uint64) string { return path.Join(l.dir, fmt.Sprint(n)) }

// turn starts the next segment in the file of the last one.
func (l *Log) turn() error {
	if l.w != nil {
		if err := l.w.Finish(); err != nil {
			return err
		}
	}
	f, err := vfs.OS.Reuse(l.segment(l.number), l.segment(l.number+1))
	if err != nil {
		return err
	}
	l.number++
	l.w = wal.NewWriter(f, wal.Header{Number: l.number, Size: segmentBytes})
	return nil
}

// Append returns when the payload is durable. The payload must not change before.
func (l *Log) Append(payload []byte) error {
	l.mu.Lock()
	first := l.next == nil
	if first {
		l.next = &group{turn: make(chan struct{}), done: make(chan struct{})}
		if !l.writing {
			l.writing = true
			close(l.next.turn)
		}
	}
	g := l.next
	g.payloads = append(g.payloads, payload)
	l.mu.Unlock()
	if !first {
		<-g.done
		return g.err
	}
	<-g.turn
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	g.err = l.write(g)
	l.pass()
	close(g.done)
	return g.err
}

// pass starts the next group, if there is one.
func (l *Log) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing = l.next != nil; l.writing {
		close(l.next.turn)
	}
}

func (l *Log) write(g *group) error {
	for _, p := range g.payloads {
		if l.w.Room() < int64(len(p)) {
			if err := l.turn(); err != nil {
				return err
			}
		}
		l.seq++
		l.w.Append(l.seq, p)
	}
	return l.w.Sync()
}
