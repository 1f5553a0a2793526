package server

import "net/http"

// compaction is the body of a request that compacts a table.
type compaction struct{ place *string }

var compactionFields = fields[compaction]{
	{"locality_group", optional, to(given(place), func(c *compaction) **string { return &c.place })},
}

var compactOperation = operation{
	does: "Has a table, or a locality group of it, rewritten without what no read can see.",
	body: compactionFields.schema(), without: true,
	answer: answer{status: http.StatusAccepted, result: nullSchema},
}

// compact is POST /v1/table/{table}/compact.
func (s *Server) compact(x *requestContext) error {
	var c compaction
	if err := x.decode(true, func(d *decoder) { compactionFields.read(d, &c) }); err != nil {
		return err
	}
	if err := s.store.Compact(x.ctx(), x.table, c.place); err != nil {
		return placed(err, placeAt)
	}
	return x.reply(http.StatusAccepted, "Compaction has begun")
}
