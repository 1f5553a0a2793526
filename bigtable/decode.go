package bigtable

import (
	"errors"
	"slices"
	"sync"
	"unicode/utf8"
	"unsafe"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// The requests of MutateRow and MutateRows are decoded straight into mutations, which are parts of the message: an object
// for each message within took more time than the write. What is taken, and what it means, is as proto.Unmarshal has it.
// Mutations that set no cell are few, and go through their messages.

const (
	bytesType  = uint64(protowire.BytesType)
	varintType = uint64(protowire.VarintType)
)

// Fields of the requests, part of the protocol: their numbers, with the types that they have on the wire. A field of
// another type is an unknown one.
const (
	rowTable       = 1<<3 | bytesType // of MutateRowRequest
	rowKey         = 2<<3 | bytesType
	rowMutation    = 3<<3 | bytesType
	rowProfile     = 4<<3 | bytesType
	rowView        = 6<<3 | bytesType
	rowIdempotency = 8<<3 | bytesType

	rowsTable   = 1<<3 | bytesType // of MutateRowsRequest
	rowsEntry   = 2<<3 | bytesType
	rowsProfile = 3<<3 | bytesType
	rowsView    = 5<<3 | bytesType

	entryKey         = 1<<3 | bytesType // of MutateRowsRequest.Entry
	entryMutation    = 2<<3 | bytesType
	entryIdempotency = 3<<3 | bytesType

	mutationSet    = 1<<3 | bytesType // of Mutation
	mutationOrigin = 7<<3 | varintType

	setFamily    = 1<<3 | bytesType // of Mutation.SetCell
	setQualifier = 2<<3 | bytesType
	setTime      = 3<<3 | varintType
	setValue     = 4<<3 | bytesType
)

var (
	errWire = errors.New("it is no protocol buffer of its kind")
	errText = errors.New("a string is not valid UTF-8")
)

// fields walks through the fields of a message.
type fields struct {
	rest   []byte
	tag    uint64 // of the field: its number and type
	bytes  []byte // its value, if it has a length
	number uint64 // its value, if it is a varint
	err    error  // why the message cannot be taken
}

// next goes to the next field. It returns false behind the last one, and if there is an err.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	tag, n := uint64(f.rest[0]), 1
	if tag >= 0x80 { // none of the fields that are known
		tag, n = protowire.ConsumeVarint(f.rest)
	}
	number, kind := protowire.DecodeTag(tag)
	if n < 0 || number < protowire.MinValidNumber || number > protowire.MaxValidNumber {
		f.err = errWire
		return false
	}
	f.tag, f.rest = tag, f.rest[n:]
	switch kind {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(f.rest)
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(f.rest)
	default:
		n = protowire.ConsumeFieldValue(number, kind, f.rest)
	}
	if n < 0 {
		f.err = errWire
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// text returns a string.
func (f *fields) text() []byte {
	if !utf8.Valid(f.bytes) {
		f.err = errText
	}
	return f.bytes
}

// mutate is a request of MutateRow or MutateRows. Its mutations are parts of the message that it was decoded from.
type mutate struct {
	table, view string
	now         int64       // the time of the server when the message had come
	rows        []rowChange // one, or the entries; at most one more than maxMutations
	all         []widecol.Mutation
	count       int // mutations of the message; all has no more than maxMutations
}

// rowChange are the mutations of a row.
type rowChange struct {
	key      []byte
	from, to int   // in mutate.all
	wrong    int   // the first mutation that no table can apply
	err      error // why; nil if there is none
}

// GetTableName and GetAuthorizedViewName are those of the message.
func (r *mutate) GetTableName() string          { return r.table }
func (r *mutate) GetAuthorizedViewName() string { return r.view }

func (r *mutate) size() int64 {
	return int64(len(r.all))*int64(unsafe.Sizeof(widecol.Mutation{})) + int64(len(r.rows))*int64(unsafe.Sizeof(rowChange{}))
}

// mostKept is how many mutations a request that ends may have for its memory to be kept for the next one.
const mostKept = 16 << 10

// forget drops all that the request has, and reports whether its memory is worth keeping.
func (r *mutate) forget() bool {
	clear(r.rows)
	clear(r.all)
	*r = mutate{rows: r.rows[:0], all: r.all[:0]}
	return cap(r.rows)+cap(r.all) <= mostKept
}

// mutateRow is a MutateRowRequest.
type mutateRow struct{ mutate }

var mutateRowPool = sync.Pool{New: func() any { return new(mutateRow) }}

func (r *mutateRow) release() {
	if r.forget() {
		mutateRowPool.Put(r)
	}
}

func (r *mutateRow) decode(message []byte, now int64) error {
	r.now = now
	row := r.begin()
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case rowTable:
			r.table = string(f.text())
		case rowView:
			r.view = string(f.text())
		case rowProfile:
			f.text()
		case rowKey:
			row.key = f.bytes
		case rowMutation:
			f.err = r.add(&row, f.bytes)
		case rowIdempotency:
			f.err = proto.Unmarshal(f.bytes, new(btpb.Idempotency))
		}
	}
	r.end(row)
	return f.err
}

