package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"golang.org/x/sync/errgroup"
)

const (
	readTable  = "read"
	writeTable = "write"
	bulk       = 100 // rows of a MutateRows
	columns    = 10  // of a row
)

// value is that of a cell: 100 bytes.
var value = []byte(strings.Repeat("value of a cell, ", 6)[:100])

// measure is what both are measured at.
type measure struct {
	name string
	// run returns how many were done in what time.
	run     func(ctx context.Context, c *bigtable.Client, turn int) (int, time.Duration, error)
	figures map[string][]figure // of the turns, by the name of the server
}

// figure is what a turn has shown.
type figure struct {
	perSecond   float64
	cpu, client float64 // microseconds of the server and of the client for each
}

var measures = []measure{
	{name: "rows of MutateRows, 100 at a time, 4 clients", run: loadRows},
	{name: "MutateRow, 1 client", run: singles(1, write)},
	{name: "MutateRow, 64 clients", run: singles(64, write)},
	{name: "ReadRow of 10 cells, 1 client", run: singles(1, read)},
	{name: "ReadRow of 10 cells, 64 clients", run: singles(64, read)},
	{name: "cells of a full ReadRows", run: scan},
}

// turn measures a server.
func (m *measure) turn(ctx context.Context, s *server, turn int) error {
	before, err := s.cpu()
	if err != nil {
		return err
	}
	own := ownCPU()
	count, took, err := m.run(ctx, s.client, turn)
	if err != nil {
		return err
	}
	after, err := s.cpu()
	if m.figures == nil {
		m.figures = make(map[string][]figure)
	}
	m.figures[s.name] = append(m.figures[s.name], figure{
		perSecond: float64(count) / took.Seconds(),
		cpu:       float64((after - before).Microseconds()) / float64(count),
		client:    float64((ownCPU() - own).Microseconds()) / float64(count),
	})
	return err
}

func key(n int) string { return fmt.Sprintf("row%09d", n) }

// load writes rows with the numbers from and up, in bulk, four requests at a time.
func load(ctx context.Context, table *bigtable.Table, from, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	const loaders = 4
	for loader := range loaders {
		group.Go(func() error {
			for n := from + loader*bulk; n < from+count; n += loaders * bulk {
				if err := loadBulk(ctx, table, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func loadBulk(ctx context.Context, table *bigtable.Table, from int) error {
	keys := make([]string, bulk)
	list := make([]*bigtable.Mutation, bulk)
	for i := range bulk {
		keys[i], list[i] = key(from+i), bigtable.NewMutation()
		for c := range columns {
			list[i].Set("f", fmt.Sprintf("column%d", c), 1000, value)
		}
	}
	errs, err := table.ApplyBulk(ctx, keys, list)
	return errors.Join(append(errs, err)...)
}

// loadRows writes new rows.
func loadRows(ctx context.Context, c *bigtable.Client, turn int) (int, time.Duration, error) {
	const count = 20_000
	begun := time.Now()
	err := load(ctx, c.Open(writeTable), turn*count, count)
	return count, time.Since(begun), err
}

// singles does something again and again, in some goroutines.
func singles(clients int, do func(ctx context.Context, c *bigtable.Client, n int) error) func(context.Context, *bigtable.Client, int) (int, time.Duration, error) {
	return func(ctx context.Context, c *bigtable.Client, turn int) (int, time.Duration, error) {
		group, ctx := errgroup.WithContext(ctx)
		done := make([]int, clients)
		begun := time.Now()
		for client := range clients {
			group.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(turn), uint64(client)))
				for time.Since(begun) < *duration {
					if err := do(ctx, c, random.IntN(*rows)); err != nil {
						return err
					}
					done[client]++
				}
				return nil
			})
		}
		err := group.Wait()
		elapsed, total := time.Since(begun), 0
		for _, n := range done {
			total += n
		}
		return total, elapsed, err
	}
}

func write(ctx context.Context, c *bigtable.Client, n int) error {
	m := bigtable.NewMutation()
	m.Set("f", "single", 1000, value)
	return c.Open(writeTable).Apply(ctx, key(n), m)
}

func read(ctx context.Context, c *bigtable.Client, n int) error {
	row, err := c.Open(readTable).ReadRow(ctx, key(n))
	if err == nil && len(row["f"]) != columns {
		err = fmt.Errorf("row %d has %d cells", n, len(row["f"]))
	}
	return err
}

// scan reads the whole table.
func scan(ctx context.Context, c *bigtable.Client, turn int) (int, time.Duration, error) {
	cells := 0
	begun := time.Now()
	err := c.Open(readTable).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		cells += len(row["f"])
		return true
	})
	if want := *rows * columns; err == nil && cells != want {
		err = fmt.Errorf("the table has %d cells, not %d", cells, want)
	}
	return cells, time.Since(begun), err
}
