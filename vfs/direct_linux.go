package vfs

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostDirect is the most that a directFile writes at a time, and a multiple of BlockSize.
const mostDirect = 1 << 20

// A directFile overwrites a file past the page cache (O_DIRECT): there a sync has nothing
// left to write, and a write does not wait for one page after the other. The kernel takes
// whole blocks only, out of memory that begins where a block could. So the last block is written
// again with what comes after it, and is filled up with zeros until then:
//
//	file  | block | block | block 3            | what was here before
//	buf                   | written    | zeros |
//	                      at         tail
type directFile struct {
	osFile
	size int64  // of the file, when it was opened
	at   int64  // where the first block lies that is not full
	tail int    // bytes of it that were written
	buf  []byte // begins with them, and in memory where a block could
}

// overwriting returns f, opened for writing, as a file that is overwritten from its front: a
// directFile if its file system lets it be written so.
func overwriting(f *os.File) File {
	info, err := f.Stat()
	if err != nil || setDirect(f, true) != nil {
		return &osFile{f}
	}
	return &directFile{osFile: osFile{f}, size: info.Size()}
}

// setDirect turns O_DIRECT on or off.
func setDirect(f *os.File, on bool) error {
	return control(f, "fcntl", func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		flags &^= unix.O_DIRECT
		if on {
			flags |= unix.O_DIRECT
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
}

func (d *directFile) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		piece := p[done:min(done+mostDirect-BlockSize, len(p))]
		n, err := d.writePiece(piece)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// writePiece writes a piece that fits into mostDirect with the bytes of the last block.
func (d *directFile) writePiece(p []byte) (int, error) {
	end := d.tail + len(p)
	d.grow(end)
	copy(d.buf[d.tail:], p)
	clear(d.buf[end:roundUp(end)])
	n, err := d.writeBlocks(end)
	n = min(max(n-d.tail, 0), len(p))
	d.advance(d.tail + n)
	return n, err
}

// writeBlocks writes the blocks that hold the first n bytes of buf to where they belong. What the
// kernel does not take so goes through the page cache, as does all that comes after it: where
// blocks are larger, or the file system cannot do it after all, and beyond the length of the file,
// which must not grow by zeros. An error that says anything else is not for another attempt to hide.
func (d *directFile) writeBlocks(n int) (int, error) {
	b := d.buf[:roundUp(n)]
	if d.at+int64(len(b)) > d.size {
		if err := setDirect(d.f, false); err != nil {
			return 0, err
		}
		b = b[:n]
	}
	done, err := d.f.WriteAt(b, d.at)
	if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EOPNOTSUPP) || setDirect(d.f, false) != nil {
		return done, err
	}
	more, err := d.f.WriteAt(b[done:], d.at+int64(done))
	return done + more, err
}

// advance moves on to the block in which the first n bytes of buf end.
func (d *directFile) advance(n int) {
	full := n / BlockSize * BlockSize
	d.tail = copy(d.buf, d.buf[full:n])
	d.at += int64(full)
}

// grow sees to it that buf holds n bytes, in whole blocks.
func (d *directFile) grow(n int) {
	if n <= len(d.buf) {
		return
	}
	size := min(roundUp(2*n), mostDirect)
	b := make([]byte, size+BlockSize)
	skip := -uintptr(unsafe.Pointer(&b[0])) % BlockSize
	b = b[skip:][:size:size]
	copy(b, d.buf[:d.tail])
	d.buf = b
}

// roundUp returns the least number of whole blocks that hold n bytes, in bytes.
func roundUp(n int) int { return (n + BlockSize - 1) / BlockSize * BlockSize }
