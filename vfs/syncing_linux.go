//go:build !arm

package vfs

import (
	"errors"
	"os"
	"syscall"
)

// paceBytes is after how many bytes of a new file the kernel is told to begin with writing them
// to the disk.
const bytesPerSync = 512 << 10

// A pacedFile has what was written to a new file on its way to the disk long before a Sync asks for
// it. Otherwise all of a table would be handed to the disk at once, in the Sync at its end, and
// the log's next sync, which somebody waits for, would stand in line behind it:
//
//	file  | on the disk          | on its way | in the page cache only |
//	      0                   from           to                  written
//
// At most two stretches of about paceBytes are not on the disk: the one on its way is waited for
// before the next goes. None of it is durable before Sync has returned, which makes the length
// durable too, and empties the cache of the disk.
type syncingFile struct {
	osFile
	syncRange func(from, n int64, flags int) error // sync_file_range(2)

	from, to  int64 // what is on its way
	written   int64
	supported bool  // a call has done something
	err       error // of call: the kernel reports a write that failed once, so that Sync might not hear of it
}

// Flags of sync_file_range.
const (
	rangeWaitBefore = 1
	rangeWrite      = 2
)

// created returns f, which was just created, as a file to be written.
func wrapNew(f *os.File) File {
	p := &syncingFile{osFile: osFile{f}}
	p.syncRange = func(from, n int64, flags int) error {
		return control(f, "sync_file_range", func(fd int) error { return syscall.SyncFileRange(fd, from, n, flags) })
	}
	return p
}

func (p *syncingFile) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.osFile.Write(b)
	p.written += int64(n)
	if err == nil && p.written-p.to >= bytesPerSync {
		err = p.startSync()
	}
	return n, err
}

// pace waits for what is on its way, and sends off what was written since.
func (p *syncingFile) startSync() (err error) {
	if p.to > p.from {
		err = p.syncRange(p.from, p.to-p.from, rangeWaitBefore)
	}
	if err == nil {
		p.from, p.to = p.to, p.written
		err = p.syncRange(p.from, p.to-p.from, rangeWrite)
	}
	switch {
	case err == nil:
		p.supported = true
	case !p.supported && (unsupported(err) || errors.Is(err, syscall.ENOSYS)):
		// Nothing was sent off yet. Later the same errors can be those of a write to the disk.
		p.syncRange = func(int64, int64, int) error { return nil } // there Sync does all of it
		return nil
	default:
		p.err = err
	}
	return err
}

func (p *syncingFile) Sync() error {
	if p.err != nil {
		return p.err
	}
	p.from, p.to = p.written, p.written
	return p.osFile.Sync()
}
