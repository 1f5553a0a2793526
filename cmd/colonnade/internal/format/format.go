// Package format reads the rows of files for an import, and writes those of an export: lines of JSON, CSV and
// Parquet. It also reads what HBase exports. Whatever the file has, a row is here an item of a write request of the API:
//
//	{"row_key": …, "cells": [{"column_key": …, "type": …, "value": …, "time": …}, …]}
//
// CSV and Parquet have two forms. In the form of cells, a record is one version of a cell, with its row key, column
// key and time: it has all that a table has. In the form of rows, a record is a row, with a field for each column:
// this is what other programs have, and a list of Columns says what their fields mean.
package format

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"
)

// Row is a row that was read.
type Row struct {
	Item        []byte // as the API takes it; valid until the next one is read
	First, Last int64  // the lines or records that it comes from, counted from 1
}

// RowError is about one row. The rows behind it can be read.
type RowError struct {
	First, Last int64
	Cause       error
}

func (e *RowError) Error() string { return e.Cause.Error() }
func (e *RowError) Unwrap() error { return e.Cause }

// Reader reads rows.
type Reader interface {
	// Next returns the next row, io.EOF behind the last one, and a *RowError for one that it has skipped. Behind
	// another error it is not called again.
	Next() (Row, error)
	// Field returns what the input calls a column, "" for the column key alone.
	Field(columnKey string) string
	// Offset returns how many bytes of the input were read, before decompression.
	Offset() int64
}

// The formats.
const (
	NDJSON  = "ndjson"
	CSV     = "csv"
	Parquet = "parquet"
	HBase   = "hbase" // what its Export writes; read alone
)

var parquetMagic = []byte("PAR1")

// Options say how to read or write a file.
type Options struct {
	Format    string // "" for what the first bytes and the name say
	Delimiter rune   // of CSV; 0 for a comma, and for a tab where the name ends in .tsv
	NoHeader  bool   // CSV has no header: its fields are called 1, 2, …
	Columns   []Column
	RowKey    string // the field with the row key; "" for row_key, or else the first one
	Time      string // the field with the time of the cells, in microseconds since 1970; "" for none
}

// byName returns the format that a file's name says, "" for none.
func byName(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch path.Ext(name) {
	case ".csv", ".tsv":
		return CSV
	case ".parquet":
		return Parquet
	}
	return ""
}

// complete sets what is to be taken from the name.
func (o *Options) complete(name string) {
	if o.Format == "" {
		o.Format = byName(name)
	}
	if o.Format == "" {
		o.Format = NDJSON
	}
	if o.Delimiter == 0 {
		o.Delimiter = ','
		if strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".zst"), ".tsv") {
			o.Delimiter = '\t'
		}
	}
}

// NewReader reads the rows of s, which comes from a file of the name. file is the same as it is stored, if it can be
// read at any place; otherwise nil.
func NewReader(s *Stream, name string, file File, o Options) (Reader, error) {
	if magic, _ := s.Peek(len(parquetMagic)); o.Format == "" && bytes.Equal(magic, parquetMagic) {
		o.Format = Parquet
	} else if o.Format == "" && bytes.Equal(magic, sequenceMagic) {
		o.Format = HBase
	}
	o.complete(name)
	switch o.Format {
	case CSV:
		return newCSV(s, o)
	case Parquet:
		if s.compressed {
			file = nil
		}
		return newParquet(s, file, o)
	case HBase:
		return newHBase(s, o)
	case NDJSON:
		if len(o.Columns) > 0 || o.RowKey != "" || o.Time != "" {
			return nil, fmt.Errorf("lines of JSON have no fields: --map, --row-key and --time-field are for CSV and Parquet; is --format missing?")
		}
		return NewLines(s), nil
	}
	return nil, fmt.Errorf("unknown format %q: there are %s, %s, %s and %s", o.Format, NDJSON, CSV, Parquet, HBase)
}

// File is a file that can be read at any place.
type File interface {
	io.ReaderAt
	Size() int64
}

// countedAt counts the bytes that are read.
type countedAt struct {
	File
	n atomic.Int64
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}
