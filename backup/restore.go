package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// restoringSuffix is the end of the name of a directory that is being restored.
const restoringSuffix = ".restoring"

// Restore makes a directory with the store of a point, or with some of the tables of a backup without its log. There
// must be none of the name, or an empty one. The store has a timeline of its own.
// The directory has another name until all of it is durable. What a killed restore has left under that name is removed.
func (r *Repository) Restore(ctx context.Context, p *Point, tables []string, target string) error {
	target = filepath.Clean(target)
	parts, err := p.Backup.parts(tables)
	if err != nil {
		return err
	}
	if err := vacant(target); err != nil {
		return err
	}
	temp := target + restoringSuffix
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return forTarget(target, err)
	}
	held, err := vfs.OS.Lock(filepath.Join(temp, manifest.LockFile))
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("%s is being restored by the process with id %d", target, locked.PID)
	} else if err != nil {
		return err
	}
	defer held.Close()
	if err := empty(temp); err != nil {
		return err
	}
	if err := r.fill(ctx, p, parts, temp); err != nil {
		if vfs.NoRoom(err) {
			err = forTarget(target, err)
		}
		return errors.Join(err, os.RemoveAll(temp))
	}
	err = os.Remove(target) // an empty directory
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(temp, target)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return vfs.OS.SyncDir(filepath.Dir(target))
}

// parts returns the partitions of tables, nil for those of all.
func (b *Backup) parts(tables []string) (map[uint64]bool, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	parts := make(map[uint64]bool)
	for _, name := range tables {
		i := slices.IndexFunc(b.Tables, func(t Table) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("backup %s has no table %q, but %s", b.ID, name, b.tableNames())
		}
		for _, id := range b.Tables[i].Partitions {
			parts[id] = true
		}
	}
	return parts, nil
}

// maxNames is how many tables an error names.
const maxNames = 10

// tableNames lists the first tables, for an error.
func (b *Backup) tableNames() string {
	if len(b.Tables) == 0 {
		return "none"
	}
	var names []string
	for _, t := range b.Tables[:min(len(b.Tables), maxNames)] {
		names = append(names, strconv.Quote(t.Name))
	}
	if more := len(b.Tables) - maxNames; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// forTarget says what to do about an error of the file system that a directory is restored to.
func forTarget(target string, err error) error {
	switch {
	case vfs.NoRoom(err):
		return fmt.Errorf("%w: make room, or restore to another disk than that of %s", err, target)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: restore as a user who may write there, best the one who will run the server", err)
	}
	return err
}

// vacant returns an error unless there is nothing, or an empty directory.
func vacant(target string) error {
	list, err := os.ReadDir(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		if info, e := os.Stat(target); e == nil && !info.IsDir() {
			return fmt.Errorf("%s is no directory: name one that is not there yet", target)
		}
		return forTarget(target, err)
	case len(list) > 0:
		return fmt.Errorf("%s is not empty, it has %s: name a directory that is not there yet", target, list[0].Name())
	}
	return nil
}

// empty removes all but the lock file.
func empty(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if entry.Name() != manifest.LockFile {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill writes the files of a backup, and the log up to a point, to a directory, durably.
func (r *Repository) fill(ctx context.Context, p *Point, parts map[uint64]bool, dir string) error {
	var files []File
	total, done := int64(0), int64(0)
	dirs := map[string]bool{dir: true}
	for _, sub := range []string{manifest.LogDir, manifest.PartitionsDir} {
		dirs[filepath.Join(dir, sub)] = true
	}
	for _, f := range p.Backup.Files {
		if parts == nil || parts[partitionOf(f.Name)] || partitionOf(f.Name) == 0 {
			files = append(files, f)
			total += f.Size
			dirs[filepath.Dir(filepath.Join(dir, filepath.FromSlash(f.Name)))] = true
		}
	}
	if free, err := vfs.OS.FreeSpace(dir); err == nil && free < uint64(total) {
		return fmt.Errorf("the backup has %d bytes, and the disk has %d free: make room, or restore to another disk than that of %s", total, free, strings.TrimSuffix(dir, restoringSuffix))
	}
	for _, o := range p.log {
		total += o.stored
	}
	for d := range dirs {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	progress := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		if done += n; r.opt.Progress != nil {
			r.opt.Progress(done, total)
		}
	}
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for _, f := range files {
		group.Go(func() error {
			if err := r.restoreFile(each, f, filepath.Join(dir, filepath.FromSlash(f.Name)), progress); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := r.replay(ctx, p, parts, dir, progress); err != nil {
		return err
	}
	for d := range dirs {
		if err := vfs.OS.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// partitionOf returns the partition of a file, 0 for those of none.
func partitionOf(name string) uint64 {
	rest, ok := strings.CutPrefix(name, manifest.PartitionsDir+"/")
	if !ok {
		return 0
	}
	id, _ := manifest.ParseName(path.Dir(rest), "", "")
	return id
}

// restoreFile writes a file and syncs it.
func (r *Repository) restoreFile(ctx context.Context, f File, name string, progress func(int64)) error {
	in, err := r.storage.Get(ctx, f.Object)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("object %s is missing: verify shows which backups are whole", f.Object)
	} else if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	stored := newSummed(contextReader{ctx, in}, f.hash())
	err = r.readContent(f, stored, &countedWriter{out, progress})
	if err == nil {
		_, err = io.Copy(io.Discard, stored) // what stands behind the content
	}
	if err == nil && stored.hex() != f.SHA256 {
		err = errors.New("a checksum differs")
	}
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("object %s: %w", f.Object, err)
	}
	return nil
}

type countedWriter struct {
	w      io.Writer
	report func(int64)
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.report(int64(n))
	return n, err
}
