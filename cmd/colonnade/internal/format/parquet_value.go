package format

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// parquetValue is what the values of a leaf are as cells.
type parquetValue struct {
	typ string
	// append appends a value that is not null as JSON.
	append func(dst []byte, v parquet.Value) ([]byte, error)
}

// valueOf returns what the values of a leaf are: by its logical type, or else by how it is stored.
func valueOf(node parquet.Node) (parquetValue, error) {
	t := node.Type()
	if logical := t.LogicalType(); logical != nil && logical.Value != nil {
		return logicalValue(logical.Value)
	}
	switch t.Kind() {
	case parquet.Boolean:
		return parquetValue{"boolean", func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Boolean()), nil }}, nil
	case parquet.Int32:
		return parquetValue{"i32", appendInt32}, nil
	case parquet.Int64:
		return parquetValue{"i64", appendInt64}, nil
	case parquet.Float:
		return parquetValue{"f32", func(dst []byte, v parquet.Value) ([]byte, error) { return finite(dst, float64(v.Float()), 32) }}, nil
	case parquet.Double:
		return parquetValue{"f64", func(dst []byte, v parquet.Value) ([]byte, error) { return finite(dst, v.Double(), 64) }}, nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return rawBytes, nil
	}
	return parquetValue{}, fmt.Errorf("it is stored as %v, which no type of a cell can keep: leave it out, by a --map of the others", t.Kind())
}

// logicalValue returns what the values of a logical type are.
func logicalValue(logical format.LogicalTypeValue) (parquetValue, error) {
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return parquetValue{"string", func(dst []byte, v parquet.Value) ([]byte, error) {
			if !utf8.Valid(v.ByteArray()) {
				return dst, errNotUTF8
			}
			return jsontext.AppendString(dst, v.ByteArray()), nil
		}}, nil
	case *format.UUIDType, *format.BsonType:
		return rawBytes, nil
	case *format.DateType: // days since 1970
		return parquetValue{"i32", appendInt32}, nil
	case *format.TimestampType:
		return timestamp(l.Unit)
	case *format.IntType:
		return integer(l), nil
	}
	return parquetValue{}, fmt.Errorf("it is a %v, which no type of a cell can keep: leave it out, by a --map of the others", logical)
}

var rawBytes = parquetValue{"bytes", func(dst []byte, v parquet.Value) ([]byte, error) { return appendBytes(dst, v.ByteArray()), nil }}

func appendInt32(dst []byte, v parquet.Value) ([]byte, error) {
	return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
}

func appendInt64(dst []byte, v parquet.Value) ([]byte, error) {
	return strconv.AppendInt(dst, v.Int64(), 10), nil
}

func finite(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("%v is no value of a cell", f)
	}
	return appendFloat(dst, f, bits), nil
}

// integer returns the smallest type that has all values of an integer, i64 for unsigned ones of 64 bits.
func integer(l *format.IntType) parquetValue {
	switch {
	case l.IsSigned && l.BitWidth <= 32:
		return parquetValue{"i32", appendInt32}
	case l.IsSigned:
		return parquetValue{"i64", appendInt64}
	case l.BitWidth == 64:
		return parquetValue{"i64", func(dst []byte, v parquet.Value) ([]byte, error) {
			if v.Uint64() > math.MaxInt64 {
				return dst, fmt.Errorf("%d is no i64", v.Uint64())
			}
			return appendInt64(dst, v)
		}}
	case l.BitWidth == 32:
		return parquetValue{"i64", func(dst []byte, v parquet.Value) ([]byte, error) {
			return strconv.AppendUint(dst, uint64(v.Uint32()), 10), nil
		}}
	case l.BitWidth == 16:
		return parquetValue{"i32", appendInt32}
	}
	return parquetValue{"byte", func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendUint(dst, uint64(v.Uint32()&0xff), 10), nil
	}}
}

// timestamp returns i64 in microseconds since 1970.
func timestamp(unit format.TimeUnit) (parquetValue, error) {
	switch unit.Value.(type) {
	case *format.MicroSeconds:
		return parquetValue{"i64", appendInt64}, nil
	case *format.MilliSeconds:
		return parquetValue{"i64", func(dst []byte, v parquet.Value) ([]byte, error) {
			if n := v.Int64(); n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
				return dst, errors.New("the time is too far away to be counted in microseconds")
			}
			return strconv.AppendInt(dst, v.Int64()*1000, 10), nil
		}}, nil
	case *format.NanoSeconds:
		return parquetValue{"i64", func(dst []byte, v parquet.Value) ([]byte, error) {
			if v.Int64()%1000 != 0 {
				return dst, errors.New("the time is no whole number of microseconds")
			}
			return strconv.AppendInt(dst, v.Int64()/1000, 10), nil
		}}, nil
	}
	return parquetValue{}, errors.New("it is a timestamp of an unknown unit")
}

// rowKey returns a value as a row key: text and bytes as they are, an integer in decimal digits.
func (p parquetValue) rowKey(scratch *[]byte, v parquet.Value) (key []byte, err error) {
	if v.IsNull() {
		return nil, errNoRowKey
	}
	switch p.typ {
	case "string", "bytes":
		key = v.ByteArray()
	case "i64", "i32", "byte":
		*scratch, err = p.append((*scratch)[:0], v)
		key = slices.Clone(*scratch)
	default:
		return nil, fmt.Errorf("a %s is no row key", p.typ)
	}
	if err == nil && len(key) == 0 {
		err = errNoRowKey
	}
	return key, err
}
