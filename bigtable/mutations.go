package bigtable

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

const (
	// maxMutations bounds those of a request, as Bigtable does.
	maxMutations = 100_000
	// answerEntries is how many statuses of MutateRows are in a message: some ten KiB, so that a client that does not take
	// them holds no more.
	answerEntries = 500
	// granule is the unit of the times of cells, in microseconds.
	granule = 1000
	// serverTime stands for the time of the server in a SetCell.
	serverTime = -1
)

// dataService is the service of data. Its MutateRow and MutateRows decode their requests themselves.
func dataService() grpc.ServiceDesc {
	d := btpb.Bigtable_ServiceDesc
	d.Methods, d.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i := range d.Methods {
		if d.Methods[i].MethodName == "MutateRow" {
			d.Methods[i].Handler = func(s any, ctx context.Context, receive func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				r := mutateRowPool.Get().(*mutateRow)
				if err := receive(r); err != nil {
					return nil, err
				}
				return s.(*Server).mutateRow(ctx, r)
			}
		}
	}
	for i := range d.Streams {
		if d.Streams[i].StreamName == "MutateRows" {
			d.Streams[i].Handler = func(s any, stream grpc.ServerStream) error {
				r := mutateRowsPool.Get().(*mutateRows)
				if err := stream.RecvMsg(r); err != nil {
					return err
				}
				return s.(*Server).mutateRows(r, stream)
			}
		}
	}
	return d
}

// mutateRow serves MutateRow.
func (s *Server) mutateRow(ctx context.Context, r *mutateRow) (*btpb.MutateRowResponse, error) {
	c, err := s.begin(ctx, access.Write, admission.Write, r.table)
	if err != nil {
		return nil, err
	}
	defer c.end()
	if r.count > maxMutations {
		return nil, tooManyMutations(r.count)
	}
	c.rows = 1
	if place, err := r.rows[0].check(); err != nil {
		return nil, statusAt(place, err)
	}
	if err := c.admitStorage(ctx, r.all); err != nil {
		return nil, err
	}
	if _, err := s.store.Write(ctx, c.table, r.all, ""); err != nil {
		return nil, mutationFailed("", err)
	}
	c.wrote(r.all)
	return &btpb.MutateRowResponse{}, nil
}

// mutateRows serves MutateRows. Entries that can be written are written together.
func (s *Server) mutateRows(r *mutateRows, stream grpc.ServerStream) error {
	ctx := stream.Context()
	c, err := s.begin(ctx, access.Write, admission.Write, r.table)
	if err != nil {
		return err
	}
	defer c.end()
	switch {
	case len(r.rows) == 0:
		return invalid("entries", "there are none")
	case len(r.rows) > maxMutations:
		return invalid("entries", "there are more than %d", maxMutations)
	case r.count > maxMutations:
		return tooManyMutations(r.count)
	}
	c.rows = int64(len(r.rows))
	statuses, err := s.writeEntries(ctx, c, r)
	if err != nil {
		return err
	}
	c.slot.Release() // the client may be slow
	for part := range slices.Chunk(statuses, answerEntries) {
		if err := stream.SendMsg(&btpb.MutateRowsResponse{Entries: part}); err != nil {
			return err
		}
	}
	return nil
}

// writeEntries writes the entries that it can, and returns how each has fared.
func (s *Server) writeEntries(ctx context.Context, c *call, r *mutateRows) ([]*btpb.MutateRowsResponse_Entry, error) {
	rows := make([][]widecol.Mutation, 0, len(r.rows))
	index := make([]int, 0, len(r.rows)) // of the entry of each row
	errs := make([]error, len(r.rows))
	for i := range r.rows {
		if place, err := r.rows[i].check(); err != nil {
			errs[i] = statusAt(fmt.Sprintf("entries[%d].%s", i, place), err)
			continue
		}
		rows, index = append(rows, r.mutations(&r.rows[i])), append(index, i)
	}
	if err := c.admitStorage(ctx, rows...); err != nil {
		return nil, err
	}
	if len(rows) == 0 { // a table that is not there is another error than that of an entry
		if _, err := s.store.Table(ctx, c.table); err != nil {
			return nil, statusOf(err)
		}
		return statusesOf(errs), nil
	}
	_, outcomes, err := s.store.WriteRows(ctx, c.table, rows, "")
	if err != nil {
		return nil, statusOf(err)
	}
	for i, err := range outcomes {
		if err != nil {
			errs[index[i]] = mutationFailed(fmt.Sprintf("entries[%d].", index[i]), err)
			continue
		}
		c.wrote(rows[i])
	}
	return statusesOf(errs), nil
}

