package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
)

// Archiver keeps the log of a running store in a repository. It writes each segment as an object, in order, and
// releases it then. It is safe for concurrent use.
//
//	every Interval    the segment that is being written is finished, if it has batches (finishLoop)
//	each segment      is packed, written, released; until that succeeds it is tried again (shipLoop)
//
// A segment that was lost, is damaged, or cannot be read for a minute leaves a gap: nothing can be restored across it. So does a time without an
// Archiver. After a crash a segment may come again that has an object; it must have the same batches. If it has not,
// the directory is a copy of that of another server, or was set back, and the archiver stops.
type Archiver struct {
	db      *engine.DB
	open    func(ctx context.Context) (*Repository, error)
	opt     ArchiverOptions
	store   string
	line    string // the timeline
	drain   context.Context
	stop    context.CancelFunc // ends waits for more
	work    context.Context
	abandon context.CancelFunc // ends everything
	loops   sync.WaitGroup

	// Of shipLoop.
	repository *Repository
	known      map[uint64]logObject // by number; those before are of no interest
	last       uint64               // the last that the repository had at first; those before it are passed, 0 for none
	previous   uint64               // the last segment that was looked at

	mu    sync.Mutex
	stats ArchiverStats
	done  uint64        // segments up to here are archived, or given up
	hand  time.Duration // Clock.Elapsed at the first batch of the segment in hand, if that was before the store was opened; nothing for none
	told  string        // the last failure in the log
}

// nothing is later than any time that has elapsed.
const nothing = time.Duration(math.MaxInt64)

// ArchiverOptions configure an Archiver.
type ArchiverOptions struct {
	Clock clock.Clock // that of the store; required
	// Interval is how often the segment being written is finished. Default 10 s.
	Interval time.Duration
	Log      *slog.Logger // default: none
}

// ArchiverStats say what an Archiver has done.
type ArchiverStats struct {
	Segments int64         // written to the repository
	Bytes    int64         // of their objects
	Failures int64         // attempts that failed
	Gaps     int64         // places where segments are missing, or will be once the repository can be reached
	Stopped  bool          // for good
	Lag      time.Duration // the age of the oldest commit that is not in the repository
}

// errStopped ends an archiver for good.
var errStopped = errors.New("the archive is stopped")

// NewArchiver starts to archive the log of db, which was opened with ArchiveLog. open opens the repository; it is
// called again until it succeeds.
func NewArchiver(db *engine.DB, open func(ctx context.Context) (*Repository, error), opt ArchiverOptions) *Archiver {
	if opt.Interval == 0 {
		opt.Interval = 10 * time.Second
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	id := db.ID()
	a := &Archiver{db: db, open: open, opt: opt, store: fmt.Sprintf("%x", id[:]), line: timelineText(db.Timeline()), hand: nothing}
	a.work, a.abandon = context.WithCancel(context.Background())
	a.drain, a.stop = context.WithCancel(a.work)
	a.loops.Go(a.finishLoop)
	a.loops.Go(a.shipLoop)
	return a
}

// Close archives what is finished and what is being written, until ctx ends. The rest stays in the directory of the
// store, for the next Archiver. It does not wait for a disk or a storage that does not answer even then: what is under
// way there may still end, and changes nothing in the store.
func (a *Archiver) Close(ctx context.Context) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if err := a.db.FinishLogSegment(); err != nil && a.work.Err() == nil {
			a.opt.Log.Warn("the end of the log is archived after the next start", "cause", err)
		}
		a.stop()
		a.loops.Wait()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		a.abandon()
		late := make(chan struct{})
		defer a.opt.Clock.AfterFunc(abandonPatience, func() { close(late) })()
		select {
		case <-closed:
		case <-late:
		}
	}
	a.abandon()
	if s := a.Stats(); s.Lag > 0 && !s.Stopped {
		a.opt.Log.Warn("the end of the log is not in the archive: it stays in the directory, and is archived after the next start", "lag", s.Lag.Round(time.Millisecond), "cause", a.lastFailure())
	}
}

// abandonPatience is how long Close waits for what was told to end.
const abandonPatience = time.Second

// lastFailure returns the last failure since something was archived.
func (a *Archiver) lastFailure() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == "" {
		return "there was no time"
	}
	return a.told
}

