package bigtable

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// peer is a server that operations are sent to.
type peer struct {
	ctx   context.Context
	conn  *grpc.ClientConn
	data  btpb.BigtableClient
	admin adminpb.BigtableTableAdminClient
}

func connect(ctx context.Context, address string) (*peer, error) {
	features, err := proto.Marshal(&btpb.FeatureFlags{ReverseScans: true, LastScannedRowResponses: true})
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "bigtable-features", base64.URLEncoding.EncodeToString(features))
	return &peer{ctx, conn, btpb.NewBigtableClient(conn), adminpb.NewBigtableTableAdminClient(conn)}, nil
}

// answer sends a request and returns what was answered as a text: of an error its code.
func (p *peer) answer(request proto.Message) string {
	text, err := p.send(request)
	if err != nil && strings.Contains(operationText(request), noTable) {
		return "an error" // the request may be wrong besides
	}
	if err != nil {
		return status.Code(err).String()
	}
	return text
}

func (p *peer) send(request proto.Message) (text string, err error) {
	switch r := request.(type) {
	case *btpb.ReadRowsRequest:
		return p.readRows(r)
	case *btpb.SampleRowKeysRequest:
		return p.sampleRowKeys(r)
	case *btpb.MutateRowRequest:
		_, err = p.data.MutateRow(p.ctx, r)
	case *btpb.MutateRowsRequest:
		return p.mutateRows(r)
	case *btpb.CheckAndMutateRowRequest:
		m, err := p.data.CheckAndMutateRow(p.ctx, r)
		return fmt.Sprint(m.GetPredicateMatched()), err
	case *btpb.ReadModifyWriteRowRequest:
		m, err := p.data.ReadModifyWriteRow(p.ctx, r)
		return rowText(m.GetRow()), err
	case *btpb.PingAndWarmRequest:
		_, err = p.data.PingAndWarm(p.ctx, r)
	default:
		return p.administer(request)
	}
	return "done", err
}

func (p *peer) administer(request proto.Message) (text string, err error) {
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		m, err := p.admin.CreateTable(p.ctx, r)
		return tableText(m), err
	case *adminpb.GetTableRequest:
		m, err := p.admin.GetTable(p.ctx, r)
		return tableText(m), err
	case *adminpb.ModifyColumnFamiliesRequest:
		m, err := p.admin.ModifyColumnFamilies(p.ctx, r)
		if m != nil {
			m.DeletionProtection = false // theirs leaves it out
		}
		return tableText(m), err
	case *adminpb.ListTablesRequest:
		return p.listTables(r)
	case *adminpb.UpdateTableRequest:
		_, err = p.admin.UpdateTable(p.ctx, r)
	case *adminpb.DeleteTableRequest:
		_, err = p.admin.DeleteTable(p.ctx, r)
	case *adminpb.DropRowRangeRequest:
		_, err = p.admin.DropRowRange(p.ctx, r)
	case *adminpb.GenerateConsistencyTokenRequest:
		token, err := p.admin.GenerateConsistencyToken(p.ctx, r)
		if err != nil {
			return "", err
		}
		m, err := p.admin.CheckConsistency(p.ctx, &adminpb.CheckConsistencyRequest{Name: r.Name, ConsistencyToken: token.ConsistencyToken})
		return fmt.Sprint(m.GetConsistent()), err
	case *adminpb.CheckConsistencyRequest:
		_, err = p.admin.CheckConsistency(p.ctx, r)
	default:
		return "", fmt.Errorf("no call takes %T", request)
	}
	return "done", err
}

// timeText is the time of a cell. Those of the server differ.
func timeText(micros int64) string {
	if micros > 1e15 {
		return "now"
	}
	return fmt.Sprint(micros)
}

func cellText(family string, qualifier []byte, micros int64, value []byte, labels []string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s:%q@%s %q %s", family, qualifier, timeText(micros), value, strings.Join(labels, " ")), " ")
}

func rowText(m *btpb.Row) string {
	lines := []string{fmt.Sprintf("%q", m.GetKey())}
	for _, f := range m.GetFamilies() {
		for _, c := range f.Columns {
			for _, v := range c.Cells {
				lines = append(lines, cellText(f.Name, c.Qualifier, v.TimestampMicros, v.Value, v.Labels))
			}
		}
	}
	return strings.Join(lines, "\n  ")
}

