package vfs

import (
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Mem is a file system in memory that keeps exactly the promises of the package comment. It is safe
// for concurrent use.
//
// A file has a durable content and the writes since. A directory has durable names and the operations
// on names since. Both are in the order of issue. Readers see everything. A sync makes durable what is
// still dirty. A failed sync (see Inject) makes its data clean but not durable: no later sync will
// write it, but readers still see it and a crash may keep it.
//
// The root is "/", and also ".": a relative name starts there. It always exists. Every other directory
// is a name in its parent.
type Mem struct {
	// step serialises operations that change something, with their hooks. It is locked before mu.
	step sync.Mutex
	hook func(op Op, done bool)
	ops  atomic.Int64

	mu       sync.RWMutex
	root     *directory
	seq      uint64 // of the last pending operation
	ids      uint64 // of the last file or directory
	reused   uint64 // calls of Reuse so far
	used     int64  // bytes of all files with a name or a handle
	capacity int64
	removed  []fileData  // content of files that are gone, newest last
	pending  []pendingOp // of all files and directories; nil if it has to be collected
}

// NewMem returns an empty file system with room for 1 TiB.
func NewMem() *Mem {
	return &Mem{root: newDirectory(0, "/"), capacity: 1 << 40}
}

// SetCapacity sets how many bytes all files may hold together. At the limit, a write stores what fits
// and fails with syscall.ENOSPC, and no file or directory can be created. Overwriting needs no room.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Ops returns the number of operations so far that changed something.
func (m *Mem) Ops() int64 { return m.ops.Load() }

// SetHook makes every operation that changes something call f before (done false) and after it (done
// true), also if it fails. Op.N counts these operations from 0. No other such operation runs during f,
// so f sees a consistent file system: it may call Crash, Clone, Pending and everything that reads, but
// must not change anything. f may block. A nil f removes the hook.
func (m *Mem) SetHook(f func(op Op, done bool)) {
	m.step.Lock()
	defer m.step.Unlock()
	m.hook = f
}

// change runs one operation that changes something.
func (m *Mem) change(op Op, do func() error) error {
	m.step.Lock()
	defer m.step.Unlock()
	op.N = m.ops.Add(1) - 1
	if m.hook != nil {
		m.hook(op, false)
	}
	err := m.locked(do)
	if m.hook != nil {
		m.hook(op, true)
	}
	return err
}

func (m *Mem) locked(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = nil
	return do()
}

func (m *Mem) nextSeq() uint64 {
	m.seq++
	return m.seq
}

func (m *Mem) nextID() uint64 {
	m.ids++
	return m.ids
}

func (m *Mem) free() int64 { return max(m.capacity-m.used, 0) }

func (m *Mem) Create(name string) (File, error) {
	var f *file
	err := m.change(Op{Kind: OpCreate, Name: name}, func() (err error) {
		f, err = m.create(OpCreate, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, f: f, name: name, writes: true}, nil
}

// create creates a file and counts a handle on it.
func (m *Mem) create(kind Kind, name string) (*file, error) {
	d, base, err := m.parent(kind, name)
	if err != nil {
		return nil, err
	}
	if _, ok := d.live[base]; ok {
		return nil, pathError(kind, name, fs.ErrExist)
	}
	if m.free() == 0 {
		return nil, pathError(kind, name, syscall.ENOSPC)
	}
	f := &file{id: m.nextID(), path: name, links: 1, handles: 1}
	d.change(dirOp{seq: m.nextSeq(), op: Op{Kind: OpCreate, Name: name}, set: base, node: node{file: f}})
	return f, nil
}

func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file(OpOpen, name)
	if err != nil {
		return nil, err
	}
	f.handles++
	return &memFile{m: m, f: f, name: name}, nil
}

func (m *Mem) Reuse(old, new string) (File, error) {
	var f *file
	var padsWrites bool // every other file, so that programs meet both
	err := m.change(Op{Kind: OpReuse, Name: old, To: new}, func() (err error) {
		if f, err = m.file(OpReuse, old); err != nil {
			return err
		}
		if _, err := m.lookup(OpReuse, new); err == nil {
			return pathError(OpReuse, new, fs.ErrExist)
		}
		if err := m.rename(OpReuse, old, new); err != nil {
			return err
		}
		f.handles++
		m.reused++
		padsWrites = m.reused%2 == 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, f: f, name: new, writes: true, padsWrites: padsWrites}, nil
}

func (m *Mem) Rename(old, new string) error {
	return m.change(Op{Kind: OpRename, Name: old, To: new}, func() error {
		return m.rename(OpRename, old, new)
	})
}

// rename moves a name. Between two directories it is two operations, the new name first.
func (m *Mem) rename(kind Kind, old, new string) error {
	f, err := m.file(kind, old)
	if err != nil {
		return err
	}
	from, oldBase, err := m.parent(kind, old)
	if err != nil {
		return err
	}
	to, newBase, err := m.parent(kind, new)
	if err != nil {
		return err
	}
	replaced := to.live[newBase]
	switch {
	case replaced.dir != nil:
		return pathError(kind, new, fs.ErrExist)
	case replaced.file == f:
		return nil
	}
	o := dirOp{seq: m.nextSeq(), op: Op{Kind: kind, Name: old, To: new}, set: newBase, node: node{file: f}}
	if from == to {
		o.drop = oldBase
		to.change(o)
	} else {
		to.change(o)
		from.change(dirOp{seq: m.nextSeq(), op: o.op, drop: oldBase})
	}
	f.path = new
	if replaced.file != nil {
		m.unlink(replaced.file)
	}
	return nil
}

func (m *Mem) Link(old, new string) error {
	return m.change(Op{Kind: OpLink, Name: old, To: new}, func() error {
		f, err := m.file(OpLink, old)
		if err != nil {
			return err
		}
		d, base, err := m.parent(OpLink, new)
		if err != nil {
			return err
		}
		if _, ok := d.live[base]; ok {
			return pathError(OpLink, new, fs.ErrExist)
		}
		if m.free() == 0 {
			return pathError(OpLink, new, syscall.ENOSPC)
		}
		f.links++
		d.change(dirOp{seq: m.nextSeq(), op: Op{Kind: OpLink, Name: old, To: new}, set: base, node: node{file: f}})
		return nil
	})
}

func (m *Mem) Remove(name string) error {
	return m.change(Op{Kind: OpRemove, Name: name}, func() error {
		n, err := m.lookup(OpRemove, name)
		if err != nil {
			return err
		}
		d, base, err := m.parent(OpRemove, name)
		if err != nil {
			return err
		}
		if n.dir != nil && len(n.dir.live) > 0 {
			return pathError(OpRemove, name, syscall.ENOTEMPTY)
		}
		d.change(dirOp{seq: m.nextSeq(), op: Op{Kind: OpRemove, Name: name}, drop: base})
		if n.file != nil {
			m.unlink(n.file)
		}
		return nil
	})
}

// removedKept is how many removed files may come back as garbage.
const removedKept = 4

// unlink removes a name from the count of f.
func (m *Mem) unlink(f *file) {
	f.links--
	if f.live.size > 0 && f.links == 0 {
		m.removed = append(slices.Clone(m.removed), f.live.share())
		m.removed = m.removed[max(len(m.removed)-removedKept, 0):]
	}
	m.release(f)
}

// release frees the room of f if it has no names and no handles.
func (m *Mem) release(f *file) {
	if f.links == 0 && f.handles == 0 {
		m.used -= f.live.size
	}
}

func (m *Mem) List(dir string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d, err := m.directory(OpList, dir)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.live)), nil
}

func (m *Mem) MkdirAll(dir string) error {
	return m.change(Op{Kind: OpMkdir, Name: dir}, func() error {
		d, at := m.root, ""
		for _, base := range split(dir) {
			at += "/" + base
			n, ok := d.live[base]
			switch {
			case !ok && m.free() == 0:
				return pathError(OpMkdir, dir, syscall.ENOSPC)
			case !ok:
				n = node{dir: newDirectory(m.nextID(), at)}
				d.change(dirOp{seq: m.nextSeq(), op: Op{Kind: OpMkdir, Name: at}, set: base, node: n})
			case n.dir == nil:
				return pathError(OpMkdir, dir, syscall.ENOTDIR)
			}
			d = n.dir
		}
		return nil
	})
}

func (m *Mem) SyncDir(dir string) error { return m.syncDir(dir, Full) }

func (m *Mem) syncDir(dir string, effect Effect) error {
	return m.change(Op{Kind: OpSyncDir, Name: dir}, func() error {
		d, err := m.directory(OpSyncDir, dir)
		if err != nil {
			return err
		}
		switch effect {
		case None:
			d.commit(0)
		case Half:
			d.commit(d.dirty() / 2)
		case Full:
			d.commit(math.MaxInt)
		}
		return nil
	})
}

// Lock leaves the file empty.
func (m *Mem) Lock(name string) (io.Closer, error) {
	var f *file
	err := m.change(Op{Kind: OpLock, Name: name}, func() (err error) {
		if n, lookErr := m.lookup(OpLock, name); lookErr != nil {
			f, err = m.create(OpLock, name)
		} else if f = n.file; f == nil {
			err = pathError(OpLock, name, syscall.EISDIR)
		} else if f.locked {
			err = &LockedError{Name: name, PID: os.Getpid()}
		} else {
			f.handles++
		}
		if err == nil {
			f.locked = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &memLock{memFile{m: m, f: f, name: name}}, nil
}

// memLock holds the lock of its file until it is closed.
type memLock struct{ h memFile }

func (l *memLock) Close() error {
	l.h.m.mu.Lock()
	defer l.h.m.mu.Unlock()
	if err := l.h.close(); err != nil {
		return err
	}
	l.h.f.locked = false
	return nil
}

func (m *Mem) Stat(name string) (int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, err := m.file(OpStat, name)
	if err != nil {
		return 0, err
	}
	return f.live.size, nil
}

func (m *Mem) FreeSpace(dir string) (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, err := m.directory(OpFreeSpace, dir); err != nil {
		return 0, err
	}
	return uint64(m.free()), nil
}
