package vfs

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// maxDirectWrite bounds one write of a directFile, in bytes.
const maxDirectWrite = 1 << 20

// A directFile overwrites a file past the page cache (O_DIRECT). Such a write does not have to find,
// lock and mark pages, and the sync after it finds none to wait for: only the device is left. The
// kernel takes whole blocks only, from memory that is aligned to blocks. So the last block is padded
// with zeros, and written again with the next bytes:
//
//	file  | block | block | block 3           | old content
//	buf                   | written   | zeros |
//	                      at          tail
type directFile struct {
	osFile
	writeAt func(b []byte, at int64) (int, error) // File.WriteAt

	size   int64  // of the file, when it was opened
	offset int64  // of the first block that is not full
	tail   int    // bytes of it that are written
	buf    []byte // starts with them, aligned to blocks
}

// wrapReused returns f, opened for writing, as a file to be overwritten from the front. It is a
// directFile, unless the file system refuses O_DIRECT.
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

// writeChunk writes at most maxDirectWrite bytes. After an error some of them may be in the file; the
// next write goes to the same place.
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

// writeBlocks writes the first padded bytes of buf to their place: end bytes and zeros. It falls back
// to the page cache, for good, where the kernel wants larger blocks or does not support O_DIRECT, and
// past the length of the file, which must not grow by zeros. It returns other errors as they are.
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

// unsupported reports whether an error may come from the use of O_DIRECT.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP)
}

// grow makes buf at least n bytes long.
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

// alignGap returns the distance from an address to the next block boundary.
func alignGap(address uintptr) int { return int(-address % blockSize) }
