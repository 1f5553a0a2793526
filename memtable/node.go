package memtable

import (
	"bytes"
	"cmp"
	"sync/atomic"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// Rows and entries are nodes of one shape: a fixed part, the key above it and
// the tower of links below, one for each level that the node is on. A ref or
// pointer to a node means its fixed part, so everything lies at a fixed distance
// and the height need not be stored.
//
//	       tower (4 each)                 fixed part (24)
//	+-----+---------+---------+----------+----------+--------+-------+------------+--------+
//	| ... | level 1 | level 0 | time     | sequence | length | value | column     | record |  entry
//	+-----+---------+---------+----------+----------+--------+-------+------------+--------+
//	| ... | level 1 | level 0 | entries, levels 3–0 | length | upper | row key    |           row
//	+-----+---------+---------+---------------------+--------+-------+------------+
//	                          ^                     ^
//	                          node                  lowHead
//
// length is the length of the key, which is padded to 8 bytes. A tower of odd
// height is padded at its far end. A row's links to its first entries are a tower
// below lowHead. The upper levels, which only wide rows need, are a tower of their
// own, made when an entry is that high. upper is the field upperHead, which refers
// to it:
//
//	+----------+-----+---------+--------------------+
//	| level 11 | ... | level 4 | levels 3–0, unused |
//	+----------+-----+---------+--------------------+
//	                                                ^ upperHead
//
// The content of an entry is a record. The first one follows the column, unless it
// is large. The record of a replacement can be anywhere.
//
//	+------------+----------+----------+-------+-----------+
//	| length (4) | kind (1) | type (1) | 0 (2) | value ... |
//	+------------+----------+----------+-------+-----------+
type entryNode struct {
	time   int64
	seq    uint64
	keyLen uint32
	value  atomic.Uint32 // ref of the record
}

type rowNode struct {
	entries   [lowHeight]uint32 // atomic; see lowHead
	keyLen    uint32
	upperHead atomic.Uint32 // ref of the upper head, 0 for none
}

type record struct {
	length uint32
	kind   cell.Kind
	typ    cell.Type
	_      uint16
}

const (
	// maxHeight is the number of levels. A node is on the next level with probability 1/4, so 12
	// levels fit 16 million nodes, and work well with many more.
	maxHeight = 12
	// lowHeight is the number of levels that a row keeps in its own node. One entry in 256 is
	// higher.
	lowHeight = 4

	nodeSize      = int(unsafe.Sizeof(entryNode{}))
	recordSize    = int(unsafe.Sizeof(record{}))
	upperHeadSize = 4 * maxHeight
	cacheLine     = 64 // bytes of a line of the CPU's cache
	headOffset    = unsafe.Offsetof(rowNode{}.keyLen)
)

// Both kinds of node have their key at the same place.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(entryNode{})-unsafe.Sizeof(rowNode{})]
	_ = [1]struct{}{}[unsafe.Offsetof(entryNode{}.keyLen)-headOffset]
)

// link returns the link of a level of the tower below p.
func link(p unsafe.Pointer, level int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Add(p, -4*(level+1)))
}

// lowHead returns the head of the low levels of a row's entries.
func lowHead(row unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(row, headOffset)
}

// key returns the row key or the column of a node.
func key(n unsafe.Pointer) []byte {
	length := *(*uint32)(unsafe.Add(n, headOffset))
	return unsafe.Slice((*byte)(unsafe.Add(n, nodeSize)), length)
}

// payload returns the value of a record.
func (v *record) payload() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(v), recordSize)), v.length)
}

// set fills a new record.
func (v *record) set(c *cell.Cell) {
	v.length = uint32(len(c.Value))
	v.kind = c.Kind
	v.typ = c.Type
	copy(v.payload(), c.Value)
}

// roundUp rounds up to whole units.
func roundUp(n int) int { return (n + unit - 1) &^ (unit - 1) }

// newNode allocates a node with a key and extra bytes after it. The node is not
// linked.
func (a *arena) newNode(from *region, height int, k []byte, extra int) (ref, unsafe.Pointer) {
	tower := roundUp(4 * height)
	r, p := a.alloc(from, tower+nodeSize+roundUp(len(k))+extra)
	r, p = r+ref(tower/unit), unsafe.Add(p, tower)
	(*rowNode)(p).keyLen = uint32(len(k))
	copy(key(p), k)
	return r, p
}

// newRow allocates the node of a row. It takes whole cache lines: one for a key of up to 32 bytes and
// a tower of one or two levels, as most rows have. So a search has one cache miss for links and key.
func (a *arena) newRow(height int, k []byte) ref {
	size := roundUp(4*height) + nodeSize + roundUp(len(k))
	r, _ := a.newNode(&a.rows, height, k, -size&(cacheLine-1))
	return r
}

// newEntry allocates the node of an entry, with its record.
func (a *arena) newEntry(height int, c *cell.Cell) ref {
	column := roundUp(len(c.Column))
	size := recordSize + roundUp(len(c.Value))
	apart := column+size > maxShared/2 // a large value would spread the nodes
	inline := size
	if apart {
		inline = 0
	}
	r, p := a.newNode(&a.entries, height, c.Column, inline)
	n := (*entryNode)(p)
	n.time = c.Time
	n.seq = c.Seq
	if apart {
		n.value.Store(uint32(a.newRecord(c)))
		return r
	}
	at := nodeSize + column
	(*record)(unsafe.Add(p, at)).set(c)
	n.value.Store(uint32(r) + uint32(at/unit))
	return r
}

// newRecord allocates the record of an entry.
func (a *arena) newRecord(c *cell.Cell) ref {
	r, p := a.alloc(&a.entries, recordSize+roundUp(len(c.Value)))
	(*record)(p).set(c)
	return r
}

// newUpperHead allocates the upper head of a wide row.
func (a *arena) newUpperHead() ref {
	r, _ := a.alloc(&a.entries, upperHeadSize)
	return r + ref(upperHeadSize/unit)
}

// searchKey is the place of a row or an entry in its list, whether it exists or not.
type searchKey struct {
	key   []byte // row key, or column
	entry bool   // time and sequence count, too
	time  int64
	seq   uint64
}

// compare orders k against a node: negative if k is before it.
func (k *searchKey) compare(p unsafe.Pointer) int {
	if r := bytes.Compare(k.key, key(p)); r != 0 || !k.entry {
		return r
	}
	n := (*entryNode)(p)
	if r := cmp.Compare(n.time, k.time); r != 0 {
		return r
	}
	return cmp.Compare(n.seq, k.seq)
}
