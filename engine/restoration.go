package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// Restoration makes the files of a checkpoint, in a directory of their own, a store of its own: with the batches
// that came after the checkpoint, with other partitions, and with a timeline that no other store has, since its log
// goes another way from here. It leaves what a recovery leaves: the batches in segments of copies, an empty
// segment behind them, and a manifest. It is for one goroutine, which keeps others from the directory.
type Restoration struct {
	db       *DB // stands for the store; it is not open
	name     string
	manifest *manifest.Manifest // as found
	copier   *logCopier
	lastSeq  uint64
	lastTime int64
}

// Restored says which partitions a restored store has.
type Restored struct {
	// Keep, if it is not nil, says which partitions of the checkpoint stay.
	Keep func(PartitionID) bool
	// Created are partitions that the checkpoint may not have, and Dropped those that are not there any more.
	Created []PartitionInfo
	Dropped map[PartitionID]bool
	// NextPartition is above all partitions that ever were, unless the checkpoint knows a higher number.
	NextPartition PartitionID
}

// NewRestoration begins to restore the store in a directory. The caller calls Finish or Abandon.
func NewRestoration(fs vfs.FS, dir string) (*Restoration, error) {
	m, name, err := readManifest(fs, path.Clean(dir))
	if err == nil && m == nil {
		err = errors.New("there is no manifest")
	}
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", dir, err)
	}
	db := &DB{opt: Options{FS: fs}.WithDefaults(), dir: path.Clean(dir), store: m.Store, manifest: m}
	db.log.next = m.LogStart + 1 // the segment of the checkpoint has no batches
	return &Restoration{db: db, name: name, manifest: m, copier: newLogCopier(db), lastSeq: m.LastSeq, lastTime: m.LastTime}, nil
}

// Partitions returns the partitions of the checkpoint, in no order.
func (r *Restoration) Partitions() []PartitionID {
	return slices.Collect(maps.Keys(r.manifest.Partitions))
}

// LastSeq returns the sequence number of the last batch.
func (r *Restoration) LastSeq() uint64 { return r.lastSeq }

// Add adds a batch, unless it or a later one is there already. It does not keep the payload.
func (r *Restoration) Add(seq uint64, payload []byte) error {
	if seq <= r.lastSeq {
		return nil
	}
	if err := checkBatch(payload, func(*batchReader, int) error { return nil }); err != nil {
		return fmt.Errorf("batch %d: %w", seq, err)
	}
	r.lastSeq, r.lastTime = seq, max(r.lastTime, batchTime(payload))
	return r.copier.add(seq, payload)
}

// BatchTime returns the commit time of an encoded batch.
func BatchTime(payload []byte) (int64, error) {
	if len(payload) < batchHeader {
		return 0, fmt.Errorf("a batch of %d bytes is too short", len(payload))
	}
	return batchTime(payload), nil
}

// Abandon ends a restoration that is not wanted.
func (r *Restoration) Abandon() { _ = r.copier.end() }

// Finish ends the restoration: the store has the partitions that p says, and another timeline. Then all is durable
// in the directory of the log and that of the store.
func (r *Restoration) Finish(p Restored, random io.Reader) error {
	if err := r.copier.end(); err != nil {
		return fmt.Errorf("restore %s: %w", r.db.dir, err)
	}
	m := r.manifest.Next()
	r.setPartitions(m, p)
	m.LastSeq, m.LastTime, m.Dropped = r.lastSeq, r.lastTime, nil
	var timeline [8]byte
	if _, err := io.ReadFull(random, timeline[:]); err != nil {
		return fmt.Errorf("choose timeline: %w", err)
	}
	m.Timeline = max(binary.LittleEndian.Uint64(timeline[:]), 1)
	if n := len(r.copier.segments); n > 0 {
		if err := r.endLog(); err != nil {
			return fmt.Errorf("make log segment: %w", err)
		}
		m.LogStart, m.Copied = r.copier.segments[0].number, r.copier.segments[n-1].number
	}
	err := m.Check()
	if err == nil {
		err = writeManifest(r.db.opt.FS, r.db.dir, m)
	}
	if err == nil {
		err = r.db.opt.FS.Remove(r.name)
	}
	if err == nil && m.LogStart > r.manifest.LogStart {
		err = r.db.opt.FS.Remove(r.db.segmentPath(r.manifest.LogStart))
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.db.dir, err)
	}
	return nil
}

// setPartitions makes the partitions of the manifest those of p.
func (r *Restoration) setPartitions(m *manifest.Manifest, p Restored) {
	for id := range r.manifest.Partitions {
		if p.Dropped[id] || p.Keep != nil && !p.Keep(id) {
			delete(m.Partitions, id)
		}
	}
	m.NextPartition = max(m.NextPartition, p.NextPartition)
	for _, c := range p.Created {
		m.NextPartition = max(m.NextPartition, c.ID+1)
		if m.Partitions[c.ID] == nil && !p.Dropped[c.ID] {
			m.Partitions[c.ID] = &manifest.Partition{ID: c.ID, Name: c.Name, Flushed: r.manifest.LastSeq, Version: &manifest.Version{}}
		}
	}
}

// endLog makes the segment behind the copies. It has no batches.
func (r *Restoration) endLog() error {
	s := &segment{number: r.db.log.next, size: logSize}
	if err := r.db.fillSegment(s, nil); err != nil {
		return err
	}
	return errors.Join(s.w.Seal(), s.w.Close())
}
