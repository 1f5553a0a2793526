package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// Point is a time to restore to: a backup, and the archived log from there on.
type Point struct {
	Backup *Backup
	log    []logObject
	until  int64 // in microseconds
}

// Time returns the time of the point: the store is as it was then.
func (p *Point) Time() time.Time {
	at := p.Backup.Time
	if n := len(p.log); n > 0 {
		at = max(at, min(p.log[n-1].time, p.until))
	}
	return time.UnixMicro(at).UTC()
}

// Latest is later than any commit.
const Latest = math.MaxInt64

// known reports whether the log that follows a backup is known: it has all tables, and says where in the log it is.
func (b *Backup) known() bool { return b.Whole && b.Timeline != "" }

// FindPoint returns the point with all commits up to a time, in microseconds since the Unix epoch, or up to the last one that
// is archived for Latest. id names the backup, or is empty for the newest that is not too new. If the archive does not
// reach as far, the error says how far it does.
func (r *Repository) FindPoint(ctx context.Context, id string, until int64) (*Point, error) {
	b, err := r.backupBefore(ctx, id, until)
	if err != nil {
		return nil, err
	}
	objects, err := r.logOf(ctx, b.Store, b.Timeline)
	if err != nil {
		return nil, err
	}
	chain, stop := chainFrom(objects, b.Sequence)
	end := b.Time
	if n := len(chain); n > 0 {
		end = max(end, chain[n-1].time)
	}
	if stop == atFork && until > end {
		return nil, fmt.Errorf("after %s two servers with the same directory have archived their logs to %s: --until takes that time, or an earlier one; for a later time name a backup by --backup that the right one has made since", timeText(end), r.storage)
	}
	if stop == atGap && until > end {
		return nil, fmt.Errorf("the archived log of backup %s has a gap after %s: --until takes that time, or an earlier one; for a time after the gap restore a backup that was made after it", b.ID, timeText(end))
	}
	if until != Latest && until > end {
		return nil, fmt.Errorf("the archive has all commits up to %s, and none after it is known: use --until latest, or an earlier time", timeText(end))
	}
	i := slices.IndexFunc(chain, func(o logObject) bool { return o.time >= until })
	if i >= 0 {
		chain = chain[:i+1]
	}
	return &Point{Backup: b, log: chain, until: until}, nil
}

func timeText(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }

// backupBefore returns the newest backup that has no commit after until. Without id, all backups that could be meant must
// be of one store and timeline: which of two lives of a store is wanted, only its owner knows.
func (r *Repository) backupBefore(ctx context.Context, id string, until int64) (*Backup, error) {
	if id != "" {
		b, err := r.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		if !b.known() {
			return nil, fmt.Errorf("backup %s has not all tables, or was made by an older program: the archived log cannot follow it", b.ID)
		}
		if b.Time > until {
			return nil, fmt.Errorf("backup %s has commits up to %s: choose an earlier one", b.ID, timeText(b.Time))
		}
		return b, nil
	}
	list, err := r.List(ctx, func(*Damage) {})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(b *Backup) bool { return !b.known() })
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no backup of all tables that the archived log can follow: make one with colonnade backup create", r.storage)
	}
	slices.SortStableFunc(list, func(a, b *Backup) int { return cmp.Compare(a.Time, b.Time) })
	i := slices.IndexFunc(list, func(b *Backup) bool { return b.Time > until })
	switch {
	case i == 0:
		return nil, fmt.Errorf("the oldest backup has commits up to %s: no earlier time can be restored", timeText(list[0].Time))
	case i < 0:
		i = len(list)
	}
	return onlyLife(list[:i])
}

// onlyLife returns the last backup, if all are of one store and timeline.
func onlyLife(list []*Backup) (*Backup, error) {
	last := list[len(list)-1]
	for i := len(list) - 2; i >= 0; i-- {
		if b := list[i]; b.Store != last.Store || b.Timeline != last.Timeline {
			return nil, fmt.Errorf("the backups are of several stores, or of a store and one that was restored from it: name the one to begin with by --backup, such as %s (store %.8s, timeline %.8s) or %s (store %.8s, timeline %.8s)",
				last.ID, last.Store, last.Timeline, b.ID, b.Store, b.Timeline)
		}
	}
	return last, nil
}

// logOf returns the objects of a log in the order of their numbers, one of each number; if there are several with
// different batches, it is marked as forked. Names that are none are left out: Verify reports them.
func (r *Repository) logOf(ctx context.Context, store, timeline string) ([]logObject, error) {
	list, err := r.storage.List(ctx, logDir+store+"/"+timeline+"/")
	if err != nil {
		return nil, err
	}
	var objects []logObject
	for _, o := range list {
		l, err := parseLogName(o)
		if err != nil {
			continue
		}
		if n := len(objects); n > 0 && objects[n-1].number == l.number {
			objects[n-1].forked = objects[n-1].forked || objects[n-1].content != l.content
			continue // for other recipients, or by a process that was killed before it knew
		}
		objects = append(objects, l)
	}
	return objects, nil
}

// hasOther reports whether an object of the same segment has other batches: another server with the same directory
// archives here.
func (r *Repository) hasOther(ctx context.Context, o *logObject) (bool, error) {
	list, err := r.storage.List(ctx, o.namePrefix())
	return slices.ContainsFunc(list, func(other Object) bool {
		l, err := parseLogName(other)
		return err == nil && (l.last != o.last || l.content != o.content)
	}), err
}

