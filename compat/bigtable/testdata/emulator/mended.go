package bttest

// This file is copied into Google's emulator. The differences of differences_test.go call what is in it.

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	btapb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var kept = strings.Fields(os.Getenv("EMULATOR_KEEPS"))

// mended reports whether a difference is mended. It stays if the environment names it.
func mended(difference string) bool { return !slices.Contains(kept, difference) }

func wrong(what string) error { return status.Error(codes.InvalidArgument, what) }

// Requests to read.

func checkRead(req *btpb.ReadRowsRequest) error {
	if mended("row-sets") {
		for _, key := range req.GetRows().GetRowKeys() {
			if len(key) == 0 || len(key) > 4096 {
				return wrong("row key")
			}
		}
		for _, r := range req.GetRows().GetRowRanges() {
			if emptyRange(r) {
				return wrong("row range")
			}
		}
	}
	if mended("late-filters") {
		if err := checkFilter(req.Filter, false); err != nil {
			return err
		}
	}
	if mended("rows-limit") && req.RowsLimit < 0 {
		return wrong("rows_limit")
	}
	return nil
}

func emptyRange(r *btpb.RowRange) bool {
	var start, end []byte
	closed := 0
	switch b := r.StartKey.(type) {
	case *btpb.RowRange_StartKeyClosed:
		start = b.StartKeyClosed
		closed++
	case *btpb.RowRange_StartKeyOpen:
		start = b.StartKeyOpen
	}
	switch b := r.EndKey.(type) {
	case *btpb.RowRange_EndKeyClosed:
		end = b.EndKeyClosed
		closed++
	case *btpb.RowRange_EndKeyOpen:
		end = b.EndKeyOpen
	}
	c := bytes.Compare(start, end)
	return len(start) > 0 && len(end) > 0 && (c > 0 || c == 0 && closed < 2)
}

// Filters.

// checkFilter checks a filter before a row is there.
func checkFilter(f *btpb.RowFilter, inCondition bool) error {
	if f == nil {
		return nil
	}
	if mended("lax-filters") {
		if err := checkStrictly(f, inCondition); err != nil {
			return err
		}
	}
	var below []*btpb.RowFilter
	switch op := f.Filter.(type) {
	case *btpb.RowFilter_Chain_:
		below = op.Chain.Filters
		if len(below) < 2 {
			return wrong("chain")
		}
	case *btpb.RowFilter_Interleave_:
		below = op.Interleave.Filters
		if len(below) < 2 {
			return wrong("interleave")
		}
	case *btpb.RowFilter_Condition_:
		c := op.Condition
		below, inCondition = []*btpb.RowFilter{c.PredicateFilter, c.TrueFilter, c.FalseFilter}, true
	default:
		r := newRow("r")
		r.sunk = newRow("r")
		r.getOrCreateFamily("f", 0)
		r.families["f"].cells[""] = append(r.families["f"].cellsByColumn(""), cell{})
		_, err := filterRow(f, r)
		return err
	}
	for _, sub := range below {
		if err := checkFilter(sub, inCondition); err != nil {
			return err
		}
	}
	return nil
}

func checkStrictly(f *btpb.RowFilter, inCondition bool) error {
	switch op := f.Filter.(type) {
	case nil:
		return wrong("empty filter")
	case *btpb.RowFilter_Chain_:
		labels := 0
		for _, sub := range op.Chain.Filters {
			if applyLabels(sub) {
				labels++
			}
		}
		if labels > 1 {
			return wrong("two labels")
		}
	case *btpb.RowFilter_Condition_:
		if op.Condition.PredicateFilter == nil {
			return wrong("no predicate")
		}
	case *btpb.RowFilter_Sink:
		if !op.Sink || inCondition {
			return wrong("sink")
		}
	case *btpb.RowFilter_StripValueTransformer:
		if !op.StripValueTransformer {
			return wrong("strip")
		}
	case *btpb.RowFilter_CellsPerRowOffsetFilter:
		if op.CellsPerRowOffsetFilter < 0 {
			return wrong("offset")
		}
	case *btpb.RowFilter_FamilyNameRegexFilter:
		if strings.Contains(op.FamilyNameRegexFilter, ":") {
			return wrong("colon")
		}
	case *btpb.RowFilter_ColumnRangeFilter, *btpb.RowFilter_ValueRangeFilter, *btpb.RowFilter_TimestampRangeFilter:
		return checkRange(f)
	case *btpb.RowFilter_ApplyLabelTransformer:
		l := op.ApplyLabelTransformer
		if len(l) == 0 || len(l) > 15 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return wrong("label")
		}
	}
	return nil
}

