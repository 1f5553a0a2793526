package bigtable

import (
	"context"
	"fmt"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// sent is the server's end of a stream that takes each message at once.
type sent struct {
	grpc.ServerStream
	ctx context.Context
}

func (s sent) Context() context.Context { return s.ctx }

func (s sent) SendMsg(m any) error {
	data, err := protobuf.Marshal(m)
	data.Free()
	return err
}

const (
	benchRows = 500
	benchCols = 20
)

// scanServer returns a server with a table of rows with columns.
func scanServer(t testing.TB) *Server {
	t.Helper()
	store, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := New(store, Options{Instance: testInstance})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CreateTable(t.Context(), "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}}); err != nil {
		t.Fatal(err)
	}
	var list []widecol.Mutation
	for row := range benchRows {
		for column := range benchCols {
			family := "a"
			if column >= benchCols/2 {
				family = "b"
			}
			list = append(list, widecol.Mutation{
				Row: fmt.Appendf(nil, "row%05d", row), Family: []byte(family), Qualifier: fmt.Appendf(nil, "column%02d", column),
				Type: cell.Bytes, Value: fmt.Appendf(nil, "value %d of row %d", column, row),
			})
		}
	}
	if _, err := store.Write(t.Context(), "t", list, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

func readAll(t testing.TB, s *Server, r *btpb.ReadRowsRequest) {
	r.TableName = testTable
	stream := &grpc.GenericServerStream[btpb.ReadRowsRequest, btpb.ReadRowsResponse]{ServerStream: sent{ctx: t.Context()}}
	if err := s.ReadRows(r, stream); err != nil {
		t.Fatal(err)
	}
}

// scans are requests that differ in what is made of a cell.
var scans = map[string]*btpb.ReadRowsRequest{
	"all":     {},
	"reverse": {Reversed: true},
	"latest":  {Filter: filter(`cells_per_column_limit_filter: 1`)},
	"tree":    {Filter: filter(`chain { filters { column_qualifier_regex_filter: "column.*" } filters { value_regex_filter: "value.*" } }`)},
	"labels":  {Filter: filter(`interleave { filters { apply_label_transformer: "x" } filters { value_regex_filter: "none" } }`)},
}

// TestAllocationsOfReadRows: an answer allocates nothing for a cell, up to gRPC's transport.
func TestAllocationsOfReadRows(t *testing.T) {
	s := scanServer(t)
	for name, r := range scans {
		if n := testing.AllocsPerRun(3, func() { readAll(t, s, r) }); n > benchRows*benchCols/2 { // pools lose some under the race detector
			t.Errorf("%s: %d cells made %v allocations", name, benchRows*benchCols, n)
		}
	}
}

// BenchmarkReadRows reads a table, as far as gRPC's transport.
func BenchmarkReadRows(b *testing.B) {
	for name, r := range scans {
		b.Run(name, func(b *testing.B) {
			s := scanServer(b)
			allocs := testing.AllocsPerRun(3, func() { readAll(b, s, r) })
			for b.Loop() {
				readAll(b, s, r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchRows*benchCols), "ns/cell")
			b.ReportMetric(allocs/(benchRows*benchCols), "allocs/cell")
		})
	}
}
