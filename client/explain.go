package client

import (
	"context"
	"net/http"
	"time"
)

// Explanation is what the server does for a query: what it reads, what it leaves out, and why it ends. docs/api.md
// has more on the numbers (Explaining a read). They are for people, and may change with any release.
type Explanation struct {
	Rows struct {
		Scanned  int64 `json:"scanned"`
		Returned int64 `json:"returned"`
	} `json:"rows"`
	Cells struct {
		Scanned    int64            `json:"scanned"`
		Returned   int64            `json:"returned"`
		Tombstones int64            `json:"tombstones"`
		Dropped    map[string]int64 `json:"dropped"` // versions, by why
	} `json:"cells"`
	PushedDown []string               `json:"pushed_down"` // parts of the query that leave out what need not be read
	Checked    []string               `json:"checked"`     // parts that are checked on each cell read
	Ended      map[string]int64       `json:"ended"`       // how many queries ended why
	Partitions []PartitionExplanation `json:"partitions"`
	Micros     struct {
		Receive int64 `json:"receive"`
		Open    int64 `json:"open"`
		Read    int64 `json:"read"`
		Write   int64 `json:"write"`
		Total   int64 `json:"total"`
	} `json:"micros"`
}

// Took returns the time in the server.
func (e *Explanation) Took() time.Duration { return micros(e.Micros.Total) }

// PartitionExplanation is what was read of a partition.
type PartitionExplanation struct {
	Name         string             `json:"name"`
	CellsScanned int64              `json:"cells_scanned"`
	BytesScanned int64              `json:"bytes_scanned"`
	Memtables    int64              `json:"memtables"`
	Levels       []LevelExplanation `json:"levels"` // those with files, the newest first
}

// LevelExplanation is what was read of a level.
type LevelExplanation struct {
	Level             int              `json:"level"`
	Files             int64            `json:"files"`
	FilesRead         int64            `json:"files_read"`
	FilesLeftOut      map[string]int64 `json:"files_left_out"` // by why
	BloomFiltersAsked int64            `json:"bloom_filters_asked"`
	Blocks            BlockCounts      `json:"blocks"`
	ValueBlocks       BlockCounts      `json:"value_blocks"`
	BlocksLeftOut     map[string]int64 `json:"blocks_left_out"` // by why
	BytesDecompressed int64            `json:"bytes_decompressed"`
}

// BlockCounts counts blocks.
type BlockCounts struct {
	Read   int64 `json:"read"`   // from files
	Cached int64 `json:"cached"` // taken from the cache
}

// Explain runs a scan, and returns what the server did for it instead of the rows.
func (t *Table) Explain(ctx context.Context, q Query) (Explanation, error) {
	body := q.append(nil)
	body = append(body[:len(body)-1], `,"explain":"only"}`...)
	var result struct {
		Explain Explanation `json:"explain"`
	}
	err := t.c.call(ctx, &request{class: read, method: http.MethodPost, path: t.path + "/scan", body: body}, &result)
	return result.Explain, err
}
