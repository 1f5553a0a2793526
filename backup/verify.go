package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Verified says what Verify has read.
type Verified struct {
	Backups int
	Objects int
	Bytes   int64
	// Closed counts the objects that were not decrypted, for lack of the right identity: that they are as they were written is
	// known, but not that they can be decrypted.
	Closed int
	Damage int
}

// Verify reads everything that backups need, or all backups and the archived log if ids is empty, and reports what is
// missing or not as it was written. An error means that not all could be read.
func (r *Repository) Verify(ctx context.Context, ids []string, report func(*Damage)) (Verified, error) {
	var v Verified
	count := func(d *Damage) { v.Damage++; report(d) }
	backups, err := r.chosen(ctx, ids, count)
	if err != nil {
		return v, err
	}
	v.Backups = len(backups)
	needed := make(map[string][]string) // by object: the backups
	var files []File                    // one of each object
	total, done := int64(0), int64(0)
	for _, b := range backups {
		for _, f := range b.Files {
			if needed[f.Object] == nil {
				files = append(files, f)
				total += f.Stored
			}
			needed[f.Object] = append(needed[f.Object], b.ID)
		}
	}
	var log []logObject
	if len(ids) == 0 {
		if log, err = r.allLog(ctx, count); err != nil {
			return v, err
		}
	}
	for _, o := range log {
		total += o.stored
	}
	results := make(chan verifiedObject)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	go func() {
		for _, f := range files {
			group.Go(func() error {
				result, err := r.verifyObject(ctx, f)
				if err == nil {
					results <- result
				}
				return err
			})
		}
		for i := range log {
			group.Go(func() error {
				result, err := r.verifyLog(ctx, &log[i])
				if err == nil {
					results <- result
				}
				return err
			})
		}
		err = group.Wait()
		close(results)
	}()
	for result := range results {
		v.Objects++
		v.Bytes += result.Stored
		if result.closed {
			v.Closed++
		}
		if result.reason != "" {
			count(&Damage{Object: result.Object, Backups: needed[result.Object], Reason: result.reason})
		}
		if done += result.Stored; r.opt.Progress != nil {
			r.opt.Progress(done, total)
		}
	}
	return v, err
}

// chosen returns the backups with these ids, or all.
func (r *Repository) chosen(ctx context.Context, ids []string, report func(*Damage)) ([]*Backup, error) {
	if len(ids) == 0 {
		return r.List(ctx, report)
	}
	var list []*Backup
	for _, id := range ids {
		b, err := r.Find(ctx, id)
		var damage *Damage
		if errors.As(err, &damage) {
			report(damage)
			continue
		} else if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// verifiedObject is an object that was read.
type verifiedObject struct {
	File
	reason string // what is wrong, "" for nothing
	closed bool
}

// verifyObject reads an object. An error is one of the storage.
func (r *Repository) verifyObject(ctx context.Context, f File) (v verifiedObject, err error) {
	v.File = f
	in, err := r.storage.Get(ctx, f.Object)
	if errors.Is(err, fs.ErrNotExist) {
		v.reason = "it is missing"
		return v, nil
	} else if err != nil {
		return v, err
	}
	defer in.Close()
	source := &failing{r: contextReader{ctx, in}}
	stored := newSummed(source, f.hash())
	reason := r.readContent(f, stored, io.Discard)
	if closed(reason) {
		v.closed, reason = true, nil
	}
	if _, err := io.CopyBuffer(io.Discard, stored, make([]byte, copyBytes)); err != nil {
		reason = err
	}
	switch {
	case source.err != nil:
		return v, fmt.Errorf("read %s: %w", f.Object, source.err)
	case stored.n != f.Stored:
		v.reason = fmt.Sprintf("it has %d bytes, and was written with %d", stored.n, f.Stored)
	case stored.hex() != f.SHA256:
		v.reason = "it is not what was written: a checksum differs"
	case reason != nil:
		v.reason = reason.Error()
	}
	return v, nil
}

// allLog returns all objects of the log. It reports those that have no name of one.
func (r *Repository) allLog(ctx context.Context, report func(*Damage)) (log []logObject, err error) {
	list, err := r.storage.List(ctx, logDir)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		l, err := parseLogName(o)
		if err != nil {
			report(&Damage{Object: o.Name, Reason: err.Error()})
			continue
		}
		log = append(log, l)
	}
	return log, nil
}

// verifyLog reads an object of the log. An error is one of the storage.
func (r *Repository) verifyLog(ctx context.Context, o *logObject) (v verifiedObject, err error) {
	v.File = File{Object: o.name, Stored: o.stored}
	in, err := r.storage.Get(ctx, o.name)
	if errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
		return v, nil
	} else if err != nil {
		return v, err
	}
	defer in.Close()
	source := &failing{r: contextReader{ctx, in}}
	stored := newSummed(source, sha256.New())
	reason := r.readLog(o, stored)
	if closed(reason) {
		v.closed = true
		reason = checkStored(stored, o)
	}
	if source.err != nil {
		return v, fmt.Errorf("read %s: %w", o.name, source.err)
	}
	if reason != nil {
		v.reason = reason.Error()
	}
	return v, nil
}

