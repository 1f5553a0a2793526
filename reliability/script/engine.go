package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/vfs"
)

// partitions is a Store on the engine itself: a space is three partitions, which
// are made and dropped together.
type partitions struct{ db *engine.DB }

// Engine is the Level of the engine itself.
func Engine(fs vfs.FS, size Size) (Store, error) {
	db, err := engine.Open("store", size.options(fs))
	if err != nil {
		return nil, err
	}
	return &partitions{db}, nil
}

var column = cell.AppendColumn(nil, []byte("f"), []byte("q"))

// writeTime is the time of every cell: a write replaces what was there, and
// what was there before must never be seen again.
const writeTime = 1

func (s *partitions) Create(space string) error {
	var names []string
	for part := range Parts {
		names = append(names, fmt.Sprintf("%s/%d", space, part))
	}
	_, err := s.db.CreatePartitions(names...)
	return err
}

func (s *partitions) Drop(space string) error {
	ids, err := s.find(space)
	if err != nil {
		return err
	}
	return s.db.DropPartitions(ids[:]...)
}

// find returns the partitions of a space.
func (s *partitions) find(space string) (ids [Parts]engine.PartitionID, err error) {
	all, err := s.spaces()
	if err != nil {
		return ids, err
	}
	ids, ok := all[space]
	if !ok {
		return ids, fmt.Errorf("space %s is not there", space)
	}
	return ids, nil
}

// spaces returns the partitions of every space.
func (s *partitions) spaces() (map[string][Parts]engine.PartitionID, error) {
	all := make(map[string][Parts]engine.PartitionID)
	for _, info := range s.db.Partitions() {
		space, part, _ := strings.Cut(info.Name, "/")
		ids, i := all[space], int(part[0]-'0')
		if ids[i] != 0 {
			return nil, fmt.Errorf("partition %s is there twice", info.Name)
		}
		ids[i] = info.ID
		all[space] = ids
	}
	for space, ids := range all {
		for i, id := range ids {
			if id == 0 {
				return nil, fmt.Errorf("space %s is there without part %d", space, i)
			}
		}
	}
	return all, nil
}

func (s *partitions) Write(space string, rows []Row) error {
	ids, err := s.find(space)
	if err != nil {
		return err
	}
	b := new(engine.Batch)
	for _, row := range rows {
		for part, value := range row.Values {
			if value != "" {
				c := cell.Cell{Column: column, Time: writeTime, Type: cell.Bytes, Value: []byte(value)}
				b.Add(ids[part], []byte(row.Key), &c)
				if len(value)%2 == 0 { // what was there goes, and the batch stays
					b.DeleteRange(ids[part], []byte(row.Key), []byte(row.Key+"\x00"))
				}
			}
		}
	}
	return s.commit(b)
}

// Delete deletes half of all rows by range tombstones.
func (s *partitions) Delete(space, row string) error {
	ids, err := s.find(space)
	if err != nil {
		return err
	}
	b := new(engine.Batch)
	for _, id := range ids {
		if row[len(row)-1]%2 == 0 {
			b.DeleteRange(id, []byte(row), []byte(row+"\x00"))
		} else {
			b.Add(id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		}
	}
	return s.commit(b)
}

func (s *partitions) commit(b *engine.Batch) error {
	_, err := s.db.Commit(context.Background(), b)
	return err
}

// Move does nothing: a part is a partition.
func (s *partitions) Move(string, int, Place) error { return nil }
func (s *partitions) MoveSome() (bool, error)       { return false, nil }

func (s *partitions) Flush() error   { return s.db.Flush(context.Background()) }
func (s *partitions) Compact() error { return compact(s.db) }

// compact merges all that the store holds.
func compact(db *engine.DB) error {
	for _, info := range db.Partitions() {
		err := db.Compact(context.Background(), info.ID)
		if err != nil && !errors.Is(err, engine.ErrNoPartition) {
			return err
		}
	}
	return nil
}

func (s *partitions) Read() (ledger.Cells, error) {
	for {
		found, err := s.read()
		if !errors.Is(err, engine.ErrNoPartition) {
			return found, err
		} // a space was dropped meanwhile
	}
}

func (s *partitions) read() (ledger.Cells, error) {
	spaces, err := s.spaces()
	if err != nil {
		return nil, err
	}
	var all []engine.PartitionID
	for _, ids := range spaces {
		all = append(all, ids[:]...)
	}
	snap, err := s.db.NewSnapshot(all...)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	found := make(ledger.Cells)
	for space, ids := range spaces {
		found[spacePlace(space)] = ""
		for part, id := range ids {
			if err := readPart(snap, id, space, part, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func readPart(snap *engine.Snapshot, id engine.PartitionID, space string, part int, found ledger.Cells) error {
	scan, err := snap.Scan(id, engine.ScanOptions{Now: math.MaxInt64})
	if err != nil {
		return err
	}
	defer scan.Close()
	for scan.NextRow() {
		row := string(scan.Row())
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				at := place(space, row, part)
				if _, twice := found[at]; twice {
					return fmt.Errorf("a reader sees %s twice", at)
				}
				found[at] = string(c.Value)
			}
		}
	}
	return scan.Err()
}

func (s *partitions) Health() error { return s.db.Health() }
func (s *partitions) Close() error  { return s.db.Close() }

// AwaitWrites returns when so many writes have entered the order of a Store of Engine,
// whether or not they are durable.
func AwaitWrites(store Store, n uint64) {
	for store.(*partitions).db.LastSeq() < n {
		runtime.Gosched()
	}
}
