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
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// flawVariable, in the environment of a process, makes it a program under test
// and says what is wrong with it.
const flawVariable = "KILL9_TEST_FLAW"

func TestMain(m *testing.M) {
	flaw := os.Getenv(flawVariable)
	if flaw == "" {
		os.Exit(m.Run())
	}
	if err := program(os.Args[1], os.Args[3], flaw); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// program does what the real one does: serve a directory, or check it.
func program(verb, dir, flaw string) error {
	if flaw == "does not start" {
		return errors.New("there is no reason")
	}
	if verb == "check" {
		fmt.Println("no damage")
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if flaw != "lets others in" {
		if err := lock(filepath.Join(dir, "LOCK")); err != nil {
			return err
		}
	}
	return serveJournal(filepath.Join(dir, "journal"), flaw)
}

// lock locks a file until the process ends.
func lock(name string) error {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		holder, err := io.ReadAll(file)
		return errors.Join(err, fmt.Errorf("directory is in use by the process with id %s", holder))
	}
	_, err = fmt.Fprint(file, os.Getpid())
	locked = file
	return errors.Join(err, file.Truncate(int64(len(fmt.Sprint(os.Getpid())))))
}

var locked *os.File // or it would be collected, and closed

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
	ended := make(chan error, 1)
	go func() {
		<-signals
		ended <- s.Shutdown(context.Background())
	}()
	end := "empty"
	if flaw == "leaves its log" {
		end = "sealed"
	}
	fmt.Fprintf(os.Stderr, "msg=\"log segment read\" file=wal/00000001.log end=%s offset=77\n", end)
	fmt.Printf("listening on http://%s\n", listener.Addr())
	if err := s.Serve(listener); err != nil {
		return err
	}
	if flaw == "ends badly" {
		return errors.New("there is no reason")
	}
	return <-ended
}

// record is one change in the journal.
type record struct {
	Table    string
	Create   *widecol.TableSpec
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
	// Only what is there: a second server would read behind the first for ever.
	there, err := file.Stat()
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(io.LimitReader(file, there.Size()))
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
	case r.Create != nil:
		return j.Store.CreateTable(ctx, r.Table, *r.Create)
	case r.Families != nil:
		return j.Store.CreateFamilies(ctx, r.Table, r.Families, true)
	case r.Delete != nil:
		_, err := j.Store.Delete(ctx, r.Table, widecol.RowDeletion(r.Delete, widecol.Filter{}), "")
		return err
	}
	for _, m := range r.Writes {
		j.last = max(j.last, m.Time)
	}
	_, err := j.Store.Write(ctx, r.Table, r.Writes, "")
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

func (j *journal) CreateTable(_ context.Context, name string, spec widecol.TableSpec) error {
	return j.change(&record{Table: name, Create: &spec})
}

func (j *journal) CreateFamilies(_ context.Context, table string, families []widecol.Family, _ bool) error {
	return j.change(&record{Table: table, Families: families})
}

func (j *journal) Delete(_ context.Context, table string, d *widecol.Deletion, _ string) (widecol.Deleted, error) {
	r := &record{Table: table, Delete: d.OneRow()}
	if j.flaw == "forgets deletes" {
		j.mu.Lock()
		defer j.mu.Unlock()
		return widecol.Deleted{}, j.apply(r)
	}
	return widecol.Deleted{}, j.change(r)
}

func (j *journal) Write(_ context.Context, table string, mutations []widecol.Mutation, _ string) (int64, error) {
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