// check returns why no table can apply the mutations, and the place in the entry, or request, that is wrong.
func (row *rowChange) check() (place string, err error) {
	if err := widecol.CheckRowKey(row.key); err != nil {
		return "row_key", err
	}
	switch {
	case row.from == row.to:
		return "mutations", status.Error(codes.InvalidArgument, "there are none")
	case row.err != nil:
		return fmt.Sprintf("mutations[%d]", row.wrong), row.err
	}
	return "", nil
}

// statusesOf returns the statuses of entries, nil for those that were written.
func statusesOf(errs []error) []*btpb.MutateRowsResponse_Entry {
	done, entries := make([]*btpb.MutateRowsResponse_Entry, len(errs)), make([]btpb.MutateRowsResponse_Entry, len(errs))
	for i, err := range errs {
		done[i] = &entries[i]
		done[i].Index, done[i].Status = int64(i), okStatus
		if err != nil {
			done[i].Status = status.Convert(err).Proto()
		}
	}
	return done
}

// okStatus is that of an entry that was written. It is not changed.
var okStatus = status.New(codes.OK, "").Proto()

func tooManyMutations(n int) error {
	return invalid("", "the request has %d mutations, allowed are %d", n, maxMutations)
}

// mutationFailed is statusOf for an error whose index is that of a mutation.
func mutationFailed(prefix string, err error) error {
	place := ""
	if e, ok := err.(*widecol.Error); ok && e.Index >= 0 {
		place = fmt.Sprintf("%smutations[%d]", prefix, e.Index)
	}
	return statusAt(place, err)
}

// mutationsOf takes the mutations of a row over. They keep parts of the messages. field is the name of their list.
func (s *Server) mutationsOf(field string, row []byte, messages []*btpb.Mutation) ([]widecol.Mutation, error) {
	list := make([]widecol.Mutation, 0, len(messages))
	now := s.now()
	for i, m := range messages {
		mutation, err := mutationOf(m, now)
		if err != nil {
			return nil, statusAt(fmt.Sprintf("%s[%d]", field, i), err)
		}
		mutation.Row = row
		list = append(list, mutation)
	}
	return list, nil
}

// now returns the time of the server, cut to the granule.
func (s *Server) now() int64 { return cut(s.opt.Clock.Now()) }

func cut(time int64) int64 { return time - time%granule }

// mutationOf takes a mutation over.
func mutationOf(m *btpb.Mutation, now int64) (widecol.Mutation, error) {
	switch op := m.GetMutation().(type) {
	case *btpb.Mutation_SetCell_:
		set := op.SetCell
		time, err := timeOf(set.GetTimestampMicros(), m.GetTimestampOrigin(), now)
		if err != nil {
			return widecol.Mutation{}, err
		}
		return widecol.Mutation{
			Op: widecol.Set, Family: []byte(set.GetFamilyName()), Qualifier: set.GetColumnQualifier(),
			Time: time, Type: cell.Bytes, Value: set.GetValue(),
		}, nil
	case *btpb.Mutation_DeleteFromColumn_:
		return columnDeletion(op.DeleteFromColumn)
	case *btpb.Mutation_DeleteFromFamily_:
		return widecol.Mutation{Op: widecol.DeleteFamily, Family: []byte(op.DeleteFromFamily.GetFamilyName())}, nil
	case *btpb.Mutation_DeleteFromRow_:
		return widecol.Mutation{Op: widecol.DeleteRow}, nil
	case *btpb.Mutation_AddToCell_:
		return addition(op.AddToCell, now)
	case *btpb.Mutation_MergeToCell_:
		return merging(op.MergeToCell, now)
	}
	return widecol.Mutation{}, status.Error(codes.InvalidArgument, "a mutation needs one of set_cell, add_to_cell, merge_to_cell, delete_from_column, delete_from_family and delete_from_row")
}

