package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Changes of tables and families have no idempotency key. They are sent again only if the server says that
// nothing has happened, or was not reached. After an ErrOutcomeUnknown, look with Describe.

// Table is a table of a server. It is safe for concurrent use.
type Table struct {
	c    *Client
	name string
	path string
}

// Name returns the name of the table.
func (t *Table) Name() string { return t.name }

// Family is a column family.
type Family struct {
	Name string `json:"name"`
	GC   GC     `json:"gc_settings"`
	// DefaultGC, of a family to create, takes the default settings of its table in place of GC.
	DefaultGC bool `json:"-"`
	// Moving is how far it is on its way to another locality group, nil if it does not move.
	Moving *Move `json:"moving,omitempty"`
}

// Move is how far a family is on its way from one place to another: a locality group's ID, "" for the default
// partition. It counts what has moved since the move began or the server was started.
type Move struct {
	To    string `json:"locality_group"`
	From  string `json:"from"`
	Rows  int64  `json:"row_count"`
	Cells int64  `json:"cell_count"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error"` // why it does not get on at present, "" if it does
}

// NewGroup, as a place for MoveFamily, is a locality group of the family's own.
const NewGroup = "new"

// GC decides which versions of a family are garbage, which reads do not return. The zero GC keeps all.
type GC struct {
	TTLSecs      int64 // a version of this age is garbage; 0 is no limit
	VersionLimit int64 // so are all but the newest; 0 is no limit
	Intersection bool  // both reasons are needed, not just one
}

// gcJSON is a GC in the API.
type gcJSON struct {
	TTLSecs      *int64 `json:"ttl_secs"`
	VersionLimit *int64 `json:"version_limit"`
	Mode         string `json:"mode,omitempty"`
}

const intersection = "intersection"

