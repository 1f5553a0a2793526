// Package inspect shows the files of a store as people read them: manifests, sorted files and segments of the log. It
// changes nothing, and needs no server that is stopped: files do not change, but for the segment that is written.
package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/verbs"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Options say what to show of a file.
type Options struct {
	// Entries shows every entry of a sorted file or of the log, not only what they are together.
	Entries bool
}

// Show writes what a file says. name may be the directory of a store, for its manifest.
func Show(w io.Writer, name string, o Options) error {
	name = filepath.Clean(name)
	out := bufio.NewWriterSize(w, 64<<10)
	s := &shower{w: out, Options: o, name: name}
	return errors.Join(s.show(), out.Flush())
}

// shower shows one file.
type shower struct {
	Options
	w    *bufio.Writer
	name string
}

func (s *shower) show() error {
	info, err := os.Stat(s.name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		_, file, err := newest(s.name)
		if err != nil {
			return err
		}
		s.name = file
	}
	base := filepath.Base(s.name)
	if _, ok := manifest.ParseName(base, manifest.FilePrefix, ""); ok {
		return s.manifest()
	}
	if n, ok := manifest.ParseName(base, "", manifest.TableSuffix); ok {
		return s.sorted(n)
	}
	for _, suffix := range []string{manifest.SegmentSuffix, manifest.TornSuffix} {
		if n, ok := manifest.ParseName(base, "", suffix); ok {
			return s.segment(n)
		}
	}
	return fmt.Errorf("%s is no file of a store by its name: manifest-00000007, 00000012.log or 00000045.sst", s.name)
}

// newest returns the manifest of a store, and its file.
func newest(dir string) (*manifest.Manifest, string, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	var highest uint64
	for _, n := range names {
		if number, ok := manifest.ParseName(n.Name(), manifest.FilePrefix, ""); ok {
			highest = max(highest, number)
		}
	}
	if highest == 0 {
		return nil, "", fmt.Errorf("%s holds no store: it has no manifest", dir)
	}
	file := filepath.Join(dir, manifest.FileName(highest))
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	m, err := manifest.Decode(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	return m, file, nil
}

// store returns the manifest of the store that the file is in, up directories above it. The checksums of a file go
// with the identity of its store.
func (s *shower) store(up int) (*manifest.Manifest, error) {
	dir, err := filepath.Abs(s.name)
	if err != nil {
		return nil, err
	}
	for range up {
		dir = filepath.Dir(dir)
	}
	m, _, err := newest(dir)
	if err != nil {
		return nil, fmt.Errorf("%s can be read only where it is in its store: %w", s.name, err)
	}
	return m, nil
}

func (s *shower) line(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// kinds are the words for entries.
var kinds = map[cell.Kind]string{
	cell.Set: "set", cell.DeleteVersion: "delete version", cell.DeleteColumn: "delete column", cell.DeleteFamily: "delete family", cell.DeleteRow: "delete row",
}

// entry returns an entry of a row as a line.
func entry(row []byte, c *cell.Cell) string {
	line := []string{verbs.Escape(string(row))}
	if c.Kind != cell.DeleteRow {
		family, qualifier := cell.SplitColumn(c.Column)
		line = append(line, verbs.Escape(string(family)+":"+string(qualifier)))
	}
	if c.Kind != cell.Set {
		line = append(line, kinds[c.Kind])
	}
	if c.Time != cell.TombstoneTime {
		line = append(line, stamp(c.Time))
	}
	if c.Kind == cell.Set {
		line = append(line, value(c))
	}
	return strings.Join(line, "  ")
}

// value returns the value of a cell as the verbs print it.
func value(c *cell.Cell) string {
	if !c.Type.Fits(c.Value) {
		return fmt.Sprintf("%s of %d bytes", c.Type, len(c.Value))
	}
	bits := func(n int) (v uint64) {
		for i := range n {
			v |= uint64(c.Value[i]) << (8 * i)
		}
		return v
	}
	v := client.Bytes(c.Value)
	switch c.Type {
	case cell.String:
		v = client.String(string(c.Value))
	case cell.I64:
		v = client.I64(int64(bits(8)))
	case cell.I32:
		v = client.I32(int32(bits(4)))
	case cell.Byte:
		v = client.Byte(byte(bits(1)))
	case cell.Bool:
		v = client.Bool(bits(1) == 1)
	case cell.F64:
		v = client.F64(math.Float64frombits(bits(8)))
	case cell.F32:
		v = client.F32(math.Float32frombits(uint32(bits(4))))
	}
	return verbs.Literal(v)
}

// stamp returns a time in microseconds as people read it.
func stamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}
