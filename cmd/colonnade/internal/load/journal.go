package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
)

// Journal is a file that remembers how far a load has come, so that another one can go on behind it. It is lines
// of JSON: a JournalHead, and a position for each batch with which all before it are acknowledged. The last line
// counts. A crash may lose or spoil the last lines: then some rows are written again, as the same versions.
//
// A nil Journal remembers nothing.
type Journal struct {
	Head JournalHead

	name  string
	start position // where this load begins

	mu   sync.Mutex
	file *os.File
	next int64              // the order of the first batch that is not acknowledged
	ends map[int64]position // of the batches acknowledged behind it
}

// JournalHead says which load a journal is of.
type JournalHead struct {
	Input string `json:"input"`
	Table string `json:"table"`
	Shape string `json:"shape"` // of what the rows are made by, beside the input
	Time  int64  `json:"time"`  // as in Options
}

// position is a place between two rows of an input.
type position struct {
	Rows int64  `json:"rows"`
	Hash uint64 `json:"hash,string"` // of the rows before it

}

// add steps over a row.
func (p *position) add(item []byte) {
	var d xxhash.Digest
	d.ResetWithSeed(p.Hash)
	_, _ = d.Write(item)
	p.Rows, p.Hash = p.Rows+1, d.Sum64()
}

// OpenJournal opens the journal of a load, or makes a new one with that head. The head of one that is there must be the same
// but for its time, which counts.
func OpenJournal(name string, head JournalHead) (*Journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &Journal{Head: head, name: name, file: file, ends: make(map[int64]position)}
	if err := j.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return j, nil
}

// read reads the file up to its last whole line, and cuts off what is behind it.
func (j *Journal) read() error {
	in, size := bufio.NewReader(j.file), int64(0)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			if first {
				return j.begin(line)
			}
			break // a line that a crash has cut off
		}
		if err != nil {
			return err
		}
		if first {
			if err := j.readHead(line); err != nil {
				return err
			}
		} else if json.Unmarshal(line, &j.start) != nil {
			break // what a crash has left of lines
		}
		size += int64(len(line))
	}
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return err
}

// begin writes the head into a file that has none, but maybe the start of one.
func (j *Journal) begin(start []byte) error {
	head, err := json.Marshal(j.Head)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(head, start) {
		return errNoJournal
	}
	if _, err := j.file.WriteAt(append(head, '\n'), 0); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	// Its name must not be lost either: another import would give the cells other times.
	dir, err := os.Open(filepath.Dir(j.name))
	if err != nil {
		return err
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return err
	}
	_, err = j.file.Seek(0, io.SeekEnd)
	return err
}

var errNoJournal = errors.New("this is no journal of an import: --resume names a file that import makes, and reads when it goes on")

func (j *Journal) readHead(line []byte) error {
	var head JournalHead
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(&head) != nil || head.Table == "" {
		return errNoJournal
	}
	if want := j.Head; head.Input != want.Input || head.Table != want.Table || head.Shape != want.Shape {
		return fmt.Errorf("this is the journal of an import of %s%s into table %q: give the same arguments to go on with it, or another --resume", head.Input, head.Shape, head.Table)
	}
	j.Head.Time = head.Time
	return nil
}

// Rows returns how many rows loads before this one have written.
func (j *Journal) Rows() int64 { return j.start.Rows }

// skip reads the rows that loads before this one have written, and returns where they end.
func (j *Journal) skip(ctx context.Context, in format.Reader) (at position, err error) {
	if j == nil {
		return at, nil
	}
	for at.Rows < j.start.Rows {
		row, err := in.Next()
		var bad *format.RowError
		switch {
		case errors.As(err, &bad):
			continue
		case err == io.EOF:
			return at, fmt.Errorf("%s has %d rows, and %s says that %d are written: the input has changed", j.Head.Input, at.Rows, j.name, j.start.Rows)
		case err != nil:
			return at, fmt.Errorf("%s: %w", j.Head.Input, err)
		case ctx.Err() != nil:
			return at, ctx.Err()
		}
		at.add(row.Item)
	}
	if at != j.start {
		return at, fmt.Errorf("the first %d rows of %s are not those that %s says are written: the input has changed. Remove %s to import it from its start", at.Rows, j.Head.Input, j.name, j.name)
	}
	return at, nil
}

// done records that the batch behind order others, which ends at a position, is acknowledged.
func (j *Journal) done(order int64, end position) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends[order] = end
	at := j.start
	for {
		end, ok := j.ends[j.next]
		if !ok {
			break
		}
		delete(j.ends, j.next)
		at, j.next = end, j.next+1
	}
	if at.Rows <= j.start.Rows {
		return nil
	}
	j.start = at
	line, err := json.Marshal(at)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
