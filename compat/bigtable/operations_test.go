package bigtable

import (
	"fmt"
	"math/rand/v2"
	"slices"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// generator makes random operations on the tables of an instance. Keys, columns, times and values are few, so that
// operations meet.
type generator struct {
	*rand.Rand
	instance string
	made     int           // columns of their own
	again    proto.Message // a ReadModifyWriteRow that comes again
}

func newGenerator(seed uint64, instance string) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 0)), instance, 0, nil}
}

var (
	rowKeys    = []string{"a", "a\x00", "b", "r1", "r10", "r2", "\x00", "\xc3\xa9", "\xff\xff"}
	families   = []string{"a", "b", "Z", "versions", "age", "union", "both"}
	aggregates = []string{"sum", "min", "max"}
	qualifiers = []string{"", "p", "q", "q1", "\xff\n"}
	values     = []string{"", "x", "y", "xy", "\xff", "a\nb", "\x00\x00\x00\x00\x00\x00\x00\x05", "\xff\xff\xff\xff\xff\xff\xff\xff"}
	patterns   = []string{".*", "", "x", "[px]", "r1", "r1.*", "a|b", "(?i)X|Q", "\\C*", "\\C", ".+\\C", "[^a]", "\xff", "\\xff.?", "\xc3\xa9", "q\\d?", "\\Qx\\E", "(", "*", "[a", "a:b"}
	labels     = []string{"l", "label-1", "fifteen-letters", "sixteen-letters-", "Upper", ""}
)

func one[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// often reports true n times of 100.
func (g *generator) often(n int) bool { return g.IntN(100) < n }

func (g *generator) row() []byte {
	if g.often(1) {
		return make([]byte, g.IntN(2)*5000) // none, and too long
	}
	return []byte(one(g, rowKeys))
}

func (g *generator) family() string {
	switch {
	case g.often(3):
		return "none"
	case g.often(4):
		return "f1" // which comes and goes
	case g.often(3):
		return one(g, aggregates)
	}
	return one(g, families)
}

func (g *generator) qualifier() []byte { return []byte(one(g, qualifiers)) }

// noTable ends the name of a table that is not there.
const noTable = "/tables/none"

func (g *generator) table() string {
	if g.often(1) {
		return g.instance + noTable
	}
	return g.instance + "/tables/t"
}

// first returns the operation that creates the table.
func (g *generator) first() proto.Message {
	day, two := &durationpb.Duration{Seconds: 86400}, int32(2)
	age, versions := &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: day}}, &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: two}}
	both := []*adminpb.GcRule{age, versions}
	m := map[string]*adminpb.ColumnFamily{
		"a": {}, "b": {}, "Z": {}, "versions": {GcRule: versions}, "age": {GcRule: age},
		"union": {GcRule: &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: both}}}},
		"both":  {GcRule: &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: both}}}},
	}
	for _, name := range aggregates {
		m[name] = &adminpb.ColumnFamily{ValueType: aggregateType(name)}
	}
	return &adminpb.CreateTableRequest{Parent: g.instance, TableId: "t", Table: &adminpb.Table{ColumnFamilies: m}}
}

func aggregateType(name string) *adminpb.Type {
	a := &adminpb.Type_Aggregate{InputType: &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{}}}}
	switch name {
	case "sum":
		a.Aggregator = &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}
	case "min":
		a.Aggregator = &adminpb.Type_Aggregate_Min_{Min: &adminpb.Type_Aggregate_Min{}}
	case "max":
		a.Aggregator = &adminpb.Type_Aggregate_Max_{Max: &adminpb.Type_Aggregate_Max{}}
	}
	return &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: a}}
}

// next returns a random operation.
func (g *generator) next() proto.Message {
	if again := g.again; again != nil {
		g.again = nil // once more in the same millisecond, if they are fast
		return again
	}
	switch n := g.IntN(100); {
	case n < 25:
		return &btpb.MutateRowRequest{TableName: g.table(), RowKey: g.row(), Mutations: g.mutations(5)}
	case n < 33:
		r := &btpb.MutateRowsRequest{TableName: g.table()}
		for range g.IntN(6) {
			r.Entries = append(r.Entries, &btpb.MutateRowsRequest_Entry{RowKey: g.row(), Mutations: g.mutations(3)})
		}
		if len(r.Entries) > 0 && len(r.Entries[0].Mutations) == 0 {
			r.Entries[0].Mutations = []*btpb.Mutation{g.mutation()}
		}
		return r
	case n < 45:
		return g.checkAndMutate()
	case n < 53:
		r := g.readModifyWrite()
		if g.often(30) {
			g.again = r
		}
		return r
	case n < 89:
		return g.read()
	case n < 90:
		return &btpb.SampleRowKeysRequest{TableName: g.table()}
	case n < 91:
		return &btpb.PingAndWarmRequest{Name: g.instance}
	}
	return g.administration()
}

func (g *generator) mutations(most int) (list []*btpb.Mutation) {
	for range min(g.IntN(most+1), most) {
		list = append(list, g.mutation())
	}
	if len(list) == 0 && g.often(90) {
		list = append(list, g.mutation())
	}
	return list
}