func checkRange(f *btpb.RowFilter) error {
	c, v, t := f.GetColumnRangeFilter(), f.GetValueRangeFilter(), f.GetTimestampRangeFilter()
	start, end := append(c.GetStartQualifierClosed(), c.GetStartQualifierOpen()...), append(c.GetEndQualifierClosed(), c.GetEndQualifierOpen()...)
	unbounded := c != nil && (c.StartQualifier == nil || c.EndQualifier == nil)
	if v != nil {
		start, end = append(v.GetStartValueClosed(), v.GetStartValueOpen()...), append(v.GetEndValueClosed(), v.GetEndValueOpen()...)
		unbounded = v.StartValue == nil || v.EndValue == nil
	}
	switch {
	case t != nil && (t.StartTimestampMicros < 0 || t.EndTimestampMicros < 0 || t.EndTimestampMicros != 0 && t.StartTimestampMicros > t.EndTimestampMicros):
		return wrong("times")
	case c != nil && c.FamilyName == "":
		return wrong("family")
	case !unbounded && bytes.Compare(start, end) > 0:
		return wrong("range")
	}
	return nil
}

func applyLabels(f *btpb.RowFilter) bool {
	if f == nil {
		return false
	}
	switch op := f.Filter.(type) {
	case *btpb.RowFilter_Chain_:
		return slices.ContainsFunc(op.Chain.Filters, applyLabels)
	case *btpb.RowFilter_Interleave_:
		return slices.ContainsFunc(op.Interleave.Filters, applyLabels)
	case *btpb.RowFilter_Condition_:
		return applyLabels(op.Condition.PredicateFilter) || applyLabels(op.Condition.TrueFilter) || applyLabels(op.Condition.FalseFilter)
	case *btpb.RowFilter_ApplyLabelTransformer:
		return true
	}
	return false
}

// filterSinks is filterRow, with what reached a sink.
func filterSinks(f *btpb.RowFilter, r *row) (bool, error) {
	r.sunk = newRow(r.key)
	match, err := filterRow(f, r)
	if err != nil {
		return false, err
	}
	if !match {
		r.families = make(map[string]*family)
	}
	r.add(r.sunk)
	return match && !mended("gc") || !r.isEmpty(), nil
}

// add adds the cells of another row.
func (r *row) add(other *row) {
	for _, from := range other.families {
		to := r.getOrCreateFamily(from.name, from.order)
		for name, cs := range from.cells {
			if len(cs) > 0 {
				to.cells[name] = append(slices.Clone(to.cellsByColumn(name)), cs...)
				sort.Stable(byDescTS(to.cells[name]))
			}
		}
	}
}

// ordered returns the families in which cells are counted.
func ordered(r *row) (families []*family) {
	for _, f := range r.families {
		families = append(families, f)
	}
	if mended("family-order") {
		slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	}
	return families
}

// GC rules.

// live returns a row without what GC rules drop.
func (t *table) live(r *row) *row {
	families := t.columnFamilies()
	r.mu.Lock()
	defer r.mu.Unlock()
	return liveOf(families, r)
}

func liveOf(families map[string]*columnFamily, r *row) *row {
	if !mended("gc") {
		return r.copy()
	}
	r = r.copy()
	for _, f := range r.families {
		for name, cs := range f.cells {
			f.cells[name] = liveCells(families[f.name], cs)
		}
	}
	return r
}

func liveCells(f *columnFamily, cs []cell) (live []cell) {
	if !mended("gc") || f == nil {
		return cs
	}
	for i := range cs {
		newer := i
		if mended("time-zero") {
			newer = len(live) // those that stay
		}
		if !drops(f.gcRule, cs[i].ts, newer) {
			live = append(live, cs[i])
		}
	}
	return live
}

// drops reports whether a rule drops a version, with how many newer ones there are.
func drops(rule *btapb.GcRule, ts int64, newer int) bool {
	dropped := func(sub *btapb.GcRule) bool { return drops(sub, ts, newer) }
	switch rule := rule.GetRule().(type) {
	case *btapb.GcRule_MaxNumVersions:
		return newer >= int(rule.MaxNumVersions)
	case *btapb.GcRule_MaxAge:
		return ts < time.Now().UnixMicro()-rule.MaxAge.AsDuration().Microseconds() && (ts > 0 || !mended("time-zero"))
	case *btapb.GcRule_Union_:
		return slices.ContainsFunc(rule.Union.Rules, dropped)
	case *btapb.GcRule_Intersection_:
		return !slices.ContainsFunc(rule.Intersection.Rules, func(sub *btapb.GcRule) bool { return !dropped(sub) })
	}
	return false
}

// Mutations.

// atomically applies mutations all or none.
func atomically(r *row, apply func() error) error {
	before := cloneOf(r.families)
	err := coded(apply())
	if err != nil && mended("atomic") {
		r.families = before
	}
	return err
}

