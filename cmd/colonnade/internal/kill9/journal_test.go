package kill9

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"colonnade/server"
	"colonnade/widecol"
	"colonnade/widecol/memstore"
)

// The environment of a process that is a server under test: a directory, and
// what is wrong with the server.
const (
	journalVariable = "KILL9_TEST_JOURNAL"
	flawVariable    = "KILL9_TEST_FLAW"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(journalVariable); name != "" {
		if err := serveJournal(name, os.Getenv(flawVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveJournal serves a store in memory that is rebuilt from a journal.
func serveJournal(name, flaw string) error {
	j, err := openJournal(name, flaw)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := server.New(j, server.Options{Now: time.Now})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		s.Shutdown(context.Background())
	}()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return s.Serve(listener)
}

// record is one change in the journal.
type record struct {
	Table    string
	Create   bool
	Families []widecol.Family
	Writes   []widecol.Mutation
	Delete   []byte
}

// journal is a memstore that writes each change to a file before it shows, or
// has a flaw there.
type journal struct {
	*memstore.Store
	flaw string

	mu      sync.Mutex
	out     *bufio.Writer
	records int
	last    int64 // newest commit time
}

func openJournal(name, flaw string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{Store: memstore.New(memstore.Options{}), flaw: flaw}
	in := json.NewDecoder(file)
	var end int64
	for {
		var r record
		if err := in.Decode(&r); err != nil {
			break // the end, torn or not
		}
		if err := j.apply(&r); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		end = in.InputOffset()
	}
	if err := file.Truncate(end); err != nil {
		return nil, err
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil {
		return nil, err
	}
	j.out = bufio.NewWriterSize(file, 1<<20)
	return j, nil
}

func (j *journal) apply(r *record) error {
	ctx := context.Background()
	switch {
	case r.Create:
		return j.Store.CreateTable(ctx, r.Table, widecol.TableSpec{})
	case r.Families != nil:
		return j.Store.CreateFamilies(ctx, r.Table, r.Families, true)
	case r.Delete != nil:
		_, err := j.Store.DeleteRow(ctx, r.Table, r.Delete, widecol.Filter{})
		return err
	}
	for _, m := range r.Writes {
		j.last = max(j.last, m.Time)
	}
	_, err := j.Store.Write(ctx, r.Table, r.Writes)
	return err
}

// write puts a record into the file, so that a kill does not undo it.
func (j *journal) write(r *record) error {
	if err := json.NewEncoder(j.out).Encode(r); err != nil {
		return err
	}
	j.records++
	if j.flaw == "acknowledges before it writes" && j.records%16 != 0 {
		return nil
	}
	return j.out.Flush()
}

func (j *journal) change(r *record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.flaw == "shows before it writes" && r.Writes != nil {
		if err := j.apply(r); err != nil {
			return err
		}
		j.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		j.mu.Lock()
		return j.write(r)
	}
	return errors.Join(j.write(r), j.apply(r))
}

func (j *journal) CreateTable(_ context.Context, name string, _ widecol.TableSpec) error {
	return j.change(&record{Table: name, Create: true})
}

func (j *journal) CreateFamilies(_ context.Context, table string, families []widecol.Family, _ bool) error {
	return j.change(&record{Table: table, Families: families})
}

func (j *journal) DeleteRow(_ context.Context, table string, row []byte, _ widecol.Filter) (int64, error) {
	r := &record{Table: table, Delete: row}
	if j.flaw == "forgets deletes" {
		j.mu.Lock()
		defer j.mu.Unlock()
		return 0, j.apply(r)
	}
	return 0, j.change(r)
}

func (j *journal) Write(_ context.Context, table string, mutations []widecol.Mutation) (int64, error) {
	time := j.nextTime()
	mutations = slices.Clone(mutations)
	for i := range mutations {
		mutations[i].Time = time
	}
	if j.flaw == "writes cell by cell" {
		for _, m := range mutations {
			if err := j.change(&record{Table: table, Writes: []widecol.Mutation{m}}); err != nil {
				return 0, err
			}
		}
		return time, nil
	}
	return time, j.change(&record{Table: table, Writes: mutations})
}

func (j *journal) nextTime() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return j.last
}