// chainStop says where a chain of objects ends.
type chainStop int

const (
	atEnd  chainStop = iota // of the log
	atGap                   // there are objects behind it
	atFork                  // the next segment has objects of two servers
)

// chainFrom returns the objects that follow a batch without a gap or a fork, beginning with the one that has it.
func chainFrom(objects []logObject, seq uint64) (chain []logObject, stop chainStop) {
	first := slices.IndexFunc(objects, func(o logObject) bool { return o.last >= seq })
	if first < 0 {
		return nil, atEnd
	}
	for end := first; end < len(objects); end++ {
		switch o := objects[end]; {
		case o.forked:
			return objects[first:end], atFork
		case end == first && o.after > seq, end > first && (o.number != objects[end-1].number+1 || o.after != objects[end-1].last):
			return objects[first:end], atGap
		}
	}
	return objects[first:], atEnd
}

// Span is times to which a store can be restored.
type Span struct {
	Store, Timeline string
	From, To        time.Time
}

// Spans returns the times that backups and the archived log cover, the oldest first.
func (r *Repository) Spans(ctx context.Context, backups []*Backup) (list []Span, err error) {
	logs := make(map[string][]logObject)
	for _, b := range backups {
		if !b.known() {
			continue
		}
		key := b.Store + "/" + b.Timeline
		if _, ok := logs[key]; !ok {
			if logs[key], err = r.logOf(ctx, b.Store, b.Timeline); err != nil {
				return nil, err
			}
		}
		if chain, _ := chainFrom(logs[key], b.Sequence); len(chain) > 0 {
			to := max(chain[len(chain)-1].time, b.Time)
			list = append(list, Span{b.Store, b.Timeline, time.UnixMicro(b.Time).UTC(), time.UnixMicro(to).UTC()})
		}
	}
	slices.SortFunc(list, func(a, b Span) int {
		return cmp.Or(strings.Compare(a.Store+a.Timeline, b.Store+b.Timeline), a.From.Compare(b.From))
	})
	merged := list[:0]
	for _, s := range list {
		if n := len(merged); n > 0 && merged[n-1].Store == s.Store && merged[n-1].Timeline == s.Timeline && !s.From.After(merged[n-1].To) {
			if s.To.After(merged[n-1].To) {
				merged[n-1].To = s.To
			}
			continue
		}
		merged = append(merged, s)
	}
	slices.SortStableFunc(merged, func(a, b Span) int { return a.From.Compare(b.From) })
	return merged, nil
}

// replay brings the files of a backup, in a directory that no process has open, to a point: it adds the batches of the
// log, and makes the directory a store of its own. keep, if it is not nil, says which partitions stay.
func (r *Repository) replay(ctx context.Context, p *Point, keep map[uint64]bool, dir string, progress func(int64)) error {
	restoration, err := engine.NewRestoration(vfs.OS, filepath.ToSlash(dir))
	if err != nil {
		return err
	}
	to := engine.Restored{Dropped: make(map[engine.PartitionID]bool)}
	if keep != nil {
		to.Keep = func(id engine.PartitionID) bool { return keep[uint64(id)] }
	}
	for i := range p.log {
		if err := r.replayObject(ctx, &p.log[i], p.until, restoration, &to); err != nil {
			restoration.Abandon()
			return fmt.Errorf("object %s: %w", p.log[i].name, err)
		}
		progress(p.log[i].stored)
	}
	if restoration.LastSeq() > p.Backup.Sequence {
		dropForgotten(&to, restoration.Partitions())
	}
	return restoration.Finish(to, r.opt.Rand)
}

// dropForgotten drops the partitions of a backup that no object of its log knows: they were dropped after the backup, and
// before the first commit after it, while nothing was archived.
func dropForgotten(to *engine.Restored, backup []engine.PartitionID) {
	for _, id := range backup {
		if !slices.ContainsFunc(to.Created, func(p engine.PartitionInfo) bool { return p.ID == id }) {
			to.Dropped[id] = true
		}
	}
}

// replayObject adds what an object of the log tells up to a time.
func (r *Repository) replayObject(ctx context.Context, o *logObject, until int64, restoration *engine.Restoration, to *engine.Restored) error {
	in, err := r.storage.Get(ctx, o.name)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is missing, and was there a moment ago")
	} else if err != nil {
		return err
	}
	defer in.Close()
	l, err := r.opt.Keys.newLogReader(o, contextReader{ctx, in})
	if err != nil {
		return err
	}
	defer l.close()
	l.header.addTo(to, until)
	for {
		seq, payload, err := l.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		at, err := engine.BatchTime(payload)
		if err == nil && at <= until {
			err = restoration.Add(seq, payload)
		}
		if err != nil {
			return err
		}
	}
}

// addTo adds the partitions of a segment to those of a store as of a time.
func (h *logHeader) addTo(to *engine.Restored, until int64) {
	to.NextPartition = max(to.NextPartition, engine.PartitionID(h.NextPartition))
	for _, p := range h.Partitions {
		to.Created = append(to.Created, engine.PartitionInfo{ID: engine.PartitionID(p.ID), Name: p.Name})
	}
	for _, d := range h.Dropped {
		id := engine.PartitionID(d.ID)
		to.Created = append(to.Created, engine.PartitionInfo{ID: id, Name: d.Name})
		to.Dropped[id] = to.Dropped[id] || d.Time <= until
	}
}
