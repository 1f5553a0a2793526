package bigtable

import (
	"context"
	"fmt"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// CheckAndMutateRow implements the data service.
func (s *Server) CheckAndMutateRow(ctx context.Context, r *btpb.CheckAndMutateRowRequest) (*btpb.CheckAndMutateRowResponse, error) {
	c, err := s.begin(ctx, access.Write, admission.Write, r.TableName)
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.rows = 1
	change, err := s.checkAndMutateOf(r)
	if err == nil {
		err = c.admitStorage(ctx, change.Then, change.Else)
	}
	if err != nil {
		return nil, err
	}
	matched, _, err := s.store.CheckAndMutate(ctx, c.table, change, "")
	if err != nil {
		return nil, statusAt(placeOf(err, len(change.Then)), err)
	}
	if matched {
		c.wrote(change.Then)
	} else {
		c.wrote(change.Else)
	}
	return &btpb.CheckAndMutateRowResponse{PredicateMatched: matched}, nil
}

// placeOf returns the mutation that an error of CheckAndMutate is about. then is how many true_mutations there are.
func placeOf(err error, then int) string {
	e, ok := err.(*widecol.Error)
	switch {
	case !ok || e.Index < 0:
		return ""
	case e.Index < then:
		return fmt.Sprintf("true_mutations[%d]", e.Index)
	}
	return fmt.Sprintf("false_mutations[%d]", e.Index-then)
}

func (s *Server) checkAndMutateOf(r *btpb.CheckAndMutateRowRequest) (*widecol.CheckAndMutate, error) {
	change := &widecol.CheckAndMutate{Row: r.RowKey, If: widecol.NewQuery()}
	if err := widecol.CheckRowKey(r.RowKey); err != nil {
		return nil, statusAt("row_key", err)
	}
	switch n := len(r.TrueMutations) + len(r.FalseMutations); {
	case n == 0:
		return nil, invalid("", "true_mutations and false_mutations are both empty: at least one mutation is needed")
	case n > maxMutations:
		return nil, tooManyMutations(n)
	}
	var err error
	if change.If.RowFilter, err = filterOf("predicate_filter", r.PredicateFilter); err != nil {
		return nil, err
	}
	if change.Then, err = s.mutationsOf("true_mutations", r.RowKey, r.TrueMutations); err != nil {
		return nil, err
	}
	change.Else, err = s.mutationsOf("false_mutations", r.RowKey, r.FalseMutations)
	return change, err
}

// ReadModifyWriteRow implements the data service.
func (s *Server) ReadModifyWriteRow(ctx context.Context, r *btpb.ReadModifyWriteRowRequest) (*btpb.ReadModifyWriteRowResponse, error) {
	c, err := s.begin(ctx, access.Write, admission.Write, r.TableName)
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.rows = 1
	change, err := updateOf(r)
	if err == nil {
		err = c.admitStorage(ctx, []widecol.Mutation{{Op: widecol.Set}})
	}
	if err != nil {
		return nil, err
	}
	written, _, err := s.store.ReadModifyWrite(ctx, c.table, change, "")
	if err != nil {
		place := ""
		if e, ok := err.(*widecol.Error); ok && e.Index >= 0 {
			place = fmt.Sprintf("rules[%d]", e.Index)
		}
		return nil, statusAt(place, err)
	}
	c.caller.stats = widecol.Stats{Rows: 1, Cells: int64(len(written))}
	return &btpb.ReadModifyWriteRowResponse{Row: rowOf(r.RowKey, written)}, nil
}

// maxRules bounds the rules of a request: other writes of the row wait meanwhile.
const maxRules = 1000

func updateOf(r *btpb.ReadModifyWriteRowRequest) (*widecol.ReadModifyWrite, error) {
	if err := widecol.CheckRowKey(r.RowKey); err != nil {
		return nil, statusAt("row_key", err)
	}
	switch n := len(r.Rules); {
	case n == 0:
		return nil, invalid("rules", "there are none")
	case n > maxRules:
		return nil, invalid("rules", "there are %d, allowed are %d", n, maxRules)
	}
	change := &widecol.ReadModifyWrite{Row: r.RowKey, Granule: granule}
	for i, m := range r.Rules {
		rule := widecol.Rule{Family: []byte(m.GetFamilyName()), Qualifier: m.GetColumnQualifier(), Type: cell.Bytes, Untyped: true}
		switch op := m.GetRule().(type) {
		case *btpb.ReadModifyWriteRule_IncrementAmount:
			rule.Increment = op.IncrementAmount
		case *btpb.ReadModifyWriteRule_AppendValue:
			rule.Append = append([]byte{}, op.AppendValue...) // not nil, which is an increment
		default:
			return nil, invalid(fmt.Sprintf("rules[%d]", i), "a rule needs one of append_value and increment_amount")
		}
		change.Rules = append(change.Rules, rule)
	}
	return change, nil
}

// rowOf returns a row with cells that are in the order of a row.
func rowOf(key []byte, cells []cell.Cell) *btpb.Row {
	row := &btpb.Row{Key: key}
	for i := range cells {
		name, qualifier := cell.SplitColumn(cells[i].Column)
		n := len(row.Families)
		if n == 0 || row.Families[n-1].Name != string(name) {
			row.Families = append(row.Families, &btpb.Family{Name: string(name)})
			n++
		}
		f := row.Families[n-1]
		if n := len(f.Columns); n == 0 || string(f.Columns[n-1].Qualifier) != string(qualifier) {
			f.Columns = append(f.Columns, &btpb.Column{Qualifier: append([]byte{}, qualifier...)})
		}
		column := f.Columns[len(f.Columns)-1]
		column.Cells = append(column.Cells, &btpb.Cell{TimestampMicros: cells[i].Time, Value: widecol.ValueBytes(nil, &cells[i])})
	}
	return row
}
