package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Advice says which families should move to other locality groups, going by the queries that the server has answered
// since it was started. docs/api.md has more on the numbers (Advice).
type Advice struct {
	Since   Time         // when the count of queries began
	Moves   []MoveAdvice // what to do, in this order, each when the one before has arrived; empty if nothing is worth while
	Queries []QueryCount
	// OtherQueries are of further sets of families than Queries has.
	OtherQueries int64
}

// MoveAdvice is a move that would have saved something. Place is for MoveFamily.
type MoveAdvice struct {
	Family          string
	Place           string
	SavesBytes      int64 // that the Queries would have read less
	SavesPartitions int64 // that they would have opened less, negative for more
	Bytes           int64 // that the family has, about, without compression
}

// QueryCount is queries that could select from the same families, and what they have cost.
type QueryCount struct {
	Families         []string `json:"column_families"`
	Queries          int64    `json:"query_count"`
	PartitionsRead   int64    `json:"partitions_read"`
	BytesRead        int64    `json:"bytes_read"`
	BytesSteppedOver int64    `json:"bytes_stepped_over"`
}

// Advice returns advice for the table.
func (t *Table) Advice(ctx context.Context) (Advice, error) {
	var result struct {
		Since int64 `json:"since"`
		Moves []struct {
			Family          string          `json:"column_family"`
			Body            json.RawMessage `json:"body"`
			SavesBytes      int64           `json:"saves_bytes"`
			SavesPartitions int64           `json:"saves_partitions"`
			Bytes           int64           `json:"bytes"`
		} `json:"moves"`
		Queries      []QueryCount `json:"queries"`
		OtherQueries int64        `json:"other_query_count"`
	}
	if err := t.c.call(ctx, &request{class: read, method: http.MethodGet, path: t.path + "/advice"}, &result); err != nil {
		return Advice{}, err
	}
	a := Advice{Since: At(result.Since), Queries: result.Queries, OtherQueries: result.OtherQueries}
	for _, m := range result.Moves {
		var body struct {
			Place *string `json:"locality_group"`
		}
		if err := json.Unmarshal(m.Body, &body); err != nil {
			return Advice{}, malformed(err)
		}
		move := MoveAdvice{Family: m.Family, SavesBytes: m.SavesBytes, SavesPartitions: m.SavesPartitions, Bytes: m.Bytes}
		if body.Place != nil {
			move.Place = *body.Place
		}
		a.Moves = append(a.Moves, move)
	}
	return a, nil
}
