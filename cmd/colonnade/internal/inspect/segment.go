package inspect

import (
	"io"
	"os"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/wal"
)

// segment shows a segment of the log: each batch, and with Entries what is in it.
func (s *shower) segment(number uint64) error {
	m, err := s.store(2) // STORE/wal/00000012.log
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
	r, err := wal.NewReader(file, info.Size(), m.Store, number)
	if err != nil {
		return err
	}
	s.line("segment %d of the log, %s, %d bytes", number, s.name, info.Size())
	if r.Header().Copy {
		s.line("  written by a recovery")
	}
	for {
		seq, payload, err := r.Next()
		if err == io.EOF {
			s.line("  ends %s at offset %d", r.End().Kind, r.End().Offset)
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.batch(m, seq, payload); err != nil {
			return err
		}
	}
}

func (s *shower) batch(m *manifest.Manifest, seq uint64, payload []byte) error {
	n := 0
	time, err := engine.BatchEntries(payload, func(engine.Entry) { n++ })
	if err != nil {
		return err
	}
	s.line("#%d  %s  %d entries, %d bytes", seq, stamp(time), n, len(payload))
	if !s.Entries {
		return nil
	}
	_, err = engine.BatchEntries(payload, func(e engine.Entry) {
		name := "a partition that was dropped"
		if p := m.Partitions[e.Partition]; p != nil {
			name = p.Name
		}
		if e.Range != nil {
			s.line("    %s  delete %s", name, span(e.Range.Start, e.Range.End))
			return
		}
		s.line("    %s  %s", name, entry(e.Row, &e.Cell))
	})
	return err
}
