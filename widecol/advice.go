package widecol

// Advice says which moves of families would have made the queries of a table cheaper, and on what evidence.
//
// A query reads the families that it can select from, and steps over the others that share their partitions. Bytes
// read are those of the blocks that it used, without compression and whether cached or not; where it used few rows of
// a block, only theirs. A Store may count less than all queries, and may forget what it has counted, as when it is
// closed: that changes its advice and nothing else.
type Advice struct {
	Since     int64 // the queries counted began after this time, microseconds since the Unix epoch
	Moves     []AdvisedMove
	Queries   []QueryCosts // by the set of families, those that read most first
	Others    int64        // queries of sets that there was no room to count
	Families  []FamilySize // all of the table, by name
	Partition int64        // bytes that a partition opened counts as
}

// AdvisedMove is a family that should move. MoveFamily takes it, after the moves before it in the list have ended.
type AdvisedMove struct {
	Family string
	Place  string // as for MoveFamily
	// What the queries would have read and opened less, with the moves before it in the list made; negative for more.
	SavesBytes, SavesPartitions int64
	Bytes                       int64 // to move, about
}

// QueryCosts counts the queries that could select from the same families.
type QueryCosts struct {
	Families   []string // by name
	Queries    int64    // the parts of a divided query are queries
	Partitions int64    // that they opened: each of theirs for each range of rows
	BytesRead  int64
	BytesOver  int64 // of these, about how many are of families that they cannot select from
}

// FamilySize is about how much a family has in its partition.
type FamilySize struct {
	Family string
	Place  string
	Bytes  int64 // of blocks without compression
}
