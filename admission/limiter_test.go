package admission

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited for this in vain: %s", what)
		}
	}
}

// fixture is a limiter with a clock that stands still.
type fixture struct {
	*Limiter
	*testing.T
	clock *clock.Manual
}

const (
	testTarget   = 100 * time.Millisecond
	testInterval = time.Second
)

// newFixture returns a limiter whose slots are all taken.
func newFixture(t *testing.T, slots int) fixture {
	manual := clock.NewManual(0)
	f := fixture{NewLimiter(slots, testTarget, testInterval, manual), t, manual}
	for range slots {
		if err := f.acquire(t.Context()); err != nil {
			t.Fatalf("no slot, though %d are free: %v", f.Free(), err)
		}
	}
	return f
}

// outcome is what becomes of a request that waits.
type outcome struct {
	who int
	err error
}

// join lets n requests wait, one after the other, and returns where their outcomes arrive.
func (f fixture) join(ctx context.Context, n int) <-chan outcome {
	f.Helper()
	outcomes := make(chan outcome, n)
	for who := 1; who <= n; who++ {
		before := f.Waiting()
		go func() { outcomes <- outcome{who, f.acquire(ctx)} }()
		eventually(f.T, "the request waits", func() bool { return f.Waiting() == before+1 })
	}
	return outcomes
}

// refused asks for a slot that must be refused at once, and returns the refusal.
func (f fixture) refused(what string) *Refusal {
	f.Helper()
	done := make(chan error, 1)
	waiting := f.Waiting()
	go func() { done <- f.acquire(f.Context()) }()
	eventually(f.T, "the request is refused or waits", func() bool { return len(done) == 1 || f.Waiting() > waiting })
	var refusal *Refusal
	if f.Waiting() > waiting || !errors.As(<-done, &refusal) {
		f.Fatalf("%s: a request is not refused at once", what)
	}
	return refusal
}

// serve lets n requests through, one every pace, and joins as many as it lets through.
func (f fixture) serve(n int, pace time.Duration, outcomes <-chan outcome) {
	f.Helper()
	for range n {
		f.clock.Advance(pace)
		f.release()
		if o := <-outcomes; o.err != nil {
			f.Fatalf("a request in the queue got %v", o.err)
		}
	}
}

// TestFirstComeFirstServed: slots are given out in the order of asking.
func TestFirstComeFirstServed(t *testing.T) {
	f := newFixture(t, 2)
	outcomes := f.join(t.Context(), 5)
	for want := 1; want <= 5; want++ {
		f.release()
		if got := <-outcomes; got.who != want || got.err != nil {
			t.Errorf("got %v, want the slot of %d", got, want)
		}
	}
	for range 2 {
		f.release()
	}
	if f.Free() != 2 || f.Waiting() != 0 {
		t.Errorf("got %d slots free and %d waiting at the end, want 2 and 0", f.Free(), f.Waiting())
	}
}

// TestBurstWaits: a burst waits as long as it is worked off in time. Four hundred clients that write
// on two cores are one burst after the other: 64 get their slots together, write in one group, and
// come back.
func TestBurstWaits(t *testing.T) {
	f := newFixture(t, 64)
	outcomes := make(chan error, 400)
	ask := func(n int) {
		before := f.Waiting()
		for range n {
			go func() { outcomes <- f.acquire(t.Context()) }()
		}
		eventually(t, "they wait", func() bool { return f.Waiting() == before+n })
	}
	ask(336)
	for range 500 { // 2 s
		f.clock.Advance(4 * time.Millisecond)
		for range 64 {
			f.release()
		}
		for range 64 {
			if err := <-outcomes; err != nil {
				t.Fatalf("a writer was refused: %v", err)
			}
		}
		ask(64)
	}
}

