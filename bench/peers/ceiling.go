package main

import (
	"path/filepath"

	"github.com/colonnade-db/colonnade/bench/grouplog"
	"github.com/colonnade-db/colonnade/cell"
)

// logOnly writes durable batches to this engine's log and nothing else.
var logOnly = &Engine{
	Name:    "log",
	About:   "package wal with group commit, into a segment written before",
	Open:    openLog,
	Ceiling: true,
}

type logStore struct{ log *grouplog.Log }

func openLog(dir string, _ Config) (Store, error) {
	log, err := grouplog.Open(filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	return logStore{log}, nil
}

func (s logStore) Flush() error   { return nil }
func (s logStore) Close() error   { return s.log.Close() }
func (s logStore) Reader() Reader { return nil }
func (s logStore) Writer() Writer { return &logWriter{s: s} }

type logWriter struct {
	s       logStore
	payload []byte
	row     string // of the last cell: a batch has each row once
}

func (w *logWriter) Set(_ int, row []byte, c *cell.Cell) {
	if w.row != string(row) {
		w.row = string(row)
		w.payload = append(w.payload, row...)
	}
	w.payload = appendValue(appendCell(w.payload, c), c)
}

func (w *logWriter) DeleteRow(_ int, row []byte, _ []cell.Cell) {
	w.payload = append(w.payload, row...)
}

func (w *logWriter) Commit() error {
	err := w.s.log.Append(w.payload)
	w.payload, w.row = w.payload[:0], ""
	return err
}
