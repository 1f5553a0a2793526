package vfs

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// mostDirect is the most that a directFile takes of what it is given into one write.
const maxDirectWrite = 1 << 20

// A directFile overwrites a file past the page cache (O_DIRECT). There a write need not find, lock and
// mark the pages that it goes to, and the sync after it has none to look for and to wait for: all
// that is left is the device. The kernel takes whole units only, out of memory that begins where a
// unit could. So the last one is written again with what comes after it, and is filled up with
// zeros until then:
//
//	file  | unit | unit | unit 3             | what was here before
//	buf                 | written    | zeros |
//	                    at         tail
type directFile struct {
	osFile
	writeAt func(b []byte, at int64) (int, error) // File.WriteAt

	size   int64  // of the file, when it was opened
	offset int64  // where the first unit lies that is not full
	tail   int    // bytes of it that were written
	buf    []byte // begins with them, and in memory where a unit could
}

// overwriting returns f, opened for writing, as a file that is overwritten from its front: a
// directFile, unless its file system says at once that it has none.
func wrapReused(f *os.File) File {
	info, err := f.Stat()
	if err != nil || setDirect(f, true) != nil {
		return &osFile{f}
	}
	return &directFile{osFile: osFile{f}, writeAt: f.WriteAt, size: info.Size()}
}

// setDirect turns O_DIRECT on or off.
func setDirect(f *os.File, on bool) error {
	return control(f, "fcntl", func(fd int) error {
		flags, err := fcntl(fd, syscall.F_GETFL, 0)
		if err != nil {
			return err
		}
		flags &^= syscall.O_DIRECT
		if on {
			flags |= syscall.O_DIRECT
		}
		_, err = fcntl(fd, syscall.F_SETFL, flags)
		return err
	})
}

func fcntl(fd, cmd, arg int) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (d *directFile) Write(p []byte) (done int, err error) {
	for done < len(p) {
		chunk := p[done:min(done+maxDirectWrite, len(p))]
		if err := d.writeChunk(chunk); err != nil {
			return done, err
		}
		done += len(chunk)
	}
	return done, nil
}

// writePiece writes at most mostDirect bytes. When it fails some of them may be in the file, where
// the next one goes as well.
func (d *directFile) writeChunk(p []byte) error {
	end := d.tail + len(p)
	padded := int(blockEnd(int64(end)))
	d.grow(padded)
	copy(d.buf[d.tail:], p)
	clear(d.buf[end:padded])
	if err := d.writeBlocks(end, padded); err != nil {
		return err
	}
	full := end / blockSize * blockSize
	d.tail = copy(d.buf, d.buf[full:end])
	d.offset += int64(full)
	return nil
}

// writeUnits writes the first bytes of buf to where they belong: end of them, padded with zeros. What the
// kernel does not take so goes through the page cache, as does all that comes after it: where
// it wants larger units, or the file system cannot do it after all, and beyond the length of the file,
// which must not grow by zeros. An error that says anything else is not for another attempt to hide.
func (d *directFile) writeBlocks(end, padded int) error {
	b := d.buf[:padded]
	if d.offset+int64(padded) > d.size {
		if err := setDirect(d.f, false); err != nil {
			return err
		}
		b = b[:end]
	}
	_, err := d.writeAt(b, d.offset)
	if unsupported(err) && setDirect(d.f, false) == nil {
		_, err = d.writeAt(b, d.offset)
	}
	return err
}

// refused reports whether an error may be about how something was asked for.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP)
}

// grow sees to it that buf holds n bytes.
func (d *directFile) grow(n int) {
	if n <= len(d.buf) {
		return
	}
	n = min(2*n, maxDirectWrite+blockSize)
	b := make([]byte, n+blockSize)
	skip := alignGap(uintptr(unsafe.Pointer(&b[0])))
	b = b[skip:][:n:n]
	copy(b, d.buf[:d.tail])
	d.buf = b
}

// toUnit returns how far it is from an address to where a unit could begin.
func alignGap(address uintptr) int { return int(-address % blockSize) }
