package bigtable

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestRowsLimit: it counts rows that the filter lets through, and 0 is no limit.
func TestRowsLimit(t *testing.T) {
	h := withTable(t)
	for i := range 6 {
		h.ok(h.mutate(fmt.Sprint("r", i), setCell("ab"[i%2:i%2+1], "q", 0, "v"), setCell("c", "q", 0, "v")))
	}
	onlyA := &btpb.RowFilter{Filter: &btpb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: "a"}}
	for limit, want := range map[int64]string{0: "r0 r2 r4", 1: "r0", 2: "r0 r2", 3: "r0 r2 r4", 9: "r0 r2 r4"} {
		if got := keysOf(h.rows(&btpb.ReadRowsRequest{RowsLimit: limit, Filter: onlyA})); got != want {
			t.Errorf("%d: got %s, want %s", limit, got, want)
		}
	}
	_, err := h.readRows(&btpb.ReadRowsRequest{RowsLimit: -1})
	h.fails("-1", err, codes.InvalidArgument, "rows_limit: it is -1")
}

// TestStatsView: the last message has what the read cost, if that was asked for.
func TestStatsView(t *testing.T) {
	h := withTable(t)
	for i := range 5 {
		h.ok(h.mutate(fmt.Sprint("r", i), setCell("a", "q", 0, "v"), setCell("a", "q", 1000, "v")))
	}
	newest := &btpb.RowFilter{Filter: &btpb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: 1}}
	for view, want := range map[btpb.ReadRowsRequest_RequestStatsView]bool{
		btpb.ReadRowsRequest_REQUEST_STATS_VIEW_UNSPECIFIED: false, btpb.ReadRowsRequest_REQUEST_STATS_NONE: false, btpb.ReadRowsRequest_REQUEST_STATS_FULL: true,
	} {
		messages, err := h.messages(&btpb.ReadRowsRequest{RowsLimit: 3, Filter: newest, RequestStatsView: view})
		h.ok(err)
		full := messages[len(messages)-1].GetRequestStats().GetFullReadStatsView()
		if (full != nil) != want {
			t.Errorf("%v: got %v", view, full)
		}
		if full == nil {
			continue
		}
		i := full.ReadIterationStats
		if i.RowsReturnedCount != 3 || i.CellsReturnedCount != 3 || i.RowsSeenCount < 3 || i.CellsSeenCount < 3 || full.RequestLatencyStats.FrontendServerLatency == nil {
			t.Errorf("got %v", full)
		}
	}
}

// TestNothing: a read of nothing ends without a message.
func TestNothing(t *testing.T) {
	h := withTable(t)
	messages, err := h.messages(&btpb.ReadRowsRequest{})
	if err != nil || len(messages) != 0 {
		t.Errorf("got %v, %v", messages, err)
	}
}

// limited is an admission control with one slot of each class and one scan.
func (h *harness) limited(scans int64) *admission.Control {
	l := admission.Limits{Scans: scans, WriteSlots: 1, ReadSlots: 1, ScanSlots: 1}
	return admission.New(l, admission.NewLimiters(l, h.clock))
}

// retryDelay returns when an error says that a client should try again, 0 if it does not.
func retryDelay(err error) time.Duration {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.RetryDelay.AsDuration()
		}
	}
	return 0
}

// TestOverload: a request that finds no room is refused with the time to try again.
func TestOverload(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(1)
	h.serve(Options{Admission: control})
	h.createTable()
	h.ok(h.mutate("r", setCell("a", "q", 0, "v")))
	var scan admission.Request
	scan.Control = control
	slot, err := scan.Begin(h.ctx, admission.Scan)
	h.ok(err)
	_, err = h.readRows(&btpb.ReadRowsRequest{})
	h.fails("second scan", err, codes.Unavailable, "too many scans are open")
	if got := retryDelay(err); got < time.Second {
		t.Errorf("try again in %v", got)
	}
	h.same("a read by its key is no scan", h.rows(&btpb.ReadRowsRequest{Rows: rowSet("r")}), "r a:q@0 v")
	slot.Release()
	scan.Close()
	h.same("once there is room", h.rows(&btpb.ReadRowsRequest{}), "r a:q@0 v")
	<-control.Drain()
	err = h.mutate("r", setCell("a", "q", 0, "v"))
	h.fails("at the end", err, codes.Unavailable, "shutting down")
	if got := retryDelay(err); got <= 0 {
		t.Errorf("try again in %v", got)
	}
}