// TestWaitEnds: a request that gets no slot within the interval is refused, and one whose context
// ends leaves the queue.
func TestWaitEnds(t *testing.T) {
	f := newFixture(t, 1)
	outcomes := f.join(t.Context(), 1)
	f.clock.Advance(testInterval - time.Microsecond)
	if f.Waiting() != 1 {
		t.Fatal("the request did not wait for the interval")
	}
	f.clock.Advance(time.Microsecond)
	var refusal *Refusal
	if got := <-outcomes; !errors.As(got.err, &refusal) || refusal.RetryAfter < time.Second {
		t.Errorf("got %v after the interval, want a refusal with a time", got.err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	outcomes = f.join(ctx, 1)
	cancel()
	if got := <-outcomes; !errors.Is(got.err, context.Canceled) || f.Waiting() != 0 {
		t.Errorf("got %v after the context has ended, %d wait", got.err, f.Waiting())
	}
	f.release()
	if err := f.acquire(t.Context()); err != nil {
		t.Errorf("no slot after all of that: %v", err)
	}
}

// TestTooLongAQueue: a request that would wait longer than the interval is refused at once, by the
// pace of the queue, with the time until there is room.
func TestTooLongAQueue(t *testing.T) {
	f := newFixture(t, 1)
	outcomes := f.join(t.Context(), 200)
	f.serve(10, 10*time.Millisecond, outcomes) // 190 wait for 1.9 s
	if r := f.refused("at 100 a second behind 190"); r.RetryAfter < 1800*time.Millisecond || r.RetryAfter > 2*time.Second {
		t.Errorf("it may come back in %v, want 1.9 s", r.RetryAfter)
	}
}

// TestStandingQueue: once the expected wait has been above half of the target for an interval,
// requests are refused that would wait longer than the target. A short queue ends that.
func TestStandingQueue(t *testing.T) {
	f := newFixture(t, 1)
	var lists []<-chan outcome
	next := func() { // lets the first of the queue through
		f.clock.Advance(10 * time.Millisecond)
		f.release()
		for len(lists) > 0 {
			select {
			case o := <-lists[0]:
				if o.err != nil {
					t.Fatalf("a request in the queue got %v", o.err)
				}
				if o.who == cap(lists[0]) {
					lists = lists[1:]
				}
				return
			default:
				runtime.Gosched()
			}
		}
	}
	join := func(n int) { lists = append(lists, f.join(t.Context(), n)) }
	join(30)
	for range 99 { // at 100 a second, 30 wait: 300 ms
		next()
		join(1)
	}
	join(1) // 990 ms: not yet
	for range 10 {
		next()
	}
	f.refused("200 ms of queue have stood for an interval")
	for f.Waiting() > 8 {
		next()
	}
	join(1) // 80 ms: let in, and still standing
	for f.Waiting() > 4 {
		next()
	}
	join(30) // the queue was short: a burst is let in again
}

// TestQueueThatStandsStill: when nothing moves, the wait of the head counts.
func TestQueueThatStandsStill(t *testing.T) {
	f := newFixture(t, 1)
	outcomes := f.join(t.Context(), 1)
	f.clock.Advance(testInterval / 2)
	second := f.join(t.Context(), 1)
	f.clock.Advance(testInterval / 2)
	if o := <-outcomes; o.err == nil {
		t.Fatal("the first got a slot")
	}
	f.clock.Advance(testInterval/2 - time.Microsecond) // the head has waited for nearly an interval: a standing queue
	f.refused("nothing has moved for an interval and a half")
	f.release()
	if o := <-second; o.err != nil {
		t.Errorf("the second got %v", o.err)
	}
}

// TestReacquire: a request that had a slot waits for the next one without end, but for its context.
func TestReacquire(t *testing.T) {
	manual := clock.NewManual(0)
	control := New(Limits{}, Limiters{Read: NewLimiter(1, testTarget, testInterval, manual)})
	r := Request{Control: control}
	slot, err := r.Begin(t.Context(), Read)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := slot.Another(t.Context()); ok {
		t.Error("a second slot of one")
	}
	slot.Release()
	other, err := r.Begin(t.Context(), Read)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- slot.Reacquire() }()
	l := control.Limiter(Read)
	eventually(t, "it waits", func() bool { return l.Waiting() == 1 })
	manual.Advance(time.Hour)
	if l.Waiting() != 1 {
		t.Fatal("it did not wait for an hour")
	}
	if !other.Contended() {
		t.Error("nobody seems to wait")
	}
	if err := other.Step(StepEvery + 1); err != nil || l.Waiting() != 1 {
		t.Errorf("between two multiples of StepEvery the slot was given up: %v", err)
	}
	stepped := make(chan error, 1)
	go func() { stepped <- other.Step(StepEvery) }()
	if err := <-done; err != nil {
		t.Errorf("the one that waited got %v", err)
	}
	slot.Release()
	if err := <-stepped; err != nil {
		t.Errorf("the one that stepped aside got %v", err)
	}
	other.Release()
	if l.Free() != 1 {
		t.Errorf("%d slots are free at the end, want 1", l.Free())
	}
}

// TestRequest: what it takes comes back with Close.
func TestRequest(t *testing.T) {
	control := New(Limits{Memory: 100}, NewLimiters(Limits{}, clock.NewManual(0)))
	r := Request{Control: control}
	if !r.Charge(60) || r.Charge(41) || !r.Charge(40) {
		t.Error("100 bytes are not 60 and 40")
	}
	if r.TooLarge(0) || !r.TooLarge(1) {
		t.Error("who has all of it could have one more")
	}
	if other := (&Request{Control: control}); other.Charge(1) || other.TooLarge(100) || !other.TooLarge(101) {
		t.Error("whether a request is too large depends on others")
	}
	slot, err := r.Begin(t.Context(), Scan)
	if err != nil || control.Scans().Free() != MaxScans-1 {
		t.Errorf("%v, %d scans are free", err, control.Scans().Free())
	}
	slot.Release()
	r.Close()
	if control.Memory().Free() != 100 || control.Scans().Free() != MaxScans {
		t.Errorf("after Close %d bytes and %d scans are free", control.Memory().Free(), control.Scans().Free())
	}
	control.Scans().Take(MaxScans)
	if _, err := r.Begin(t.Context(), Scan); !errors.As(err, new(*Refusal)) {
		t.Errorf("one scan too many: got %v", err)
	}
	quick, err := r.Begin(t.Context(), Quick)
	if err != nil || quick.Limited() || quick.Reacquire() != nil || quick.Step(StepEvery) != nil {
		t.Errorf("a quick request: %v", err)
	}
}

// TestDrain: requests under way are waited for, new ones do not enter.
func TestDrain(t *testing.T) {
	control := New(Limits{}, NewLimiters(Limits{}, clock.NewManual(0)))
	if !control.Enter() || control.Draining() {
		t.Fatal("it does not begin open")
	}
	told := 0
	control.OnDrain(func() { told++ })
	done := control.Drain()
	if control.Enter() || !control.Draining() || told != 1 {
		t.Errorf("a request entered during the drain, of which %d were told", told)
	}
	select {
	case <-done:
		t.Error("the drain has ended with a request under way")
	default:
	}
	control.Leave()
	<-done
	<-control.Drain()
	if control.Enter() || told != 1 {
		t.Errorf("a request entered after the drain, of which %d were told", told)
	}
}

// TestSetLimits: more slots go to requests that wait, fewer hold once enough are given back, and 0 is the
// default.
func TestSetLimits(t *testing.T) {
	f := newFixture(t, 2)
	control := New(Limits{Memory: 100, Scans: 5}, Limiters{Write: f.Limiter})
	r := Request{Control: control}
	if !r.Charge(80) {
		t.Fatal("no room for 80 bytes of 100")
	}
	outcomes := f.join(t.Context(), 3)

	control.SetLimits(Limits{Memory: 200, Scans: 7, WriteSlots: 4})
	for range 2 {
		if o := <-outcomes; o.err != nil || o.who > 2 {
			t.Errorf("%+v, want a slot for the first two", o)
		}
	}
	if f.Waiting() != 1 || control.Memory().Free() != 120 || control.Scans().Free() != 7 {
		t.Errorf("larger: %d wait, %d bytes and %d scans are free", f.Waiting(), control.Memory().Free(), control.Scans().Free())
	}

	control.SetLimits(Limits{Memory: 50, Scans: 1, WriteSlots: 2})
	if r.Charge(1) || f.tryAcquire() {
		t.Fatal("room beyond the smaller limits")
	}
	f.release()
	f.release()
	if f.Waiting() != 1 || f.Free() != 0 {
		t.Errorf("%d wait, %d slots are free, want 1 and 0: two are in use", f.Waiting(), f.Free())
	}
	f.release()
	if o := <-outcomes; o.err != nil {
		t.Errorf("the last one: %v", o.err)
	}
	r.Close()
	if free := control.Memory().Free(); free != 50 {
		t.Errorf("%d bytes are free at the end, want 50", free)
	}

	control.SetLimits(Limits{})
	if got, want := control.Scans().Free(), int64(MaxScans); got != want {
		t.Errorf("%d scans, want %d", got, want)
	}
}
