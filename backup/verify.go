package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

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
