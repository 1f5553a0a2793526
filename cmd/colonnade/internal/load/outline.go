package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// outliner finds the outline of a line: one JSON object, the cells in it, and
// what is missing in them. It follows strings and brackets and leaves the rest
// of the grammar to the server, which has to check it anyway. A line that
// passes cannot change the meaning of its neighbours in a request.
//
//	{"row_key": …, "cells": [{"column_key": …, …}, …]}
//	depth 1                 2 3
type outliner struct {
	// family is called with the family of each cell, valid during the call.
	// It may be nil.
	family func(name []byte)

	cells int
	// untimed are the offsets of the closing brackets of cells that say no
	// time of their own.
	untimed []int

	// State of the line being scanned.
	line    []byte
	depth   int
	arrays  uint64 // bit d: the bracket at depth d is one of an array
	keyNext bool   // the next string is a key
	key     []byte // the key last seen, with its quotes
	inCells bool   // inside the array of cells
	keys    int    // keys of the cell at hand
	timed   bool   // the cell at hand has a time
}

// maxDepth is how deep a server lets JSON nest, less the two brackets that a
// request puts around a line.
const maxDepth = 30

var (
	errNotObject = errors.New("the line is not a JSON object")
	errCut       = errors.New("the line ends inside its JSON object")
	errTrailing  = errors.New("there is more after the JSON object")
)

// scan finds the outline of line, which must have no white space around it.
func (o *outliner) scan(line []byte) error {
	*o = outliner{family: o.family, untimed: o.untimed[:0], line: line}
	if len(line) == 0 || line[0] != '{' {
		return errNotObject
	}
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			end := stringEnd(line, i)
			if end < 0 {
				return errCut
			}
			o.string(line[i:end])
			i = end - 1
		case '{', '[':
			if err := o.open(line[i] == '['); err != nil {
				return err
			}
		case '}', ']':
			if err := o.close(i); err != nil {
				return err
			}
			if o.depth == 0 && i != len(line)-1 {
				return errTrailing
			}
		case ',':
			o.keyNext = !o.inArray()
		}
	}
	if o.depth != 0 {
		return errCut
	}
	return nil
}

func (o *outliner) inArray() bool { return o.arrays>>o.depth&1 == 1 }

func (o *outliner) open(array bool) error {
	if o.depth == maxDepth {
		return fmt.Errorf("the JSON nests deeper than %d brackets", maxDepth)
	}
	o.depth++
	o.arrays &^= 1 << o.depth
	o.keyNext = !array
	switch {
	case array:
		o.arrays |= 1 << o.depth
		o.inCells = o.inCells || o.depth == 2 && string(o.key) == `"cells"`
	case o.inCells && o.depth == 3:
		o.cells++
		o.keys, o.timed = 0, false
	}
	return nil
}

func (o *outliner) close(at int) error {
	if array := o.line[at] == ']'; array != o.inArray() {
		return fmt.Errorf("a bracket closed by %q at byte %d does not match", o.line[at], at+1)
	}
	switch {
	case o.inCells && o.depth == 2:
		o.inCells = false
	case o.inCells && o.depth == 3 && !o.inArray() && !o.timed && o.keys > 0:
		o.untimed = append(o.untimed, at)
	}
	o.depth--
	o.keyNext = false
	return nil
}

// string takes a string with its quotes.
func (o *outliner) string(s []byte) {
	if o.keyNext {
		o.key, o.keyNext = s, false
		if o.inCells && o.depth == 3 {
			o.keys++
			o.timed = o.timed || string(s) == `"time"`
		}
		return
	}
	if o.family != nil && o.inCells && o.depth == 3 && string(o.key) == `"column_key"` {
		o.family(familyOf(s))
	}
}

// familyOf returns the part of a quoted column key before its first colon.
func familyOf(quoted []byte) []byte {
	name, _, _ := bytes.Cut(quoted[1:len(quoted)-1], []byte(":"))
	if bytes.IndexByte(name, '\\') < 0 {
		return name
	}
	var key string
	if json.Unmarshal(quoted, &key) != nil {
		return name // the server will say what is wrong with it
	}
	family, _, _ := strings.Cut(key, ":")
	return []byte(family)
}

// stringEnd returns the offset after the string that starts at line[start], or
// -1 when it does not end.
func stringEnd(line []byte, start int) int {
	for i := start + 1; ; {
		q := bytes.IndexByte(line[i:], '"')
		if q < 0 {
			return -1
		}
		q += i
		slashes := 0
		for q-1-slashes > start && line[q-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return q + 1
		}
		i = q + 1
	}
}