// Stats returns what the archiver has done.
func (a *Archiver) Stats() ArchiverStats {
	lost := a.db.LostLog()
	a.mu.Lock()
	s, done, since := a.stats, a.done, a.hand
	a.mu.Unlock()
	if lost > done { // shipLoop has not come to it
		s.Gaps++
	}
	if at := a.db.Unarchived(done); at != 0 {
		since = min(since, at)
	}
	if since != nothing {
		s.Lag = a.opt.Clock.Elapsed() - since
	}
	return s
}

// finishLoop finishes the segment that is being written.
func (a *Archiver) finishLoop() {
	for sleep(a.drain, a.opt.Clock, a.opt.Interval) == nil {
		if err := a.db.FinishLogSegment(); err != nil {
			a.failed("finish a segment of the log", err)
		}
	}
}

// shipLoop archives one segment after the other.
func (a *Archiver) shipLoop() {
	// The first segment may come late. If the repository cannot be opened, its owner has to know now.
	_ = a.persist(a.drain, a.openRepository)
	attempts := 0 // that failed to read the next segment
	for {
		s, err := a.db.NextLogSegment(a.drain, a.previous)
		if s == nil {
			return // the archiver, or the DB, is being closed
		}
		if err == nil {
			err = errors.Join(a.ship(s), s.Close())
		}
		var corrupt *engine.CorruptError
		switch {
		case errors.Is(err, errStopped):
			a.mu.Lock()
			a.stats.Stopped = true
			a.mu.Unlock()
			a.opt.Log.Error("the log is not archived any more", "cause", err)
			a.db.ReleaseLog(math.MaxUint64) // nobody will archive it here, and it must not fill the disk
			return
		case a.work.Err() != nil:
			return
		case errors.As(err, &corrupt), errors.Is(err, fs.ErrNotExist), err != nil && attempts == readAttempts-1:
			a.gap(s.Number, s.Number, err)
		case err != nil:
			a.failed("read a segment of the log", err)
			if sleep(a.drain, a.opt.Clock, min(firstPause<<attempts, longestPause)) != nil {
				return
			}
			attempts++
			continue
		}
		attempts, a.previous = 0, s.Number
		a.mu.Lock()
		a.done, a.hand = s.Number, nothing
		a.mu.Unlock()
		a.db.ReleaseLog(s.Number)
	}
}

// Pauses between two attempts.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// readAttempts are made to read a segment, in a minute: the others must not wait behind it for ever.
const readAttempts = 8

// persist repeats an attempt until it succeeds, or ctx ends.
func (a *Archiver) persist(ctx context.Context, attempt func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := a.try(ctx, attempt)
		if err == nil || ctx.Err() != nil {
			return err
		}
		a.failed("archive the log", err)
		if err := sleep(ctx, a.opt.Clock, pause); err != nil {
			return err
		}
	}
}

// try makes an attempt, and ends it if it takes too long.
func (a *Archiver) try(ctx context.Context, attempt func(context.Context) error) error {
	each, cancel := context.WithCancel(ctx)
	defer cancel()
	defer a.opt.Clock.AfterFunc(attemptPatience, cancel)()
	err := attempt(each)
	if err != nil && each.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("there was no answer for %v", attemptPatience)
	}
	return err
}

// attemptPatience is enough to send the largest segment, 16 MiB, over a slow line.
const attemptPatience = 2 * time.Minute

// failed counts a failure, and logs it unless it is that of before.
func (a *Archiver) failed(what string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.work.Err() != nil {
		return
	}
	a.stats.Failures++
	if a.told != err.Error() {
		a.told = err.Error()
		a.opt.Log.Warn("could not "+what+", will try again", "cause", err)
	}
}

// gap records that segments are not in the archive.
func (a *Archiver) gap(from, to uint64, cause error) {
	a.mu.Lock()
	a.stats.Gaps++
	a.done = max(a.done, to)
	a.mu.Unlock()
	a.opt.Log.Error("segments of the log are not in the archive: make a backup, so that times after this one can be restored", "from", from, "to", to, "cause", cause)
}

