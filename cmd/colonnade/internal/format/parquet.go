package format

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile reads records of a Parquet file: of each the values of some leaves of its schema.
type parquetFile struct {
	*Stream
	counted *countedAt // nil if the file was copied
	file    *parquet.File
	names   []string // of the leaves
	leaves  []parquet.LeafColumn

	wanted []int // the leaves that are read, ascending
	groups []parquet.RowGroup
	rows   parquet.RowReader // of the first of groups, nil before it
	buffer []parquet.Row
	filled []parquet.Row // of buffer, those still to come
	number int64         // of the last record
}

// newParquet returns the reader of the form that the schema has.
func newParquet(s *Stream, file File, o Options) (Reader, error) {
	p := &parquetFile{Stream: s, buffer: make([]parquet.Row, 128)}
	if file == nil {
		copied, err := spool(s)
		if err != nil {
			return nil, err
		}
		file = copied
	} else {
		p.counted = &countedAt{File: file}
		file = p.counted
	}
	if err := p.open(file); err != nil {
		return nil, err
	}
	if slices.Equal(p.names, parquetCellFields) && len(o.Columns) == 0 {
		return newParquetCells(p)
	}
	return newParquetRows(p, o)
}

// spool copies a stream into a file that has no name any more: the end of Parquet says what is where.
func spool(s *Stream) (File, error) {
	f, err := os.CreateTemp("", "colonnade-import-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	size, err := io.Copy(f, s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy it to %s, since Parquet is read from its end: %w", os.TempDir(), err), f.Close())
	}
	s.onClose(func() { _ = f.Close() })
	return sizedFile{f, size}, nil
}

type sizedFile struct {
	*os.File
	size int64
}

func (f sizedFile) Size() int64 { return f.size }

// open reads the schema. The library panics about some damage.
func (p *parquetFile) open(file File) (err error) {
	defer recovered(&err)
	p.file, err = parquet.OpenFile(file, file.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the file is no Parquet, or damaged: %w", err)
	}
	schema := p.file.Schema()
	for _, path := range schema.Columns() {
		leaf, ok := schema.Lookup(path...)
		if !ok {
			return fmt.Errorf("the schema has no field %q", path)
		}
		p.names, p.leaves = append(p.names, strings.Join(path, ".")), append(p.leaves, leaf)
	}
	p.groups = p.file.RowGroups()
	return p.checkCodecs()
}

// checkCodecs refuses LZ4: of a damaged page, the library's reader of it asks for more and more memory.
func (p *parquetFile) checkCodecs() error {
	for _, group := range p.file.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			if codec := chunk.MetaData.Codec; codec == format.Lz4 || codec == format.Lz4Raw {
				return fmt.Errorf("it is compressed with %v, which import does not read: write it with zstd, snappy or gzip", codec)
			}
		}
	}
	return nil
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}

// want says which leaves are read.
func (p *parquetFile) want(leaves ...int) error {
	p.wanted = slices.Compact(slices.Sorted(slices.Values(leaves)))
	for _, i := range p.wanted {
		if p.leaves[i].MaxRepetitionLevel > 0 {
			return fmt.Errorf("the field %q is a list, which no cell can have: leave it out, by a --map of the others", p.names[i])
		}
	}
	return nil
}

// next returns the next record: a value for each of wanted, valid until the record behind it.
func (p *parquetFile) next() (_ parquet.Row, err error) {
	defer recovered(&err)
	for len(p.filled) == 0 {
		if len(p.groups) == 0 {
			return nil, io.EOF
		}
		if p.rows == nil {
			p.rows = p.rowsOf(p.groups[0])
		}
		n, err := p.rows.ReadRows(p.buffer)
		p.filled = p.buffer[:n]
		switch {
		case err == io.EOF:
			if c, ok := p.rows.(io.Closer); ok {
				_ = c.Close()
			}
			p.groups, p.rows = p.groups[1:], nil
		case err != nil:
			return nil, fmt.Errorf("behind record %d: %w", p.number, err)
		}
	}
	row := p.filled[0]
	p.filled = p.filled[1:]
	p.number++
	if len(row) != len(p.wanted) {
		return nil, fmt.Errorf("record %d has %d values for %d fields: the file is damaged", p.number, len(row), len(p.wanted))
	}
	return row, nil
}

