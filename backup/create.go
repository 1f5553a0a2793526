package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

// Source is a checkpoint of a store: files that do not change.
type Source struct {
	Store  string // the identity of the store
	Place  Place
	Path   string // the directory of the files, if it is one of this machine
	Tables []Table
	Files  []SourceFile
	// Open opens a file that cannot be read in Path. It may be called by several goroutines.
	Open func(ctx context.Context, name string) (io.ReadCloser, error)
}

// SourceFile is a file of a Source.
type SourceFile struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	XXH64 string `json:"xxh64"`
}

// Made says what a new backup has cost.
type Made struct {
	*Backup
	Copied, Linked int   // files
	CopiedBytes    int64 // of the files
}

// copiers is how many files are copied at once.
const copiers = 4

// Create makes a backup of the checkpoint that take returns. It is taken when no Prune can run: what is archived of the log
// from there on must stay. Files that the repository has are not read. What is copied is held against its checksum, so
// damage of a file of the store is found. After an error the repository has no new backup.
func (r *Repository) Create(ctx context.Context, take func(context.Context) (*Source, error)) (*Made, error) {
	return r.create(ctx, nil, take)
}

// create is Create with a label, nil for none.
func (r *Repository) create(ctx context.Context, label *Label, take func(context.Context) (*Source, error)) (*Made, error) {
	l, err := r.lock(ctx, lockCreate, lockPrune)
	if err != nil {
		return nil, err
	}
	defer l.release(ctx)
	s, err := take(ctx)
	if err != nil {
		return nil, err
	}
	c := &creation{r: r, source: s, made: &Made{Backup: &Backup{
		Format: Format, Created: r.now(), Store: s.Store, Place: s.Place, Label: label, Tables: s.Tables,
	}}}
	if label != nil {
		c.made.Format = labelledFormat
	}
	if r.opt.MaxRate > 0 {
		c.limit = newRateLimit(r.opt.Clock, r.opt.MaxRate)
	}
	if err := c.findKnown(ctx); err != nil {
		return nil, err
	}
	if err := c.copyAll(ctx); err != nil {
		return nil, err
	}
	if err := l.held(ctx); err != nil {
		return nil, err
	}
	if label != nil {
		label.Ended = r.now()
	}
	if err := r.put(ctx, c.made.Backup); err != nil {
		return nil, err
	}
	if err := errors.Join(l.held(ctx), c.checkObjects(ctx)); err != nil {
		return nil, errors.Join(err, r.storage.Remove(context.WithoutCancel(ctx), c.made.object()))
	}
	return c.made, nil
}

// creation is a backup in the making.
type creation struct {
	r       *Repository
	source  *Source
	there   map[string]int64 // objects of the store, and their sizes
	known   map[string]File  // by object, of earlier backups
	done    int64            // bytes; guarded by mu
	total   int64
	mu      sync.Mutex // guards made as well
	made    *Made
	noLinks bool // the first link has failed; guarded by mu
	limit   *rateLimit
}

// object names the object of a file.
func (c *creation) object(f SourceFile) string {
	name := fmt.Sprintf("%s%s/%s-%d-%s", objectsDir, c.source.Store, f.XXH64, f.Size, path.Base(f.Name))
	if key := c.r.opt.Keys.key; key != "" {
		name += "." + key + encrypted
	}
	return name
}

// objects returns the objects of the store that are there, and their sizes.
func (c *creation) objects(ctx context.Context) (map[string]int64, error) {
	list, err := c.r.storage.List(ctx, objectsDir+c.source.Store+"/")
	if err != nil {
		return nil, err
	}
	there := make(map[string]int64, len(list))
	for _, o := range list {
		there[o.Name] = o.Size
	}
	return there, nil
}

// findKnown lists the objects that are there, and looks into earlier backups, the newest first, for what they hold.
func (c *creation) findKnown(ctx context.Context) error {
	var err error
	if c.there, err = c.objects(ctx); err != nil {
		return err
	}
	c.known = make(map[string]File)
	missing := make(map[string]bool)
	for _, f := range c.source.Files {
		if _, ok := c.there[c.object(f)]; ok {
			missing[c.object(f)] = true
		}
	}
	backups, err := c.r.storage.List(ctx, backupsDir)
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(backups) { // names begin with the time
		if len(missing) == 0 {
			break
		}
		b, err := c.r.describe(ctx, o.Name)
		var damage *Damage
		if errors.As(err, &damage) || errors.Is(err, fs.ErrNotExist) {
			continue // verify reports it, or its client has removed it meanwhile
		} else if err != nil {
			return err
		}
		for _, f := range b.Files {
			if missing[f.Object] {
				delete(missing, f.Object)
				c.known[f.Object] = f
			}
		}
	}
	return nil
}

func (c *creation) copyAll(ctx context.Context) error {
	for _, f := range c.source.Files {
		c.total += f.Size
	}
	c.made.Files = make([]File, len(c.source.Files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for i, f := range c.source.Files {
		group.Go(func() error {
			stored, err := c.file(ctx, f)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			c.made.Files[i] = stored
			return nil
		})
	}
	return group.Wait()
}

// file makes sure that there is an object of a file.
func (c *creation) file(ctx context.Context, f SourceFile) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, err
	}
	object := c.object(f)
	if stored, ok := c.known[object]; ok && c.there[object] == stored.Stored {
		c.progress(f.Size)
		stored.Name = f.Name
		return stored, nil
	}
	if _, ok := c.there[object]; ok { // of a backup that was interrupted
		if stored, err := c.readBack(ctx, f, object); err == nil {
			c.progress(f.Size)
			return stored, nil
		}
	}
	return c.copy(ctx, f, object)
}

