package main

import (
	"cmp"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// BenchmarkServed makes requests of a server in this process, on real files and a
// real connection, so that profiles show all of it; the client's part with it.
// ROWS is the size of the table.
func BenchmarkServed(b *testing.B) {
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("ROWS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	d, err := newDataset(rows)
	if err != nil {
		b.Fatal(err)
	}
	dir, ops := b.TempDir(), newOperations(d)
	address, stop := serveFiles(b, dir)
	c := newClient(address)
	if err := d.load(c, pages); err != nil {
		b.Fatal(err)
	}
	if err := c.create(written); err != nil {
		b.Fatal(err)
	}
	c.close()
	stop()
	address, stop = serveFiles(b, dir)
	defer stop()
	for _, line := range []struct {
		name        string
		o           *operation
		connections []int
	}{
		{"bulk", ops.bulk, []int{4}},
		{"write", ops.write, []int{1, 64}},
		{"keyed", ops.keyed, []int{1, 64}},
		{"read", ops.read, []int{1, 64}},
		{"page", ops.page, []int{1, 8}},
		{"scan", ops.scan, []int{1}},
		{"count", ops.count, []int{1}},
	} {
		for _, n := range line.connections {
			b.Run(line.name+"/connections="+strconv.Itoa(n), func(b *testing.B) {
				b.ReportAllocs()
				before, err := cpuTime(os.Getpid())
				if err != nil {
					b.Fatal(err)
				}
				// The connections share b.N: b.Loop may be called by one goroutine only, and
				// one that handed out requests would stop the clock before they are answered.
				l := load{connections: n, requests: b.N, pick: func(*rand.Rand) *operation { return line.o }}
				s := l.run(b.Context(), address, false)
				if s.errors > 0 {
					b.Fatal(s.first)
				}
				after, err := cpuTime(os.Getpid())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.cellRate(), "cells/s")
				b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// serveFiles serves a directory until stop is called.
func serveFiles(b *testing.B, dir string) (address string, stop func()) {
	b.Helper()
	store, err := lsmstore.Open(lsmstore.Options{Dir: dir, Engine: engine.Options{FS: vfs.OS, Clock: clock.System}})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := server.New(store, server.Options{Now: time.Now})
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	return listener.Addr().String(), func() {
		for _, err := range []error{s.Shutdown(b.Context()), <-served, store.Close()} {
			if err != nil {
				b.Error(err)
			}
		}
	}
}
