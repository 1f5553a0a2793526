package engine

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// oneFile is a manifest of a partition with one file.
func oneFile() *manifest.Manifest {
	p := &manifest.Partition{ID: 1, Name: "a", Version: &manifest.Version{}}
	p.Version.Levels[1] = []*manifest.File{{Number: 4, Size: 100, Smallest: []byte("a"), Largest: []byte("b"), Entries: 1, Times: cell.AllTimes}}
	return &manifest.Manifest{Edit: 3, NextFile: 5, NextPartition: 3, LogStart: 1, Partitions: map[PartitionID]*manifest.Partition{1: p}}
}

// TestWrongManifestIsRefused: a manifest with wrong content is refused, although its checksum is
// right. Open reports the file and the fault.
func TestWrongManifestIsRefused(t *testing.T) {
	add := func(m *manifest.Manifest, id PartitionID, f *manifest.File) {
		p := &manifest.Partition{ID: id, Name: "b", Version: &manifest.Version{}}
		p.Version.Levels[1] = []*manifest.File{f}
		m.Partitions[id] = p
	}
	for name, c := range map[string]struct {
		edit  func(m *manifest.Manifest)
		bytes func(data []byte) // changes the bytes before the checksum
		want  string
	}{
		"other magic":         {bytes: func(data []byte) { copy(data, "COLONIES") }, want: "not a manifest"},
		"other length":        {bytes: func(data []byte) { data[12]++ }, want: "the file says"},
		"partition number":    {edit: func(m *manifest.Manifest) { m.NextPartition = 1 }, want: "partition 1"},
		"file with no rows":   {edit: func(m *manifest.Manifest) { m.Partitions[1].Version.Levels[1][0].Smallest = nil }, want: "partition a"},
		"file of no time":     {edit: func(m *manifest.Manifest) { m.Partitions[1].Version.Levels[1][0].Times.End = 0 }, want: "times from 0 to 0"},
		"file number":         {edit: func(m *manifest.Manifest) { m.NextFile = 4 }, want: "file number 4"},
		"file of two":         {edit: func(m *manifest.Manifest) { add(m, 2, m.Partitions[1].Version.Levels[1][0]) }, want: "file number 4"},
		"log without a start": {edit: func(m *manifest.Manifest) { m.LogStart = 0 }, want: "contradict"},
		"negative time":       {edit: func(m *manifest.Manifest) { m.LastTime = -1 }, want: "contradict"},
		"edit of another":     {edit: func(m *manifest.Manifest) { m.Edit++ }, want: "edit 4"},
	} {
		m := oneFile()
		if c.edit != nil {
			c.edit(m)
		}
		data := m.Encode()
		data = data[:len(data)-8]
		if c.bytes != nil {
			c.bytes(data)
		}
		data = binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
		fs := vfs.NewMem()
		if err := fs.MkdirAll("store"); err != nil {
			t.Fatal(err)
		}
		write(t, fs, "store/"+manifest.FileName(3), data)
		_, err := Open("store", testOptions(fs))
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.File != "store/"+manifest.FileName(3) || !strings.Contains(damage.Reason, c.want) {
			t.Errorf("%s: got %v, want a *CorruptError for the manifest that says %q", name, err, c.want)
		}
	}
	if _, err := manifest.Decode(oneFile().Encode()); err != nil {
		t.Errorf("the manifest as it was: %v", err)
	}
}

// vast is a file system that reports a fixed size for manifests.
type vast struct {
	vfs.FS
	size int64
}

type vastFile struct {
	vfs.File
	size int64
}

func (v vast) Open(name string) (vfs.File, error) {
	f, err := v.FS.Open(name)
	if err == nil && strings.HasPrefix(name, "store/"+manifest.FilePrefix) {
		return vastFile{f, v.size}, nil
	}
	return f, err
}

func (f vastFile) Size() (int64, error) { return f.size, nil }

// TestVastManifestIsRefused: a huge manifest is refused before memory is allocated for it.
func TestVastManifestIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	mustClose(t, mustOpen(t, mem))
	bounded(t, func() {
		_, err := Open("store", testOptions(vast{mem, manifest.MaxSize + 1}))
		var damage *CorruptError
		if !errors.As(err, &damage) || !strings.HasPrefix(damage.File, "store/"+manifest.FilePrefix) || !strings.Contains(damage.Reason, "too many") {
			t.Errorf("got %v, want a *CorruptError for a manifest of too many bytes", err)
		}
	})
}
