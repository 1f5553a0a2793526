package server

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/admission"
)

// lineSource reads the body of a request while the handler works:
//
//	goroutine   body ──► inflater ──► waiting, at most sourceAhead bytes and a piece
//	handler                              └──► take
//
// So the handler finds there what has come since it last took something: little from a slow client, which
// then does not wait for more to come, and much from a fast one. All of the memory is charged.
type lineSource struct {
	body     io.ReadCloser
	response *http.ResponseController
	admitted *admission.Request
	now      func() time.Time
	patience time.Duration // for the client to send something
	piece    int64         // bytes that are read at once
	ended    chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	changed sync.Cond
	waiting chargedBytes // guarded by mu, like what follows
	err     error        // why nothing follows; io.EOF at the end of the body
	stopped bool
}

const (
	// sourcePiece is how many bytes of a body are read at once.
	sourcePiece = 64 << 10
	// sourceAhead bounds the bytes that wait for the handler.
	sourceAhead = batchBytes
)

// startSource starts to read the body.
func (x *requestContext) startSource(encoding string) *lineSource {
	s := &lineSource{
		body: x.r.Body, response: http.NewResponseController(x.w), admitted: &x.admitted,
		now: x.server.opt.Now, patience: x.server.timeouts.Progress, piece: sourcePiece,
		ended: make(chan struct{}), waiting: chargedBytes{memory: &x.admitted},
	}
	if n := x.r.ContentLength; n >= 0 && encoding == "" {
		s.piece = min(s.piece, n+1) // room to see the end
	}
	s.changed.L = &s.mu
	go s.run(encoding)
	return s
}

// take appends to b what waits. It waits for something. over is true, with the reason, if nothing follows.
func (s *lineSource) take(b *chargedBytes) (over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting.bytes) == 0 && s.err == nil {
		s.changed.Wait()
	}
	if len(s.waiting.bytes) == 0 {
		return true, s.err
	}
	err = b.append(s.waiting.bytes)
	s.waiting.bytes = s.waiting.bytes[:0]
	s.changed.Signal()
	return false, err
}

// whole reports whether the goroutine has seen the end of the body.
func (s *lineSource) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == io.EOF
}

// stop ends the goroutine, and waits for it.
func (s *lineSource) stop() {
	s.mu.Lock()
	s.stopped = true
	if s.err == nil { // it may be reading
		_ = s.response.SetReadDeadline(time.Unix(1, 0)) // long past
	}
	s.changed.Signal()
	s.mu.Unlock()
	_ = s.body.Close() // for a writer without deadlines
	<-s.ended
}

// run reads the body. It turns a panic into an error, because serve cannot: this is another goroutine.
func (s *lineSource) run(encoding string) {
	defer close(s.ended)
	defer func() {
		if p := recover(); p != nil {
			s.end(panicked(p))
		}
	}()
	s.end(s.readAll(encoding))
}

func (s *lineSource) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.changed.Signal()
}

func (s *lineSource) readAll(encoding string) error {
	if err := charge(s.admitted, s.piece); err != nil {
		return err
	}
	var from io.Reader = timedBody{s}
	if encoding != "" {
		if err := charge(s.admitted, inflaterMemory); err != nil {
			return err
		}
		inflated, release, err := inflater(encoding, from)
		defer release()
		if err != nil {
			return bodyFailure(err)
		}
		from = inflated
	}
	piece := make([]byte, s.piece)
	for {
		n, err := from.Read(piece)
		if err := s.put(piece[:n], err == io.EOF); err != nil {
			return err
		}
		switch {
		case err == io.EOF:
			return err
		case err != nil:
			return bodyFailure(err)
		}
	}
}

// bodyFailure is readFailure for a body that may have been stopped.
func bodyFailure(err error) error {
	if errors.Is(err, errGone) {
		return err
	}
	return readFailure(err)
}

// put lets a piece wait for the handler. Behind the last one nothing follows: whole is true before its lines are answered.
func (s *lineSource) put(piece []byte, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting.bytes) >= sourceAhead && !s.stopped {
		s.changed.Wait()
	}
	if s.stopped {
		return errGone
	}
	if err := s.waiting.append(piece); err != nil {
		return err
	}
	if last {
		s.err = io.EOF
	}
	s.changed.Signal()
	return nil
}

// timedBody is the body, whose client has the time for progress to send the next bytes.
type timedBody struct{ *lineSource }

func (s timedBody) Read(p []byte) (int, error) {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		_ = s.response.SetReadDeadline(s.now().Add(s.patience)) // a writer without deadlines is a test's
	}
	s.mu.Unlock()
	if stopped {
		return 0, errGone
	}
	return s.body.Read(p)
}

// chargedBytes is a buffer whose memory counts as memory of the request.
type chargedBytes struct {
	bytes   []byte
	charged int64
	memory  *admission.Request
}

// mostGrown bounds how much larger than needed the buffer becomes.
const mostGrown = 4 << 20

func (b *chargedBytes) append(more []byte) error {
	if need := int64(len(b.bytes) + len(more)); need > b.charged {
		size := max(need, b.charged+min(b.charged, mostGrown))
		if !b.memory.Charge(size - b.charged) {
			size = need
			if err := charge(b.memory, size-b.charged); err != nil {
				return err
			}
		}
		b.charged = size
		b.bytes = grow(b.bytes, size)
	}
	b.bytes = append(b.bytes, more...)
	return nil
}

// shrink gives the memory of a large buffer back, but for what is in it.
func (b *chargedBytes) shrink() {
	size := int64(len(b.bytes))
	b.bytes = append(make([]byte, 0, size), b.bytes...)
	b.memory.Refund(b.charged - size)
	b.charged = size
}
