package lsmstore

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

// digest hashes the parts of a request. Different requests hash different bytes.
type digest struct {
	hash.Hash
	buf []byte
}

// number adds a number.
func (d *digest) number(n int64) {
	d.buf = binary.LittleEndian.AppendUint64(d.buf[:0], uint64(n))
	d.Write(d.buf)
}

// bytes adds a byte string.
func (d *digest) bytes(b []byte) {
	d.number(int64(len(b)))
	d.Write(b)
}

func (d *digest) sum() (sum [sha256.Size]byte) {
	d.Sum(sum[:0])
	return sum
}

// The kind of a request, the first number in its fingerprint.
const (
	ofWrite = iota
	ofDelete
	ofOrdered
	ofRows
	ofCheck
	ofUpdate
	ofDeletion
)

// fingerprintOfWrite is what it was before there were deletions, for mutations that only set.
func fingerprintOfWrite(mutations []widecol.Mutation) [sha256.Size]byte {
	d := &digest{Hash: sha256.New()}
	for i := range mutations {
		if mutations[i].Op != widecol.Set {
			d.number(ofOrdered)
			d.mutations(mutations)
			return d.sum()
		}
	}
	d.number(ofWrite)
	for i := range mutations {
		d.set(&mutations[i])
	}
	return d.sum()
}

func (d *digest) set(m *widecol.Mutation) {
	for _, b := range [][]byte{m.Row, m.Family, m.Qualifier, m.Value} {
		d.bytes(b)
	}
	d.number(m.Time)
	d.number(int64(m.Type))
}

// mutations adds mutations of any kind.
func (d *digest) mutations(mutations []widecol.Mutation) {
	d.number(int64(len(mutations)))
	for i := range mutations {
		m := &mutations[i]
		d.number(int64(m.Op))
		d.set(m)
		d.number(m.End)
	}
}

func fingerprintOfRows(rows [][]widecol.Mutation) [sha256.Size]byte {
	d := &digest{Hash: sha256.New()}
	d.number(ofRows)
	for _, mutations := range rows {
		d.mutations(mutations)
	}
	return d.sum()
}

func fingerprintOfCheck(c *widecol.CheckAndMutate) [sha256.Size]byte {
	d := &digest{Hash: sha256.New()}
	d.number(ofCheck)
	d.bytes(c.Row)
	d.flag(c.Not)
	d.query(&c.If)
	d.mutations(c.Then)
	d.mutations(c.Else)
	return d.sum()
}

// query adds what a query selects of a row.
func (d *digest) query(q *widecol.Query) {
	d.flag(q.Filter.Columns != nil)
	d.filter(q.Filter)
	d.number(q.Times.Start)
	d.number(q.Times.End)
	d.flag(q.Value != nil)
	if v := q.Value; v != nil {
		d.number(int64(v.Op))
		d.number(int64(v.Type))
		d.bytes(v.Value)
	}
	d.tree(q.RowFilter)
	for _, n := range []int64{q.ColumnCellLimit, q.RowCellLimit, q.RowLimit, q.Offset, q.CellLimit} {
		d.number(n)
	}
}

// tree adds a filter tree; nil is none.
func (d *digest) tree(f *widecol.RowFilter) {
	d.flag(f != nil)
	if f == nil {
		return
	}
	d.bytes([]byte(f.Op.String()))
	switch f.Op {
	case widecol.Chain, widecol.Interleave:
		d.number(int64(len(f.Filters)))
		for _, sub := range f.Filters {
			d.tree(sub)
		}
	case widecol.Condition:
		d.tree(f.If)
		d.tree(f.Then)
		d.tree(f.Else)
	case widecol.RowKeyRegex, widecol.FamilyRegex, widecol.QualifierRegex, widecol.ValueRegex:
		d.bytes(f.Pattern)
	case widecol.RowSample:
		d.number(int64(math.Float64bits(f.P)))
	case widecol.ColumnRange:
		d.bytes([]byte(f.Family))
		d.bound(f.Start)
		d.bound(f.End)
	case widecol.ValueRange:
		d.bound(f.Start)
		d.bound(f.End)
	case widecol.TimestampRange:
		d.number(f.Times.Start)
		d.number(f.Times.End)
	case widecol.RowOffset, widecol.RowLimit, widecol.ColumnLimit:
		d.number(f.N)
	case widecol.ApplyLabel:
		d.bytes([]byte(f.Label))
	}
}

func (d *digest) bound(b widecol.Bound) {
	d.number(int64(b.Kind))
	d.bytes(b.Value)
}

func fingerprintOfUpdate(u *widecol.ReadModifyWrite) [sha256.Size]byte {
	d := &digest{Hash: sha256.New()}
	d.number(ofUpdate)
	d.bytes(u.Row)
	for i := range u.Rules {
		r := &u.Rules[i]
		d.bytes(r.Family)
		d.bytes(r.Qualifier)
		d.number(r.Increment)
		d.flag(r.Append != nil)
		d.bytes(r.Append)
		d.number(int64(r.Type))
	}
	d.untyped(u)
	return d.sum()
}

// untyped adds what a change has of Bigtable's kind. It adds nothing to others, whose fingerprints older programs have
// stored.
func (d *digest) untyped(u *widecol.ReadModifyWrite) {
	if u.Granule == 0 && !slices.ContainsFunc(u.Rules, func(r widecol.Rule) bool { return r.Untyped }) {
		return
	}
	d.number(u.Granule)
	for i := range u.Rules {
		d.flag(u.Rules[i].Untyped)
	}
}

// fingerprintOfDelete is what it was before there were other deletions, for one row and all times.
func fingerprintOfDelete(del *widecol.Deletion) [sha256.Size]byte {
	d := &digest{Hash: sha256.New()}
	if row := del.OneRow(); row != nil && del.Count && !del.DryRun && del.Times == widecol.AllTimes {
		d.number(ofDelete)
		d.bytes(row)
		d.filter(del.Filter)
		return d.sum()
	}
	d.number(ofDeletion)
	for _, r := range del.Rows {
		d.bounds(r.Start, r.End)
	}
	d.number(-2) // so that ranges differ from columns
	d.filter(del.Filter)
	d.number(del.Times.Start)
	d.number(del.Times.End)
	d.flag(del.Count)
	d.flag(del.DryRun)
	return d.sum()
}

func (d *digest) flag(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	d.number(n)
}

// filter adds a column filter, nothing for that of all columns.
func (d *digest) filter(f widecol.Filter) {
	if f.Columns == nil {
		return
	}
	for _, r := range f.Columns.Ranges() {
		d.bounds(r.Start, r.End)
	}
	d.number(0) // so the empty set differs from the set of all columns
}

// bounds adds a range; a nil end is none.
func (d *digest) bounds(start, end []byte) {
	d.bytes(start)
	if end == nil {
		d.number(-1)
	} else {
		d.bytes(end)
	}
}
