package engine

import (
	"fmt"

	"colonnade/engine/manifest"
)

// What a crash leaves beside the store: files that never got their name, files that
// nothing refers to, directories of partitions that are gone.

// survey removes the files that never got their name, and moves the next file
// number above all that are there: a number is not used twice, even when the
// file that had it was never part of the store.
func (r *recovery) survey() error {
	db := r.db
	err := r.sweepDir(db.dir, func(name string) bool {
		_, temp := manifest.ParseName(name, manifest.FilePrefix, manifest.TempSuffix)
		return temp
	})
	if err == nil {
		err = r.sweepDir(db.path(manifest.LogDir), func(name string) bool {
			_, fill := manifest.ParseName(name, "", manifest.FillSuffix)
			return fill
		})
	}
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	err = r.eachTable(func(_ *partition, path string, number uint64) {
		db.nextFile = max(db.nextFile, number+1)
		there[path] = true
	})
	if err == nil {
		r.missTables(there)
	}
	return err
}

// missTables tells of the sorted files that should be there and are not. They keep
// nothing from opening: reads that need one fail.
func (r *recovery) missTables(there map[string]bool) {
	for _, p := range r.db.partitions {
		for f := range p.version.Files() {
			if !there[tableOf(f).path] {
				err := p.inTable(tableOf(f).damage("file is missing"))
				r.db.opt.Log.Error("a sorted file is gone, reads that need it will fail", "file", tableOf(f).path, "partition", p.name, "cause", err)
			}
		}
	}
}

// eachTable calls f for every sorted file in the directory of a partition. The
// partition is nil if it was dropped.
func (r *recovery) eachTable(f func(p *partition, path string, number uint64)) error {
	db := r.db
	dirs, err := db.listDir(db.path(manifest.PartitionsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		id, ok := manifest.ParseName(dir, "", "")
		if !ok {
			continue
		}
		names, err := db.listDir(db.path(manifest.PartitionsDir, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if number, ok := manifest.ParseName(name, "", manifest.TableSuffix); ok {
				f(db.partitions[PartitionID(id)], db.path(manifest.PartitionsDir, dir, name), number)
			}
		}
	}
	return nil
}

// sweep removes what nothing refers to.
func (r *recovery) sweep() error {
	db := r.db
	if err := r.findTorn(); err != nil {
		return err
	}
	for _, s := range r.old {
		if s.torn && r.keepTorn(s) {
			continue
		}
		if !db.recycleLocked(s) {
			r.remove(db.segmentPath(s.number))
		}
	}
	err := r.sweepDir(db.dir, func(name string) bool {
		n, ok := manifest.ParseName(name, manifest.FilePrefix, "")
		return ok && n < db.manifest.Edit
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	db.releaseTornLocked()
	db.mu.Unlock()
	return r.sweepTables()
}

// sweepTables removes sorted files that no version holds, and the directories of
// dropped partitions.
func (r *recovery) sweepTables() error {
	used := make(map[uint64]bool)
	for _, p := range r.db.partitions {
		for f := range p.version.Files() {
			used[f.Number] = true
		}
	}
	err := r.eachTable(func(_ *partition, path string, number uint64) {
		if !used[number] {
			r.remove(path)
		}
	})
	if err != nil {
		return err
	}
	return r.sweepDir(r.db.path(manifest.PartitionsDir), func(name string) bool {
		id, ok := manifest.ParseName(name, "", "")
		return ok && r.db.partitions[PartitionID(id)] == nil
	})
}

// remove removes a file that nothing refers to. One that cannot be removed
// does no harm: the next open tries again.
func (r *recovery) remove(path string) {
	if err := r.db.opt.FS.Remove(path); err != nil {
		r.db.opt.Log.Warn("leftover not removed", "file", path, "cause", err)
	}
}

func (r *recovery) sweepDir(dir string, old func(name string) bool) error {
	names, err := r.db.opt.FS.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if old(name) {
			r.remove(dir + "/" + name)
		}
	}
	return nil
}