// mutateRows is a MutateRowsRequest.
type mutateRows struct{ mutate }

var mutateRowsPool = sync.Pool{New: func() any { return new(mutateRows) }}

func (r *mutateRows) release() {
	if r.forget() {
		mutateRowsPool.Put(r)
	}
}

func (r *mutateRows) decode(message []byte, now int64) error {
	r.now = now
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case rowsTable:
			r.table = string(f.text())
		case rowsView:
			r.view = string(f.text())
		case rowsProfile:
			f.text()
		case rowsEntry:
			f.err = r.entry(f.bytes)
		}
	}
	return f.err
}

func (r *mutate) entry(message []byte) error {
	row := r.begin()
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case entryKey:
			row.key = f.bytes
		case entryMutation:
			f.err = r.add(&row, f.bytes)
		case entryIdempotency:
			f.err = proto.Unmarshal(f.bytes, new(btpb.Idempotency))
		}
	}
	r.end(row)
	return f.err
}

func (r *mutate) begin() rowChange { return rowChange{from: len(r.all), to: len(r.all)} }

// end adds a row whose mutations were added. The rows above the limit are refused with the request.
func (r *mutate) end(row rowChange) {
	list := r.all[row.from:row.to]
	for i := range list {
		list[i].Row = row.key
	}
	if len(r.rows) <= maxMutations {
		r.rows = append(r.rows, row)
	}
}

// add adds a mutation to a row. The mutations above the limit, which are refused with the request, are only looked at.
func (r *mutate) add(row *rowChange, message []byte) error {
	r.count++
	n := len(r.all)
	r.all = append(r.all, widecol.Mutation{Op: widecol.Set, Type: cell.Bytes})
	wrong, err := r.decodeMutation(message, &r.all[n])
	if err != nil {
		return err
	}
	if r.count > maxMutations {
		r.all = r.all[:n]
		return nil
	}
	if wrong != nil && row.err == nil {
		row.wrong, row.err = n-row.from, wrong
	}
	row.to = n + 1
	return nil
}

// decodeMutation decodes a mutation into m, which is a Set. wrong says why no table can apply it, err why it is none.
func (r *mutate) decodeMutation(message []byte, m *widecol.Mutation) (wrong, err error) {
	sets, origin := false, btpb.Mutation_TIMESTAMP_ORIGIN_UNSPECIFIED
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case mutationSet:
			sets, f.err = true, decodeSetCell(f.bytes, m)
		case mutationOrigin:
			origin = btpb.Mutation_TimestampOrigin(f.number)
		default:
			return r.decodeOther(message, m)
		}
	}
	if !sets || f.err != nil {
		return r.decodeOther(message, m)
	}
	m.Time, wrong = timeOf(m.Time, origin, r.now)
	return wrong, nil
}

func decodeSetCell(message []byte, m *widecol.Mutation) error {
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case setFamily:
			m.Family = f.text()
		case setQualifier:
			m.Qualifier = f.bytes
		case setTime:
			m.Time = int64(f.number)
		case setValue:
			m.Value = f.bytes
		}
	}
	return f.err
}

// decodeOther decodes a mutation of any kind.
func (r *mutate) decodeOther(message []byte, m *widecol.Mutation) (wrong, err error) {
	p := new(btpb.Mutation)
	if err := proto.Unmarshal(message, p); err != nil {
		return nil, err
	}
	*m, wrong = mutationOf(p, r.now)
	return wrong, nil
}

// mutations are those of a row.
func (r *mutate) mutations(row *rowChange) []widecol.Mutation {
	return slices.Clip(r.all[row.from:row.to])
}
