package engine

import "github.com/colonnade-db/colonnade/engine/manifest"

// Range tombstones. Batch.DeleteRange puts one into the log and the memtable, beside the entries. The flush
// of the memtable moves it to the partition's version, and so into the manifest; the files do not have
// it. From then on all readers of the version see it, and compactions leave out what it covers. It goes when
// no file may have any of that; see manifest.Version.TrimRangeTombstones.
//
// Each manifest edit writes all range tombstones, and each read asks them. So a partition has few:
// writers of more wait until compactions have applied those that there are.

// rangesMost is how many bytes of range tombstones a partition has, by rangedel.Tombstone.Bytes, before
// writers of more wait: some 25,000. From half of that on, they are flushed and the files that they cover
// compacted.
const rangesMost = 4 << 20

// expectRangesLocked lets readers look for range tombstones in a memtable, before a batch with some becomes
// visible, and has them looked at then. seq is the batch.
func (db *DB) expectRangesLocked(p *partition, m *memTable, seq uint64) {
	m.ranged = true
	// A reader that sees the batch has this state, or a later one.
	p.state.Load().ranged.Store(true)
	db.rangesDue[p] = seq
}

// rangeBytesLocked returns how many bytes of range tombstones a partition has.
func (p *partition) rangeBytesLocked() int64 {
	n := p.version.RangeTombstones.Bytes() + p.active.ranges.Bytes()
	for _, m := range p.frozen {
		n += m.ranges.Bytes()
	}
	return n
}

// rangesLocked counts the range tombstones of a partition.
func (p *partition) rangesLocked() int {
	n := p.version.RangeTombstones.Len() + p.active.ranges.Len()
	for _, m := range p.frozen {
		n += m.ranges.Len()
	}
	return n
}

// tooManyRangesLocked reports whether a batch has to wait because a partition has too many range tombstones
// for more. It freezes their memtable.
func (db *DB) tooManyRangesLocked(p *partition) bool {
	if p.rangeBytesLocked() < rangesMost {
		return false
	}
	if p.active.ranges.Len() > 0 {
		db.freezeLocked(p)
	}
	return true
}

// freezeRangesLocked freezes the memtables whose range tombstones should be flushed: because there are
// many, or because they cover as many bytes of files as the memtable has. It looks at each range tombstone
// once, when its batch is visible.
func (db *DB) freezeRangesLocked() {
	visible := db.visible.Load()
	for p, seq := range db.rangesDue {
		if seq > visible {
			continue // there will be a signal when it is
		}
		delete(db.rangesDue, p)
		m := p.active
		if p.dropped || m.ranges.Len() == 0 {
			continue
		}
		if p.rangeBytesLocked() >= rangesMost/2 || p.coveredBytesLocked(m) >= m.bytes.Load() {
			db.freezeLocked(p)
		}
	}
}

// coveredBytesLocked estimates the bytes of the files that the range tombstones of a memtable cover: of a file
// in which one ends, half. It looks only at range tombstones that it has not seen before.
func (p *partition) coveredBytesLocked(m *memTable) int64 {
	for _, t := range m.ranges.TakeNew() {
		for level, files := range p.version.Levels {
			if level > 0 {
				files = manifest.Within(files, t.Start, t.End)
			}
			for _, f := range files {
				for _, end := range [][]byte{f.Smallest, f.Largest} {
					if t.Covers(end) {
						m.covered += f.Size / 2
					}
				}
			}
		}
	}
	return m.covered
}

// applyRanges has all files compacted that range tombstones cover in part, even if little is deleted in them.
func (db *DB) applyRanges() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.partitions {
		if p.version.RangeTombstones != nil {
			p.allRanges = true
			db.background.compactable[p] = true
		}
	}
	db.background.signalLocked()
}