func cloneOf(families map[string]*family) map[string]*family {
	clone := make(map[string]*family, len(families))
	for name, f := range families {
		c := &family{name: f.name, order: f.order, colNames: slices.Clone(f.colNames), cells: make(map[string][]cell)}
		for column, cs := range f.cells {
			c.cells[column] = slices.Clone(cs)
		}
		clone[name] = c
	}
	return clone
}

// coded gives an error the code of its kind.
func coded(err error) error {
	if err == nil || !mended("codes") || status.Code(err) != codes.Unknown {
		return err
	}
	switch text := err.Error(); {
	case strings.Contains(text, "family"):
		return status.Error(codes.NotFound, text)
	case strings.Contains(text, "non-64-bit"):
		return status.Error(codes.FailedPrecondition, text)
	default:
		return wrong(text)
	}
}

func codeOf(err error) int32 {
	if !mended("codes") {
		return int32(codes.Internal)
	}
	return int32(status.Code(err))
}

// applyEntry applies an entry of MutateRows.
func applyEntry(t *table, r *row, list []*btpb.Mutation, families map[string]*columnFamily) error {
	if mended("lax-mutations") && len(list) == 0 {
		return wrong("no mutations")
	}
	return applyMutations(t, r, list, families)
}

// checkMutations checks mutations before the first is made.
func checkMutations(key string, list []*btpb.Mutation, families map[string]*columnFamily) error {
	if !mended("lax-mutations") {
		return nil
	}
	if len(key) == 0 || len(key) > 4096 {
		return wrong("row key")
	}
	for _, m := range list {
		if err := checkMutation(m); err != nil {
			return err
		}
	}
	for _, m := range list {
		if err := checkFamily(m, families); err != nil {
			return err
		}
	}
	return nil
}

func checkMutation(m *btpb.Mutation) error {
	times := m.GetDeleteFromColumn().GetTimeRange()
	start, end := times.GetStartTimestampMicros(), times.GetEndTimestampMicros()
	merge := m.GetMergeToCell()
	set := m.GetSetCell().GetTimestampMicros()
	added := m.GetAddToCell().GetTimestamp().GetRawTimestampMicros() + merge.GetTimestamp().GetRawTimestampMicros()
	switch {
	case m.Mutation == nil:
		return wrong("no mutation")
	case start < 0 || end < 0 || start%1000 != 0 || end%1000 != 0 || end != 0 && start >= end:
		return wrong("times")
	case added < 0 || added%1000 != 0:
		return wrong("time of an addition")
	case set < -1 || set > 0 && set%1000 != 0 && m.TimestampOrigin != btpb.Mutation_CLIENT_AUTO_GENERATED:
		return wrong("time")
	case merge != nil && len(merge.GetInput().GetRawValue()) != 8:
		return wrong("input")
	}
	return nil
}

func checkFamily(m *btpb.Mutation, families map[string]*columnFamily) error {
	name, aggregate := "", false
	switch op := m.Mutation.(type) {
	case *btpb.Mutation_SetCell_:
		name = op.SetCell.FamilyName
	case *btpb.Mutation_DeleteFromColumn_:
		name = op.DeleteFromColumn.FamilyName
	case *btpb.Mutation_DeleteFromFamily_:
		name = op.DeleteFromFamily.FamilyName
	case *btpb.Mutation_AddToCell_:
		name, aggregate = op.AddToCell.FamilyName, true
	case *btpb.Mutation_MergeToCell_:
		name, aggregate = op.MergeToCell.FamilyName, true
	default:
		return nil
	}
	f, ok := families[name]
	if !ok {
		return status.Error(codes.NotFound, "family")
	}
	if m.GetDeleteFromColumn() == nil && m.GetDeleteFromFamily() == nil && aggregate != (f.valueType.GetAggregateType() != nil) {
		return wrong("aggregate")
	}
	return nil
}

func checkRules(req *btpb.ReadModifyWriteRowRequest, families map[string]*columnFamily) error {
	if !mended("lax-mutations") {
		return nil
	}
	if len(req.RowKey) == 0 || len(req.RowKey) > 4096 || len(req.Rules) == 0 {
		return wrong("row key or rules")
	}
	for _, rule := range req.Rules {
		if rule.Rule == nil {
			return wrong("rule")
		}
	}
	for _, rule := range req.Rules {
		f, ok := families[rule.FamilyName]
		if !ok {
			return status.Error(codes.NotFound, "family")
		}
		if f.valueType.GetAggregateType() != nil {
			return wrong("aggregate")
		}
	}
	return nil
}

func checkBoth(req *btpb.CheckAndMutateRowRequest, families map[string]*columnFamily) error {
	if mended("late-filters") {
		if err := checkFilter(req.PredicateFilter, false); err != nil {
			return err
		}
	}
	if mended("lax-mutations") && len(req.TrueMutations)+len(req.FalseMutations) == 0 {
		return wrong("no mutations")
	}
	return checkMutations(string(req.RowKey), append(slices.Clone(req.TrueMutations), req.FalseMutations...), families)
}

