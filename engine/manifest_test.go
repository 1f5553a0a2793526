package engine

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"colonnade/vfs"
)

// oneFile is a manifest of a partition with one file.
func oneFile() *manifest {
	p := &partRecord{id: 1, name: "a", version: &version{}}
	p.version.levels[1] = []*file{{number: 4, size: 100, smallest: []byte("a"), largest: []byte("b"), cells: 1}}
	return &manifest{edit: 3, nextFile: 5, nextPart: 3, logStart: 1, parts: map[PartitionID]*partRecord{1: p}}
}

// TestFormerLevels: up to version 2 there was one level less.
func TestFormerLevels(t *testing.T) {
	decode := func(levels ...int) (*manifest, error) {
		p := &partRecord{id: 1, name: "a", version: &version{}}
		for i, level := range levels {
			p.version.levels[level] = []*file{{number: uint64(i + 1), size: 100, smallest: []byte("a"), largest: []byte("b"), cells: 1}}
		}
		m := &manifest{edit: 3, nextFile: 9, nextPart: 3, logStart: 1, parts: map[PartitionID]*partRecord{1: p}}
		data := m.encode()
		data = data[:len(data)-8]
		binary.LittleEndian.PutUint32(data[len(manifestMagic):], 2)
		return decodeManifest(binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data)))
	}
	m, err := decode(0, 1, 5, 6)
	if err != nil {
		t.Fatal(err)
	}
	for level, files := range m.parts[1].version.levels {
		want := map[int]uint64{0: 1, 2: 2, 6: 3, lastLevel: 4}[level]
		if len(files) > 1 || want == 0 && len(files) > 0 || want > 0 && (len(files) == 0 || files[0].number != want) {
			t.Errorf("level %d has %v, want file %d", level, files, want)
		}
	}
	if _, err := decode(7); err == nil {
		t.Error("level 7 is accepted, which there was not")
	}
}

// TestWrongManifestIsRefused although its checksum is right: Open reports the file and
// what is wrong with it.
func TestWrongManifestIsRefused(t *testing.T) {
	add := func(m *manifest, id PartitionID, f *file) {
		p := &partRecord{id: id, name: "b", version: &version{}}
		p.version.levels[1] = []*file{f}
		m.parts[id] = p
	}
	for name, c := range map[string]struct {
		edit  func(m *manifest)
		bytes func(data []byte) // before the checksum
		want  string
	}{
		"other magic":         {bytes: func(data []byte) { copy(data, "COLONIES") }, want: "not a manifest"},
		"other length":        {bytes: func(data []byte) { data[12]++ }, want: "the file says"},
		"partition number":    {edit: func(m *manifest) { m.nextPart = 1 }, want: "partition 1"},
		"file with no rows":   {edit: func(m *manifest) { m.parts[1].version.levels[1][0].smallest = nil }, want: "partition a"},
		"file number":         {edit: func(m *manifest) { m.nextFile = 4 }, want: "file number 4"},
		"file of two":         {edit: func(m *manifest) { add(m, 2, m.parts[1].version.levels[1][0]) }, want: "file number 4"},
		"log without a start": {edit: func(m *manifest) { m.logStart = 0 }, want: "contradict"},
		"negative time":       {edit: func(m *manifest) { m.lastTime = -1 }, want: "contradict"},
		"edit of another":     {edit: func(m *manifest) { m.edit++ }, want: "edit 4"},
	} {
		m := oneFile()
		if c.edit != nil {
			c.edit(m)
		}
		data := m.encode()
		data = data[:len(data)-8]
		if c.bytes != nil {
			c.bytes(data)
		}
		data = binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
		fs := vfs.NewMem()
		if err := fs.MkdirAll("store"); err != nil {
			t.Fatal(err)
		}
		write(t, fs, "store/"+manifestName(3), data)
		_, err := Open("store", testOptions(fs))
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.File != "store/"+manifestName(3) || !strings.Contains(damage.Reason, c.want) {
			t.Errorf("%s: got %v, want a *CorruptError for the manifest that says %q", name, err, c.want)
		}
	}
	if _, err := decodeManifest(oneFile().encode()); err != nil {
		t.Errorf("the manifest as it was: %v", err)
	}
}

// vast is a file system whose manifests claim a size.
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
	if err == nil && strings.HasPrefix(name, "store/"+manifestPrefix) {
		return vastFile{f, v.size}, nil
	}
	return f, err
}

func (f vastFile) Size() (int64, error) { return f.size, nil }

// TestVastManifestIsRefused before there is memory for it.
func TestVastManifestIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	mustClose(t, mustOpen(t, mem))
	bounded(t, func() {
		_, err := Open("store", testOptions(vast{mem, manifestMax + 1}))
		var damage *CorruptError
		if !errors.As(err, &damage) || !strings.HasPrefix(damage.File, "store/"+manifestPrefix) || !strings.Contains(damage.Reason, "too many") {
			t.Errorf("got %v, want a *CorruptError for a manifest of too many bytes", err)
		}
	})
}