// TestQueue: a request waits for a slot, and is refused when it has waited long enough.
func TestQueue(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(9)
	h.serve(Options{Admission: control})
	h.createTable()
	busy := admission.Request{Control: control}
	slot, err := busy.Begin(h.ctx, admission.Write)
	h.ok(err)
	failed := make(chan error)
	go func() { failed <- h.mutate("r", setCell("a", "q", 0, "v")) }()
	for !slot.Contended() { // until the write is in the queue
		h.clock.Advance(0)
	}
	for err = nil; err == nil; {
		select {
		case err = <-failed:
		default:
			h.clock.Advance(time.Second)
		}
	}
	h.fails("a write that waits", err, codes.Unavailable, "too many requests are under way")
	if got := retryDelay(err); got < time.Second {
		t.Errorf("try again in %v", got)
	}
	slot.Release()
	h.ok(h.mutate("r", setCell("a", "q", 0, "v")))
}

// TestSlowReader: a client that does not read its rows holds no slot, and its read ends with it.
func TestSlowReader(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(9)
	h.serve(Options{Admission: control})
	h.createTable()
	for i := range 64 { // more than the connection buffers
		h.ok(h.mutate(fmt.Sprintf("%03d", i), setCell("a", "q", 0, strings.Repeat("x", 256<<10))))
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	for range 3 {
		stream, err := h.data.ReadRows(ctx, &btpb.ReadRowsRequest{TableName: testTable})
		h.ok(err)
		_, err = stream.Recv()
		h.ok(err)
	}
	got := h.rows(&btpb.ReadRowsRequest{Filter: &btpb.RowFilter{Filter: &btpb.RowFilter_StripValueTransformer{StripValueTransformer: true}}})
	if n := strings.Count(got, "\n") + 1; n != 64 {
		t.Errorf("another read gets %d rows", n)
	}
	if n := control.Scans().Free(); n != 6 {
		t.Errorf("%d scans are free, want 6", n)
	}
	cancel()
	<-control.Drain() // the reads have left
	if n, m := control.Scans().Free(), control.Memory(); n != 9 || m.Free() != m.Size() {
		t.Errorf("%d scans and %d bytes are free", n, m.Free())
	}
}

// TestCancelled: what a client no longer waits for ends, with the reason.
func TestCancelled(t *testing.T) {
	h := withTable(t)
	ctx, cancel := context.WithCancel(h.ctx)
	cancel()
	for err, want := range map[error]codes.Code{
		statusOf(context.Canceled):                            codes.Canceled,
		statusOf(fmt.Errorf("%w", context.DeadlineExceeded)):  codes.DeadlineExceeded,
		statusOf(fmt.Errorf("read: %w", fmt.Errorf("other"))): codes.Internal,
	} {
		if got := status.Code(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	if _, err := h.data.MutateRow(ctx, &btpb.MutateRowRequest{TableName: testTable}); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
}

// withMemory returns a harness with table t and little memory for requests.
func withMemory(t *testing.T, bytes int64) (*harness, *admission.Control) {
	t.Helper()
	h := newHarness(t, Options{})
	limits := admission.Limits{Memory: bytes}
	control := admission.New(limits, admission.NewLimiters(limits, h.clock))
	h.serve(Options{Admission: control})
	h.createTable()
	return h, control
}

// writeLarge writes a row of table t past the server.
func (h *harness) writeLarge(row string, size int) {
	h.Helper()
	m := widecol.Mutation{Row: []byte(row), Family: []byte("a"), Qualifier: []byte("q"), Type: cell.Bytes, Value: make([]byte, size)}
	_, err := h.store.Write(h.ctx, "p$i$t", []widecol.Mutation{m}, "")
	h.ok(err)
}

// allFree waits for the end of all requests, and checks that they have given their memory back.
func (h *harness) allFree(control *admission.Control) {
	h.Helper()
	<-control.Drain()
	if m := control.Memory(); m.Free() != m.Size() {
		h.Errorf("%d bytes of %d are free", m.Free(), m.Size())
	}
}

// TestMemory: rows are refused that find no room in the memory of requests, with the time to try again unless they never
// find it.
func TestMemory(t *testing.T) {
	h, control := withMemory(t, 4<<20)
	for row, size := range map[string]int{"small": 100, "large": 3 << 20, "large2": 4 << 20, "too large": 7 << 20} {
		h.writeLarge(row, size)
	}
	h.rows(&btpb.ReadRowsRequest{Rows: rowSet("large large2 small")}) // one after the other they find room
	_, err := h.readRows(&btpb.ReadRowsRequest{Rows: &btpb.RowSet{RowKeys: [][]byte{[]byte("too large")}}})
	h.fails("too large", err, codes.ResourceExhausted, "a row is larger than the memory of requests")
	if got := retryDelay(err); got != 0 {
		t.Errorf("try again in %v", got)
	}
	other := admission.Request{Control: control}
	if !other.Charge(3 << 20) {
		t.Fatal("there is no memory")
	}
	_, err = h.readRows(&btpb.ReadRowsRequest{Rows: rowSet("large")})
	h.fails("beside another request", err, codes.Unavailable, "too large to be in memory together")
	if got := retryDelay(err); got <= 0 {
		t.Errorf("try again in %v", got)
	}
	h.rows(&btpb.ReadRowsRequest{Rows: rowSet("small")})
	other.Close()
	h.rows(&btpb.ReadRowsRequest{Rows: rowSet("large")})
	h.allFree(control)
}

// TestMemoryOfSlowClient: a long message keeps its memory while its client does not read it, and gives it back when the
// client goes away.
func TestMemoryOfSlowClient(t *testing.T) {
	h, control := withMemory(t, 8<<20)
	h.writeLarge("large", 6<<20)
	ctx, cancel := context.WithCancel(h.ctx)
	slow, err := h.data.ReadRows(ctx, &btpb.ReadRowsRequest{TableName: testTable})
	h.ok(err)
	_, err = slow.Header() // the message is on its way
	h.ok(err)
	_, err = h.readRows(&btpb.ReadRowsRequest{Rows: rowSet("large")})
	h.fails("beside a slow client", err, codes.Unavailable, "too large to be in memory together")
	cancel()
	h.allFree(control)
}

// TestRequestMemory: requests that have too many bytes together are refused, and give back what they had.
func TestRequestMemory(t *testing.T) {
	h, control := withMemory(t, 1<<20)
	write := func(size int) error { return h.mutate("r", setCell("a", "q", 0, strings.Repeat("x", size))) }
	h.ok(write(1 << 19))
	h.fails("larger than all memory", write(1<<20), codes.ResourceExhausted, "more than the memory of all requests")
	other := admission.Request{Control: control}
	if !other.Charge(3 << 18) {
		t.Fatal("there is no memory")
	}
	h.fails("beside another request", write(1<<19), codes.Unavailable, "too many bytes together")
	other.Close()
	h.ok(write(1 << 19))
	h.allFree(control)
}

// TestScanGivesUp: a scan that gets no slot gives back its place among the open scans.
func TestScanGivesUp(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(2)
	h.serve(Options{Admission: control})
	h.createTable()
	busy := admission.Request{Control: control}
	slot, err := busy.Begin(h.ctx, admission.Scan)
	h.ok(err)
	ctx, cancel := context.WithCancel(h.ctx)
	ended := make(chan error)
	go func() {
		stream, err := h.data.ReadRows(ctx, &btpb.ReadRowsRequest{TableName: testTable})
		if err == nil {
			_, err = stream.Recv()
		}
		ended <- err
	}()
	for !slot.Contended() { // until the scan is in the queue
		h.clock.Advance(0)
	}
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	for slot.Contended() { // until the server has heard of it
		h.clock.Advance(0)
	}
	slot.Release()
	busy.Close()
	<-control.Drain()
	if n := control.Scans().Free(); n != 2 {
		t.Errorf("%d of 2 places are free", n)
	}
}
