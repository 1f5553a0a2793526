package lsmstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// An applied idempotency key is a row of one partition for all tables. The batch of
// its request writes it. This is part of the on-disk format:
//
//	partition  "_keys"
//	row        id of the table's _dat_ partition, 8 bytes big endian; the key
//	column     "d:", of the time of the commit
//	value      bytes, as follows
//
//	0        1             33       41
//	+--------+-------------+--------+--------+
//	| format | fingerprint | number | result |
//	+--------+-------------+--------+--------+
//	  1        32            8
//
//	format       1, or 2 with a result, or 3 with the result of a part
//	fingerprint  of the request
//	number       little endian. Of a deletion: versions deleted. Of a check-and-mutate:
//	             bit 0 matched, bit 1 a mutation was applied
//	result       of a deletion of several rows: rows deleted from, 8 bytes little
//	             endian. Of WriteRows: the refusals, as JSON. Of a read-modify-write:
//	             the versions written, see appendWritten. Of a part, which is one of a
//	             deletion of several rows: rows deleted from, and the last of them
//
// Entries expire by age, like other cells. Partition ids are never reused, so no
// request finds the entries of a dropped table.
const (
	keysPartition = "_keys"
	keyFormat     = 1
	resultFormat  = 2
	partFormat    = 3
	keyValueSize  = 1 + sha256.Size + 8
)

// keyring has the partition of idempotency keys, and the keys of requests under way.
type keyring struct {
	policies *engine.Policies
	making   exclusion // held while the partition is created

	mu        sync.Mutex
	partition engine.PartitionID // 0 while there is none
	underWay  map[string]bool    // rows of keys whose outcome is not decided yet
}

func (k *keyring) init(asOf uint64) {
	k.policies = engine.NewPolicies(asOf, map[string]engine.Policy{
		metaFamily: {GC: cell.GC{TTLSecs: widecol.IdempotencyWindowSecs, VersionLimit: 1}},
	})
	k.making = newExclusion()
	k.underWay = make(map[string]bool)
}

func (k *keyring) found() engine.PartitionID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.partition
}

// adopt sets the partition of the keys.
func (k *keyring) adopt(db *engine.DB, id engine.PartitionID) error {
	if err := db.SetPolicies(id, k.policies); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.partition = id
	return nil
}

// claim claims a key for a request. It returns false if another request has claimed it.
func (k *keyring) claim(row []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.underWay[string(row)] {
		return false
	}
	k.underWay[string(row)] = true
	return true
}

func (k *keyring) release(row []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.underWay, string(row))
}

// keyPartition returns the partition of the keys. The first request with a key creates it: older stores
// have none, and must open on a full disk too. If the context ends first, it has no effect.
func (s *Store) keyPartition(ctx context.Context) (engine.PartitionID, error) {
	if id := s.keys.found(); id != 0 {
		return id, nil
	}
	if err := s.keys.making.exclude(ctx); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	s.calls.Go(func() {
		defer s.keys.making.endExclude()
		done <- s.makeKeyPartition()
	})
	select {
	case err := <-done:
		return s.keys.found(), failure(err)
	case <-ctx.Done():
		return 0, failure(engine.ErrSlowDisk)
	}
}

func (s *Store) makeKeyPartition() error {
	if s.keys.found() != 0 {
		return nil
	}
	ids, err := s.db.CreatePartitions(keysPartition)
	if err != nil {
		return err
	}
	return s.keys.adopt(s.db, ids[0])
}

// outcome is the result of a request, or of the part of it that is done.
type outcome struct {
	time   int64  // of the commit
	number int64  // as stored
	result []byte // as stored, nil for none
	partly bool   // the rest is not done
}

// entry is what is stored for a key when its request is applied.
type entry struct {
	partition   engine.PartitionID
	row         []byte
	fingerprint [sha256.Size]byte
	begun       outcome // of the part that was done before, partly
}

