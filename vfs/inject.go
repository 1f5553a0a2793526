package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"sync/atomic"
	"syscall"
)

// Effect is how much of an operation happens although it returns an error.
type Effect uint8

const (
	// None: nothing happens. A failed sync of a Mem makes nothing durable, and dirty data counts as
	// clean.
	None Effect = iota
	// Half: half of the bytes of a read or write, half of the work of a sync of a Mem, all
	// directories but the last of MkdirAll. An operation without a middle has no effect.
	Half
	// Full: everything happens.
	Full
)

// Fault decides one operation. The zero Fault leaves it alone.
type Fault struct {
	// Err, if not nil, is returned inside an *fs.PathError. A file or lock that the operation opened
	// is closed again.
	Err    error
	Effect Effect // if Err is not nil
	// Hold, if not nil, makes the operation wait, before it does anything, until it can receive: a
	// slow disk.
	Hold <-chan struct{}
}

// Injected is a file system whose operations fail by a rule. It is safe for concurrent use if its
// rule is.
type Injected struct {
	inner FS
	rule  func(Op) Fault
	ops   atomic.Int64
}

// Inject returns inner with faults. The rule is called once for each operation, on the file system or
// on one of its files, before it happens. Op.N counts all of them from 0. Close closes whatever the
// effect, because a failed close loses the descriptor too. Closing a lock is no operation.
//
// A sync that fails with a partial effect needs the help of the inner file system, which Mem gives.
// On others, half a sync is a whole one, and a sync without effect is not called.
func Inject(inner FS, rule func(Op) Fault) *Injected {
	return &Injected{inner: inner, rule: rule}
}

// Ops returns the number of operations so far.
func (i *Injected) Ops() int64 { return i.ops.Load() }

// decide calls the rule for an operation. It returns how much of the operation is to happen, and the
// error to return afterwards.
func (i *Injected) decide(op Op) (Effect, error) {
	op.N = i.ops.Add(1) - 1
	fault := i.rule(op)
	if fault.Hold != nil {
		<-fault.Hold
	}
	if fault.Err == nil {
		return Full, nil
	}
	return fault.Effect, &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: fault.Err}
}

// do runs one operation; half may be nil.
func (i *Injected) do(op Op, whole, half func() error) (err error) {
	effect, fault := i.decide(op)
	switch {
	case effect == Full:
		err = whole()
	case effect == Half && half != nil:
		err = half()
	}
	if fault != nil {
		return fault
	}
	return err
}

// query runs an operation that only returns a value.
func query[T any](i *Injected, op Op, get func() (T, error)) (v T, err error) {
	if _, fault := i.decide(op); fault != nil {
		return v, fault
	}
	return get()
}

// open runs an operation that returns something to close.
func open[T io.Closer](i *Injected, op Op, get func() (T, error)) (T, error) {
	effect, fault := i.decide(op)
	if fault == nil {
		return get()
	}
	if effect == Full {
		if v, err := get(); err == nil {
			v.Close()
		}
	}
	var none T
	return none, fault
}

// openFile wraps the file that an operation opens.
func (i *Injected) openFile(op Op, name string, get func() (File, error)) (File, error) {
	f, err := open(i, op, get)
	if err != nil {
		return nil, err
	}
	return &injectedFile{i: i, f: f, name: name}, nil
}

func (i *Injected) Create(name string) (File, error) {
	return i.openFile(Op{Kind: OpCreate, Name: name}, name, func() (File, error) { return i.inner.Create(name) })
}

func (i *Injected) Open(name string) (File, error) {
	return i.openFile(Op{Kind: OpOpen, Name: name}, name, func() (File, error) { return i.inner.Open(name) })
}

func (i *Injected) Reuse(old, new string) (File, error) {
	op := Op{Kind: OpReuse, Name: old, To: new}
	return i.openFile(op, new, func() (File, error) { return i.inner.Reuse(old, new) })
}

func (i *Injected) Rename(old, new string) error {
	op := Op{Kind: OpRename, Name: old, To: new}
	return i.do(op, func() error { return i.inner.Rename(old, new) }, nil)
}

func (i *Injected) Link(old, new string) error {
	op := Op{Kind: OpLink, Name: old, To: new}
	return i.do(op, func() error { return i.inner.Link(old, new) }, nil)
}

