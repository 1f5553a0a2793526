package engine

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
)

// levelSource reads the files of a level other than 0 as one source. It opens each file when it comes to
// it.
type levelSource struct {
	files   []*manifest.File
	read    sstable.ReadOptions
	counts  *LevelCounts // nil, or added to
	at      int          // index of the current file
	it      *sstable.Iterator
	scanned cell.Scanned // in earlier files
	err     error
}

func newLevelSource(files []*manifest.File, read sstable.ReadOptions) *levelSource {
	return &levelSource{files: files, read: read, at: -1}
}

func (s *levelSource) SeekRow(row []byte) {
	if s.Err() != nil { // Cells may have met one
		return
	}
	at, _ := slices.BinarySearchFunc(s.files, row, func(f *manifest.File, row []byte) int {
		return bytes.Compare(f.Largest, row)
	})
	if s.it == nil || at != s.at {
		s.open(at)
	}
	if s.it != nil {
		s.it.SeekRow(row)
		s.skipEmpty()
	}
}

func (s *levelSource) NextRow() {
	if s.err == nil && s.it != nil {
		s.it.NextRow()
		s.skipEmpty()
	}
}

// skipEmpty moves on to the next file while the current one has no more rows.
func (s *levelSource) skipEmpty() {
	for s.it != nil && s.it.Row() == nil {
		if s.err = s.it.Err(); s.err != nil {
			return
		}
		s.open(s.at + 1)
		if s.it != nil {
			s.it.SeekRow(nil)
		}
	}
}

// open makes the file with index at the current one, or the first one after it that has any of the families.
func (s *levelSource) open(at int) { s.openNext(at, 1) }

// openNext opens the first file from index at on, in steps of 1 or -1, that has any of the families. There may be
// none.
func (s *levelSource) openNext(at, step int) {
	s.leave()
	for s.at = at; s.at >= 0 && s.at < len(s.files); s.at += step {
		r, err := tableOf(s.files[s.at]).open()
		if err != nil {
			s.err = err
			return
		}
		may := r.MayHave(s.read.Columns)
		s.counts.countOpened(may)
		if may {
			s.it = r.NewIterator(s.read)
			return
		}
	}
}

func (s *levelSource) leave() {
	if s.it != nil {
		s.scanned.Add(s.it.Scanned())
		s.it.Close()
		s.it = nil
	}
}

func (s *levelSource) Row() []byte {
	if s.err != nil || s.it == nil {
		return nil
	}
	return s.it.Row()
}

func (s *levelSource) Cells(dst []cell.Cell) []cell.Cell {
	if s.err != nil || s.it == nil {
		return dst
	}
	return s.it.Cells(dst)
}

func (s *levelSource) TakeRows(dst *cell.Rows, until []byte) {
	dst.Reset()
	if s.err == nil && s.it != nil {
		s.it.TakeRows(dst, until) // which leaves a row to move to
	}
}

func (s *levelSource) Run() *cell.Run {
	if s.it == nil {
		return &rowmerge.UnknownRun
	}
	return s.it.Run()
}

func (s *levelSource) Scanned() cell.Scanned {
	n := s.scanned
	if s.it != nil {
		n.Add(s.it.Scanned())
	}
	return n
}

func (s *levelSource) Err() error {
	if s.err == nil && s.it != nil {
		return s.it.Err()
	}
	return s.err
}

func (s *levelSource) Close() { s.leave() }