func tableText(m *adminpb.Table) string {
	families := make([]string, 0, len(m.GetColumnFamilies()))
	for name, f := range m.GetColumnFamilies() {
		aggregate := ""
		if a := f.GetValueType().GetAggregateType(); a != nil {
			aggregate = fmt.Sprintf(" %T", a.Aggregator)
		}
		families = append(families, fmt.Sprintf("%s %v%s", name, f.GetGcRule(), aggregate))
	}
	slices.Sort(families)
	return fmt.Sprintf("%s %v protected %t\n%s", m.GetName(), m.GetGranularity(), m.GetDeletionProtection(), strings.Join(families, "\n"))
}

func (p *peer) listTables(r *adminpb.ListTablesRequest) (string, error) {
	m, err := p.admin.ListTables(p.ctx, r)
	var names []string
	for _, t := range m.GetTables() {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("%s more %t", strings.Join(names, "\n"), m.GetNextPageToken() != ""), err
}

// sampleRowKeys checks what is said of every server: the keys ascend, and the last is empty. Which they are, differs.
func (p *peer) sampleRowKeys(r *btpb.SampleRowKeysRequest) (string, error) {
	stream, err := p.data.SampleRowKeys(p.ctx, r)
	if err != nil {
		return "", err
	}
	var keys []string
	for {
		m, err := stream.Recv()
		switch {
		case err == io.EOF && len(keys) > 0 && keys[len(keys)-1] == "" && slices.IsSorted(keys[:len(keys)-1]):
			return "in order", nil
		case err == io.EOF:
			return fmt.Sprintf("samples %q", keys), nil
		case err != nil:
			return "", err
		}
		keys = append(keys, string(m.RowKey))
	}
}

func (p *peer) mutateRows(r *btpb.MutateRowsRequest) (string, error) {
	stream, err := p.data.MutateRows(p.ctx, r)
	if err != nil {
		return "", err
	}
	outcomes := make([]string, len(r.Entries))
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return strings.Join(outcomes, " "), nil
		}
		if err != nil {
			return "", err
		}
		for _, e := range m.Entries {
			outcomes[e.Index] += codes.Code(e.Status.Code).String()
		}
	}
}

// readRows returns the cells, a line for each, and what the statistics say of the result. Copies of a cell have no order.
func (p *peer) readRows(r *btpb.ReadRowsRequest) (string, error) {
	stream, err := p.data.ReadRows(p.ctx, r)
	if err != nil {
		return "", err
	}
	var text rowsText
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			text.endCopies()
			return strings.Join(text.lines, "\n"), nil
		}
		if err != nil {
			return "", err
		}
		for _, c := range m.Chunks {
			text.chunk(c)
		}
		if s := m.GetRequestStats().GetFullReadStatsView().GetReadIterationStats(); s != nil {
			text.endCopies()
			text.lines = append(text.lines, fmt.Sprintf("%d rows, %d cells", s.RowsReturnedCount, s.CellsReturnedCount))
		}
	}
}

// rowsText gathers chunks. Their keys, families and qualifiers may be left out where they do not change.
type rowsText struct {
	lines          []string
	row, qualifier []byte
	family         string
	copies         int // where the copies of the last cell begin
	key            string
}

func (t *rowsText) chunk(c *btpb.ReadRowsResponse_CellChunk) {
	if len(c.RowKey) > 0 {
		t.row = c.RowKey
	}
	if c.FamilyName != nil {
		t.family = c.FamilyName.Value
	}
	if c.Qualifier != nil {
		t.qualifier = c.Qualifier.Value
	}
	key := fmt.Sprintf("%q %s %q %d", t.row, t.family, t.qualifier, c.TimestampMicros)
	if key != t.key {
		t.endCopies()
		t.key = key
	}
	t.lines = append(t.lines, fmt.Sprintf("%q %s", t.row, cellText(t.family, t.qualifier, c.TimestampMicros, c.Value, c.Labels)))
}

func (t *rowsText) endCopies() {
	slices.Sort(t.lines[t.copies:])
	t.copies = len(t.lines)
}
