package engine

import "sync"

// obsoleteFiles are the files to remove. Where the last reference to a file is given up, nothing may
// wait for the disk, so a goroutine of its own removes them.
type obsoleteFiles struct {
	removing sync.Mutex // held while taken files are removed; locked before mu

	mu     sync.Mutex
	tables []*tableRef
	files  []string // other files, by path
	wake   func()
}

func (o *obsoleteFiles) addFile(path string) {
	o.mu.Lock()
	o.files = append(o.files, path)
	o.mu.Unlock()
	o.wake()
}

func (o *obsoleteFiles) addTable(table *tableRef) {
	o.mu.Lock()
	o.tables = append(o.tables, table)
	o.mu.Unlock()
	o.wake()
}

func (o *obsoleteFiles) take() (tables []*tableRef, files []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tables, files = o.tables, o.files
	o.tables, o.files = nil, nil
	return tables, files
}

// removeObsolete removes the obsolete files. When it returns, all files that were obsolete at the call
// are gone, even those that another caller had taken. A file that cannot be removed is logged, and
// goes with the next open.
func (db *DB) removeObsolete() {
	db.obsolete.removing.Lock()
	defer db.obsolete.removing.Unlock()
	tables, files := db.obsolete.take()
	for _, t := range tables {
		if err := t.close(); err != nil {
			db.opt.Log.Warn("obsolete file not closed", "file", t.path, "cause", err)
		}
		db.blockCache.Release(t.id.Number)
		files = append(files, t.path)
	}
	for _, name := range files {
		if err := db.opt.FS.Remove(name); err != nil {
			db.opt.Log.Warn("obsolete file not removed", "file", name, "cause", err)
		}
	}
	for _, t := range tables {
		if t.p.state.Load() == nil { // dropped
			db.opt.FS.Remove(t.p.dir) // fails until the last file is gone
		}
	}
}
