package engine

import (
	"fmt"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Cleanup after a crash: files that never got their name, files that nothing refers to (orphans), and
// directories of dropped partitions.

// removeTemporary removes the files that never got their name.
func (r *recovery) removeTemporary() error {
	db := r.db
	err := r.removeMatching(db.dir, func(name string) bool {
		_, temp := manifest.ParseName(name, manifest.FilePrefix, manifest.TempSuffix)
		return temp
	})
	if err != nil {
		return err
	}
	return r.removeMatching(db.path(manifest.LogDir), func(name string) bool {
		_, fill := manifest.ParseName(name, "", manifest.FillSuffix)
		return fill
	})
}

// findTables moves the next file number above that of every sorted file on disk, and reports those
// that are missing. A number is not used twice, even if its file was never part of the store.
func (r *recovery) findTables() error {
	there := make(map[string]bool)
	err := r.eachTable(func(path string, number uint64) {
		r.db.nextFile = max(r.db.nextFile, number+1)
		there[path] = true
	})
	if err == nil {
		r.reportMissingTables(there)
	}
	return err
}

// reportMissingTables logs the sorted files that are missing. The store opens without them; reads that
// need one fail.
func (r *recovery) reportMissingTables(there map[string]bool) {
	for _, p := range r.db.partitions {
		for f := range p.version.Files() {
			if !there[tableOf(f).path] {
				err := p.inTable(tableOf(f).damage("file is missing"))
				r.db.opt.Log.Error("a sorted file is gone, reads that need it will fail", "file", tableOf(f).path, "partition", p.name, "cause", err)
			}
		}
	}
}

// eachTable calls f for every sorted file on disk.
func (r *recovery) eachTable(f func(path string, number uint64)) error {
	db := r.db
	dirs, err := db.listDir(db.path(manifest.PartitionsDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, ok := manifest.ParseName(dir, "", ""); !ok {
			continue
		}
		names, err := db.listDir(db.path(manifest.PartitionsDir, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if number, ok := manifest.ParseName(name, "", manifest.TableSuffix); ok {
				f(db.path(manifest.PartitionsDir, dir, name), number)
			}
		}
	}
	return nil
}

// removeOrphans removes all files that nothing refers to.
func (r *recovery) removeOrphans() error {
	db := r.db
	if err := r.findTorn(); err != nil {
		return err
	}
	for _, s := range r.old {
		if s.torn && r.keepTorn(s) && !db.opt.ArchiveLog || db.holdLocked(s) {
			continue
		}
		if !db.recycleLocked(s) {
			r.remove(db.segmentPath(s.number))
		}
	}
	err := r.removeMatching(db.dir, func(name string) bool {
		n, ok := manifest.ParseName(name, manifest.FilePrefix, "")
		return ok && n < db.manifest.Edit
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	db.releaseTornLocked()
	db.mu.Unlock()
	r.removeCheckpoints()
	return r.removeOrphanTables()
}

// removeOrphanTables removes sorted files that are in no version, and the directories of dropped
// partitions.
func (r *recovery) removeOrphanTables() error {
	used := make(map[uint64]bool)
	for _, p := range r.db.partitions {
		for f := range p.version.Files() {
			used[f.Number] = true
		}
	}
	err := r.eachTable(func(path string, number uint64) {
		if !used[number] {
			r.remove(path)
		}
	})
	if err != nil {
		return err
	}
	return r.removeMatching(r.db.path(manifest.PartitionsDir), func(name string) bool {
		id, ok := manifest.ParseName(name, "", "")
		return ok && r.db.partitions[PartitionID(id)] == nil
	})
}

// removeCheckpoints removes the checkpoints of the process before, which nobody can ask for any more. What
// cannot be removed takes room, and the next open tries again.
func (r *recovery) removeCheckpoints() {
	dir := r.db.path(manifest.CheckpointsDir)
	if err := removeAll(r.db.opt.FS, dir); err != nil {
		r.db.opt.Log.Warn("old checkpoints not removed", "directory", dir, "cause", err)
	}
}

// remove removes a file that nothing refers to. A file that cannot be removed does no harm: the next
// open tries again.
func (r *recovery) remove(path string) {
	if err := r.db.opt.FS.Remove(path); err != nil {
		r.db.opt.Log.Warn("leftover not removed", "file", path, "cause", err)
	}
}

// removeMatching removes the files of a directory whose names match.
func (r *recovery) removeMatching(dir string, match func(name string) bool) error {
	names, err := r.db.opt.FS.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if match(name) {
			r.remove(dir + "/" + name)
		}
	}
	return nil
}