// readBack reads an object that no backup describes. If it can decrypt nothing, it trusts the name: Put writes whole
// objects.
func (c *creation) readBack(ctx context.Context, f SourceFile, object string) (File, error) {
	in, err := c.r.storage.Get(ctx, object)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	stored := newSummed(contextReader{ctx, in}, objectHash(object))
	var content io.Reader = stored
	if !strings.HasSuffix(object, encrypted) {
		content = newExact(stored, f)
	}
	if _, err := io.CopyBuffer(io.Discard, content, make([]byte, copyBytes)); err != nil {
		return File{}, err
	}
	return File{Name: f.Name, Size: f.Size, XXH64: f.XXH64, Object: object, Stored: stored.n, SHA256: stored.hex()}, nil
}

// copy copies a file to an object, or links it.
func (c *creation) copy(ctx context.Context, f SourceFile, object string) (File, error) {
	in, local, err := c.open(ctx, f)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	content := newExact(&counted{r: limitedReader{ctx, c.limit, contextReader{ctx, in}}, report: c.progress}, f)
	linked := false
	var stored *summed
	if link := c.linker(local, object); link != nil {
		stored = newSummed(content, objectHash(object))
		if _, err := io.CopyBuffer(io.Discard, stored, make([]byte, copyBytes)); err != nil {
			return File{}, err
		}
		if linked, err = link(local, object); err != nil {
			return File{}, err
		}
		if !linked { // and no other will be
			c.mu.Lock()
			c.noLinks = true
			c.mu.Unlock()
			c.progress(-f.Size)
			return c.copy(ctx, f, object)
		}
	} else {
		size := f.Size
		if strings.HasSuffix(object, encrypted) {
			size = -1
		}
		sealed, end := c.r.opt.Keys.encrypt(content)
		defer end()
		stored = newSummed(sealed, objectHash(object))
		if err := c.r.storage.Put(ctx, object, stored, size); err != nil {
			return File{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if linked {
		c.made.Linked++
	} else {
		c.made.Copied++
		c.made.CopiedBytes += f.Size
	}
	return File{Name: f.Name, Size: f.Size, XXH64: f.XXH64, Object: object, Stored: stored.n, SHA256: stored.hex()}, nil
}

// open opens a file of the source, in its directory if that is one of this machine; local is its path then. The directory
// has a name that no other has, so it is not another machine's.
func (c *creation) open(ctx context.Context, f SourceFile) (in io.ReadCloser, local string, err error) {
	if c.source.Path != "" {
		local = path.Join(c.source.Path, f.Name)
		if file, err := os.Open(local); err == nil {
			return file, local, nil
		}
	}
	in, err = c.source.Open(ctx, f.Name)
	return in, "", err
}

// linker returns what links a local file to an object, nil if it has to be copied.
func (c *creation) linker(local, object string) func(file, name string) (bool, error) {
	l, ok := c.r.storage.(linker)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || local == "" || c.noLinks || strings.HasSuffix(object, encrypted) {
		return nil
	}
	return l.link
}

// checkObjects makes sure that all objects of the backup are there, with their sizes.
func (c *creation) checkObjects(ctx context.Context) error {
	there, err := c.objects(ctx)
	if err != nil {
		return err
	}
	for _, f := range c.made.Files {
		if size, ok := there[f.Object]; !ok || size != f.Stored {
			return fmt.Errorf("object %s is not there, or has another size: something else changes the repository", f.Object)
		}
	}
	return nil
}

func (c *creation) progress(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += n
	if c.r.opt.Progress != nil {
		c.r.opt.Progress(c.done, c.total)
	}
}

// objectHash is what makes the SHA256 of a new object, nil if it needs none.
func objectHash(object string) hash.Hash {
	if !strings.HasSuffix(object, encrypted) {
		return nil
	}
	return sha256.New()
}

// hash is what makes the SHA256 of an object again, nil if the backup has none.
func (f *File) hash() hash.Hash {
	if f.SHA256 == "" {
		return nil
	}
	return sha256.New()
}

// summed is a reader with the checksum of what was read.
type summed struct {
	r   io.Reader
	sum hash.Hash // nil for none
	n   int64
}

func newSummed(r io.Reader, sum hash.Hash) *summed { return &summed{r: r, sum: sum} }

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.sum != nil {
		s.sum.Write(p[:n])
	}
	s.n += int64(n)
	return n, err
}

// hex returns the checksum, "" for none.
func (s *summed) hex() string {
	if s.sum == nil {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil))
}

// exact is a reader that fails at the end unless it was the content of a file.
type exact struct {
	*summed
	size  int64
	xxh64 string
}

func newExact(r io.Reader, f SourceFile) *exact {
	return &exact{newSummed(r, xxhash.New()), f.Size, f.XXH64}
}

func (e *exact) Read(p []byte) (int, error) {
	n, err := e.summed.Read(p)
	if err == io.EOF || e.n > e.size {
		if e.n != e.size {
			return n, fmt.Errorf("it has %d bytes, or more, and should have %d", e.n, e.size)
		}
		if got := e.hex(); got != e.xxh64 {
			return n, errors.New("it is damaged: its checksum is not that of what was written")
		}
	}
	return n, err
}

// counted reports the bytes read.
type counted struct {
	r      io.Reader
	report func(n int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.report(int64(n))
	}
	return n, err
}
