package server

import (
	"net/http"

	"github.com/colonnade-db/colonnade/widecol"
)

var adviceOperation = operation{
	does: "Says which column families should move to another locality group, going by the queries so far.",
	answer: answer{status: http.StatusOK, result: objectOf(schema{
		"since": timeSchema,
		"moves": listSchema(objectOf(schema{
			"column_family": textSchema, "body": objectOf(schema{"locality_group": placeSchema}),
			"saves_bytes": signedSchema, "saves_partitions": signedSchema, "bytes": countSchema,
		})),
		"queries": listSchema(objectOf(schema{
			"column_families": listSchema(textSchema), "query_count": countSchema, "partitions_read": countSchema,
			"bytes_read": countSchema, "bytes_stepped_over": countSchema,
		})),
		"other_query_count":   countSchema,
		"column_families":     listSchema(objectOf(schema{"name": textSchema, "locality_group": placeSchema, "bytes": countSchema})),
		"bytes_per_partition": countSchema,
	})},
}

var signedSchema = schema{"type": "integer"}

// advice is GET /v1/table/{table}/advice.
func (s *Server) advice(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	a, err := s.store.Advice(x.ctx(), x.table)
	if err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"since":`, a.Since)
	x.out = append(x.out, `,"moves":[`...)
	for i := range a.Moves {
		x.comma(i)
		x.appendAdvisedMove(&a.Moves[i])
	}
	x.out = append(x.out, `],"queries":[`...)
	for i := range a.Queries {
		x.comma(i)
		x.appendQueryCosts(&a.Queries[i])
	}
	x.out = appendField(x.out, `],"other_query_count":`, a.Others)
	x.out = append(x.out, `,"column_families":[`...)
	for i, f := range a.Families {
		x.comma(i)
		x.out = appendString(append(x.out, `{"name":`...), f.Family)
		x.out = appendPlace(append(x.out, `,"locality_group":`...), f.Place)
		x.out = append(appendField(x.out, `,"bytes":`, f.Bytes), '}')
	}
	x.out = append(appendField(x.out, `],"bytes_per_partition":`, a.Partition), '}')
	return x.finish("Advice made successfully")
}

// appendAdvisedMove appends a move, with the body of the request that makes it.
func (x *requestContext) appendAdvisedMove(m *widecol.AdvisedMove) {
	x.out = appendString(append(x.out, `{"column_family":`...), m.Family)
	x.out = appendPlace(append(x.out, `,"body":{"locality_group":`...), m.Place)
	x.out = appendField(x.out, `},"saves_bytes":`, m.SavesBytes)
	x.out = appendField(x.out, `,"saves_partitions":`, m.SavesPartitions)
	x.out = append(appendField(x.out, `,"bytes":`, m.Bytes), '}')
}

// appendQueryCosts appends what the queries of a set of families cost.
func (x *requestContext) appendQueryCosts(q *widecol.QueryCosts) {
	x.out = append(x.out, `{"column_families":[`...)
	for i, name := range q.Families {
		x.comma(i)
		x.out = appendString(x.out, name)
	}
	x.out = appendField(x.out, `],"query_count":`, q.Queries)
	x.out = appendField(x.out, `,"partitions_read":`, q.Partitions)
	x.out = appendField(x.out, `,"bytes_read":`, q.BytesRead)
	x.out = append(appendField(x.out, `,"bytes_stepped_over":`, q.BytesOver), '}')
}
