package manifest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cell"
)

// encodeFormer encodes a manifest as version 2 or 3, which have neither range tombstones nor times nor a timeline. No
// number of these, or before them, takes more than a byte.
func encodeFormer(m *Manifest, version uint32) []byte {
	for _, p := range m.Partitions {
		without := p.encode()
		for _, files := range p.Version.Levels {
			for _, f := range files {
				with := f.append(nil)
				without = bytes.Replace(without, with, with[:len(with)-3], 1)
			}
		}
		p.encoded = without[:len(without)-1]
	}
	data := m.Encode()
	data = slices.Delete(data[:len(data)-8], HeaderSize+16+8, HeaderSize+16+8+2)
	binary.LittleEndian.PutUint64(data[len(Magic)+4:], uint64(len(data)-HeaderSize))
	binary.LittleEndian.PutUint32(data[len(Magic):], version)
	return binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
}

// TestFormerLevels: manifests up to version 2 have one level less.
func TestFormerLevels(t *testing.T) {
	decode := func(levels ...int) (*Manifest, error) {
		p := &Partition{ID: 1, Name: "a", Version: &Version{}}
		for i, level := range levels {
			p.Version.Levels[level] = []*File{{Number: uint64(i + 1), Size: 100, Smallest: []byte("a"), Largest: []byte("b"), Entries: 1, Times: cell.TimeRange{Start: 1, End: 2}}}
		}
		m := &Manifest{Edit: 3, NextFile: 9, NextPartition: 3, LogStart: 1, Partitions: map[PartitionID]*Partition{1: p}}
		return Decode(encodeFormer(m, 2))
	}
	m, err := decode(0, 1, 5, 6)
	if err != nil {
		t.Fatal(err)
	}
	for level, files := range m.Partitions[1].Version.Levels {
		want := map[int]uint64{0: 1, 2: 2, 6: 3, LastLevel: 4}[level]
		if len(files) > 1 || want == 0 && len(files) > 0 || want > 0 && (len(files) == 0 || files[0].Number != want) {
			t.Errorf("level %d has %v, want file %d", level, files, want)
		}
	}
	if _, err := decode(7); err == nil {
		t.Error("level 7 is accepted, which there was not")
	}
}