// ship archives a segment. It reads it once. An error is one of reading it, or the archiver is closed or stopped.
func (a *Archiver) ship(s *engine.LogSegment) error {
	a.takeInHand(s)
	if err := a.persist(a.work, func(ctx context.Context) error { return a.connect(ctx, s.Number) }); err != nil {
		return err
	}
	if first := a.firstLost(s.Number); first != 0 {
		a.gap(first, s.Number-1, errors.New("the disk was almost full"))
	}
	known, ok := a.known[s.Number]
	if known.forked || a.known[s.Number-1].forked {
		return a.unlessForked(s, errForked)
	}
	if ok {
		return a.compare(s, known)
	}
	if s.Number <= a.last { // a crash has brought it back, and a prune has removed its object
		if s.Found {
			return nil
		}
		return a.unlessForked(s, errForked)
	}
	o := logObject{store: a.store, timeline: a.line, number: s.Number, after: s.After}
	if before, ok := a.known[s.Number-1]; ok {
		o.after, o.time = before.last, before.time
	} else if !s.Complete {
		return nil // nothing can begin with it
	}
	stored, err := a.repository.opt.Keys.pack(&o, s)
	if err != nil {
		return a.unlessForked(s, err)
	}
	forked := false
	err = a.persist(a.work, func(ctx context.Context) (err error) {
		if forked, err = a.repository.hasOther(ctx, &o); err != nil || forked {
			return err
		}
		return a.repository.storage.Put(ctx, o.name, bytes.NewReader(stored), int64(len(stored)))
	})
	if err == nil && forked {
		err = a.unlessForked(s, errForked)
	}
	if err != nil {
		return err
	}
	delete(a.known, s.Number-1)
	a.known[s.Number] = o
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = ""
	a.stats.Segments++
	a.stats.Bytes += int64(len(stored))
	return nil
}

// takeInHand remembers how old a segment is that was begun before the store was opened: by the time of its first batch,
// for there is nothing else.
func (a *Archiver) takeInHand(s *engine.LogSegment) {
	if s.Begun() == 0 || !s.Found && !s.Copies() {
		return
	}
	age := time.Duration(a.opt.Clock.Now()-s.Begun()) * time.Microsecond
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hand = a.opt.Clock.Elapsed() - max(age, 0)
}

// firstLost returns the first segment between the previous one and number that is not archived, 0 if there is none. A
// crash can bring back an archived segment whose file was removed, and not the one after it; of those a prune may have
// removed the objects.
func (a *Archiver) firstLost(number uint64) uint64 {
	if a.previous == 0 {
		return 0
	}
	for n := max(a.previous, a.last) + 1; n < number; n++ {
		if _, ok := a.known[n]; !ok {
			return n
		}
	}
	return 0
}

// openRepository opens the repository, if that was not done yet.
func (a *Archiver) openRepository(ctx context.Context) (err error) {
	if a.repository == nil {
		a.repository, err = a.open(ctx)
	}
	return err
}

// connect opens the repository, and finds what it has from the segment before the first one on, if that was not done yet.
func (a *Archiver) connect(ctx context.Context, first uint64) error {
	if a.known != nil {
		return nil
	}
	if err := a.openRepository(ctx); err != nil {
		return err
	}
	objects, err := a.repository.logOf(ctx, a.store, a.line)
	if err != nil {
		return err
	}
	known := make(map[uint64]logObject)
	for _, o := range objects {
		if a.last = o.number; o.number >= first-1 {
			known[o.number] = o
		}
	}
	if a.last != 0 && a.last < first-1 {
		a.gap(a.last+1, first-1, errors.New("they were written while nothing was archived"))
	}
	a.known = known
	a.opt.Log.Info("the log is archived", "repository", a.repository.storage.String(), "store", a.store, "timeline", a.line, "segment", first)
	return nil
}

// compare makes sure that the object of a segment has its batches.
func (a *Archiver) compare(s *engine.LogSegment, known logObject) error {
	sums, o := newBatchSums(), logObject{after: known.after}
	err := eachBatch(s, &o, func(b engine.LogBatch) error { sums.add(b.Seq, b.Payload); return nil })
	delete(a.known, s.Number-1)
	// Of a segment that was not finished, power may have taken the end after it was archived. Then copies of it follow.
	if err == nil && s.Finished() && (o.last != known.last || sums.text() != known.content) {
		err = errForked
	}
	return a.unlessForked(s, err)
}

// unlessForked returns err, or what to do if the log of another server is in the archive.
func (a *Archiver) unlessForked(s *engine.LogSegment, err error) error {
	if !errors.Is(err, errForked) {
		return err
	}
	return fmt.Errorf("%w: segment %d does not follow what is in %s, so the directory of this server is a copy of that of another one, or was set back to an earlier state: archive to another place and make a backup there",
		errStopped, s.Number, a.repository.storage)
}
