package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// A file holds the packed rows, the offset of each, and four numbers: bytes, rows, cells and raw
// bytes. Numbers have 8 bytes, little endian. A file lives as long as a run, so it has no checksums.
const trailerSize = 4 * 8

// WriteTo writes the table in the format that Open reads.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	rest := make([]byte, 0, len(t.rows)*8+trailerSize)
	for _, at := range t.rows {
		rest = binary.LittleEndian.AppendUint64(rest, uint64(at))
	}
	for _, n := range [...]int64{int64(len(t.data)), int64(len(t.rows)), t.cells, t.raw} {
		rest = binary.LittleEndian.AppendUint64(rest, uint64(n))
	}
	n, err := w.Write(t.data)
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write(rest)
	return int64(n + m), err
}

// Open maps the file of a table into memory until the process ends. The file must not change.
func Open(name string) (*Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := int(info.Size())
	if size < trailerSize {
		return nil, fmt.Errorf("%s: %w", name, errNoTable)
	}
	all, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s into memory: %w", name, err)
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint64(all[at:])) }
	end := size - trailerSize
	data, rows := number(end), number(end+8)
	if data < 0 || rows < 0 || rows > end/8 || data != end-rows*8 {
		return nil, fmt.Errorf("%s: %w", name, errNoTable)
	}
	t := &Table{
		rows: make([]int, rows), data: all[:data:data],
		cells: int64(number(end + 16)), raw: int64(number(end + 24)),
	}
	for i := range t.rows {
		t.rows[i] = number(data + i*8)
	}
	return t, nil
}

var errNoTable = errors.New("is not the file of a table: write it anew with WriteTo")
