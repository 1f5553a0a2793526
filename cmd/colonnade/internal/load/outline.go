package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// outliner scans lines: it counts their cells, finds their families, and gives a time to cells without
// one.
//
//	{"row_key": …, "cells": [{"column_key": …, "time": …, …}, …]}
//
// The server checks the lines. The outliner promises only that an accepted line cannot change the meaning
// of its neighbours in a request, and that it is sent as it is spelled, with all its faults.
type outliner struct {
	// family is called with the family of each cell, valid during the call. It may be nil.
	family func(name []byte)

	// Of the last scanned line.
	cells   int
	stamped bool // cells got their time here

	parser fastjson.Parser
	arena  fastjson.Arena
	line   []byte          // as it was read
	parsed *fastjson.Value // the same, with the times
	key    []byte          // scratch for a column key
}

// Import reads one object a line. These errors say how to make such lines of other JSON.
var (
	errArray  = errors.New("the line begins a JSON array, and import takes one object a line: jq -c '.[]' FILE makes such lines of an array")
	errSpread = errors.New("the object does not end on its line, and import takes one object a line: jq -c . FILE puts each on a line of its own (jq -c '.[]' FILE, if they are in an array)")
)

var (
	errNotObject = errors.New("the line is not a JSON object")
	errTooDeep   = fmt.Errorf("the JSON nests deeper than %d brackets", fastjson.MaxDepth)
)

// scan scans a line, and gives the time stamp to cells without one. It keeps line until the next scan.
func (o *outliner) scan(line []byte, stamp int64) error {
	o.line, o.cells, o.stamped = line, 0, false
	var err error
	if o.parsed, err = o.parser.ParseBytes(line); err != nil {
		// The parser's own error may quote the whole line.
		if cause := malformed(line); cause != nil {
			return cause
		}
		return errTooDeep
	}
	if o.parsed.Type() == fastjson.TypeArray {
		return errArray
	}
	if o.parsed.GetObject() == nil {
		return errNotObject
	}
	o.arena.Reset()
	var time *fastjson.Value // that of all cells without one
	for _, c := range o.parsed.GetArray("cells") {
		fields := c.GetObject()
		if fields == nil {
			continue
		}
		o.cells++
		if o.family != nil {
			o.noteFamily(fields.Get("column_key"))
		}
		if fields.Get("time") == nil {
			if time == nil {
				time = o.arena.NewNumberString(strconv.FormatInt(stamp, 10))
			}
			fields.Set("time", time)
			o.stamped = true
		}
	}
	return nil
}

// appendLine appends the last scanned line with its times.
func (o *outliner) appendLine(dst []byte) []byte {
	if !o.stamped {
		return append(dst, o.line...)
	}
	return o.parsed.MarshalTo(dst)
}

// noteFamily calls o.family for a column key, nil if the cell has none. It reads the key's spelling: if it
// asked the parser for the string, MarshalTo would write another spelling and hide an invalid escape.
func (o *outliner) noteFamily(columnKey *fastjson.Value) {
	if columnKey == nil {
		return
	}
	o.key = columnKey.MarshalTo(o.key[:0])
	switch {
	case len(o.key) >= 2 && o.key[0] == '"':
		o.family(familyOf(o.key))
	case len(o.key) > 0 && o.key[0] == '{':
		var key struct {
			Base64 []byte `json:"base64"`
		}
		if json.Unmarshal(o.key, &key) == nil && len(key.Base64) > 0 {
			name, _, _ := bytes.Cut(key.Base64, []byte(":"))
			o.family(name)
		}
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
	name, _, _ = bytes.Cut([]byte(key), []byte(":"))
	return name
}

// malformed returns why a line is not JSON, or nil.
func malformed(line []byte) error {
	if !utf8.Valid(line) {
		return errors.New("the line is not UTF-8")
	}
	switch text := bytes.TrimLeft(line, " \t"); {
	case bytes.HasPrefix(text, []byte("[")) && unfinished(text):
		return errArray
	case bytes.HasPrefix(text, []byte("{")) && unfinished(text) && !bytes.HasSuffix(text, []byte("}")) && endsToken(text):
		return errSpread
	}
	var text json.RawMessage
	if err := json.Unmarshal(line, &text); err != nil {
		return fmt.Errorf("the line is not JSON: %w", err)
	}
	return nil
}

// unfinished reports whether a text is the start of longer JSON.
func unfinished(text []byte) bool {
	err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// endsToken reports whether a text ends where a pretty printer ends a line. A line that was cut off mostly
// ends elsewhere.
func endsToken(text []byte) bool {
	return bytes.ContainsRune([]byte("{[,"), rune(text[len(text)-1]))
}
