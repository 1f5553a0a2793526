package server

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/colonnade-db/colonnade/widecol"
)

var tableSpecFields = fields[widecol.TableSpec]{
	{"column_families", optional, to(familyList, func(s *widecol.TableSpec) *[]widecol.Family { return &s.Families })},
	{"locality_groups", optional, to(listOf(listOf(text)), func(s *widecol.TableSpec) *[][]string { return &s.Groups })},
}

var createTableOperation = operation{
	does: "Creates a table.", body: tableSpecFields.schema(), without: true,
	answer: answer{status: http.StatusCreated, result: nullSchema}, refuses: []int{http.StatusConflict},
}

// createTable is PUT /v1/table/{table}.
func (s *Server) createTable(x *requestContext) error {
	var spec widecol.TableSpec
	if err := x.decode(true, func(d *decoder) { tableSpecFields.read(d, &spec) }); err != nil {
		return err
	}
	if err := spec.Check(); err != nil {
		return placed(err, familyAt)
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.CreateTable(ctx, x.table, spec); err != nil {
		return err
	}
	return x.reply(http.StatusCreated, "Table created successfully")
}

var tableChangeFields = fields[widecol.TableChange]{
	{"deletion_protection", some, to(given(boolean), func(c *widecol.TableChange) **bool { return &c.Protected })},
	{"default_gc_settings", some, to(given(gcSettings), func(c *widecol.TableChange) **widecol.GC { return &c.DefaultGC })},
}

var alterTableOperation = operation{
	does: "Changes the settings of a table.", body: tableChangeFields.schema(),
	answer: answer{status: http.StatusOK, result: nullSchema},
}

// alterTable is PATCH /v1/table/{table}.
func (s *Server) alterTable(x *requestContext) error {
	var change widecol.TableChange
	if err := x.decode(false, func(d *decoder) { tableChangeFields.read(d, &change) }); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.AlterTable(ctx, x.table, change); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "Table updated successfully")
}

var dropTableOperation = operation{does: "Deletes a table.", answer: deleted, refuses: []int{http.StatusConflict}}

// deleted is what accepted answers.
var deleted = answer{status: http.StatusAccepted, result: objectOf(schema{"micros": microsSchema})}

// dropTable is DELETE /v1/table/{table}.
func (s *Server) dropTable(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	ctx, cancel := x.changeContext()
	defer cancel()
	if err := s.store.DropTable(ctx, x.table); err != nil {
		return err
	}
	return x.accepted("Table deleted successfully")
}

// accepted responds to a deletion. It is visible at once; its space is freed later.
func (x *requestContext) accepted(message string) error {
	x.begin(http.StatusAccepted)
	x.out = appendField(x.out, `{"micros":`, x.elapsed().Microseconds())
	x.out = append(x.out, '}')
	return x.finish(message)
}

var listTablesOperation = operation{
	does: "Lists all tables.",
	answer: answer{status: http.StatusOK, result: objectOf(schema{
		"cache_stats": objectOf(schema{"block_count": countSchema, "memory_usage_in_bytes": countSchema}),
		"tables":      objectOf(schema{"count": countSchema, "items": listSchema(tableSchema(objectOf(schema{"name": textSchema, "path": textSchema})))}),
	})},
}

// listTables is GET /v1/table.
func (s *Server) listTables(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	tables, err := s.store.Tables(x.ctx())
	if err != nil {
		return err
	}
	cache := s.store.CacheStats()
	x.begin(http.StatusOK)
	x.out = appendField(x.out, `{"cache_stats":{"block_count":`, cache.BlockCount)
	x.out = appendField(x.out, `,"memory_usage_in_bytes":`, cache.Bytes)
	tables = slices.DeleteFunc(tables, func(t widecol.Table) bool { return !x.sees(t.Name) })
	x.out = appendField(x.out, `},"tables":{"count":`, int64(len(tables)))
	x.out = append(x.out, `,"items":[`...)
	for i := range tables {
		x.comma(i)
		x.appendTable(&tables[i], false)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, "]}}"...)
	return x.finish("Tables retrieved successfully")
}

var describeTableOperation = operation{
	does: "Describes a table and what its partitions are made of.",
	answer: answer{status: http.StatusOK, result: tableSchema(objectOf(schema{
		"name": textSchema, "path": textSchema,
		"levels": listSchema(objectOf(schema{"files": countSchema, "bytes": countSchema})),
		"cells":  countSchema, "disk_space_in_bytes": countSchema, "memtable_bytes": countSchema,
		"compaction": orNull(objectOf(schema{"bytes_left": countSchema})), "error": orNull(textSchema),
	}))},
}