func (i *Injected) Remove(name string) error {
	return i.do(Op{Kind: OpRemove, Name: name}, func() error { return i.inner.Remove(name) }, nil)
}

func (i *Injected) List(dir string) ([]string, error) {
	return query(i, Op{Kind: OpList, Name: dir}, func() ([]string, error) { return i.inner.List(dir) })
}

func (i *Injected) MkdirAll(dir string) error {
	return i.do(Op{Kind: OpMkdir, Name: dir},
		func() error { return i.inner.MkdirAll(dir) },
		func() error { return i.inner.MkdirAll(path.Dir(dir)) })
}

func (i *Injected) SyncDir(dir string) error { return i.syncDir(dir, Full) }

func (i *Injected) Lock(name string) (io.Closer, error) {
	return open(i, Op{Kind: OpLock, Name: name}, func() (io.Closer, error) { return i.inner.Lock(name) })
}

func (i *Injected) Stat(name string) (int64, error) {
	return query(i, Op{Kind: OpStat, Name: name}, func() (int64, error) { return i.inner.Stat(name) })
}

func (i *Injected) FreeSpace(dir string) (uint64, error) {
	return query(i, Op{Kind: OpFreeSpace, Name: dir}, func() (uint64, error) { return i.inner.FreeSpace(dir) })
}

// injectedFile is an open file of an Injected.
type injectedFile struct {
	i    *Injected
	f    File
	name string
	off  int64 // of the next write
}

func (h *injectedFile) ReadAt(p []byte, off int64) (n int, err error) {
	read := func(p []byte) func() error {
		return func() (err error) {
			n, err = h.f.ReadAt(p, off)
			return err
		}
	}
	op := Op{Kind: OpRead, Name: h.name, Offset: off, Len: len(p)}
	err = h.i.do(op, read(p), read(p[:len(p)/2]))
	return n, err
}

func (h *injectedFile) Write(p []byte) (n int, err error) {
	write := func(p []byte) func() error {
		return func() (err error) {
			n, err = h.f.Write(p)
			h.off += int64(n)
			return err
		}
	}
	op := Op{Kind: OpWrite, Name: h.name, Offset: h.off, Len: len(p)}
	err = h.i.do(op, write(p), write(p[:len(p)/2]))
	return n, err
}

func (h *injectedFile) Sync() error { return h.sync(Full) }

func (h *injectedFile) Size() (int64, error) {
	return query(h.i, Op{Kind: OpSize, Name: h.name}, h.f.Size)
}

func (h *injectedFile) Close() error {
	_, fault := h.i.decide(Op{Kind: OpClose, Name: h.name})
	err := h.f.Close()
	if fault != nil {
		return fault
	}
	return err
}

// A file or file system whose syncs can have a part of their effect. Without an
// error, a part counts as success.
type (
	fileSyncer interface{ sync(Effect) error }
	dirSyncer  interface {
		syncDir(dir string, effect Effect) error
	}
)

func (h *injectedFile) sync(most Effect) error {
	return h.i.sync(Op{Kind: OpSync, Name: h.name}, most, func(effect Effect) error {
		if s, ok := h.f.(fileSyncer); ok {
			return s.sync(effect)
		} else if effect == None {
			return nil
		}
		return h.f.Sync()
	})
}

func (i *Injected) syncDir(dir string, most Effect) error {
	return i.sync(Op{Kind: OpSyncDir, Name: dir}, most, func(effect Effect) error {
		if s, ok := i.inner.(dirSyncer); ok {
			return s.syncDir(dir, effect)
		} else if effect == None {
			return nil
		}
		return i.inner.SyncDir(dir)
	})
}

// sync runs a sync with at most the given effect, because an outer Injected makes it fail, or with
// less, because this one does.
func (i *Injected) sync(op Op, most Effect, run func(Effect) error) error {
	effect, fault := i.decide(op)
	if op.Kind == OpSyncDir && noHandle(fault) {
		return fault
	}
	err := run(min(most, effect))
	if fault != nil {
		return fault
	}
	return err
}

// noHandle reports whether an operation failed because no handle was left. Syncing a directory needs
// one, so in that case nothing was synced, and nothing is lost.
func noHandle(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
