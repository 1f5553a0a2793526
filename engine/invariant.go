package engine

import "fmt"

// Invariants that are checked while the store runs. Each check is cheap beside the I/O next to it. A
// violation in the log or manifest makes the store read-only, with everything left as it is. A violation
// in a partition's data fails the flush or compaction, whose inputs stay. Other invariants are checked
// where they belong: see Invariants in docs/architecture.md.

// checkOrder makes sure that batches are written to the log in order.
func (l *log) checkOrder(seq uint64) error {
	if seq <= l.written {
		return fmt.Errorf("batch %d comes after batch %d in the log", seq, l.written)
	}
	l.written = seq
	return nil
}

// checkDurableLocked makes sure that no batch becomes visible, and is acknowledged, before the log says that
// it is durable.
func (db *DB) checkDurableLocked(last uint64) error {
	if visible := db.visible.Load(); last > db.log.durable || last <= visible {
		return fmt.Errorf("batch %d was to become visible, when %d are visible and %d durable", last, visible, db.log.durable)
	}
	return nil
}

// checkRetiredLocked makes sure that no memtable needs segment s of the log. It is called right before the
// segment is retired, and does not rely on how the manifest edit was computed.
func (db *DB) checkRetiredLocked(s *segment) error {
	if s.w != nil || s == db.log.current {
		return fmt.Errorf("segment %d of the log was to go while it is written", s.number)
	}
	for _, p := range db.partitions {
		if seq := p.oldestSeq(nil); seq != 0 && seq <= s.maxSeq {
			return fmt.Errorf("segment %d of the log, up to batch %d, was to go while partition %s needs batch %d", s.number, s.maxSeq, p.name, seq)
		}
	}
	return nil
}

// check makes sure that the file has the batches of its memtable only, and that the memtable has not changed
// since the file was written.
func (f *flushJob) check() error {
	if n := f.m.entries(); n != f.entries {
		return f.p.inconsistent("a frozen memtable grew from %d to %d entries", f.entries, n)
	}
	if n := f.m.ranges.Len(); n != f.ranges {
		return f.p.inconsistent("a frozen memtable grew from %d to %d range tombstones", f.ranges, n)
	}
	for _, out := range f.out.files {
		if out.MinSeq < f.m.minSeq || out.MaxSeq > f.m.maxSeq {
			return f.p.inconsistent("a memtable of the batches %d to %d has entries of %d to %d", f.m.minSeq, f.m.maxSeq, out.MinSeq, out.MaxSeq)
		}
	}
	return nil
}
