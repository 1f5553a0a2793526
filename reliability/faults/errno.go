package faults

import (
	"slices"
	"syscall"

	"github.com/colonnade-db/colonnade/vfs"
)

// errno is an error number and the operations that can fail with it.
type errno struct {
	number syscall.Errno
	kinds  []vfs.Kind // nil for all
}

var (
	opens   = []vfs.Kind{vfs.OpCreate, vfs.OpOpen, vfs.OpReuse, vfs.OpList, vfs.OpSyncDir, vfs.OpLock}
	changes = []vfs.Kind{vfs.OpCreate, vfs.OpReuse, vfs.OpRename, vfs.OpLink, vfs.OpRemove, vfs.OpMkdir, vfs.OpLock, vfs.OpWrite}
	grows   = []vfs.Kind{vfs.OpCreate, vfs.OpReuse, vfs.OpRename, vfs.OpLink, vfs.OpMkdir, vfs.OpLock, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir}
	names   = []vfs.Kind{vfs.OpCreate, vfs.OpOpen, vfs.OpReuse, vfs.OpRename, vfs.OpLink, vfs.OpRemove, vfs.OpList, vfs.OpMkdir, vfs.OpLock, vfs.OpStat}
)

var errnos = []errno{
	{number: syscall.EIO},
	{number: syscall.ENOSPC, kinds: grows},
	{number: syscall.EDQUOT, kinds: grows},
	{number: syscall.EMFILE, kinds: opens},
	{number: syscall.EROFS, kinds: changes},
	{number: syscall.EACCES, kinds: names},
	{number: syscall.EFBIG, kinds: []vfs.Kind{vfs.OpWrite}},
	{number: syscall.ENOMEM},
	{number: syscall.EINTR},
}

func (e *errno) hits(k vfs.Kind) bool { return e.kinds == nil || slices.Contains(e.kinds, k) }

// spares reports whether the error never affects reads.
func (e *errno) spares() bool { return !e.hits(vfs.OpOpen) && !e.hits(vfs.OpRead) }

// errnoFor returns an error that an operation of the kind can fail with. Different turns give different
// errors.
func errnoFor(k vfs.Kind, turn uint64) *errno {
	var list []*errno
	for i := range errnos {
		if errnos[i].hits(k) {
			list = append(list, &errnos[i])
		}
	}
	return list[turn%uint64(len(list))]
}

// passing are the errors after which a write may be retried: the write says how much it has done.
var passing = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENOMEM, syscall.EINTR}