func (g *generator) mutation() *btpb.Mutation {
	switch n := g.IntN(100); {
	case n < 60:
		return g.setCell()
	case n < 72:
		name := one(g, aggregates)
		if g.often(4) {
			name = g.family()
		}
		column, at := rawValue(g.qualifier()), &btpb.Value{Kind: &btpb.Value_RawTimestampMicros{RawTimestampMicros: g.aggregateTime()}}
		if g.often(70) {
			return &btpb.Mutation{Mutation: &btpb.Mutation_AddToCell_{AddToCell: &btpb.Mutation_AddToCell{
				FamilyName: name, ColumnQualifier: column, Timestamp: at, Input: &btpb.Value{Kind: &btpb.Value_IntValue{IntValue: int64(g.IntN(20) - 10)}}}}}
		}
		return &btpb.Mutation{Mutation: &btpb.Mutation_MergeToCell_{MergeToCell: &btpb.Mutation_MergeToCell{
			FamilyName: name, ColumnQualifier: column, Timestamp: at, Input: rawValue([]byte(values[len(values)-1-g.IntN(2)]))}}}
	case n < 86:
		d := &btpb.Mutation_DeleteFromColumn{FamilyName: g.family(), ColumnQualifier: g.qualifier()}
		if g.often(60) {
			d.TimeRange = g.times()
		}
		return &btpb.Mutation{Mutation: &btpb.Mutation_DeleteFromColumn_{DeleteFromColumn: d}}
	case n < 94:
		return &btpb.Mutation{Mutation: &btpb.Mutation_DeleteFromFamily_{DeleteFromFamily: &btpb.Mutation_DeleteFromFamily{FamilyName: g.family()}}}
	case n < 99:
		return &btpb.Mutation{Mutation: &btpb.Mutation_DeleteFromRow_{DeleteFromRow: &btpb.Mutation_DeleteFromRow{}}}
	}
	return &btpb.Mutation{}
}

func rawValue(b []byte) *btpb.Value { return &btpb.Value{Kind: &btpb.Value_RawValue{RawValue: b}} }

// aggregateTime is never that of the server, which theirs refuses.
func (g *generator) aggregateTime() int64 {
	if g.often(4) {
		return 1500
	}
	return 1000 * int64(g.IntN(3))
}

func (g *generator) setCell() *btpb.Mutation {
	set := &btpb.Mutation_SetCell{FamilyName: g.family(), ColumnQualifier: g.qualifier(), TimestampMicros: 1000 * int64(g.IntN(6)), Value: []byte(one(g, values))}
	m := &btpb.Mutation{Mutation: &btpb.Mutation_SetCell_{SetCell: set}}
	switch {
	case g.often(8): // a column of its own: whether two are of one millisecond, chance decides
		g.made++
		set.TimestampMicros, set.ColumnQualifier = -1, fmt.Appendf(nil, "now%d", g.made)
	case g.often(2):
		set.TimestampMicros = 1500
	case g.often(3):
		set.TimestampMicros, m.TimestampOrigin = 2500, btpb.Mutation_CLIENT_AUTO_GENERATED
	case g.often(1):
		set.TimestampMicros = -5
	}
	return m
}

func (g *generator) times() *btpb.TimestampRange {
	r := &btpb.TimestampRange{StartTimestampMicros: 1000 * int64(g.IntN(5))}
	r.EndTimestampMicros = r.StartTimestampMicros + 1000*int64(1+g.IntN(3))
	switch {
	case g.often(15):
		r.EndTimestampMicros = 0
	case g.often(3):
		r.StartTimestampMicros += 500
	case g.often(3):
		r.EndTimestampMicros = r.StartTimestampMicros - 1000
	}
	return r
}

func (g *generator) checkAndMutate() proto.Message {
	r := &btpb.CheckAndMutateRowRequest{TableName: g.table(), RowKey: g.row()}
	if g.often(80) {
		r.PredicateFilter = g.filter(3)
	}
	if g.often(80) {
		r.TrueMutations = g.mutations(3)
	}
	if g.often(60) {
		r.FalseMutations = g.mutations(3)
	}
	return r
}

func (g *generator) readModifyWrite() proto.Message {
	r := &btpb.ReadModifyWriteRowRequest{TableName: g.table(), RowKey: g.row()}
	for range 1 + g.IntN(3) {
		rule := &btpb.ReadModifyWriteRule{FamilyName: g.family(), ColumnQualifier: g.qualifier()}
		switch {
		case g.often(50):
			rule.ColumnQualifier = append(rule.ColumnQualifier, 'n') // of numbers
			rule.Rule = &btpb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: int64(g.IntN(9) - 4)}
		case g.often(20):
			rule.Rule = &btpb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: 1 << 62}
		case g.often(98):
			rule.Rule = &btpb.ReadModifyWriteRule_AppendValue{AppendValue: []byte(one(g, values))}
		}
		r.Rules = append(r.Rules, rule)
	}
	if g.often(3) {
		r.Rules = nil
	}
	return r
}

