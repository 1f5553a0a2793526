package inspect

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/verbs"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// manifest shows partitions, their levels and files.
func (s *shower) manifest() error {
	data, err := os.ReadFile(s.name)
	if err != nil {
		return err
	}
	m, err := manifest.Decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.line("manifest %s", s.name)
	s.line("  store %x, edit %d, timeline %d", m.Store, m.Edit, m.Timeline)
	s.line("  up to sequence number %d, %s", m.LastSeq, stamp(m.LastTime))
	s.line("  the log begins with segment %d; the next sorted file is %d, the next partition %d", m.LogStart, m.NextFile, m.NextPartition)
	for _, d := range m.Dropped {
		s.line("  dropped: partition %d %s, %s", d.ID, d.Name, stamp(d.Time))
	}
	for _, id := range slices.Sorted(maps.Keys(m.Partitions)) {
		s.partition(m.Partitions[id])
	}
	return nil
}

func (s *shower) partition(p *manifest.Partition) {
	s.line("partition %d %s: flushed up to %d", p.ID, p.Name, p.Flushed)
	for _, t := range p.Version.RangeTombstones.List() {
		s.line("  range deleted: %s, sequence number %d", span(t.Start, t.End), t.Seq)
	}
	for level, files := range p.Version.Levels {
		if len(files) > 0 {
			s.line("  level %d: %d files, %s", level, len(files), verbs.Bytes(p.Version.Size(level)))
		}
		for _, f := range files {
			s.line("    %s  %s, %d entries, %d tombstones, rows %s to %s, sequence numbers %d to %d",
				manifest.TableFile(f.Number), verbs.Bytes(f.Size), f.Entries, f.Tombstones,
				verbs.Escape(string(f.Smallest)), verbs.Escape(string(f.Largest)), f.MinSeq, f.MaxSeq)
		}
	}
}

// span returns a range of rows; its bounds may be open.
func span(start, end []byte) string {
	from, to := "the first row", "the end"
	if len(start) > 0 {
		from = verbs.Escape(string(start))
	}
	if len(end) > 0 {
		to = "before " + verbs.Escape(string(end))
	}
	return "rows from " + from + " to " + to
}