// add adds the entry to the batch of its request. A nil entry is that of a request without a key.
func (e *entry) add(b *engine.Batch, o outcome) {
	if e == nil {
		return
	}
	value := append(make([]byte, 0, keyValueSize+len(o.result)), keyFormat)
	switch {
	case o.partly:
		value[0] = partFormat
	case o.result != nil:
		value[0] = resultFormat
	}
	value = append(value, e.fingerprint[:]...)
	value = binary.LittleEndian.AppendUint64(value, uint64(o.number))
	value = append(value, o.result...)
	column := cell.AppendColumn(nil, []byte(metaFamily), nil)
	b.Add(e.partition, e.row, &cell.Cell{Column: column, Time: engine.CommitTime, Type: cell.Bytes, Value: value})
}

// once applies a request with a key, or the rest of it, unless it was applied before. Then it returns the first
// outcome. The caller shares t.changing.
func (s *Store) once(ctx context.Context, t *table, key string, fingerprint [sha256.Size]byte, apply func(*entry) (outcome, error)) (outcome, error) {
	if err := widecol.CheckIdempotencyKey(key); err != nil {
		return outcome{}, err
	}
	partition, err := s.keyPartition(ctx)
	if err != nil {
		return outcome{}, err
	}
	e := &entry{partition: partition, row: binary.BigEndian.AppendUint64(nil, uint64(t.data)), fingerprint: fingerprint}
	e.row = append(e.row, key...)
	if !s.keys.claim(e.row) {
		return outcome{}, widecol.IdempotencyKeyInUse(key)
	}
	var late *engine.UnknownError
	defer func() { s.settle(e.row, late) }()
	before, err := s.recall(e)
	switch {
	case err != nil:
		return outcome{}, failure(err)
	case before == nil:
	case before.fingerprint != fingerprint:
		return outcome{}, widecol.IdempotencyKeyReused(key)
	case !before.partly:
		return before.outcome, nil
	default:
		e.begun = before.outcome
	}
	o, err := apply(e)
	errors.As(err, &late)
	return o, err
}

// settle releases the key of a request. If its batch was not durable in time, the key stays claimed until
// the batch is decided. Otherwise the same request could be applied twice: no reader sees the batch before.
func (s *Store) settle(row []byte, late *engine.UnknownError) {
	if late == nil {
		s.keys.release(row)
		return
	}
	s.calls.Go(func() {
		_ = late.Wait() // either result decides it, or else the store takes no writes until the next open
		s.keys.release(row)
	})
}

// remembered is a stored entry.
type remembered struct {
	outcome
	fingerprint [sha256.Size]byte
}

// recall reads the entry of a key, nil if there is none.
func (s *Store) recall(e *entry) (*remembered, error) {
	snap, err := s.db.NewSnapshot(e.partition)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	scan, err := snap.Scan(e.partition, engine.ScanOptions{
		Start: e.row, End: append(e.row[:len(e.row):len(e.row)], 0),
		Policies: s.keys.policies, Now: s.opt.Engine.Clock.Now(), FillCache: true,
	})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	if !scan.NextRow() {
		return nil, scan.Err()
	}
	cells := scan.Cells()
	if len(cells) == 0 {
		return nil, scan.Err()
	}
	return decodeEntry(&cells[0])
}

func decodeEntry(c *cell.Cell) (*remembered, error) {
	v := c.Value
	if !knownForm(v) {
		return nil, &engine.CorruptError{Partition: keysPartition, Offset: -1, Reason: "the entry of an idempotency key has a form that this program does not know"}
	}
	m := &remembered{outcome: outcome{time: c.Time}}
	rest := v[1+copy(m.fingerprint[:], v[1:]):]
	m.number = int64(binary.LittleEndian.Uint64(rest))
	if v[0] != keyFormat {
		m.result, m.partly = bytes.Clone(rest[8:]), v[0] == partFormat
	}
	return m, nil
}

func knownForm(v []byte) bool {
	if len(v) < keyValueSize {
		return false
	}
	switch v[0] {
	case keyFormat:
		return len(v) == keyValueSize
	case resultFormat:
		return true
	case partFormat:
		return len(v) > keyValueSize+8
	}
	return false
}