// addition takes an AddToCell over.
func addition(m *btpb.Mutation_AddToCell, now int64) (widecol.Mutation, error) {
	input, ok := m.GetInput().GetKind().(*btpb.Value_IntValue)
	if !ok {
		return widecol.Mutation{}, status.Error(codes.InvalidArgument, "add_to_cell.input: only int_value can be added")
	}
	return mergeMutation(m.GetFamilyName(), m.GetColumnQualifier(), m.GetTimestamp(), uint64(input.IntValue), now)
}

// merging takes a MergeToCell over. What is merged is the state of an aggregate: a number of 8 bytes, big-endian.
func merging(m *btpb.Mutation_MergeToCell, now int64) (widecol.Mutation, error) {
	input := m.GetInput().GetRawValue()
	if len(input) != 8 {
		return widecol.Mutation{}, status.Error(codes.InvalidArgument, "merge_to_cell.input: only raw_value of 8 bytes, an int64 in big-endian, can be merged")
	}
	return mergeMutation(m.GetFamilyName(), m.GetColumnQualifier(), m.GetTimestamp(), binary.BigEndian.Uint64(input), now)
}

func mergeMutation(family string, qualifier, at *btpb.Value, number uint64, now int64) (widecol.Mutation, error) {
	stamp, ok := at.GetKind().(*btpb.Value_RawTimestampMicros)
	if !ok {
		return widecol.Mutation{}, status.Error(codes.InvalidArgument, "timestamp: raw_timestamp_micros is needed")
	}
	time, err := timeOf(stamp.RawTimestampMicros, btpb.Mutation_USER_SPECIFIED, now)
	return widecol.Mutation{
		Op: widecol.Merge, Family: []byte(family), Qualifier: qualifier.GetRawValue(), Time: time,
		Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, number),
	}, err
}

// timeOf returns the time that a SetCell writes at.
func timeOf(time int64, origin btpb.Mutation_TimestampOrigin, now int64) (int64, error) {
	switch {
	case time == serverTime:
		return now, nil
	case time < 0:
		return 0, status.Errorf(codes.InvalidArgument, "the time %d is below -1, which stands for the time of the server", time)
	case origin == btpb.Mutation_CLIENT_AUTO_GENERATED:
		return cut(time), nil
	case time%granule != 0:
		return 0, status.Errorf(codes.InvalidArgument, "the time %d is no multiple of %d: times have the granularity of milliseconds", time, granule)
	case time > cell.MaxTime:
		return 0, status.Errorf(codes.InvalidArgument, "the time %d is above %d", time, cut(cell.MaxTime))
	}
	return time, nil
}

// columnDeletion takes a DeleteFromColumn over.
func columnDeletion(m *btpb.Mutation_DeleteFromColumn) (widecol.Mutation, error) {
	d := widecol.Mutation{Op: widecol.DeleteColumn, Family: []byte(m.GetFamilyName()), Qualifier: bytes.Clone(m.GetColumnQualifier()), End: widecol.EndOfTime}
	r := m.GetTimeRange()
	if r == nil {
		return d, nil
	}
	times := timesOf(r.GetStartTimestampMicros(), r.GetEndTimestampMicros())
	if times.Start < 0 || times.Start%granule != 0 || r.GetEndTimestampMicros()%granule != 0 || times.Start >= times.End {
		return d, status.Errorf(codes.InvalidArgument, "time_range from %d to %d: both must be multiples of %d, and the start below the end, or 0 for no end", r.GetStartTimestampMicros(), r.GetEndTimestampMicros(), granule)
	}
	d.Time, d.End = times.Start, times.End
	return d, nil
}
