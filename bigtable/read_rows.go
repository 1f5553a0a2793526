package bigtable

import (
	"bytes"
	"context"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

const (
	// responseSize is how many bytes of chunks a message has at least, unless it is the last. A message ends with a row:
	// Google's Go client takes no row in two messages.
	responseSize = 64 << 10
	// mostOfRow is how many bytes of chunks of a row make a message of their own, for the clients that take that.
	mostOfRow = 64 << 20
	// chargeSize is the step in which longer messages are taken from the memory of requests.
	chargeSize = 1 << 20
	// silence is how long a client hears nothing of a query that returns nothing, in microseconds.
	silence = 1_000_000
)

// ReadRows implements the data service.
func (s *Server) ReadRows(r *btpb.ReadRowsRequest, stream btpb.Bigtable_ReadRowsServer) error {
	begun := s.opt.Clock.Now()
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	c, err := s.begin(stream.Context(), access.Read, classOf(q), r.TableName)
	if err != nil {
		return err
	}
	defer c.end()
	c.caller.explains(q)
	view, err := c.open(stream.Context())
	if err != nil {
		return statusOf(err)
	}
	defer view.Close()
	reader := rowReader{call: c, stream: stream, heard: begun}
	defer reader.close()
	stats, err := reader.read(stream.Context(), view, q)
	c.rows, c.caller.stats = max(stats.Rows, stats.RowsScanned), stats
	if err != nil {
		return statusOf(err)
	}
	if r.RequestStatsView == btpb.ReadRowsRequest_REQUEST_STATS_FULL {
		return stream.Send(&btpb.ReadRowsResponse{RequestStats: requestStats(stats, s.opt.Clock.Now()-begun)})
	}
	return nil
}

// classOf returns the class of a read. One of few rows by their keys holds no snapshot for long.
func classOf(q *widecol.Query) admission.Class {
	if len(q.Rows) > 16 {
		return admission.Scan
	}
	for _, r := range q.Rows {
		if r.Key() == nil {
			return admission.Scan
		}
	}
	return admission.Read
}

// queryOf returns the query of a request.
func queryOf(r *btpb.ReadRowsRequest) (*widecol.Query, error) {
	q := widecol.NewQuery()
	var err error
	if q.Rows, err = rowsOf(r.Rows); err != nil {
		return nil, err
	}
	if q.RowFilter, err = filterOf("filter", r.Filter); err != nil {
		return nil, err
	}
	switch {
	case r.RowsLimit < 0:
		return nil, invalid("rows_limit", "it is %d, and must not be below 0", r.RowsLimit)
	case r.RowsLimit > 0:
		q.RowLimit = r.RowsLimit
	}
	q.Reverse = r.Reversed
	return &q, nil
}

// rowReader sends the result of a query.
type rowReader struct {
	*call
	stream  btpb.Bigtable_ReadRowsServer
	chunks  chunkWriter
	buffer  *[]byte // of chunks.out
	charged int64   // bytes of chunks.out that were taken from the memory of requests
	looked  int     // rounds of Query.Yield

	rows  widecol.PassedRows // nil if the Store has none
	heard int64              // when the client was sent something, in microseconds
}

// close gives the buffer back.
func (r *rowReader) close() {
	if r.buffer != nil {
		messages.Put(r.buffer)
	}
}

func (r *rowReader) read(ctx context.Context, view widecol.View, q *widecol.Query) (widecol.Stats, error) {
	q.Yield = r.yield
	rows, err := r.scan(ctx, view, q)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer rows.Close()
	r.rows, _ = rows.(widecol.PassedRows)
	r.take()
	for rows.Next() {
		if rows.First() {
			r.chunks.commit()
			if err := r.sendIfLonger(responseSize); err != nil {
				return rows.Stats(), err
			}
			r.chunks.beginRow(rows.Row())
		}
		labels := rows.Labels()
		cells := rows.Cells()
		for i := range cells {
			label := ""
			if labels != nil {
				label = labels[i]
			}
			r.chunks.add(&cells[i], label)
			if err := r.charge(); err != nil {
				return rows.Stats(), err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return rows.Stats(), err
	}
	r.chunks.commit()
	return rows.Stats(), r.send()
}

// yield lets other requests in between. If the client has heard nothing for long, it tells how far the query is, so that
// the client need not begin anew after a failure.
func (r *rowReader) yield() error {
	r.looked++
	if r.rows != nil && r.server.opt.Clock.Now()-r.heard >= silence {
		if key := r.rows.Passed(); key != nil {
			r.chunks.commit() // the row before is whole
			r.chunks.lastScanned(key)
			if err := r.send(); err != nil {
				return err
			}
		}
	}
	return r.slot.Step(r.looked * widecol.YieldEvery)
}

// take takes a buffer for the next message.
func (r *rowReader) take() {
	r.buffer = messages.Get(0)
	r.chunks.out, r.chunks.whole = *r.buffer, 0
}

func (r *rowReader) sendIfLonger(size int) error {
	if len(r.chunks.out) < size {
		return nil
	}
	return r.send()
}

// charge takes the memory of a message that grows long, and sends what grows too long. A long row gets a message of its
// own: Google's Python client takes none above 4 MiB.
func (r *rowReader) charge() error {
	if r.chunks.whole > 0 && len(r.chunks.out) > chargeSize {
		if err := r.sendRows(); err != nil {
			return err
		}
	}
	for int64(len(r.chunks.out))-r.charged > chargeSize {
		switch {
		case r.caller.memory.Charge(chargeSize):
		case r.caller.memory.TooLarge(chargeSize):
			return status.Error(codes.ResourceExhausted, "a row is larger than the memory of requests: give the server more, or read less of the row")
		default:
			return retryLater("the rows that are being read are too large to be in memory together", time.Second)
		}
		r.charged += chargeSize
	}
	return r.sendIfLonger(mostOfRow)
}

// sendRows sends the whole rows of the message, and keeps the rest.
func (r *rowReader) sendRows() error {
	rest := bytes.Clone(r.chunks.out[r.chunks.whole:])
	r.chunks.out = r.chunks.out[:r.chunks.whole]
	if err := r.send(); err != nil {
		return err
	}
	r.chunks.out = append(r.chunks.out, rest...)
	return nil
}

// send sends the message, unless it is empty, and takes a buffer for the next one. While the client is slow, the slot
// is free for others.
func (r *rowReader) send() error {
	if len(r.chunks.out) == 0 {
		return nil
	}
	*r.buffer = r.chunks.out
	r.caller.sent += int64(len(r.chunks.out))
	message, size := encoded{data: r.buffer}, int64(len(r.chunks.out))
	if size >= longMessage {
		message.held = new(held)
	}
	r.buffer = nil
	r.slot.Release()
	if err := r.stream.SendMsg(message); err != nil {
		return err
	}
	if r.charged > 0 { // SendMsg only queues it: its memory stays taken until it is sent
		if err := r.caller.awaitSent(message.held, size); err != nil {
			return err
		}
	}
	r.heard = r.server.opt.Clock.Now()
	r.caller.memory.Refund(r.charged)
	r.charged = 0
	r.take()
	return r.slot.Reacquire()
}

func requestStats(s widecol.Stats, micros int64) *btpb.RequestStats {
	return &btpb.RequestStats{StatsView: &btpb.RequestStats_FullReadStatsView{FullReadStatsView: &btpb.FullReadStatsView{
		ReadIterationStats: &btpb.ReadIterationStats{
			RowsSeenCount: s.RowsScanned, RowsReturnedCount: s.Rows, CellsSeenCount: s.CellsScanned, CellsReturnedCount: s.Cells,
		},
		RequestLatencyStats: &btpb.RequestLatencyStats{FrontendServerLatency: durationpb.New(time.Duration(micros) * time.Microsecond)},
	}}}
}
