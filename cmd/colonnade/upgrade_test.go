package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// TestUpgradeFromTheOldestFormat: the program takes over a store that a program of format 1 wrote, has all of it,
// changes it, and has that too after a restart. The store was filled over HTTP with examples/webtable.ndjson and 60 large rows,
// which went to sorted files; then, in the log of a process that was killed, a dropped table, a deleted row and new cells.
func TestUpgradeFromTheOldestFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unpack(t, "testdata/format1.tar.zst", dir)
	if got := runLine("", "check", "--data", dir); got.code != 0 || !strings.Contains(got.stdout, "no damage") {
		t.Fatalf("check: %+v", got)
	}

	s := startServe(t, dir)
	if got := s.call("GET", "/v1/table", ""); strings.Contains(got, "dropped") {
		t.Errorf("a table that was dropped is listed: %s", got)
	}
	same(t, "all of it", s.call("POST", "/v1/table/webtable/count", `{"row": {"prefix": ""}}`), `"row_count":103,"cell_count":364,`)
	same(t, "large rows", s.call("POST", "/v1/table/webtable/count", `{"row": {"prefix": "large/"}}`), `"row_count":60,"cell_count":120,`)
	same(t, "a deleted row", s.call("POST", "/v1/table/webtable/rows", `{"items": [{"row": {"key": "example.choir/program"}}]}`), `"row_count":0,`)
	changed := `{"items": [{"row": {"key": "example.bakery/"}, "column": {"multi_key": ["title:", "meta:visits", "meta:share", "meta:open"]}}]}`
	same(t, "a row from files and log", s.call("POST", "/v1/table/webtable/rows", changed),
		`"The Bakery at the Bridge"`, `"Bakery at the Bridge"`, `"type":"i64","value":7`, `"type":"f64","value":0.5`, `"type":"boolean","value":true`)

	s.call("POST", "/v1/table/webtable/write", `{"items": [{"row_key": "example.bakery/", "cells": [{"column_key": "meta:visits", "type": "i64", "value": 8}]}]}`)
	s.call("POST", "/v1/table/webtable/delete", `{"row": {"prefix": "large/"}}`)
	s.call("PATCH", "/v1/table/webtable/column-family/language", `{"locality_group": "new"}`)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		s.stop(signal)
		s = startServe(t, dir)
		same(t, "what was left", s.call("POST", "/v1/table/webtable/count", `{"row": {"prefix": ""}}`), `"row_count":43,"cell_count":245,`)
		same(t, "a new version", s.call("POST", "/v1/table/webtable/rows", changed), `"type":"i64","value":8`, `"type":"i64","value":7`)
	}
	s.stop(syscall.SIGTERM)
	if got := runLine("", "check", "--data", dir); got.code != 0 {
		t.Errorf("check of the new store: %+v", got)
	}
	checkFormat(t, dir)
}

func same(t *testing.T, what, answer string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(answer, w) {
			t.Errorf("%s: no %s in %.2000s", what, w, answer)
		}
	}
}

// checkFormat: the manifest has the present format.
func checkFormat(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, manifest.FilePrefix+"*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("manifests %q, %v", names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := data[len(manifest.Magic)]; got != manifest.FormatVersion {
		t.Errorf("the manifest has format %d, want %d", got, manifest.FormatVersion)
	}
}

// unpack makes dir of an archive that has its files under data/.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, strings.TrimPrefix(h.Name, "data"))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(name, 0o700)
		} else {
			var content []byte
			if content, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(name, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