// MarshalJSON returns the settings as the API has them.
func (g GC) MarshalJSON() ([]byte, error) {
	var j gcJSON
	if g.TTLSecs != 0 {
		j.TTLSecs = &g.TTLSecs
	}
	if g.VersionLimit != 0 {
		j.VersionLimit = &g.VersionLimit
	}
	if g.Intersection {
		j.Mode = intersection
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the settings as the API has them.
func (g *GC) UnmarshalJSON(text []byte) error {
	var j gcJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*g = GC{Intersection: j.Mode == intersection}
	if j.TTLSecs != nil {
		g.TTLSecs = *j.TTLSecs
	}
	if j.VersionLimit != nil {
		g.VersionLimit = *j.VersionLimit
	}
	return nil
}

// TableSpec is a table to create. The zero TableSpec has no families.
type TableSpec struct {
	Families []Family
	// Groups are the names of families that get a locality group of their own.
	Groups [][]string
}

// TableInfo describes a table.
type TableInfo struct {
	Name       string          `json:"name"`
	Families   []Family        `json:"column_families"`
	Groups     []LocalityGroup `json:"locality_groups"`
	Partitions []Partition     `json:"partitions"`
	DiskBytes  int64           `json:"disk_space_in_bytes"`
	// DeletionProtection keeps the table and its families from being deleted.
	DeletionProtection bool `json:"deletion_protection"`
	// DefaultGC is for families that are created with Family.DefaultGC.
	DefaultGC GC `json:"default_gc_settings"`
}

// LocalityGroup is families that are stored in a partition of their own.
type LocalityGroup struct {
	ID       string   `json:"id"`
	Families []string `json:"column_families"`
}

// Partition is a part of a table on disk. Tables leaves all but Name and Path empty.
type Partition struct {
	Name          string  `json:"name"`
	Path          string  `json:"path"`
	Levels        []Level `json:"levels"`
	Cells         int64   `json:"cells"` // versions and tombstones in files
	DiskBytes     int64   `json:"disk_space_in_bytes"`
	MemtableBytes int64   `json:"memtable_bytes"`
	// Compaction is how far Compact is, nil if it is not under way.
	Compaction *Compaction `json:"compaction"`
	Error      string      `json:"error"` // the damage, "" if there is none
}

// Compaction is how far the compaction of a whole partition is.
type Compaction struct {
	BytesLeft int64 `json:"bytes_left"` // of files that have not been rewritten
}

// Level is a level of a partition.
type Level struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// listing is the result of a listing of tables.
type listing struct {
	Cache  CacheStats `json:"cache_stats"`
	Tables struct {
		Items []TableInfo `json:"items"`
	} `json:"tables"`
}

// Tables describes all tables, by name.
func (c *Client) Tables(ctx context.Context) ([]TableInfo, error) {
	list, err := c.list(ctx)
	return list.Tables.Items, err
}

// CacheStats are what the server's block cache holds.
type CacheStats struct {
	Blocks int64 `json:"block_count"`
	Bytes  int64 `json:"memory_usage_in_bytes"`
}

// CacheStats returns what the server's block cache holds.
func (c *Client) CacheStats(ctx context.Context) (CacheStats, error) {
	list, err := c.list(ctx)
	return list.Cache, err
}

func (c *Client) list(ctx context.Context) (list listing, err error) {
	err = c.call(ctx, &request{class: read, method: http.MethodGet, path: "/v1/table"}, &list)
	return list, err
}

// Describe describes the table.
func (t *Table) Describe(ctx context.Context) (TableInfo, error) {
	var info TableInfo
	err := t.c.call(ctx, &request{class: read, method: http.MethodGet, path: t.path}, &info)
	return info, err
}

// Create creates the table, with all families or not at all.
func (t *Table) Create(ctx context.Context, spec TableSpec) error {
	return t.schema(ctx, http.MethodPut, "", struct {
		Families []newFamily `json:"column_families,omitempty"`
		Groups   [][]string  `json:"locality_groups,omitempty"`
	}{newFamiliesOf(spec.Families), spec.Groups})
}

// TableSettings are settings of a table to change. A nil field leaves its setting as it is.
type TableSettings struct {
	DeletionProtection *bool `json:"deletion_protection,omitempty"`
	DefaultGC          *GC   `json:"default_gc_settings,omitempty"`
}

// Configure changes settings of the table, all or none. DefaultGC is for families that are created with
// Family.DefaultGC from then on.
func (t *Table) Configure(ctx context.Context, settings TableSettings) error {
	return t.schema(ctx, http.MethodPatch, "", settings)
}

// Drop deletes the table. A protected one is an ErrConflict. A later table of the name starts empty.
func (t *Table) Drop(ctx context.Context) error { return t.schema(ctx, http.MethodDelete, "", nil) }

type newFamilies struct {
	Families []newFamily `json:"column_families"`
	Group    bool        `json:"locality_group,omitempty"`
}

// newFamily is a Family to create, in the API.
type newFamily struct {
	Name string `json:"name"`
	GC   *GC    `json:"gc_settings,omitempty"` // nil for the table's default
}

func newFamiliesOf(families []Family) (list []newFamily) {
	for _, f := range families {
		n := newFamily{Name: f.Name}
		if !f.DefaultGC {
			n.GC = &f.GC
		}
		list = append(list, n)
	}
	return list
}

// CreateFamilies creates families in the default partition, all or none.
func (t *Table) CreateFamilies(ctx context.Context, families ...Family) error {
	return t.schema(ctx, http.MethodPost, "/column-family", newFamilies{Families: newFamiliesOf(families)})
}

// CreateGroup creates families in a locality group of their own, all or none.
func (t *Table) CreateGroup(ctx context.Context, families ...Family) error {
	return t.schema(ctx, http.MethodPost, "/column-family", newFamilies{Families: newFamiliesOf(families), Group: true})
}

// SetGC replaces the settings of a family as a whole.
func (t *Table) SetGC(ctx context.Context, family string, gc GC) error {
	return t.schema(ctx, http.MethodPatch, "/column-family/"+url.PathEscape(family), struct {
		GC GC `json:"gc_settings"`
	}{gc})
}

// Garbage is rows with versions that GC would make garbage, those versions, and their bytes.
type Garbage struct {
	Rows  int64 `json:"row_count"`
	Cells int64 `json:"cell_count"`
	Bytes int64 `json:"bytes"`
}

// CountGarbage counts what reads would no longer return after SetGC, of what they return now. It changes nothing.
func (t *Table) CountGarbage(ctx context.Context, family string, gc GC) (Garbage, error) {
	body, err := json.Marshal(struct {
		GC     GC   `json:"gc_settings"`
		DryRun bool `json:"dry_run"`
	}{gc, true})
	if err != nil {
		return Garbage{}, err
	}
	var g Garbage
	r := &request{class: read, method: http.MethodPatch, path: t.path + "/column-family/" + url.PathEscape(family), body: body}
	err = t.c.call(ctx, r, &g)
	return g, err
}

// MoveFamily moves a family to a locality group by its ID, to NewGroup, or to the default partition for "". It
// returns when the move has begun; see Family.Moving. From where it comes, a family that moves goes back. Sending it
// to a third place is an ErrConflict.
func (t *Table) MoveFamily(ctx context.Context, family, place string) error {
	var group *string
	if place != "" {
		group = &place
	}
	return t.schema(ctx, http.MethodPatch, "/column-family/"+url.PathEscape(family), struct {
		Group *string `json:"locality_group"`
	}{group})
}

// Compact has the server rewrite all that it keeps of the table, without what no read can see: garbage, and what was
// deleted. It returns when that has begun; see Partition.Compaction.
func (t *Table) Compact(ctx context.Context) error {
	return t.schema(ctx, http.MethodPost, "/compact", nil)
}

// CompactGroup is Compact for a locality group by its ID, or for the default partition for "".
func (t *Table) CompactGroup(ctx context.Context, place string) error {
	var group *string
	if place != "" {
		group = &place
	}
	return t.schema(ctx, http.MethodPost, "/compact", struct {
		Group *string `json:"locality_group"`
	}{group})
}

// DropFamily deletes a family and its cells. A later family of the name starts empty.
func (t *Table) DropFamily(ctx context.Context, family string) error {
	return t.schema(ctx, http.MethodDelete, "/column-family/"+url.PathEscape(family), nil)
}

// schema sends a change of the schema. body is nil for none.
func (t *Table) schema(ctx context.Context, method, path string, body any) error {
	r := &request{class: once, method: method, path: t.path + path}
	if body != nil {
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return t.c.call(ctx, r, nil)
}
