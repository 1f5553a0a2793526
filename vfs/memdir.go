package vfs

import (
	"maps"
	"math"
	"slices"
)

// node is the target of a name: a file or a directory.
type node struct {
	file *file
	dir  *directory
}

// directory is a directory of a Mem. Mem.mu guards it.
type directory struct {
	id      uint64
	path    string
	live    map[string]node
	durable map[string]node
	shared  bool    // live and durable are one map, so none may be written
	pending []dirOp // the operations between them, in the order of issue
}

func newDirectory(id uint64, path string) *directory {
	return &directory{id: id, path: path, live: map[string]node{}, durable: map[string]node{}}
}

// dirOp is one change of a directory. A crash keeps all of it or nothing.
type dirOp struct {
	seq  uint64
	op   Op     // as reported
	drop string // the removed name, or ""
	set  string // the new name, or ""
	node node   // the target of the new name
	lost bool   // covered by a failed sync: later ones leave it out
}

func (o *dirOp) apply(names map[string]node) {
	if o.drop != "" {
		delete(names, o.drop)
	}
	if o.set != "" {
		names[o.set] = o.node
	}
}

// touches reports whether the operation changes the target of the name.
func (o *dirOp) touches(name string) bool {
	return name != "" && (o.drop == name || o.set == name)
}

// change applies an operation for readers and makes it pending.
func (d *directory) change(o dirOp) {
	d.unshare()
	o.apply(d.live)
	d.pending = append(d.pending, o)
}

// unshare makes live and durable two maps.
func (d *directory) unshare() {
	if d.shared {
		d.live = maps.Clone(d.live)
		d.shared = false
	}
}

// commit is a sync that reaches the first n dirty operations. The others count as clean from then on.
func (d *directory) commit(n int) {
	if n == math.MaxInt && !slices.ContainsFunc(d.pending, func(o dirOp) bool { return o.lost }) {
		d.durable, d.shared, d.pending = d.live, true, nil
		return
	}
	d.unshare()
	var kept []dirOp
	for _, o := range d.pending {
		if o.lost || n == 0 {
			o.lost = true
			kept = append(kept, o)
			continue
		}
		n--
		o.apply(d.durable)
		kept = dropReplaced(kept, &o)
	}
	d.pending = kept
}

// dirty returns the number of operations that a sync would make durable.
func (d *directory) dirty() (n int) {
	for _, o := range d.pending {
		if !o.lost {
			n++
		}
	}
	return n
}

// dropReplaced removes from older operations the names that a newer one has changed on disk.
func dropReplaced(ops []dirOp, by *dirOp) []dirOp {
	var kept []dirOp
	for _, o := range ops {
		if by.touches(o.drop) {
			o.drop = ""
		}
		if by.touches(o.set) {
			o.set, o.node = "", node{}
		}
		if o.drop != "" || o.set != "" {
			kept = append(kept, o)
		}
	}
	return kept
}
