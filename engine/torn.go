package engine

import "github.com/colonnade-db/colonnade/engine/manifest"

// A segment whose end a crash has torn, or seems to have, is kept as evidence after recovery has
// written its whole batches again. It becomes a .torn file, which nothing reads. It is removed when
// the log has gone on and all that was copied is in sorted files, or when there are newer ones.

// maxTorn bounds the torn segments that are kept.
const maxTorn = 2

// findTorn finds the torn segments that earlier recoveries have kept.
func (r *recovery) findTorn() error {
	db := r.db
	names, err := db.listDir(db.path(manifest.LogDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := manifest.ParseName(name, "", manifest.TornSuffix); ok {
			db.log.torn = append(db.log.torn, db.path(manifest.LogDir, name))
		}
	}
	return nil
}

// keepTorn renames a torn segment to keep it, and reports whether that succeeded. One that is held for the archive
// has both names.
func (r *recovery) keepTorn(s *segment) bool {
	db := r.db
	from, to := db.segmentPath(s.number), db.path(manifest.LogDir, manifest.TornFile(s.number))
	rename := db.opt.FS.Rename
	if db.opt.ArchiveLog {
		rename = db.opt.FS.Link
	}
	if err := rename(from, to); err != nil {
		db.opt.Log.Warn("torn log segment not kept", "file", from, "cause", err)
		return false
	}
	db.opt.Log.Warn("the end of the log was torn by a crash: what was not whole was never acknowledged; the segment is kept for a while", "file", to)
	db.log.torn = append(db.log.torn, to)
	return true
}

// releaseTornLocked removes the torn segments that are not kept any longer.
func (db *DB) releaseTornLocked() {
	l := &db.log
	keep := maxTorn
	if db.manifest.LogStart > db.manifest.Copied { // all that recovery has copied is in files, or the log has gone on
		keep = 0
	}
	for len(l.torn) > keep {
		db.obsolete.addFile(l.torn[0])
		l.torn = l.torn[1:]
	}
}
