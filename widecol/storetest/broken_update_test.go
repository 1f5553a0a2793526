package storetest

import (
	"context"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// brokenUpdates are the bugs of a broken store in what reads a row before it writes it, and in lists of mutations.
type brokenUpdates struct {
	mutations func(ms []widecol.Mutation) []widecol.Mutation // changes a list that has deletions
	check     func(c *widecol.CheckAndMutate)                // changes a copy
	update    func(u *widecol.ReadModifyWrite)               // the same
	deletion  func(d *widecol.Deletion)                      // the same
	allOrNone bool                                           // WriteRows writes no row if one is refused
	keyless   bool                                           // updates forget their keys
}

func (b *broken) WriteRows(ctx context.Context, table string, rows [][]widecol.Mutation, key string) (int64, []error, error) {
	if b.updates.allOrNone {
		before := b.Store.Clone()
		time, outcomes, err := b.Store.WriteRows(ctx, table, rows, key)
		if slices.ContainsFunc(outcomes, func(err error) bool { return err != nil }) {
			b.Store = before
		}
		return time, outcomes, err
	}
	return b.Store.WriteRows(ctx, table, rows, key)
}

func (b *broken) CheckAndMutate(ctx context.Context, table string, c *widecol.CheckAndMutate, key string) (bool, int64, error) {
	changed := *c
	if b.updates.check != nil {
		b.updates.check(&changed)
	}
	return b.Store.CheckAndMutate(ctx, table, &changed, key)
}

func (b *broken) ReadModifyWrite(ctx context.Context, table string, u *widecol.ReadModifyWrite, key string) ([]cell.Cell, int64, error) {
	changed := widecol.ReadModifyWrite{Row: u.Row, Rules: slices.Clone(u.Rules)}
	if b.updates.update != nil {
		b.updates.update(&changed)
	}
	if b.updates.keyless {
		key = ""
	}
	return b.Store.ReadModifyWrite(ctx, table, &changed, key)
}

// mutate changes a list of mutations with deletions.
func (b *broken) mutate(ms []widecol.Mutation) []widecol.Mutation {
	if b.updates.mutations == nil || !slices.ContainsFunc(ms, func(m widecol.Mutation) bool { return m.Op != widecol.Set }) {
		return ms
	}
	return b.updates.mutations(slices.Clone(ms))
}

var updateBugs = []bug{
	{"sets of a request apply before its deletions", true, true, func(b *broken) {
		b.updates.mutations = func(ms []widecol.Mutation) []widecol.Mutation {
			slices.SortStableFunc(ms, func(x, y widecol.Mutation) int { return int(min(x.Op, 1)) - int(min(y.Op, 1)) })
			return ms
		}
	}},
	{"deletions of a request apply before its sets", true, true, func(b *broken) {
		b.updates.mutations = func(ms []widecol.Mutation) []widecol.Mutation {
			slices.SortStableFunc(ms, func(x, y widecol.Mutation) int { return int(min(y.Op, 1)) - int(min(x.Op, 1)) })
			return ms
		}
	}},
	{"a deletion of times deletes all from the first on", true, true, func(b *broken) {
		b.updates.mutations = func(ms []widecol.Mutation) []widecol.Mutation {
			for i := range ms {
				if ms[i].Op == widecol.DeleteColumn {
					ms[i].End = widecol.EndOfTime
				}
			}
			return ms
		}
	}},
	{"a deletion of times has its end", true, false, func(b *broken) {
		b.updates.mutations = func(ms []widecol.Mutation) []widecol.Mutation {
			for i := range ms {
				if ms[i].Op == widecol.DeleteColumn && ms[i].End < widecol.EndOfTime {
					ms[i].End++
				}
			}
			return ms
		}
	}},
	{"a refused row takes the others with it", true, true, func(b *broken) { b.updates.allOrNone = true }},
	{"a condition is not turned round", true, true, func(b *broken) {
		b.updates.check = func(c *widecol.CheckAndMutate) { c.Not = false }
	}},
	{"a condition looks at all columns", true, true, func(b *broken) {
		b.updates.check = func(c *widecol.CheckAndMutate) { c.If.Filter.Columns = nil }
	}},
	{"a condition looks at all times", true, true, func(b *broken) {
		b.updates.check = func(c *widecol.CheckAndMutate) { c.If.Times = widecol.AllTimes }
	}},
	{"rules apply in the wrong order", false, true, func(b *broken) {
		b.updates.update = func(u *widecol.ReadModifyWrite) { slices.Reverse(u.Rules) }
	}},
	{"of two rules for a column the last one counts", true, true, func(b *broken) {
		b.updates.update = func(u *widecol.ReadModifyWrite) {
			last := make(map[string]widecol.Rule)
			for _, r := range u.Rules {
				last[string(r.Family)+":"+string(r.Qualifier)] = r
			}
			u.Rules = slices.DeleteFunc(u.Rules, func(r widecol.Rule) bool {
				kept := last[string(r.Family)+":"+string(r.Qualifier)]
				return kept.Increment != r.Increment || string(kept.Append) != string(r.Append)
			})
		}
	}},
	{"a read-modify-write forgets its key", true, true, func(b *broken) { b.updates.keyless = true }},
	{"a deletion misses the last range of rows", true, true, func(b *broken) {
		b.updates.deletion = func(d *widecol.Deletion) {
			if len(d.Rows) > 1 {
				d.Rows = d.Rows[:len(d.Rows)-1]
			}
		}
	}},
	{"a deletion ignores times", true, true, func(b *broken) {
		b.updates.deletion = func(d *widecol.Deletion) { d.Times = widecol.AllTimes }
	}},
	{"a dry run deletes", true, true, func(b *broken) {
		b.updates.deletion = func(d *widecol.Deletion) {
			if d.DryRun {
				d.DryRun, d.Count = false, true
			}
		}
	}},
}
