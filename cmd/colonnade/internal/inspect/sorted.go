package inspect

import (
	"os"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/verbs"
	"github.com/colonnade-db/colonnade/sstable"
)

// sorted shows a sorted file.
func (s *shower) sorted(number uint64) error {
	m, err := s.store(3) // STORE/partitions/00000003/00000045.sst
	if err != nil {
		return err
	}
	file, err := os.Open(s.name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	r, err := sstable.Open(file, info.Size(), sstable.ID{Store: m.Store, Number: number}, nil)
	if err != nil {
		return err
	}
	s.properties(r.Info())
	if s.Entries {
		return s.cells(r)
	}
	return nil
}

func (s *shower) properties(i sstable.Info) {
	s.line("sorted file %s", s.name)
	s.line("  %s, of %s before encoding and compression with %v", verbs.Bytes(i.Size), verbs.Bytes(int64(i.RawBytes)), i.Compression)
	s.line("  %d rows from %s to %s", i.Rows, verbs.Escape(string(i.Smallest)), verbs.Escape(string(i.Largest)))
	s.line("  %d entries, of these %d tombstones; families %s", i.Cells, i.Tombstones, strings.Join(i.Families, ", "))
	s.line("  sequence numbers %d to %d", i.MinSeq, i.MaxSeq)
	if i.Kinds[cell.Set] > 0 {
		s.line("  times %s to %s", stamp(i.MinTime), stamp(i.MaxTime))
	}
	s.line("  %d cell blocks of about %s, %d value blocks; %d bits of filter for each row", i.CellBlocks, verbs.Bytes(int64(i.BlockSize)), i.ValueBlocks, i.FilterBits)
}

// cells shows every entry. What is damaged ends it with an error.
func (s *shower) cells(r *sstable.Reader) error {
	it := r.NewIterator(sstable.ReadOptions{})
	defer it.Close()
	var cells []cell.Cell
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		for cells = it.Cells(cells[:0]); len(cells) > 0; cells = it.Cells(cells[:0]) {
			for i := range cells {
				s.line("%s  #%d", entry(it.Row(), &cells[i]), cells[i].Seq)
			}
		}
	}
	return it.Err()
}
