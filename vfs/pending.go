package vfs

import (
	"cmp"
	"slices"
)

// opPosition is the place of a pending operation in the order of issue. Several parts of one write can
// be pending, each with its own offset.
type opPosition struct {
	seq uint64
	off int64 // of a write
}

func (a opPosition) compare(b opPosition) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.off, b.off))
}

// pendingOp is a pending operation of some file or directory.
type pendingOp struct {
	at opPosition
	op Op
}

// Pending returns the operations that a crash may undo, in the order of issue:
// OpWrite of a file with its offset and length, and OpCreate, OpMkdir, OpRename,
// OpReuse, OpLink and OpRemove of a directory. Op.N is the index, which AllButOne,
// OnlyOne and Prefix take. A rename between two directories counts twice, new
// name first. An operation covered by a failed sync stays here, since no later
// sync makes it durable, until something newer replaces what it did.
func (m *Mem) Pending() []Op {
	m.mu.Lock()
	defer m.mu.Unlock()
	pending := m.listPending()
	ops := make([]Op, len(pending))
	for i, p := range pending {
		ops[i] = p.op
		ops[i].N = int64(i)
	}
	return ops
}

// listPending collects the pending operations of everything that a crash could make visible. The list
// is kept until the next change.
func (m *Mem) listPending() []pendingOp {
	if m.pending == nil {
		w := pendingWalk{seen: map[node]bool{}, ops: []pendingOp{}}
		w.visit(node{dir: m.root})
		slices.SortFunc(w.ops, func(a, b pendingOp) int { return a.at.compare(b.at) })
		m.pending = w.ops
	}
	return m.pending
}

type pendingWalk struct {
	seen map[node]bool
	ops  []pendingOp
}

func (w *pendingWalk) visit(n node) {
	if w.seen[n] {
		return
	}
	w.seen[n] = true
	if n.file != nil {
		for _, o := range n.file.pending {
			op := Op{Kind: OpWrite, Name: n.file.path, Offset: o.off, Len: len(o.data)}
			w.ops = append(w.ops, pendingOp{opPosition{o.seq, o.off}, op})
		}
		return
	}
	for _, child := range n.dir.durable {
		w.visit(child)
	}
	for _, o := range n.dir.pending { // one of these brought each name that is live but not durable
		w.ops = append(w.ops, pendingOp{opPosition{seq: o.seq}, o.op})
		if o.set != "" {
			w.visit(o.node)
		}
	}
}

// Systematic returns a model for every loss of the pending operations that needs no seed: DropAll,
// KeepAll, every prefix, whole and with half of the next write, and every AllButOne and OnlyOne. A test
// that wants to tear elsewhere uses Pending.
func (m *Mem) Systematic() []Model {
	models := []Model{DropAll, KeepAll}
	for i, op := range m.Pending() {
		models = append(models, AllButOne(i), OnlyOne(i))
		if i > 0 {
			models = append(models, Prefix(i, 0))
		}
		if op.Len > 1 {
			models = append(models, Prefix(i, op.Len/2))
		}
	}
	return models
}
