package engine

import (
	"errors"
	"fmt"
	"path"

	"colonnade/vfs"
)

// CheckResult counts what Check has looked at.
type CheckResult struct {
	Partitions  int
	Files       int    // sorted files
	Bytes       int64  // in them
	Entries     uint64 // in them, tombstones included
	Segments    int    // of the log
	Batches     int    // in them
	Unreferred  int    // files that belong to nothing: what a crash left, harmless
	DamageCount int
}

// Check reads everything in a store that no process has open, changes nothing
// but the lock file, and calls report for each damage: every manifest field, every block of every
// sorted file with its checksum, order and counts, the levels, the order of every
// row's entries over the levels, every record of the log and what it refers to. An
// error means that the check could not be made, or not to its end.
func Check(fs vfs.FS, dir string, report func(*CorruptError)) (CheckResult, error) {
	opt := Options{FS: fs}.withDefaults()
	c := &checker{db: &DB{opt: opt, dir: path.Clean(dir), handles: newHandles(opt.OpenFiles), partitions: make(map[PartitionID]*partition)}}
	c.report = func(e *CorruptError) {
		c.result.DamageCount++
		report(e)
	}
	if _, err := fs.List(c.db.dir); err != nil {
		return CheckResult{}, fmt.Errorf("check store: %w", err)
	}
	lock, err := fs.Lock(c.db.path(lockName))
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
		if err = db.vacant(); err == nil {
			return fmt.Errorf("%s holds no store", db.dir)
		}
	}
	if err != nil {
		return c.damaged(err)
	}
	db.manifest, db.store = m, m.store
	for _, r := range m.parts {
		p := &partition{id: r.id, name: r.name, dir: db.path(partitionsDir, partitionName(uint64(r.id))), version: r.version, flushed: r.flushed}
		db.partitions[r.id] = p
		for f := range r.version.files() {
			f.table = db.newTable(p, f)
		}
		err := c.partition(p, r.version)
		for f := range r.version.files() {
			f.table.close()
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

// partition checks the files of a version, and if each is sound, that they go
// together.
func (c *checker) partition(p *partition, v *version) error {
	c.result.Partitions++
	before := c.result.DamageCount
	for f := range v.files() {
		if err := c.file(p, f); err != nil {
			return err
		}
	}
	if c.result.DamageCount > before {
		return nil
	}
	if err := v.check(); err != nil {
		return c.damaged(p.quarantine("%v", err))
	}
	return c.damaged(p.checkOrder(v))
}

// file checks a sorted file, by a handle of its own: one that has been open for long
// would not tell whether the name still leads there.
func (c *checker) file(p *partition, f *file) error {
	c.result.Files++
	in, err := f.table.openFile()
	if err != nil {
		return c.damaged(err)
	}
	defer in.Close()
	r, err := f.table.newReader(in, nil)
	if err == nil {
		c.result.Bytes += f.size
		c.result.Entries += f.cells
		err = r.Verify(f.checksum)
	}
	return c.damaged(p.named(err))
}

// log reads every segment as a recovery would, and copies nothing.
func (c *checker) log() error {
	r := newRecovery(c.db)
	r.take = func(_ uint64, payload []byte) error {
		c.result.Batches++
		return checkBatch(payload, func(b *batchReader, _ int) error { return r.known(b.partition) })
	}
	err := r.list()
	if err == nil {
		c.result.Segments = len(r.live())
		err = r.replay()
	}
	return c.damaged(err)
}

// unreferred counts files that nothing refers to.
func (c *checker) unreferred() error {
	used := make(map[uint64]bool)
	for _, p := range c.db.partitions {
		for f := range p.version.files() {
			used[f.number] = true
		}
	}
	err := newRecovery(c.db).eachTable(func(_ *partition, _ string, number uint64) {
		if !used[number] {
			c.result.Unreferred++
		}
	})
	return err
}
