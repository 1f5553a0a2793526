package widecol

import (
	"bytes"
	"context"

	"github.com/colonnade-db/colonnade/cell"
)

// Aggregate asks for functions of the versions that a query selects, limits applied, in groups.
//
// Numbers are the versions of the types i64, i32, byte, f64 and f32. Count counts the versions of every type.
// The other functions are of the numbers alone; a group without one has none of them.
//
//   - Sum is exact. If all numbers are integers it is an i64, or the request fails with overflow. Otherwise it is
//     the f64 next to the exact sum of all numbers, integers too, rounded once to the nearest, ties to even. If
//     that is too large for an f64, the request fails with overflow. NaN among the numbers, or both infinities,
//     make NaN, one infinity itself.
//   - Min and Max are one of the numbers, with its type, in the order of CompareNumbers.
//   - Avg is the f64 next to the exact sum divided by how many numbers there are. It cannot overflow.
//
// So no result depends on the order in which a Store meets the versions.
type Aggregate struct {
	Query   Query // KeysOnly has no effect
	GroupBy GroupBy
	Of      Functions // at least one
}

// Functions is a set of functions of an Aggregate.
type Functions uint8

const (
	Count Functions = 1 << iota
	Sum
	Min
	Max
	Avg
)

// ofNumbers are the functions that need values.
const ofNumbers = Sum | Min | Max | Avg

// Grouping says what the versions of a group have in common.
type Grouping uint8

const (
	// OneGroup is a group of all versions. It is there even if it is empty.
	OneGroup Grouping = iota
	// ByColumn groups by column.
	ByColumn
	// ByRowLength groups by the first Length bytes of the row key. A shorter key is a group of its own.
	ByRowLength
	// ByRowDelimiter groups by the row key up to and with the first Delimiter. A key without one is a group
	// of its own. So a group's key, if it has a delimiter, is the prefix of exactly its rows.
	ByRowDelimiter
)

// GroupBy divides the versions of an Aggregate into groups.
type GroupBy struct {
	By        Grouping
	Length    int    // of ByRowLength, 1 to MaxRowKey
	Delimiter []byte // of ByRowDelimiter, 1 to MaxRowKey bytes
}

// Limits of the groups of an Aggregate. The request fails with too_many_groups if there are more.
const (
	MaxGroups = 10_000
	// MaxGroupBytes is for the keys of all groups.
	MaxGroupBytes = 16 << 20
)

// AggregateGroup is a group of an Aggregate. It has what was asked for.
type AggregateGroup struct {
	// Key is a column (cell.AppendColumn), or a part of a row key. It is nil for OneGroup.
	Key                []byte
	Count              int64
	Sum, Min, Max, Avg Number
}

// Number is a result of a function. The zero value is none.
type Number struct {
	Type  cell.Type
	Value []byte // encoded as Type says
}

// Aggregated is the result of an Aggregate: groups in the order of their keys, none of them empty but for OneGroup,
// and the cost and size of the query.
type Aggregated struct {
	Groups []AggregateGroup
	Stats  Stats
}

// Check returns an error if no view can evaluate a.
func (a *Aggregate) Check() error {
	switch g := &a.GroupBy; {
	case a.Of == 0 || a.Of > Avg<<1-1:
		return Errorf(Invalid, "invalid_function", "an aggregate needs at least one function")
	case g.By > ByRowDelimiter:
		return Errorf(Invalid, "invalid_group_by", "grouping %d is unknown", g.By)
	case g.By == ByRowLength && (g.Length < 1 || g.Length > MaxRowKey):
		return Errorf(Invalid, "invalid_group_by", "groups are by the first %d bytes of the row key, allowed are 1 to %d", g.Length, MaxRowKey)
	case g.By == ByRowDelimiter && (len(g.Delimiter) == 0 || len(g.Delimiter) > MaxRowKey):
		return Errorf(Invalid, "invalid_group_by", "delimiter has %d bytes, allowed are 1 to %d", len(g.Delimiter), MaxRowKey)
	}
	return nil
}

// Scan returns the query whose versions the functions need.
func (a *Aggregate) Scan() Query {
	q := a.Query
	q.KeysOnly = a.Of&ofNumbers == 0
	return q
}

// OfRow returns the key of a row's group, for ByRowLength and ByRowDelimiter. It is a part of row.
func (g *GroupBy) OfRow(row []byte) []byte {
	if g.By == ByRowLength {
		return row[:min(g.Length, len(row))]
	}
	if i := bytes.Index(row, g.Delimiter); i >= 0 {
		return row[:i+len(g.Delimiter)]
	}
	return row
}

// prefix reports whether all rows that begin with a group's key are of the group.
func (g *GroupBy) prefix(key []byte) bool {
	return g.By == ByRowLength && len(key) == g.Length || g.By == ByRowDelimiter && bytes.HasSuffix(key, g.Delimiter)
}

// TooManyGroups returns the error for an Aggregate with more groups than MaxGroups, or longer keys than
// MaxGroupBytes.
func TooManyGroups() *Error {
	return Errorf(Invalid, "too_many_groups", "there are more than %d groups, or their keys have more than %d bytes: select less, or group by a shorter prefix", MaxGroups, MaxGroupBytes)
}

// SumOverflow returns the error for a sum that its type cannot hold.
func SumOverflow(t cell.Type) *Error {
	return Errorf(Conflict, "overflow", "a sum is outside the range of %s: ask for avg, or group by less", t)
}

// AggregateView is an optional interface of a View that can add versions to an Aggregator where they are. Goroutines may call
// it at once.
type AggregateView interface {
	// Aggregate adds what q selects to t. It calls q.Yield as Scan and Next do; rows that it takes in one step count as a
	// chunk. After an error, t is of no use.
	Aggregate(ctx context.Context, q *Query, t *Aggregator) (Stats, error)
}

// AggregatorOf adds what a query selects to t: as the view does it if it is an AggregateView, otherwise from Rows.
func AggregatorOf(ctx context.Context, view View, q *Query, t *Aggregator) (Stats, error) {
	if v, ok := view.(AggregateView); ok {
		return v.Aggregate(ctx, q, t)
	}
	rows, err := view.Scan(ctx, q)
	if err != nil {
		return Stats{}, err
	}
	defer rows.Close()
	return AggregateRows(rows, t)
}

// AggregateRows adds a result to t.
func AggregateRows(rows Rows, t *Aggregator) (Stats, error) {
	for rows.Next() {
		if rows.First() {
			if err := t.BeginRow(rows.Row()); err != nil {
				return Stats{}, err
			}
		}
		if err := t.Add(rows.Cells()); err != nil {
			return Stats{}, err
		}
	}
	return rows.Stats(), rows.Err()
}

// RunAggregate evaluates an Aggregate over a view of any Store. It fails with too_many_groups of the kind Invalid, or
// with overflow of the kind Conflict, or as View.Scan does.
func RunAggregate(ctx context.Context, view View, a *Aggregate) (Aggregated, error) {
	if err := a.Check(); err != nil {
		return Aggregated{}, err
	}
	q, t := a.Scan(), NewAggregator(a)
	stats, err := AggregatorOf(ctx, view, &q, t)
	if err != nil {
		return Aggregated{}, err
	}
	groups, err := t.Groups()
	return Aggregated{groups, stats}, err
}
