package bigtable

import (
	"context"
	"fmt"
	"sync"
	"time"

	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/colonnade-db/colonnade/access"
)

const (
	// maxOperations bounds the operations under way, and maxAtWork those of them that work. Each has files of its own.
	maxOperations = 100
	maxAtWork     = 2
	// maxEnded bounds the operations that have ended and whose outcome can still be asked for.
	maxEnded = 1000
	// patience is how long the call that has begun an operation waits for its end. Most end sooner, and their clients need not ask again.
	patience = 5 * time.Second
)

// work is what an operation does.
type work struct {
	method   string
	table    string        // that it is about, in the Store
	metadata proto.Message // until it has ended
	do       func(ctx context.Context) (result, metadata proto.Message, err error)
}

// operations are the long-running operations of a Server. They go on when the call that has begun them ends, and end with
// the server.
type operations struct {
	longrunningpb.UnimplementedOperationsServer
	server *Server
	ctx    context.Context // of all
	cancel context.CancelFunc
	atWork chan struct{}
	all    sync.WaitGroup
	began  int64 // when the server did: names of operations of other processes differ

	// mu guards the fields below, and state of operations.
	mu       sync.Mutex
	closed   bool
	given    int // numbers of operations
	underWay int
	byName   map[string]*operation
	ended    []string // the oldest first
}

// operation is one of them.
type operation struct {
	work
	cancel context.CancelFunc
	done   chan struct{}
	state  *longrunningpb.Operation // replaced at the end, never changed
}

func newOperations(s *Server) *operations {
	o := &operations{server: s, atWork: make(chan struct{}, maxAtWork), began: s.opt.Clock.Now(), byName: make(map[string]*operation)}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	return o
}

// run begins an operation and waits some time for its end. An error of one that has ended meanwhile is that of the call.
func (o *operations) run(ctx context.Context, w *work) (*longrunningpb.Operation, error) {
	late := make(chan struct{})
	defer o.server.opt.Clock.AfterFunc(patience, func() { close(late) })()
	op, err := o.start(w)
	if err != nil {
		return nil, err
	}
	select {
	case <-op.done:
	case <-late:
	case <-ctx.Done():
		return nil, statusOf(ctx.Err())
	}
	state := o.stateOf(op)
	if failed := state.GetError(); failed != nil {
		return nil, status.ErrorProto(failed)
	}
	return state, nil
}

func (o *operations) stateOf(op *operation) *longrunningpb.Operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return op.state
}

func (o *operations) start(w *work) (*operation, error) {
	about, err := anypb.New(w.metadata)
	if err != nil {
		return nil, statusOf(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.underWay == maxOperations:
		return nil, retryLater(fmt.Sprintf("%d operations are under way", maxOperations), time.Minute)
	case o.closed || !o.server.opt.Admission.Enter():
		return nil, retryLater("the server is shutting down", time.Second)
	}
	o.underWay++
	o.given++
	op := &operation{work: *w, done: make(chan struct{}), state: &longrunningpb.Operation{
		Name: fmt.Sprintf("operations/%x-%d", o.began, o.given), Metadata: about,
	}}
	var opCtx context.Context
	opCtx, op.cancel = context.WithCancel(o.ctx)
	o.byName[op.state.Name] = op
	o.all.Go(func() {
		defer o.server.opt.Admission.Leave()
		defer op.cancel()
		begun := o.server.time()
		result, metadata, err := o.work(opCtx, op)
		o.end(op, result, metadata, err)
		o.server.opt.Log.Info("operation has ended", "name", op.state.Name, "method", op.method, "table", op.table,
			"code", status.Code(err).String(), "cause", err, "took", o.server.time().Sub(begun))
	})
	return op, nil
}

// work does what an operation does, once it may. Its error is a status.
func (o *operations) work(ctx context.Context, op *operation) (result, metadata proto.Message, err error) {
	defer func() { o.server.recovered(op.method, &err, recover()) }()
	select {
	case o.atWork <- struct{}{}:
		defer func() { <-o.atWork }()
	case <-ctx.Done():
		return nil, nil, statusOf(ctx.Err())
	}
	result, metadata, err = op.do(ctx)
	if err != nil && ctx.Err() != nil { // whatever that has ended
		err = ctx.Err()
	}
	return result, metadata, statusOf(err)
}

// end keeps the outcome of an operation.
func (o *operations) end(op *operation, result, metadata proto.Message, err error) {
	var state *longrunningpb.Operation
	if err == nil {
		state, err = o.server.done(result, metadata)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		state = &longrunningpb.Operation{Metadata: op.state.Metadata, Done: true, Result: &longrunningpb.Operation_Error{Error: status.Convert(err).Proto()}}
	}
	state.Name = op.state.Name
	op.state = state
	close(op.done)
	o.underWay--
	if o.ended = append(o.ended, state.Name); len(o.ended) > maxEnded {
		delete(o.byName, o.ended[0])
		o.ended = o.ended[1:]
	}
}

// close ends the operations under way, and waits for their ends.
func (o *operations) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.all.Wait()
}

// find returns an operation that the sender of a request may know of.
func (o *operations) find(ctx context.Context, name string) (*operation, error) {
	o.mu.Lock()
	op := o.byName[name]
	o.mu.Unlock()
	if op == nil {
		return nil, status.Errorf(codes.NotFound, "there is no operation %q: it ended long ago, or with the server that had it, which has done all of it or nothing", name)
	}
	return op, o.server.authorize(ctx, access.Admin, op.table)
}

// GetOperation says how far an operation is.
func (o *operations) GetOperation(ctx context.Context, r *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	op, err := o.find(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return o.stateOf(op), nil
}

// CancelOperation ends an operation. What it has done goes.
func (o *operations) CancelOperation(ctx context.Context, r *longrunningpb.CancelOperationRequest) (*emptypb.Empty, error) {
	op, err := o.find(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	op.cancel()
	return &emptypb.Empty{}, nil
}
