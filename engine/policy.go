package engine

import "colonnade/cell"

// Policy says which cells of one family are still there.
type Policy struct {
	GC cell.GC
	// Since hides the cells of an earlier family of the same name: those with
	// a sequence number of Since or below. 0 stands for a family that never had
	// a predecessor in its partition.
	Since uint64
}

// Policies are the families of a partition. A cell of a family that is not
// listed has gone. It is immutable; nil keeps every cell of every family.
type Policies struct {
	families map[string]Policy
	// asOf is the last sequence number before the list was made. A family that
	// is missing here may have been created since, so a compaction, which can
	// run with an old list, must not touch later cells.
	asOf uint64
	// undeclared stands for the list of a partition before SetPolicies.
	undeclared bool
}

// noPolicies keeps everything as it is.
var noPolicies = &Policies{undeclared: true}

// declared reports whether the families of the partition are known.
func (p *Policies) declared() bool { return p == nil || !p.undeclared }

// NewPolicies makes the list for a partition. asOf is the DB's LastSeq at a
// moment when no write to the partition was under way.
func NewPolicies(asOf uint64, families map[string]Policy) *Policies {
	return &Policies{families: families, asOf: asOf}
}

// keepAll reports whether every cell of every family is there.
func (p *Policies) keepAll() bool { return p == nil || p.undeclared }

// family returns the policy of a family, and whether the list has one.
func (p *Policies) family(name []byte) (Policy, bool) {
	if p.keepAll() {
		return Policy{}, true
	}
	policy, ok := p.families[string(name)]
	return policy, ok
}
