package format

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// Of Parquet, so much is held in memory until it is written as a row group.
const (
	groupBytes = 64 << 20
	groupRows  = 1 << 20
)

// parquetWriter writes Parquet.
type parquetWriter struct {
	w      *parquet.GenericWriter[any]
	record parquet.Row
	size   int   // of the values since the last row group
	rows   int64 // since then
}

func newParquetWriter(w io.Writer, o Options) (*parquetWriter, error) {
	schema := parquet.SchemaOf(parquetCell{})
	if len(o.Columns) > 0 {
		schema = parquet.NewSchema("row", rowSchema(o))
	}
	return &parquetWriter{w: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))}, nil
}

// rowSchema returns the schema of the form of rows.
func rowSchema(o Options) parquet.Node {
	s := orderedGroup{Group: parquet.Group{o.RowKey: parquet.Encoded(parquet.String(), &parquet.Plain)}, names: []string{o.RowKey}}
	for _, c := range o.Columns {
		s.Group[c.Field] = parquet.Optional(leafOf(c.Type))
		s.names = append(s.names, c.Field)
	}
	return s
}

func leafOf(typ string) parquet.Node {
	switch typ {
	case "i64":
		return parquet.Int(64)
	case "i32":
		return parquet.Int(32)
	case "byte":
		return parquet.Uint(8)
	case "f64":
		return parquet.Leaf(parquet.DoubleType)
	case "f32":
		return parquet.Leaf(parquet.FloatType)
	case "boolean":
		return parquet.Leaf(parquet.BooleanType)
	case "bytes":
		return parquet.Leaf(parquet.ByteArrayType)
	}
	return parquet.String()
}

// orderedGroup is a group whose fields have the order of names. The library's have that of the alphabet.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name())
	})
	return fields
}

func (p *parquetWriter) cell(rowKey []byte, v *value) error {
	p.record = append(p.record[:0], parquet.ByteArrayValue(rowKey).Level(0, 0, 0), parquet.ByteArrayValue(v.column).Level(0, 0, 1), parquet.Int64Value(v.time).Level(0, 0, 2))
	at := slices.Index(Types, v.typ)
	if at < 0 {
		return fmt.Errorf("the server sent a value of the type %q", v.typ)
	}
	for i := range Types {
		if i != at {
			p.record = append(p.record, parquet.NullValue().Level(0, 0, firstValue+i))
			continue
		}
		stored, err := parquetOf(v)
		if err != nil {
			return err
		}
		p.record = append(p.record, stored.Level(0, 1, firstValue+i))
	}
	return p.write(len(rowKey) + len(v.column) + 8 + len(v.text))
}

func (p *parquetWriter) row(rowKey []byte, values []*value) error {
	if !utf8.Valid(rowKey) {
		return errKeyNoText
	}
	p.record = append(p.record[:0], parquet.ByteArrayValue(rowKey).Level(0, 0, 0))
	size := len(rowKey)
	for i, v := range values {
		if v == nil {
			p.record = append(p.record, parquet.NullValue().Level(0, 0, 1+i))
			continue
		}
		stored, err := parquetOf(v)
		if err != nil {
			return err
		}
		p.record = append(p.record, stored.Level(0, 1, 1+i))
		size += len(v.text)
	}
	return p.write(size)
}

// parquetOf returns a value as Parquet stores it.
func parquetOf(v *value) (parquet.Value, error) {
	switch v.typ {
	case "i64":
		n, err := v.integer()
		return parquet.Int64Value(n), err
	case "i32", "byte":
		n, err := v.integer()
		return parquet.Int32Value(int32(n)), err
	case "f64":
		f, err := v.float(64)
		return parquet.DoubleValue(f), err
	case "f32":
		f, err := v.float(32)
		return parquet.FloatValue(float32(f)), err
	case "boolean":
		return parquet.BooleanValue(string(v.text) == "true"), nil
	}
	return parquet.ByteArrayValue(v.text), nil
}

// write writes the record, of about so many bytes.
func (p *parquetWriter) write(size int) error {
	if _, err := p.w.WriteRows([]parquet.Row{p.record}); err != nil {
		return err
	}
	p.size, p.rows = p.size+size, p.rows+1
	if p.size < groupBytes && p.rows < groupRows {
		return nil
	}
	p.size, p.rows = 0, 0
	return p.w.Flush()
}

func (p *parquetWriter) close() error { return p.w.Close() }