// describeTable is GET /v1/table/{table}.
func (s *Server) describeTable(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	table, err := s.store.Table(x.ctx(), x.table)
	if err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.appendTable(&table, true)
	return x.finish("Table retrieved successfully")
}

// appendTable appends a table. With detailed, it includes the statistics of the partitions.
func (x *requestContext) appendTable(t *widecol.Table, detailed bool) {
	x.out = append(x.out, `{"name":`...)
	x.out = appendString(x.out, t.Name)
	x.out = append(x.out, `,"column_families":[`...)
	for i, f := range t.Families {
		x.comma(i)
		x.appendFamily(f, t.Moves)
	}
	x.out = append(x.out, `],"locality_groups":[`...)
	for i, g := range t.Groups {
		x.comma(i)
		x.out = append(x.out, `{"id":`...)
		x.out = appendString(x.out, g.ID)
		x.out = append(x.out, `,"column_families":[`...)
		for i, name := range g.Families {
			x.comma(i)
			x.out = appendString(x.out, name)
		}
		x.out = append(x.out, "]}"...)
	}
	x.out = append(x.out, `],"partitions":[`...)
	for i := range t.Partitions {
		x.comma(i)
		x.appendPartition(&t.Partitions[i], detailed)
	}
	x.out = appendField(x.out, `],"disk_space_in_bytes":`, t.DiskBytes)
	x.appendTableSettings(t.Settings)
	x.out = append(x.out, '}')
}

// appendTableSettings appends the settings that were changed.
func (x *requestContext) appendTableSettings(s widecol.TableSettings) {
	if s.Protected {
		x.out = append(x.out, `,"deletion_protection":true`...)
	}
	if s.DefaultGC != (widecol.GC{}) {
		x.out = append(x.out, `,"default_gc_settings":`...)
		x.appendGC(s.DefaultGC)
	}
}

func (x *requestContext) appendFamily(f widecol.Family, moves []widecol.Move) {
	x.out = append(x.out, `{"name":`...)
	x.out = appendString(x.out, f.Name)
	x.out = append(x.out, `,"gc_settings":`...)
	x.appendGC(f.GC)
	if i := slices.IndexFunc(moves, func(m widecol.Move) bool { return m.Family == f.Name }); i >= 0 {
		x.out = append(x.out, `,"moving":`...)
		x.appendMove(&moves[i])
	}
	x.out = append(x.out, '}')
}

func (x *requestContext) appendGC(gc widecol.GC) {
	x.out = append(x.out, `{"ttl_secs":`...)
	x.out = appendSetting(x.out, gc.TTLSecs)
	x.out = append(x.out, `,"version_limit":`...)
	x.out = appendSetting(x.out, gc.VersionLimit)
	if gc.Intersection {
		x.out = append(x.out, `,"mode":"intersection"`...)
	}
	x.out = append(x.out, '}')
}

func (x *requestContext) appendPartition(p *widecol.Partition, detailed bool) {
	x.out = append(x.out, `{"name":`...)
	x.out = appendString(x.out, p.Name)
	x.out = append(x.out, `,"path":`...)
	x.out = appendString(x.out, p.Path)
	if detailed {
		x.out = append(x.out, `,"levels":[`...)
		for i, l := range p.Stats.Levels {
			x.comma(i)
			x.out = appendField(x.out, `{"files":`, int64(l.Files))
			x.out = appendField(x.out, `,"bytes":`, l.Bytes)
			x.out = append(x.out, '}')
		}
		x.out = appendField(x.out, `],"cells":`, int64(p.Stats.Cells))
		x.out = appendField(x.out, `,"disk_space_in_bytes":`, p.Stats.DiskBytes)
		x.out = appendField(x.out, `,"memtable_bytes":`, p.Stats.MemtableBytes)
		x.out = append(x.out, `,"compaction":`...)
		if p.Stats.Compacting {
			x.out = append(appendField(x.out, `{"bytes_left":`, p.Stats.CompactionLeft), '}')
		} else {
			x.out = append(x.out, "null"...)
		}
		x.out = append(x.out, `,"error":`...)
		if p.Stats.Err == nil {
			x.out = append(x.out, "null"...)
		} else {
			x.out = appendString(x.out, p.Stats.Err.Error())
		}
	}
	x.out = append(x.out, '}')
}

// comma appends a comma before every list element but the first.
func (x *requestContext) comma(i int) {
	if i > 0 {
		x.out = append(x.out, ',')
	}
}

// appendField appends a number after a literal that ends with the field's name.
func appendField(dst []byte, literal string, n int64) []byte {
	return strconv.AppendInt(append(dst, literal...), n, 10)
}

// appendSetting appends a setting, null for 0.
func appendSetting(dst []byte, n int64) []byte {
	if n == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, n, 10)
}