// modifiedAt returns the time of a cell that is made of one at ts. Where the request has written that one, it is written
// over.
func modifiedAt(now, ts int64, t *table, written *row, family, column string) int64 {
	f := written.families[family]
	switch {
	case !mended("modified-times"):
		return max(now, ts)
	case f != nil && f.cells[column] != nil:
		return ts
	}
	return max(now, ts+t.timestampUnit())
}

// combined returns how an aggregate combines two values.
func combined(theirs, ours func(a, b []byte) []byte) func(a, b []byte) []byte {
	if !mended("min-max") {
		return theirs
	}
	return ours
}

func least(a, b []byte) []byte {
	if int64(binary.BigEndian.Uint64(a)) < int64(binary.BigEndian.Uint64(b)) {
		return a
	}
	return b
}

func greatest(a, b []byte) []byte {
	if int64(binary.BigEndian.Uint64(a)) > int64(binary.BigEndian.Uint64(b)) {
		return a
	}
	return b
}

// Tables.

func page(req *btapb.ListTablesRequest, list *btapb.ListTablesResponse) {
	if !mended("list-tables") {
		return
	}
	slices.SortFunc(list.Tables, func(a, b *btapb.Table) int { return strings.Compare(a.Name, b.Name) })
	list.Tables = slices.DeleteFunc(list.Tables, func(t *btapb.Table) bool {
		return req.PageToken != "" && strings.TrimPrefix(t.Name, req.Parent+"/tables/") <= req.PageToken
	})
	if n := int(req.PageSize); n > 0 && len(list.Tables) > n {
		list.Tables, list.NextPageToken = list.Tables[:n], "more"
	}
}

func checkFamilies(families map[string]*btapb.ColumnFamily) error {
	for _, f := range families {
		if err := checkRule(f.GetGcRule()); err != nil && mended("lax-admin") {
			return err
		}
	}
	return nil
}

func checkRule(rule *btapb.GcRule) error {
	switch rule := rule.GetRule().(type) {
	case *btapb.GcRule_MaxNumVersions:
		if rule.MaxNumVersions < 1 {
			return wrong("versions")
		}
	case *btapb.GcRule_MaxAge:
		if rule.MaxAge.AsDuration() < time.Millisecond {
			return wrong("age")
		}
	}
	return nil
}

func checkCreate(req *btapb.CreateTableRequest) error {
	if g := req.GetTable().GetGranularity(); mended("lax-admin") && g != btapb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED && g != btapb.Table_MILLIS {
		return wrong("granularity")
	}
	return checkFamilies(req.GetTable().GetColumnFamilies())
}

func checkUpdate(req *btapb.UpdateTableRequest) error {
	if !mended("lax-admin") {
		return nil
	}
	if len(req.GetUpdateMask().GetPaths()) == 0 {
		return wrong("update_mask")
	}
	for _, path := range req.UpdateMask.Paths {
		if path != "deletion_protection" {
			return status.Error(codes.Unimplemented, path)
		}
	}
	return nil
}

func checkDrop(req *btapb.DropRowRangeRequest) error {
	if mended("lax-admin") && len(req.GetRowKeyPrefix()) == 0 && !req.GetDeleteAllDataFromTable() {
		return wrong("target")
	}
	return nil
}

// checkModifications checks all modifications before the first is made.
func checkModifications(t *table, list []*btapb.ModifyColumnFamiliesRequest_Modification) error {
	if !mended("modifications") {
		return nil
	}
	if len(list) == 0 {
		return wrong("modifications")
	}
	aggregate := make(map[string]bool)
	for name, f := range t.families {
		aggregate[name] = f.valueType.GetAggregateType() != nil
	}
	for _, m := range list {
		_, there := aggregate[m.Id]
		f := m.GetCreate()
		if f == nil {
			f = m.GetUpdate()
		}
		switch {
		case m.GetCreate() != nil && there:
			return status.Error(codes.AlreadyExists, m.Id)
		case m.GetCreate() == nil && !there:
			return status.Error(codes.NotFound, m.Id)
		case m.Mod == nil:
			return wrong("modification")
		case m.GetUpdate() != nil && slices.Contains(m.GetUpdateMask().GetPaths(), "value_type") && (aggregate[m.Id] || f.GetValueType().GetAggregateType() != nil):
			return wrong("value_type")
		}
		if err := checkRule(f.GetGcRule()); err != nil {
			return err
		}
		if m.GetCreate() != nil {
			aggregate[m.Id] = f.GetValueType().GetAggregateType() != nil
		}
		if m.GetDrop() {
			delete(aggregate, m.Id)
		}
	}
	return nil
}
