package engine

import (
	"errors"
	"fmt"
	"path"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// CheckResult counts what Check has read.
type CheckResult struct {
	Partitions  int
	Files       int    // sorted files
	Bytes       int64  // in them
	Entries     uint64 // in them, tombstones included
	Segments    int    // of the log
	Batches     int    // in them
	Unreferred  int    // files that nothing refers to: left by a crash, harmless
	DamageCount int
}

// Check reads everything in a store that no process has open, and calls report for each damage. It changes
// nothing but the lock file. It checks every manifest field; every block of every sorted file with its
// checksum, order and counts; the levels; the order of every row's entries over the levels; that range
// tombstones cover nothing where they are said not to; every record of the log and the partitions that it refers to. An error means that the check could not be
// completed.
func Check(fs vfs.FS, dir string, report func(*CorruptError)) (CheckResult, error) {
	opt := Options{FS: fs}.WithDefaults()
	c := &checker{db: &DB{opt: opt, dir: path.Clean(dir), tableCache: newTableCache(opt.OpenFiles), partitions: make(map[PartitionID]*partition)}}
	c.report = func(e *CorruptError) {
		c.result.DamageCount++
		report(e)
	}
	if _, err := fs.List(c.db.dir); err != nil {
		return CheckResult{}, fmt.Errorf("check store: %w", err)
	}
	lock, err := fs.Lock(c.db.path(manifest.LockFile))
	if err != nil {
		return CheckResult{}, fmt.Errorf("check store: %w", err)
	}
	defer lock.Close()
	err = c.run()
	return c.result, err
}

type checker struct {
	db     *DB
	result CheckResult
	report func(*CorruptError)
}

func (c *checker) run() error {
	db := c.db
	m, _, err := readManifest(db.opt.FS, db.dir)
	if err == nil && m == nil {
		if err = db.checkVacant(); err == nil {
			return fmt.Errorf("%s holds no store", db.dir)
		}
	}
	if err != nil {
		return c.damaged(err)
	}
	db.manifest, db.store = m, m.Store
	for _, mp := range m.Partitions {
		p := &partition{id: mp.ID, name: mp.Name, dir: db.path(manifest.PartitionsDir, manifest.PartitionDir(uint64(mp.ID))), version: mp.Version, flushed: mp.Flushed}
		db.partitions[mp.ID] = p
		for f := range mp.Version.Files() {
			f.Owner = db.newTableRef(p, f)
		}
		err := c.partition(p, mp.Version)
		for f := range mp.Version.Files() {
			tableOf(f).close()
		}
		if err != nil {
			return err
		}
	}
	if err := c.log(); err != nil {
		return err
	}
	return c.unreferred()
}

// damaged reports err if it is damage, and returns it if it is not.
func (c *checker) damaged(err error) error {
	var d *CorruptError
	if errors.As(err, &d) {
		c.report(d)
		return nil
	}
	return err
}

// partition checks the files of a version, and if each is sound, that they agree with each other.
func (c *checker) partition(p *partition, v *manifest.Version) error {
	c.result.Partitions++
	before := c.result.DamageCount
	for f := range v.Files() {
		if err := c.file(p, f); err != nil {
			return err
		}
	}
	if c.result.DamageCount > before {
		return nil
	}
	if err := v.Check(); err != nil {
		return c.damaged(p.quarantine("%v", err))
	}
	err := p.checkOrder(v)
	if err == nil {
		err = p.checkClean(v)
	}
	return c.damaged(err)
}

// file checks a sorted file. It opens the file again: a file descriptor that has been open would not tell
// whether the name still leads to the file.
func (c *checker) file(p *partition, f *manifest.File) error {
	c.result.Files++
	in, err := tableOf(f).openFile()
	if err != nil {
		return c.damaged(err)
	}
	defer in.Close()
	r, err := tableOf(f).newReader(in, nil)
	if err == nil {
		c.result.Bytes += f.Size
		c.result.Entries += f.Entries
		err = r.Verify(f.Checksum)
	}
	return c.damaged(p.named(err))
}

// log reads every segment as recovery does, and copies nothing.
func (c *checker) log() error {
	r := newRecovery(c.db)
	r.onBatch = func(_ uint64, payload []byte) error {
		c.result.Batches++
		return checkBatch(payload, func(b *batchReader, _ int) error { return r.checkPartition(b.partition) })
	}
	err := r.listSegments()
	if err == nil {
		c.result.Segments = len(r.liveSegments())
		err = r.replay()
	}
	return c.damaged(err)
}

// unreferred counts files that nothing refers to.
func (c *checker) unreferred() error {
	used := make(map[uint64]bool)
	for _, p := range c.db.partitions {
		for f := range p.version.Files() {
			used[f.Number] = true
		}
	}
	err := newRecovery(c.db).eachTable(func(_ string, number uint64) {
		if !used[number] {
			c.result.Unreferred++
		}
	})
	return err
}