// readLog reads an object of the log to its end.
func (r *Repository) readLog(o *logObject, in io.Reader) error {
	l, err := r.opt.Keys.newLogReader(o, in)
	if err != nil {
		return err
	}
	defer l.close()
	for err == nil {
		_, _, err = l.next()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// readContent writes the content of a file that is stored to w. It fails unless it is the whole content.
func (r *Repository) readContent(f File, stored io.Reader, w io.Writer) error {
	plain, err := r.opt.Keys.decrypt(f.Object, stored)
	if err != nil {
		return err
	}
	content := newExact(plain, SourceFile{Name: f.Name, Size: f.Size, XXH64: f.XXH64})
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{content}, make([]byte, copyBytes))
	return err
}

// failing remembers the error of a reader.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// Pruned says what Prune has removed.
type Pruned struct {
	Backups []string
	Objects int
	Bytes   int64
}

// Prune removes all backups but the newest keep, at least 1, and the objects that no backup needs: of the archived log,
// what is older than the oldest backup of its store and timeline. It fails beside a backup that is being made, and if a
// backup cannot be read: its objects would go.
func (r *Repository) Prune(ctx context.Context, keep int) (p Pruned, err error) {
	l, err := r.lock(ctx, lockPrune, lockPrune, lockCreate)
	if err != nil {
		return p, err
	}
	defer l.release(ctx)
	var damaged *Damage
	backups, err := r.List(ctx, func(d *Damage) { damaged = d })
	if err != nil {
		return p, err
	}
	if damaged != nil {
		return p, fmt.Errorf("%w; nothing was removed: which objects this backup needs is not known. Remove its description to give it up", damaged)
	}
	gone := backups[:max(len(backups)-max(keep, 1), 0)]
	needed := make(map[string]bool)
	for _, b := range backups[len(gone):] {
		for _, f := range b.Files {
			needed[f.Object] = true
		}
	}
	if err := r.stillAlone(ctx, l); err != nil {
		return p, err
	}
	for _, b := range gone { // first: no backup may need an object that has gone
		if err := r.storage.Remove(ctx, backupsDir+b.ID+".json"); err != nil {
			return p, err
		}
		p.Backups = append(p.Backups, b.ID)
	}
	followed := oldestPlaces(backups[len(gone):])
	for _, prefix := range []string{objectsDir, tempDir, logDir} {
		list, err := r.storage.List(ctx, prefix)
		if err != nil {
			return p, err
		}
		list = slices.DeleteFunc(list, func(o Object) bool { return needed[o.Name] || prefix == logDir && followed.need(o) })
		for i, o := range list {
			if i%100 == 0 {
				if err := r.stillAlone(ctx, l); err != nil {
					return p, err
				}
			}
			if err := r.storage.Remove(ctx, o.Name); err != nil {
				return p, err
			}
			p.Objects++
			p.Bytes += o.Size
		}
	}
	return p, nil
}

// places are the oldest place that a backup has in each log, by store and timeline.
type places map[string]uint64

func oldestPlaces(backups []*Backup) places {
	p := make(places)
	for _, b := range backups {
		key := b.Store + "/" + b.Timeline
		if seq, ok := p[key]; b.known() && (!ok || b.Sequence < seq) {
			p[key] = b.Sequence
		}
	}
	return p
}

// need reports whether an object of the log follows a backup. One that is none of ours stays.
func (p places) need(o Object) bool {
	l, err := parseLogName(o)
	if err != nil {
		return true
	}
	seq, ok := p[l.store+"/"+l.timeline]
	return ok && l.last >= seq
}

// stillAlone returns an error if the lock of a prune has gone, or a backup is being made nevertheless: its process was
// asleep, and its lock was taken for that of a dead one.
func (r *Repository) stillAlone(ctx context.Context, l *lock) error {
	if err := l.held(ctx); err != nil {
		return err
	}
	locks, err := r.storage.List(ctx, locksDir)
	if err != nil {
		return err
	}
	for _, o := range locks {
		if strings.HasPrefix(o.Name, locksDir+lockCreate) {
			return fmt.Errorf("a backup is being made in %s: wait for its end", r.storage)
		}
	}
	return nil
}
