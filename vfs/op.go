package vfs

import "fmt"

// Kind is a kind of operation: a method of FS or File.
type Kind uint8

const (
	OpCreate Kind = iota
	OpOpen
	OpReuse
	OpRename
	OpLink
	OpRemove
	OpList
	OpMkdir // FS.MkdirAll
	OpSyncDir
	OpLock
	OpStat
	OpFreeSpace
	OpRead // File.ReadAt
	OpWrite
	OpSync
	OpSize
	OpClose // File.Close; closing a lock is not an operation
)

var kindNames = [...]string{"create", "open", "reuse", "rename", "link", "remove", "list", "mkdir", "syncdir", "lock",
	"stat", "freespace", "read", "write", "sync", "size", "close"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Changes reports whether operations of the kind change the file system, or what of it is durable.
// Each of them is a crash point.
func (k Kind) Changes() bool {
	switch k {
	case OpCreate, OpReuse, OpRename, OpLink, OpRemove, OpMkdir, OpSyncDir, OpLock, OpWrite, OpSync:
		return true
	}
	return false
}

// Op is one operation.
type Op struct {
	Kind   Kind
	N      int64  // running number, from 0
	Name   string // the file or directory; of a rename, reuse or link, the old name
	To     string // the new name of a rename, reuse or link
	Offset int64  // of a read or write
	Len    int    // of a read or write: the bytes asked for
}

func (op Op) String() string {
	switch op.Kind {
	case OpRename, OpReuse, OpLink:
		return fmt.Sprintf("#%d %v %s %s", op.N, op.Kind, op.Name, op.To)
	case OpRead, OpWrite:
		return fmt.Sprintf("#%d %v %s %d+%d", op.N, op.Kind, op.Name, op.Offset, op.Len)
	default:
		return fmt.Sprintf("#%d %v %s", op.N, op.Kind, op.Name)
	}
}
