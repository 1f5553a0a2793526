package vfs

import "fmt"

// Model says which of the pending operations a crash keeps. What is durable
// stays under every model. A pending operation is a write, or the change of one
// directory; Mem.Pending lists them in the order of issue.
//
//	model               content of files                        names in directories
//	DropAll             durable only                            durable only
//	KeepAll             everything                              everything
//	Prefix(k, torn)     the first k operations and torn bytes   the first k operations
//	                    of the next
//	AllButOne(i)        all operations but number i             all operations but number i
//	OnlyOne(i)          operation i alone                       operation i alone
//	Subset              each sector as it was at some moment    any operations, but none
//	                    of its own; a file ends where what is   without those before it on
//	                    kept of it ends; holes are zeros        the same name
//	SizeNoData          as Subset, but each file has its last   as Subset
//	                    length, and what is missing is zeros
//	Garbage             as SizeNoData, but what is missing is   as Subset
//	                    random, or from a file that was removed
//
// A sector of an overwrite, as in a reused file, is old or new: garbage and zeros
// appear only beyond the durable length.
//
// The last three are drawn from a seed; the others are systematic.
type Model struct {
	kind modelKind
	i    int
	torn int
}

type modelKind uint8

const (
	dropAll modelKind = iota
	keepAll
	prefix
	allButOne
	onlyOne
	subset
	sizeNoData
	garbage
)

var (
	DropAll    = Model{kind: dropAll}
	KeepAll    = Model{kind: keepAll}
	Subset     = Model{kind: subset}
	SizeNoData = Model{kind: sizeNoData}
	Garbage    = Model{kind: garbage}
)

// Prefix keeps the first k pending operations, and of the next the first torn
// bytes if it is a write.
func Prefix(k, torn int) Model { return Model{kind: prefix, i: k, torn: torn} }

// AllButOne keeps all pending operations but number i.
func AllButOne(i int) Model { return Model{kind: allButOne, i: i} }

// OnlyOne keeps pending operation i alone.
func OnlyOne(i int) Model { return Model{kind: onlyOne, i: i} }

func (m Model) String() string {
	switch m.kind {
	case dropAll:
		return "DropAll"
	case keepAll:
		return "KeepAll"
	case prefix:
		return fmt.Sprintf("Prefix(%d, %d)", m.i, m.torn)
	case allButOne:
		return fmt.Sprintf("AllButOne(%d)", m.i)
	case onlyOne:
		return fmt.Sprintf("OnlyOne(%d)", m.i)
	case subset:
		return "Subset"
	case sizeNoData:
		return "SizeNoData"
	default:
		return "Garbage"
	}
}

// random reports whether the model draws from the seed.
func (m Model) random() bool { return m.kind >= subset }
