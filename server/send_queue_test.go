package server

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/internal/cores"
)

// hookedWriter asks before each Write, which it numbers from 1.
type hookedWriter struct {
	*httptest.ResponseRecorder
	writes int
	hook   func(n int) error
}

func (w *hookedWriter) Write(p []byte) (int, error) {
	w.writes++
	if err := w.hook(w.writes); err != nil {
		return 0, err
	}
	return w.ResponseRecorder.Write(p)
}

// scanTo has a scan of everything answered to w, and reports whether the answer was broken off.
func (c *client) scanTo(ctx context.Context, w http.ResponseWriter) (broken bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			broken = true
		default:
			panic(p)
		}
	}()
	c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/table/t/scan", strings.NewReader("{}")))
	return false
}

// settled fails the test unless all that answers share is free again.
func (c *client) settled() {
	c.t.Helper()
	if free := c.senders.Free(); free != int64(sendersPerCore*cores.Count()) {
		c.t.Errorf("%d answers may be sent by a goroutine, want %d", free, sendersPerCore*cores.Count())
	}
	if free := c.parallelScans.Free(); free != maxParallelScans {
		c.t.Errorf("%d answers may be divided, want %d", free, maxParallelScans)
	}
}

// TestCollectsWhileSending: a scan goes on while its client takes nothing, but not for long. When it ends
// then, what waits is not sent any more, and nobody touches the ResponseWriter afterwards.
func TestCollectsWhileSending(t *testing.T) {
	if cores.Count() == 1 {
		t.Skip("one core does both in turns")
	}
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		c, store, _ := streaming(t, fakeRows{rows: -1, made: &made})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		hold, done := make(chan struct{}), make(chan bool, 1)
		w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(n int) error {
			if n >= 2 {
				<-hold
			}
			return nil
		}}
		go func() { done <- c.scanTo(ctx, w) }()
		synctest.Wait()
		perPiece := made.Load() / (queued + 3) // one taken, one under way, those that wait, one collected
		if bytes := perPiece * int64(w.Body.Len()) / (w.chunks()); bytes < flushSize*9/10 || bytes > flushSize*11/10 {
			t.Errorf("%d chunks were collected while the second piece was sent, %d bytes for each piece, want %d", made.Load(), bytes, flushSize)
		}
		cancel()
		hold <- struct{}{} // the handler goes on, and ends, while the third is sent
		synctest.Wait()
		if n := store.open.Load(); n != 0 {
			t.Errorf("%d views and answers are open", n)
		}
		select {
		case <-done:
			t.Fatal("the handler has ended while a piece of its answer is being sent")
		default:
		}
		close(hold)
		if broken := <-done; !broken || w.writes != 3 {
			t.Errorf("broken off: %t, after %d pieces, want 3", broken, w.writes)
		}
		c.settled()
	})
}

// TestLargeAreCut: what waits takes no more memory where there are large values.
func TestLargeAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large, rows = 1 << 20, 3000
		var made atomic.Int64
		c, _, _ := streaming(t, fakeRows{rows: rows, large: large, apart: 100, made: &made})
		hold, done := make(chan struct{}), make(chan bool, 1)
		w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(n int) error {
			if n == 2 {
				<-hold
			}
			return nil
		}}
		go func() { done <- c.scanTo(t.Context(), w) }()
		synctest.Wait()
		collected := made.Load()
		close(hold)
		if <-done {
			t.Error("the answer was broken off")
		}
		bytes := collected * int64(w.Body.Len()) / (2 * rows)
		if most := int64((queued+3)*flushSize + 2*large*4/3); bytes > most {
			t.Errorf("%d bytes were collected while the second piece was sent, want at most %d", bytes, most)
		}
		c.settled()
	})
}

// TestEnqueue: pieces are in order, and keep no more memory than they may.
func TestEnqueue(t *testing.T) {
	for _, size := range []int{1, flushSize, maxCopied, maxKept, maxKept + 1, 10 * flushSize} {
		want := make([]byte, size)
		rand.NewChaCha8([32]byte{}).Read(want)
		c := responseBuffer{out: append(make([]byte, 0, size), want...)}
		queue := make(chan *[]byte, 20)
		if !c.enqueue(queue, nil) || len(c.out) != 0 {
			t.Fatalf("%d bytes: %d are left", size, len(c.out))
		}
		close(queue)
		if n := (size + maxCopied - 1) / maxCopied; size > maxKept && len(queue) != n {
			t.Errorf("%d bytes: %d pieces, want %d", size, len(queue), n)
		}
		var got []byte
		for piece := range queue {
			got = append(got, *piece...)
			if cap(*piece) > maxKept {
				t.Errorf("%d bytes: a piece keeps %d, want at most %d", size, cap(*piece), maxKept)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got others, %d", size, len(got))
		}
	}
	large := make([]byte, 0, maxKept+1)
	if releaseChunk(&large); large != nil {
		t.Errorf("a piece that had %d bytes is kept", maxKept+1)
	}
}

// chunks returns how many of fakeRows the writer has got.
func (w *hookedWriter) chunks() int64 {
	return int64(bytes.Count(w.Body.Bytes(), []byte(`"q":[`)))
}

// TestAnswersAlike: an answer is the same whether the handler sends it or a goroutine.
func TestAnswersAlike(t *testing.T) {
	for _, large := range []int{0, 100_000} {
		for _, encoding := range []string{"", "gzip", "zstd"} {
			c, _, _ := streaming(t, fakeRows{rows: 3000, large: large, apart: 1500})
			all := c.senders.Free()
			var want []byte
			for _, free := range []int64{0, all} {
				c.senders = admission.NewBudget(free)
				least := free
				w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(int) error {
					least = min(least, c.senders.Free())
					return nil
				}}
				request := httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}"))
				request.Header.Set("Accept-Encoding", encoding)
				c.ServeHTTP(w, request)
				if free > 0 && cores.Count() > 1 && least != free-1 {
					t.Errorf("large values of %d bytes, %q: no goroutine has sent a piece", large, encoding)
				}
				body, err := inflated(w.Result())
				if err != nil {
					t.Fatal(err)
				}
				rows, _, _ := bytes.Cut(body, []byte(`"micros"`))
				if want != nil && !bytes.Equal(rows, want) {
					t.Errorf("large values of %d bytes, %q: the answers differ", large, encoding)
				}
				want = rows
			}
			if !bytes.Contains(want, []byte(`"row_key":"row00002999"`)) {
				t.Error("the last row is missing")
			}
			c.settled()
		}
	}
}

// TestCannotSend: where a piece in the middle cannot be sent, the scan ends.
func TestCannotSend(t *testing.T) {
	for name, hook := range map[string]func() error{
		"gone":  func() error { return errors.New("connection reset") },
		"panic": func() error { panic("the writer has a bug") },
	} {
		c, store, log := streaming(t, fakeRows{rows: -1})
		w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(n int) error {
			if n == 20 {
				return hook()
			}
			return nil
		}}
		if !c.scanTo(t.Context(), w) || w.writes != 20 {
			t.Errorf("%s: not broken off, or only after %d pieces, want 20", name, w.writes)
		}
		store.waitClosed(t)
		if logged := log.String(); strings.Contains(logged, "the writer has a bug") != (name == "panic") {
			t.Errorf("%s: got the log %s", name, logged)
		}
		c.settled()
	}
}