func (p *parquetFile) rowsOf(group parquet.RowGroup) parquet.RowReader {
	chunks := group.ColumnChunks()
	var wanted []parquet.ColumnChunk
	for _, i := range p.wanted {
		wanted = append(wanted, chunks[p.leaves[i].ColumnIndex])
	}
	return parquet.NewColumnChunkRowReader(wanted)
}

// Offset returns how many bytes of the input were read.
func (p *parquetFile) Offset() int64 {
	if p.counted == nil {
		return p.Stream.Offset()
	}
	return p.counted.n.Load()
}

func (p *parquetFile) bad(field string, cause error) *RowError {
	return &RowError{p.number, p.number, fmt.Errorf("field %q: %w", field, cause)}
}

// parquetRows reads records that are rows. A null is no cell.
type parquetRows struct {
	*parquetFile
	layout
	key     parquetValue
	when    parquetValue   // if layout.time is not -1
	values  []parquetValue // of the columns
	heads   [][]byte
	place   []int // of a leaf in a record
	scratch []byte
	item    item
}

func newParquetRows(p *parquetFile, o Options) (r *parquetRows, err error) {
	r = &parquetRows{parquetFile: p, place: make([]int, len(p.names))}
	if r.layout, err = layOut(p.names, o); err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	used := append(slices.Clone(r.at), r.rowKey)
	if r.time >= 0 {
		used = append(used, r.time)
	}
	if err := p.want(used...); err != nil {
		return nil, err
	}
	for i, leaf := range p.wanted {
		r.place[leaf] = i
	}
	if r.key, err = valueOf(p.leaves[r.rowKey].Node); err != nil {
		return nil, fmt.Errorf("the field %q: %w", p.names[r.rowKey], err)
	}
	if r.time >= 0 {
		if r.when, err = valueOf(p.leaves[r.time].Node); err == nil && r.when.typ != "i64" {
			err = errors.New("it is no timestamp, nor i64 in microseconds since 1970")
		}
		if err != nil {
			return nil, fmt.Errorf("the field %q: %w", p.names[r.time], err)
		}
	}
	for i, c := range r.columns {
		v, err := valueOf(p.leaves[r.at[i]].Node)
		if err == nil && c.Type != "" && c.Type != v.typ {
			err = fmt.Errorf("its values have the type %s, not %s", v.typ, c.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("the field %q: %w", c.Field, err)
		}
		r.values = append(r.values, v)
		r.heads = append(r.heads, cellHead(nil, []byte(c.Key), v.typ))
	}
	return r, nil
}

// Field returns the name of the field of a column.
func (r *parquetRows) Field(columnKey string) string { return r.layout.field(columnKey) }

// Next returns the next row that has a cell.
func (r *parquetRows) Next() (Row, error) {
	for {
		record, err := r.next()
		if err != nil {
			return Row{}, err
		}
		if field, err := r.build(record); err != nil {
			return Row{}, r.bad(r.names[field], err)
		}
		if r.item.cells > 0 {
			return Row{r.item.end(), r.number, r.number}, nil
		}
	}
}

// build makes the item of a record. With an error it returns the number of the leaf.
func (r *parquetRows) build(record parquet.Row) (leaf int, err error) {
	key, err := r.key.rowKey(&r.scratch, record[r.place[r.rowKey]])
	if err != nil {
		return r.rowKey, err
	}
	r.item.begin(key)
	var time []byte
	if r.time >= 0 {
		if v := record[r.place[r.time]]; !v.IsNull() {
			if r.scratch, err = r.when.append(r.scratch[:0], v); err != nil {
				return r.time, err
			}
			if time, err = parseTime(string(r.scratch)); err != nil {
				return r.time, err
			}
		}
	}
	for i, at := range r.at {
		v := record[r.place[at]]
		if v.IsNull() {
			continue
		}
		r.item.cell(r.heads[i])
		if r.item.text, err = r.values[i].append(r.item.text, v); err != nil {
			return at, err
		}
		r.item.endCell(time)
	}
	return 0, nil
}
