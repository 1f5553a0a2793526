package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/internal/webtable"
)

// operation is one kind of request, with what makes its answers right.
type operation struct {
	path  string
	long  bool // its answers are read piece by piece
	keyed bool // its requests have idempotency keys
	cells int  // that the server takes, returns or steps over
	// body appends a body, request number n of its workload, and returns the item
	// that it is about, if any.
	body  func(dst []byte, n int, rnd *rand.Rand) (body, item []byte)
	check func(a *answer, item []byte) error

	size atomic.Int64 // of the last answer of the server, for the bare one to match
}

const (
	pages   = "pages"   // the table that is read
	written = "written" // the table that is written
)

// operations on a dataset.
type operations struct {
	bulk, write, keyed, read, page, scan, count *operation

	// One cell of one row each, of any row or always of the same.
	increment, incrementOne, check, checkOne *operation
}

func newOperations(d *dataset) operations {
	const perRow = webtable.CellsPerRow
	fixed := func(text string) func([]byte, int, *rand.Rand) ([]byte, []byte) {
		return func(dst []byte, _ int, _ *rand.Rand) ([]byte, []byte) { return append(dst, text...), nil }
	}
	rows := func(n int) func(*answer, []byte) error {
		return func(a *answer, item []byte) error {
			if err := a.counts(n, n*perRow); err != nil {
				return err
			}
			return a.begins(keyOf(item))
		}
	}
	pageHead := fmt.Sprintf(`{"row":{"limit":%d,"range":{"start":"`, pageRows)
	ops := operations{
		bulk: &operation{
			path: "/v1/table/" + written + "/write", cells: bulkRows * perRow,
			body: func(dst []byte, n int, _ *rand.Rand) ([]byte, []byte) {
				first := n * bulkRows % (len(d.lines) - bulkRows + 1)
				return appendWrite(dst, d.lines[first:first+bulkRows]...), nil
			},
			check: func(a *answer, _ []byte) error { return a.counts(bulkRows, bulkRows*perRow) },
		},
		write: &operation{
			path: "/v1/table/" + written + "/write", cells: perRow,
			body: func(dst []byte, _ int, rnd *rand.Rand) ([]byte, []byte) {
				item := d.any(rnd)
				return appendWrite(dst, item), item
			},
			check: func(a *answer, _ []byte) error { return a.counts(1, perRow) },
		},
		read: &operation{
			path: "/v1/table/" + pages + "/rows", cells: perRow,
			body: func(dst []byte, _ int, rnd *rand.Rand) ([]byte, []byte) {
				item := d.any(rnd)
				dst = append(append(dst, `{"items":[{"row":{"key":"`...), keyOf(item)...)
				return append(dst, `"}}]}`...), item
			},
			check: rows(1),
		},
		page: &operation{
			path: "/v1/table/" + pages + "/scan", cells: pageRows * perRow,
			body: func(dst []byte, _ int, rnd *rand.Rand) ([]byte, []byte) {
				item := d.any(rnd)
				for string(keyOf(item)) > string(d.lastPage) {
					item = d.any(rnd)
				}
				dst = append(append(dst, pageHead...), keyOf(item)...)
				return append(dst, `"}}}`...), item
			},
			check: rows(pageRows),
		},
		scan: &operation{
			path: "/v1/table/" + pages + "/scan", cells: d.rows * perRow, long: true,
			body:  fixed(`{}`),
			check: func(a *answer, _ []byte) error { return a.counts(d.rows, d.rows*perRow) },
		},
		count: &operation{
			path: "/v1/table/" + pages + "/count", cells: d.rows * perRow,
			body:  fixed(`{"column":{"key":"language:"}}`),
			check: func(a *answer, _ []byte) error { return a.counts(d.rows, d.rows) },
		},
	}
	ops.keyed = &operation{path: ops.write.path, cells: perRow, keyed: true, body: ops.write.body, check: ops.write.check}
	ops.increment, ops.incrementOne = newUpdate(d, "read-modify-write", incrementTail, `{"result":{"row":{"row_key":"`)
	ops.check, ops.checkOne = newUpdate(d, "check-and-mutate", checkTail, `{"result":{"matched":`)
	return ops
}

// What follows the row key in the bodies of updates, which begin with it.
const (
	incrementTail = `"rules":[{"column_key":"meta:visits","increment":1}]}`
	checkTail     = `"if":{"exists":true},"then":[` + checkSet + `],"else":[` + checkSet + `]}`
	checkSet      = `{"set":{"column_key":"meta:state","type":"string","value":"seen"}}`
)

// newUpdate returns an operation on any row, and one on a single row, whose answers begin with a text.
func newUpdate(d *dataset, endpoint, tail, begins string) (anyRow, oneRow *operation) {
	update := func(pick func(*rand.Rand) []byte) *operation {
		return &operation{
			path: "/v1/table/" + written + "/" + endpoint, cells: 1,
			body: func(dst []byte, _ int, rnd *rand.Rand) ([]byte, []byte) {
				item := pick(rnd)
				dst = append(append(append(dst, `{"row_key":"`...), keyOf(item)...), `",`...)
				return append(dst, tail...), item
			},
			check: func(a *answer, _ []byte) error {
				if !bytes.HasPrefix(a.head, []byte(begins)) {
					return fmt.Errorf("wrong answer: it does not begin with %s: %s…", begins, a.head)
				}
				return nil
			},
		}
	}
	return update(d.any), update(func(*rand.Rand) []byte { return d.lines[0] })
}
