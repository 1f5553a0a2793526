package server

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// adviser is a fake store with advice of its own.
type adviser struct {
	*fakeStore
	advice widecol.Advice
}

func (s *adviser) Advice(context.Context, string) (widecol.Advice, error) { return s.advice, nil }

// TestAdvice: an answer has all that a Store says, and each body moves the family as it is.
func TestAdvice(t *testing.T) {
	store := &adviser{fakeStore: newFakeStore(), advice: widecol.Advice{
		Since: 1795846178402769,
		Moves: []widecol.AdvisedMove{
			{Family: "a", Place: widecol.NewGroup, SavesBytes: 5_000_000_000, SavesPartitions: -3, Bytes: 10},
			{Family: "b", Place: "1", SavesBytes: -1, SavesPartitions: 7, Bytes: 20},
			{Family: "c", Place: "", SavesBytes: 2},
		},
		Queries:   []widecol.QueryCosts{{Families: []string{"a", "b"}, Queries: 1, Partitions: 2, BytesRead: 3, BytesOver: 4}, {Queries: 5}},
		Others:    6,
		Families:  []widecol.FamilySize{{Family: "a", Bytes: 7}, {Family: "c", Place: "1", Bytes: 8}},
		Partition: 4096,
	}}
	c := clientOf(t, store, Options{})
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],"locality_groups":[["c","d"]]}`)
	result := c.must(200, "GET", "/v1/table/t/advice", "")
	c.same(result, `{"since":1795846178402769,"moves":[
		{"column_family":"a","body":{"locality_group":"new"},"saves_bytes":5000000000,"saves_partitions":-3,"bytes":10},
		{"column_family":"b","body":{"locality_group":"1"},"saves_bytes":-1,"saves_partitions":7,"bytes":20},
		{"column_family":"c","body":{"locality_group":null},"saves_bytes":2,"saves_partitions":0,"bytes":0}],
		"queries":[{"column_families":["a","b"],"query_count":1,"partitions_read":2,"bytes_read":3,"bytes_stepped_over":4},
		{"column_families":[],"query_count":5,"partitions_read":0,"bytes_read":0,"bytes_stepped_over":0}],
		"other_query_count":6,
		"column_families":[{"name":"a","locality_group":null,"bytes":7},{"name":"c","locality_group":"1","bytes":8}],
		"bytes_per_partition":4096}`)
	var advice struct {
		Moves []struct {
			Family string `json:"column_family"`
			Body   json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &advice); err != nil {
		t.Fatal(err)
	}
	for _, m := range advice.Moves {
		c.must(200, "PATCH", "/v1/table/t/column-family/"+m.Family, string(m.Body))
	}
	contains(t, string(c.must(200, "GET", "/v1/table/t", "")), `"locality_groups":[{"id":"1","column_families":["d","b"]},{"id":"2","column_families":["a"]}]`)
}