func (g *generator) read() proto.Message {
	r := &btpb.ReadRowsRequest{TableName: g.table(), Reversed: g.often(25)}
	if g.often(50) {
		r.Rows = g.rows()
	}
	if g.often(85) {
		r.Filter = g.filter(4)
	}
	switch {
	case g.often(30):
		r.RowsLimit = int64(1 + g.IntN(4))
	case g.often(2):
		r.RowsLimit = -1
	}
	if g.often(20) {
		r.RequestStatsView = btpb.ReadRowsRequest_REQUEST_STATS_FULL
	}
	return r
}

func (g *generator) rows() *btpb.RowSet {
	set := new(btpb.RowSet)
	for range g.IntN(3) {
		set.RowKeys = append(set.RowKeys, g.row())
	}
	for range g.IntN(3) {
		start, end := []byte(one(g, rowKeys)), []byte(one(g, rowKeys))
		if slices.Compare(start, end) > 0 && g.often(95) {
			start, end = end, start
		}
		r := new(btpb.RowRange)
		switch g.IntN(5) {
		case 0, 1:
			r.StartKey = &btpb.RowRange_StartKeyClosed{StartKeyClosed: start}
		case 2, 3:
			r.StartKey = &btpb.RowRange_StartKeyOpen{StartKeyOpen: start}
		}
		switch g.IntN(5) {
		case 0, 1:
			r.EndKey = &btpb.RowRange_EndKeyClosed{EndKeyClosed: end}
		case 2, 3:
			r.EndKey = &btpb.RowRange_EndKeyOpen{EndKeyOpen: end}
		}
		set.RowRanges = append(set.RowRanges, r)
	}
	return set
}

// administration returns an operation on tables and families.
func (g *generator) administration() proto.Message {
	switch g.IntN(9) {
	case 0:
		return g.createTable()
	case 1:
		return &adminpb.ListTablesRequest{Parent: g.instance, PageSize: int32(g.IntN(3)), PageToken: one(g, []string{"", "", "t", "t1"})}
	case 2:
		return &adminpb.GetTableRequest{Name: g.table()}
	case 3:
		return &adminpb.DeleteTableRequest{Name: g.instance + "/tables/t" + fmt.Sprint(1+g.IntN(3))}
	case 4:
		r := &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: g.instance + "/tables/t" + fmt.Sprint(1+g.IntN(3)), DeletionProtection: g.often(50)}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection"}}}
		if g.often(20) {
			r.UpdateMask.Paths[0] = "granularity"
		}
		return r
	case 5:
		return &adminpb.GenerateConsistencyTokenRequest{Name: g.table()}
	case 6:
		if g.often(20) {
			return &adminpb.DropRowRangeRequest{Name: g.table(), Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: g.often(80)}}
		}
		return &adminpb.DropRowRangeRequest{Name: g.table(), Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte(one(g, []string{"a", "r1", "\xff", "z", ""}))}}
	}
	return g.modifyFamilies()
}

func (g *generator) createTable() proto.Message {
	r := &adminpb.CreateTableRequest{Parent: g.instance, TableId: "t" + fmt.Sprint(1+g.IntN(3)), Table: &adminpb.Table{DeletionProtection: g.often(20), Granularity: adminpb.Table_MILLIS}}
	r.Table.ColumnFamilies = map[string]*adminpb.ColumnFamily{"a": {GcRule: g.rule()}}
	if g.often(10) {
		r.Table.Granularity = adminpb.Table_MICROS
	}
	return r
}

func (g *generator) rule() *adminpb.GcRule {
	switch g.IntN(3) {
	case 0:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(g.IntN(4))}}
	case 1:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: &durationpb.Duration{Seconds: int64(g.IntN(3)) * 86400}}}
	}
	return nil
}

func (g *generator) modifyFamilies() proto.Message {
	r := &adminpb.ModifyColumnFamiliesRequest{Name: g.table()}
	if g.often(20) {
		r.Name = g.instance + "/tables/t1" // which may be protected
	}
	for range 1 + g.IntN(2) {
		m := &adminpb.ModifyColumnFamiliesRequest_Modification{Id: one(g, []string{"f1", "f1", "f1", "f2", "a", "sum"})}
		switch n := g.IntN(10); {
		case n < 4:
			m.Mod = &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{GcRule: g.rule()}}
		case n < 7 && m.Id != "a" && m.Id != "sum":
			m.Mod = &adminpb.ModifyColumnFamiliesRequest_Modification_Drop{Drop: true}
		case n < 9:
			m.Mod = &adminpb.ModifyColumnFamiliesRequest_Modification_Update{Update: &adminpb.ColumnFamily{GcRule: g.rule()}}
			if m.Id == "sum" {
				m.Mod = &adminpb.ModifyColumnFamiliesRequest_Modification_Update{Update: &adminpb.ColumnFamily{ValueType: aggregateType("max")}}
				m.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"value_type"}}
			}
		}
		r.Modifications = append(r.Modifications, m)
	}
	return r
}
