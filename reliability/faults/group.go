package faults

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

// groupSize is how many writers wait for the sync that fails.
const groupSize = 64

// failGroups makes the sync fail that a group of writers waits for, in every way.
func failGroups(env report.Env, s *report.Section) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EINTR} {
		for _, effect := range []vfs.Effect{vfs.None, vfs.Half, vfs.Full} {
			if env.First && s.Failed() {
				return
			}
			if err := failGroup(errno, effect); err != nil {
				s.Fail(env.Repeat("faults"), "sync of a group fails with %v, effect %d: %v", errno, effect, err)
			}
			s.Add("groups_failed", 1)
		}
	}
}

// firstSegment is the log of a new store. A second segment is prepared meanwhile.
const firstSegment = "store/wal/00000001.log"

// logSyncs can hold back the syncs of the log, and makes the second of them fail.
type logSyncs struct {
	errno    syscall.Errno
	effect   vfs.Effect
	armed    atomic.Bool
	syncs    atomic.Int64
	waiting  chan struct{} // closed when the first one waits
	released chan struct{}
}

func (l *logSyncs) rule(op vfs.Op) vfs.Fault {
	if op.Kind != vfs.OpSync || op.Name != firstSegment || !l.armed.Load() {
		return vfs.Fault{}
	}
	switch l.syncs.Add(1) {
	case 1:
		close(l.waiting)
		return vfs.Fault{Hold: l.released}
	case 2:
		return vfs.Fault{Err: l.errno, Effect: l.effect}
	}
	return vfs.Fault{}
}

// failGroup holds one write in its sync, queues others behind it, and makes their sync fail. None of them may
// be acknowledged, and none may be there in part.
func failGroup(errno syscall.Errno, effect vfs.Effect) error {
	disk := vfs.NewMem()
	l := &logSyncs{errno: errno, effect: effect, waiting: make(chan struct{}), released: make(chan struct{})}
	size := script.Size{Memtable: 1 << 20, Log: 1 << 20, Segment: 256 << 10, Clock: small.Clock, Patience: 60 * faster * small.Patience}
	store, err := script.Engine(vfs.Inject(disk, l.rule), size)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Create("shared"); err != nil {
		return err
	}
	l.armed.Store(true)
	results := make([]error, groupSize+1)
	var writers sync.WaitGroup
	write := func(i int) {
		writers.Go(func() { results[i] = store.Write("shared", []script.Row{groupRow(i)}) })
	}
	write(0)
	<-l.waiting
	for i := range groupSize {
		write(1 + i)
	}
	script.AwaitWrites(store, groupSize+1)
	found, err := store.Read()
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("a reader sees %d cells that are not durable", len(found)-1)
	}
	close(l.released)
	writers.Wait()
	return errors.Join(err, judgeGroup(disk, results, size))
}

func groupRow(i int) script.Row {
	return script.Row{Key: fmt.Sprintf("a%03d", i), Values: [script.Parts]string{"x", "y", "z"}}
}

// judgeGroup judges the results and the content of the disk.
func judgeGroup(disk *vfs.Mem, results []error, size script.Size) error {
	if results[0] != nil {
		return fmt.Errorf("the write whose sync went well: %w", results[0])
	}
	for _, err := range results[1:] {
		var unknown *engine.UnknownError
		var readOnly *engine.ReadOnlyError
		if !errors.As(err, &unknown) && !errors.As(err, &readOnly) {
			return fmt.Errorf("a write whose sync failed: %v", err)
		}
	}
	for _, image := range []*vfs.Mem{disk.Crash(vfs.DropAll, 0), disk.Crash(vfs.KeepAll, 0), disk.Clone()} {
		if err := wholeRows(image, size); err != nil {
			return err
		}
	}
	return nil
}

// wholeRows opens an image, which must have the first row, and all parts or none of each other row.
func wholeRows(image *vfs.Mem, size script.Size) error {
	store, err := script.Engine(image, size)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := store.Read()
	if err != nil {
		return err
	}
	parts := make(map[string]int)
	for at := range found {
		parts[strings.Split(at, "/")[1]]++
	}
	delete(parts, "")
	if parts[groupRow(0).Key] == 0 {
		return errors.New("what was acknowledged is lost")
	}
	for row, n := range parts {
		if n != script.Parts {
			return fmt.Errorf("of row %s %d parts are there", row, n)
		}
	}
	return nil
}
