package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// readManifest reads the manifest with the highest number. It returns nil if the directory has none.
func readManifest(fs vfs.FS, dir string) (m *manifest.Manifest, name string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", dir, err)
	}
	var highest uint64
	for _, n := range names {
		if number, ok := manifest.ParseName(n, manifest.FilePrefix, ""); ok && (name == "" || number > highest) {
			highest, name = number, n
		}
	}
	if name == "" {
		return nil, "", nil
	}
	name = dir + "/" + name
	data, err := readFile(fs, name)
	if err != nil {
		return nil, "", err
	}
	m, err = manifest.Decode(data)
	if err == nil && m.Edit != highest {
		err = fmt.Errorf("edit %d does not go with the name", m.Edit)
	}
	var version *VersionError
	switch {
	case errors.As(err, &version):
		version.File = name
		return nil, "", err
	case err != nil:
		return nil, "", &CorruptError{File: name, Offset: -1, Reason: err.Error()}
	}
	return m, name, nil
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > manifest.MaxSize {
		return nil, &CorruptError{File: name, Offset: -1, Reason: fmt.Sprintf("%d bytes are too many", size)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// writeManifest makes m the manifest of the directory.
func writeManifest(fs vfs.FS, dir string, m *manifest.Manifest) error {
	name := dir + "/" + manifest.FileName(m.Edit)
	if err := writeTemp(fs, name+manifest.TempSuffix, m.Encode()); err != nil {
		fs.Remove(name + manifest.TempSuffix) // if this fails, the next attempt removes it: it counts for nothing
		if short := shortage(err); short != nil {
			return fmt.Errorf("write manifest: %w: %w", short, err)
		}
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := nameManifest(fs, name); err != nil {
		return fmt.Errorf("rename manifest: %w", err)
	}
	if err := fs.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory of the manifest: %w", err)
	}
	return nil
}

// nameManifest renames a manifest to its name. After a rename that failed for lack of room, it looks whether
// the rename has happened: what becomes durable is what can be seen.
func nameManifest(fs vfs.FS, name string) error {
	err := fs.Rename(name+manifest.TempSuffix, name)
	short := shortage(err)
	if short == nil {
		return err
	}
	if _, err := fs.Stat(name); err == nil {
		return nil
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	fs.Remove(name + manifest.TempSuffix)
	return fmt.Errorf("%w: %w", short, err)
}

// writeTemp writes a file and reads it again: a fault in it must show while the previous manifest is still
// there.
func writeTemp(fs vfs.FS, name string, data []byte) error {
	f, err := createReplacing(fs, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	got, err := readFile(fs, name)
	if err == nil && !bytes.Equal(got, data) {
		err = fmt.Errorf("%s reads differently from what was written", name)
	}
	return err
}

// createReplacing creates a file. It replaces what a failed attempt may have left.
func createReplacing(fs vfs.FS, name string) (vfs.File, error) {
	f, err := fs.Create(name)
	if !errors.Is(err, iofs.ErrExist) {
		return f, err
	}
	if err := fs.Remove(name); err != nil {
		return nil, err
	}
	return fs.Create(name)
}
