package engine

import "fmt"

// What a crash leaves beside the store: files that never got their name, files that
// nothing refers to, directories of partitions that are gone.

// survey removes the files that never got their name, and moves the next file
// number above all that are there: a number is not used twice, even when the
// file that had it was never part of the store.
func (r *recovery) survey() error {
	db := r.db
	err := r.sweepDir(db.dir, func(name string) bool {
		_, temp := parseName(name, manifestPrefix, tempSuffix)
		return temp
	})
	if err == nil {
		err = r.sweepDir(db.path(logDir), func(name string) bool {
			_, fill := parseName(name, "", fillSuffix)
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
		for f := range p.version.files() {
			if !there[f.table.path] {
				err := p.inTable(f.table.damage("file is missing"))
				r.db.opt.Log.Error("a sorted file is gone, reads that need it will fail", "file", f.table.path, "partition", p.name, "cause", err)
			}
		}
	}
}

// eachTable calls f for every sorted file in the directory of a partition. The
// partition is nil if it was dropped.
func (r *recovery) eachTable(f func(p *partition, path string, number uint64)) error {
	db := r.db
	dirs, err := db.listDir(db.path(partitionsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		id, ok := parseName(dir, "", "")
		if !ok {
			continue
		}
		names, err := db.listDir(db.path(partitionsDir, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if number, ok := parseName(name, "", tableSuffix); ok {
				f(db.partitions[PartitionID(id)], db.path(partitionsDir, dir, name), number)
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
		n, ok := parseName(name, manifestPrefix, "")
		return ok && n < db.manifest.edit
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
		for f := range p.version.files() {
			used[f.number] = true
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
	return r.sweepDir(r.db.path(partitionsDir), func(name string) bool {
		id, ok := parseName(name, "", "")
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
