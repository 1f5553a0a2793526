package engine

import (
	"colonnade/cell"
	"colonnade/memtable"
	"colonnade/sstable"
)

// flush writes a frozen memtable, the oldest of its partition, to a file of
// level 0 and drops it. Versions that no reader can see any more stay behind.
func (db *DB) flush(p *partition, m *memory) error {
	out := &output{db: db, p: p, format: sstable.S2, limit: maxFile}
	it := m.table.NewIterator(memtable.ReadOptions{})
	defer it.Close()
	if err := db.write(out, it, m.table.Len(), func([]byte) bool { return false }); err != nil {
		out.discard()
		return err
	}
	err := db.install(m, func(next *manifest) error {
		r := next.parts[p.id]
		if r == nil {
			return ErrNoPartition
		}
		next.parts[p.id] = &partRecord{id: r.id, name: r.name, flushed: m.maxSeq, version: r.version.flushed(out.files)}
		return nil
	}, func() {
		p.frozen = p.frozen[1:]
		db.adoptLocked(p, m)
	})
	if err != nil {
		out.discard()
	}
	return err
}

// maxFile is a file size that no flush reaches: a memtable makes one file.
const maxFile = 1 << 62

// adoptLocked takes over what the manifest, just installed, says of the
// partition, and lets go of flushed, if not nil.
func (db *DB) adoptLocked(p *partition, flushed *memory) {
	r := db.manifest.parts[p.id]
	p.version, p.flushed = r.version, r.flushed
	db.publishLocked(p)
	if flushed != nil {
		db.releaseLocked(flushed)
	}
	db.background.compactable[p] = true
}

// write sends what is worth keeping of a stream into out and finishes it. entries
// is what the stream has to have; bottom is as in keeper.init.
func (db *DB) write(out *output, src source, entries int, bottom func(row []byte) bool) error {
	var k keeper
	k.init(db.visible.Load(), db.opt.Clock.Now(), out.p.policies.Load(), bottom)
	var cells []cell.Cell
	read := 0
	for src.SeekRow(nil); src.Row() != nil; src.NextRow() {
		if err := out.pointless(); err != nil {
			return err
		}
		row := src.Row()
		k.beginRow(row)
		for first := true; ; {
			cells = src.Cells(cells[:0])
			if len(cells) == 0 {
				break
			}
			read += len(cells)
			if kept := k.keep(cells); len(kept) > 0 {
				if err := out.add(row, first, kept); err != nil {
					return err
				}
				first = false
			}
		}
	}
	if err := src.Err(); err != nil {
		return readError{out.p.inTable(err)}
	}
	if err := out.finish(); err != nil {
		return err
	}
	if dropped := int(k.dropped()); read != entries || read != int(out.cells)+dropped {
		return out.p.inconsistent("%d entries expected, %d read, %d written, %d left out", entries, read, out.cells, dropped)
	}
	return nil
}

// flushed returns the version with new files of level 0.
func (v *version) flushed(files []*file) *version {
	next := *v
	next.levels[0] = append(append([]*file(nil), files...), v.levels[0]...)
	return &next
}
