package mutants

// planted are bugs of real stores. Each names a part that catches it soon; others may catch it too.
var planted = []mutant{
	{number: 1, bug: "the directory of the manifest is not synced", part: "crash", edits: []edit{
		{
			file: "engine/manifest_file.go",
			old: `	if err := fs.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory of the manifest: %w", err)
	}
	return nil
}`,
			new: `	return nil
}`,
		},
	}},
	{number: 2, bug: "the manifest is renamed before it is durable", part: "crash", edits: []edit{
		{
			file: "engine/manifest_file.go",
			old: `	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err`,
			new: `	_, err = f.Write(data)
	if err`,
		},
	}},
	{number: 3, bug: "the checksum of a log record is not compared", part: "crash", edits: []edit{
		{
			file: "wal/reader.go",
			old:  `		if crc32.Checksum(body, castagnoli) == h.sum {`,
			new:  `		if crc32.Checksum(body, castagnoli) == h.sum || true {`,
		},
	}},
	{number: 4, bug: "one log record for each partition of a batch", part: "crash", edits: []edit{
		{
			file: "engine/commit.go",
			old: `	if err := b.check(ctx); err != nil {
		b.inserted()
		return Commit{}, err
	}
`,
			new: `	if err := b.check(ctx); err != nil {
		b.inserted()
		return Commit{}, err
	}
	if len(b.parts) > 1 {
		defer b.inserted()
		var c Commit
		for _, part := range b.parts {
			var one Batch
			var r batchReader
			r.init(b.buf)
			for r.next() {
				if r.partition == part.id {
					one.Add(part.id, r.row, &r.cell)
				}
			}
			var err error
			if c, err = db.Commit(ctx, &one); err != nil {
				return c, err
			}
		}
		return c, nil
	}
`,
		},
	}},
	{number: 5, bug: "acknowledged before the sync", part: "crash", edits: []edit{
		{
			file: "wal/writer.go",
			old: `	if err := w.f.Sync(); err != nil {
		w.fail(fmt.Errorf("sync log segment %d: %w", w.header.Number, err))
		return w.err
	}
	w.synced, w.durableSeq = w.size, w.seq
	return nil
}`,
			new: `	w.synced, w.durableSeq = w.size, w.seq
	return nil
}`,
		},
	}},
	{number: 6, bug: "a failed sync of the log is tried again", part: "faults", edits: []edit{
		{
			file: "wal/writer.go",
			old: `	if err := w.f.Sync(); err != nil {
		w.fail(`,
			new: `	if err := w.f.Sync(); err != nil && w.f.Sync() != nil {
		w.fail(`,
		},
	}},
	{number: 7, bug: "a bad record is the end of the log", part: "flip", edits: []edit{
		{
			file: "wal/tail.go",
			old: `func (t *tail) classify() error {
`,
			new: `func (t *tail) classify() error {
	if t.off > 0 {
		return io.EOF
	}
`,
		},
	}},
	{number: 8, bug: "an old log segment is removed before the edit that lets it go is durable", part: "crash", edits: []edit{
		{
			file: "engine/install.go",
			old: `	db.mu.Unlock()
	if err != nil {
		return err
	}
	if err := writeManifest(`,
			new: `	var early []string
	if err == nil {
		for _, s := range db.log.segments {
			if s.number < next.LogStart {
				early = append(early, db.segmentPath(s.number))
			}
		}
	}
	db.mu.Unlock()
	for _, name := range early {
		db.opt.FS.Remove(name)
	}
	if err != nil {
		return err
	}
	if err := writeManifest(`,
		},
	}},
	{number: 9, bug: "the log begins after the newest batch in a file, not before the oldest in none", part: "crash", edits: []edit{
		{
			file: "engine/log.go",
			old:  `			oldest = min(oldest, seq)`,
			new:  `			oldest = max(seq, db.visible.Load())`,
		},
	}},
	{number: 10, bug: "the level right below the output does not count for \"bottom\"", part: "meta", edits: []edit{
		{
			file: "engine/compaction/bottommost.go",
			old:  "v.Levels[output+1:]",
			new:  "v.Levels[min(output+2, manifest.NumLevels):]",
		},
	}},
	{number: 11, bug: "a row that is the first of a lower file counts as being at the bottom", part: "meta", edits: []edit{
		{
			file: "engine/compaction/bottommost.go",
			old:  "bytes.Compare(files[0].Smallest, row) <= 0 {",
			new:  "bytes.Compare(files[0].Smallest, row) < 0 {",
		},
	}},
	{number: 12, bug: "a snapshot sees the batch under way", part: "meta", edits: []edit{
		{
			file: "engine/snapshot.go",
			old:  "s.seq = db.visible.Load()",
			new:  "s.seq = db.visible.Load() + 1",
		},
	}},
	{number: 13, bug: "a filter misses a bit of every row", part: "meta", edits: []edit{
		{
			file: "sstable/filter.go",
			old: `	for _, bit := range l[:f.probes] {
		set`,
			new: `	for _, bit := range l[:f.probes-1] {
		set`,
		},
	}},
	{number: 14, bug: "a read error in the log is its end", part: "faults", edits: []edit{
		{
			file: "wal/source.go",
			old:  `	return fmt.Errorf("read log segment %d at offset %d: %w", s.number, off+int64(n), err)`,
			new:  `	return io.EOF`,
		},
	}},
	{number: 15, bug: "the error of closing a log segment is ignored", part: "faults", edits: []edit{
		{
			file: "wal/writer.go",
			old: `	if err := w.f.Close(); err != nil {
		w.fail(fmt.Errorf("close log segment %d: %w", w.header.Number, err))
	}`,
			new: `	w.f.Close()`,
		},
	}},
	{number: 16, bug: "a batch is visible before it is durable", part: "crash", edits: []edit{
		{
			file: "engine/group.go",
			old: `	if g.refusal == nil {
		durable, err = db.writeGroup(g)
	}`,
			new: `	if g.refusal == nil {
		db.visible.Store(g.batches[len(g.batches)-1].seq)
		durable, err = db.writeGroup(g)
	}`,
		},
	}},
	{number: 17, bug: "the number of a file that was never part of the store is given again", part: "crash", edits: []edit{
		{
			file: "engine/recover_cleanup.go",
			old: `		r.db.nextFile = max(r.db.nextFile, number+1)
`,
			new: "",
		},
	}},
	{number: 18, bug: "drop table is not logged", part: "meta", edits: []edit{
		{
			file: "widecol/lsmstore/tables.go",
			old: `		if err := s.db.DropPartitions(t.partitions()...); err != nil {
			return failure(err)
		}
		s.forget(t)`,
			new: `		s.forget(t)`,
		},
	}},
	{number: 19, bug: "head of log records outside the checksum", part: "flip", edits: []edit{
		{
			file: "wal/reader.go",
			old:  "body := b[atLength : n-footSize]",
			new:  "body := b[headSize : n-footSize]",
		},
		{
			file: "wal/source.go",
			old:  "for at := off + atLength; at < end; {",
			new:  "for at := off + headSize; at < end; {",
		},
		{
			file: "wal/tail.go",
			old:  "sums.crc(0, base+int64(i)+atLength, end)",
			new:  "sums.crc(0, base+int64(i)+headSize, end)",
		},
		{
			file: "wal/tail.go",
			old:  "body := int64(n - footSize - atLength)",
			new:  "body := int64(n - footSize - headSize)",
		},
		{
			file: "wal/tail.go",
			old:  "at := atLength + body - back",
			new:  "at := headSize + body - back",
		},
		{
			file: "wal/writer.go",
			old:  "sums{}.update(w.buf[start+atLength:])",
			new:  "sums{}.update(w.buf[start+headSize:])",
		},
	}},
	{number: 20, bug: "block checksum not keyed by offset", part: "flip", edits: []edit{
		{
			file: "sstable/trailer.go",
			old:  `	for range 8 {`,
			new:  `	for range 0 {`,
		},
	}},
	{number: 21, bug: "the manifest is read up to a bad field", part: "flip", edits: []edit{
		{
			file: "engine/manifest/manifest.go",
			old:  "if xxhash.Sum64(body) != binary.LittleEndian.Uint64(sum) {",
			new:  "if len(sum) != 8 {",
		},
		{
			file: "engine/manifest/manifest.go",
			old: `	if d.err != nil {
		return nil, d.err`,
			new: `	if d.err != nil {
		return m, nil`,
		},
	}},
	{number: 22, bug: "recovery trusts what it reads of the log to be durable", part: "crash", edits: []edit{
		{
			file: "engine/recover_copy.go",
			old: `		w.Append(b.seq, rest[:b.size])
`,
			new: "",
		},
	}},
	{number: 23, bug: "a stall never ends", part: "faults", edits: []edit{
		{
			file: "engine/background.go",
			old: `		b.waiting = false
		db.background.signalLocked()
	})`,
			new: `		db.background.signalLocked()
	})`,
		},
	}},
	{number: 24, bug: "a row delete misses one locality group", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/delete.go",
			old:  "range w.table.stores() {",
			new:  "range w.table.stores()[:len(w.table.stores())-1] {",
		},
	}},
	{number: 25, bug: "a panic leaves a lock held", part: "overload", edits: []edit{
		{
			file: "widecol/lsmstore/delete.go",
			old: `	defer w.release()
	for _, row := range rows {`,
			new: "	for _, row := range rows {",
		},
	}},
	{number: 26, bug: "an increment reads only what is durable", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/update.go",
			old:  "s.db.TakeEntered(t.stores()...)",
			new:  "s.db.NewSnapshot(t.stores()...)",
		},
	}},
	{number: 27, bug: "a row is unlocked before its batch is in the memtables", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/writer.go",
			old: `	w.batch.Inserted, w.batch.InsertNow = w.unlock, w.locks.alone != 0
`,
			new: `	w.unlockRows()
`,
		},
	}},
	{number: 28, bug: "a check-and-mutate with nothing to do answers before what it read is durable", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/writer.go",
			old:  "return failure(w.store.db.AwaitEntered(ctx))",
			new:  "return nil",
		},
	}},
	{number: 29, bug: "a set that a later deletion of the request covers stays", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/order.go",
			old:  "case o.covered[i]:",
			new:  "case o.covered[i] && m.Op != widecol.Set:",
		},
	}},
	{number: 30, bug: "a panic in a read-modify-write leaves a lock held", part: "overload", edits: []edit{
		{
			file: "widecol/lsmstore/update.go",
			old: `	defer w.release()
	if err := u.Check(s.maxValue); err != nil {`,
			new: "	if err := u.Check(s.maxValue); err != nil {",
		},
	}},
	{number: 31, bug: "range tombstones are lost at a flush", part: "crash", edits: []edit{
		{
			file: "engine/flush.go",
			old:  "WithRangeTombstones(f.out.deleted).",
			new:  "",
		},
	}},
	{number: 32, bug: "a range tombstone hides its own batch", part: "crash", edits: []edit{
		{
			file: "engine/rowmerge/visibility.go",
			old:  "{ v.rowFloor = seq }",
			new:  "{ v.rowFloor = seq + min(seq, 1) }",
		},
	}},
	{number: 33, bug: "a moved family is seen twice", part: "meta", edits: []edit{
		{
			file: "widecol/lsmstore/mover.go",
			old:  "m.w.batch.Add(m.f.from.partition, row, &cell.Cell{Kind: cell.DeleteFamily,",
			new:  "_ = append([]*cell.Cell(nil), &cell.Cell{Kind: cell.DeleteFamily,",
		},
	}},
	{number: 34, bug: "a version that is overwritten while its family moves comes back", part: "meta", edits: []edit{
		{
			file: "widecol/lsmstore/writer.go",
			old:  "	if f.from == nil {",
			new:  "	if f.from == nil || c.Kind == cell.Set {",
		},
	}},
	{number: 35, bug: "a family that moves has not left its group in the metadata", part: "kill9", edits: []edit{
		{
			file: "widecol/lsmstore/catalog.go",
			old:  "	if f.from != nil {\n		r.flag(",
			new:  "	if f.from != nil && f.gc.VersionLimit < 0 {\n		r.flag(",
		},
	}},
	{number: 36, bug: "a reverse scan misses the first row of a block", part: "meta", edits: []edit{
		{
			file: "sstable/iterator_reverse.go",
			old: `	it.valid = false
	r := it.row
`,
			new: `	it.valid = false
	r := it.row / 2
`,
		},
	}},
	{number: 37, bug: "a move sets at home and deletes from the origin in two batches", part: "crash", edits: []edit{
		{
			file: "widecol/lsmstore/mover.go",
			old:  "	most int // bytes of the batch\n",
			new:  "	most int // bytes of the batch\n	later engine.Batch\n",
		},
		{
			file: "widecol/lsmstore/mover.go",
			old:  "m.w.batch.Add(m.f.from.partition, row, &cell.Cell{Kind: cell.DeleteFamily,",
			new:  "m.later.Add(m.f.from.partition, row, &cell.Cell{Kind: cell.DeleteFamily,",
		},
		{
			file: "widecol/lsmstore/mover.go",
			old: `	f.from.rows.Add(m.rows)
`,
			new: `	if m.later.Len() > 0 {
		if _, err := s.db.Commit(ctx, &m.later); err != nil {
			return 0, failure(err)
		}
	}
	f.from.rows.Add(m.rows)
`,
		},
	}},
	{number: 38, bug: "the partition that a family has left is dropped before the metadata forget it", part: "crash", edits: []edit{
		{
			file: "widecol/lsmstore/tables.go",
			old: `	if err := s.record(ctx, r); err != nil {
		return err
	}
	if err := s.adopt(t, all, kept); err != nil {`,
			new: `	if gone != nil {
		s.db.DropPartitions(gone...)
	}
	if err := s.record(ctx, r); err != nil {
		return err
	}
	if err := s.adopt(t, all, kept); err != nil {`,
		},
	}},
	{number: 39, bug: "a move passes over rows that it could not move", part: "faults", edits: []edit{
		{
			file: "widecol/lsmstore/mover.go",
			old: `			return false, err
		}
		at.rows = at.rows[done:]`,
			new: `			done = len(at.rows)
		}
		at.rows = at.rows[done:]`,
		},
	}},
	{number: 40, bug: "damage is the end of what a move looks through", part: "flip", edits: []edit{
		{
			file: "widecol/lsmstore/mover.go",
			old: `	if err := scan.Err(); err != nil {
		return nil, start, failure(err)
	}
	return rows, nil, nil`,
			new: "	return rows, nil, nil",
		},
	}},
	{number: 41, bug: "a move does not lock its rows", part: "lin", edits: []edit{
		{
			file: "widecol/lsmstore/mover.go",
			old:  "	w.lock()\n",
			new:  "	w.locks = lockSet{}\n",
		},
	}},
	{number: 42, bug: "a segment of the log goes before it is archived", part: "archive", edits: []edit{
		{
			file: "engine/log_archive.go",
			old:  "	if !db.opt.ArchiveLog || s.number <= db.archive.released {",
			new:  "	if !db.opt.ArchiveLog || s.number <= db.archive.released+1 {",
		},
	}},
	{number: 43, bug: "a partition that was dropped comes back with a restore", part: "archive", edits: []edit{
		{
			file: "engine/restoration.go",
			old:  "		if p.Dropped[id] || p.Keep != nil && !p.Keep(id) {",
			new:  "		if p.Keep != nil && !p.Keep(id) {",
		},
	}},
	{number: 44, bug: "a restore leaves out the commit of its very time", part: "archive", edits: []edit{
		{
			file: "backup/point.go",
			old:  "		if err == nil && at <= until {",
			new:  "		if err == nil && at < until {",
		},
	}},
	{number: 45, bug: "a drop that is not archived is forgotten by the next open", part: "archive", edits: []edit{
		{
			file: "engine/install.go",
			old:  "	next.Dropped = db.archive.droppedLocked()\n",
			new:  "	next.Dropped = nil\n",
		},
	}},
}
