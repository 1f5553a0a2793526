package lsmstore

import (
	"context"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore/grouping"
)

// partitionCost is what a partition that a read opens counts as, in bytes read. A row from the cache takes as
// long as a scan of some thousand bytes, one from the disk much longer.
const partitionCost = 4096

// Advice implements widecol.Store. While a family moves, nothing is advised: the moves before may change it.
func (s *Store) Advice(ctx context.Context, name string) (widecol.Advice, error) {
	t, err := s.beginOn(name)
	if err != nil {
		return widecol.Advice{}, err
	}
	defer s.calls.Done()
	v, err := s.viewOf(t)
	if err != nil {
		return widecol.Advice{}, err
	}
	defer v.Close()
	return v.advice(ctx)
}

func (v *view) advice(ctx context.Context) (widecol.Advice, error) {
	a := widecol.Advice{Since: v.now, Partition: partitionCost}
	sizes, err := v.measure(ctx)
	if err != nil {
		return a, err
	}
	for i, f := range v.schema.sorted {
		a.Families = append(a.Families, widecol.FamilySize{Family: f.name, Place: f.group, Bytes: int64(sizes.families[i].bytes())})
	}
	log := v.schema.log
	if log == nil {
		return a, nil
	}
	a.Since, a.Others = log.since, log.others.Load()
	t := grouping.Table{Partition: partitionCost}
	for i, f := range v.schema.sorted {
		t.Place = append(t.Place, slices.Index(v.schema.stores, f.partition))
		t.Bytes = append(t.Bytes, sizes.families[i].bytes())
	}
	for _, total := range log.totals() {
		q := sizes.explain(v.schema, &total)
		t.Queries = append(t.Queries, q)
		a.Queries = append(a.Queries, v.schema.costs(&total, &q))
	}
	if len(v.schema.moving) > 0 {
		return a, nil
	}
	for _, m := range grouping.Moves(&t) {
		a.Moves = append(a.Moves, widecol.AdvisedMove{
			Family: v.schema.sorted[m.Family].name, Place: v.schema.placeOf(m.To),
			SavesBytes: int64(m.Bytes), SavesPartitions: int64(m.Opens), Bytes: int64(t.Bytes[m.Family]),
		})
	}
	return a, nil
}

// placeOf returns the place that grouping counts as place, which is an index in stores.
func (s *schema) placeOf(place int) string {
	switch place {
	case grouping.New:
		return widecol.NewGroup
	case grouping.Default:
		return ""
	}
	return s.groups[place-1].id
}

// costs describes what the queries of a set of families cost.
func (s *schema) costs(t *total, q *grouping.Query) widecol.QueryCosts {
	c := widecol.QueryCosts{Queries: t.queries, Partitions: t.ranges * int64(len(t.partitions)), BytesRead: t.bytesRead()}
	over := 0.0
	for i, f := range s.sorted {
		switch {
		case t.families.has(i):
			c.Families = append(c.Families, f.name)
		case slices.Contains(t.partitions, f.partition):
			over += q.Over[i]
		}
	}
	c.BytesOver = min(int64(over), c.BytesRead)
	return c
}

// explain divides what the queries of a set of families have read among the families. Of the rows that they passed
// they have read what rows and cells take besides values, of all families that lie there; then the values of those
// asked for; what is left are values of others in the same blocks.
func (m *sizes) explain(s *schema, t *total) grouping.Query {
	n := len(s.sorted)
	q := grouping.Query{Asks: make([]bool, n), Over: make([]float64, n), Opens: float64(t.ranges)}
	part, values := 0.0, false // of the rows of the table that were passed; whether their values were read
	for at, id := range t.partitions {
		p := m.partitions[id]
		if p == nil || p.passed == 0 {
			continue
		}
		// What the queries passed, in units of what was measured.
		share := float64(t.passed[at]) / p.passed
		part = max(part, share/p.scale)
		values = m.divide(&q, s, t, p, share, float64(t.read[at])) || values
	}
	for i, f := range s.sorted {
		q.Asks[i] = t.families.has(i)
		if q.Asks[i] || slices.Contains(t.partitions, f.partition) {
			continue
		}
		q.Over[i] = part * m.families[i].keys
		if values {
			q.Over[i] += part * m.families[i].small
		}
	}
	return q
}

// divide divides what was read in a partition, and reports whether any values were.
func (m *sizes) divide(q *grouping.Query, s *schema, t *total, p *measured, share, read float64) bool {
	keys, wanted, others := share*p.rows, 0.0, 0.0
	for i := range s.sorted {
		f := &p.families[i]
		keys += share * f.keys
		if t.families.has(i) {
			wanted += share * (f.small + f.large)
		} else {
			others += share * f.small
		}
	}
	fit := 1.0 // keys alone may be less than was measured
	if keys > read {
		fit = read / keys
	}
	rest := read - fit*keys
	over := min(max(rest-wanted, 0), others)
	q.Need += read
	for i := range s.sorted {
		f := &p.families[i]
		if t.families.has(i) {
			continue
		}
		n := fit * share * f.keys
		if others > 0 {
			n += over * share * f.small / others
		}
		q.Over[i] += n
		q.Need -= n
	}
	return fit == 1 && rest > 0
}
