package verbs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func (e *Env) newStats() *cobra.Command {
	return e.command(&cobra.Command{
		Use:   "stats [TABLE]",
		Short: "Show what tables take on disk and in memory",
		Long: `Stats shows a line for each table: versions and tombstones in files, sorted files, bytes on
disk and in memtables, and damage. With TABLE it shows a line for each level of
each of its partitions; level 0 has what flushes wrote.`,
		Example:           "  colonnade stats\n  colonnade stats webtable",
		Args:              arguments(0, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Connect(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				info, err := c.Table(args[0]).Describe(cmd.Context())
				if err != nil {
					return err
				}
				return e.levels(cmd, info)
			}
			return e.tableStats(cmd, c)
		},
	})
}

// tableStats prints a line for each table, and for people what is in the cache.
func (e *Env) tableStats(cmd *cobra.Command, c *client.Client) error {
	all, err := describeAll(cmd.Context(), c)
	if err != nil {
		return err
	}
	s, err := e.sheet(cmd, "table", "partitions", "files", "cells", "disk_bytes", "memtable_bytes", "damaged")
	if err != nil {
		return err
	}
	for _, t := range all {
		var files, cells, memory int64
		damaged := false
		for _, p := range t.Partitions {
			cells, memory = cells+p.Cells, memory+p.MemtableBytes
			damaged = damaged || p.Error != ""
			for _, l := range p.Levels {
				files += l.Files
			}
		}
		if err := s.add(t.Name, int64(len(t.Partitions)), files, cells, size(t.DiskBytes), size(memory), damaged); err != nil {
			return err
		}
	}
	if err := s.end(nil); err != nil {
		return err
	}
	cache, err := c.CacheStats(cmd.Context())
	if err != nil {
		return err
	}
	return e.done(cmd, "block cache: %d blocks, %s", cache.Blocks, Bytes(cache.Bytes))
}

// describeAll describes each table. One that is dropped meanwhile is left out.
func describeAll(ctx context.Context, c *client.Client) (all []client.TableInfo, err error) {
	list, err := c.Tables(ctx)
	for _, t := range list {
		info, err := c.Table(t.Name).Describe(ctx)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, err
}

// levels prints the levels of a table that have files.
func (e *Env) levels(cmd *cobra.Command, info client.TableInfo) error {
	s, err := e.sheet(cmd, "partition", "level", "files", "bytes", "memtable_bytes", "damage")
	if err != nil {
		return err
	}
	for _, p := range info.Partitions {
		if len(p.Levels) == 0 {
			p.Levels = []client.Level{{}}
		}
		for i, l := range p.Levels {
			memory := int64(0)
			if i == 0 {
				memory = p.MemtableBytes
			} else if l.Files == 0 {
				continue
			}
			if err := s.add(p.Name, int64(i), l.Files, size(l.Bytes), size(memory), p.Error); err != nil {
				return err
			}
		}
	}
	return s.end(nil)
}

func (e *Env) newAdvise() *cobra.Command {
	return e.command(&cobra.Command{
		Use:   "advise TABLE",
		Short: "Say which families should move to another locality group",
		Long: `Advise goes by the queries that a table has answered since the server was started. Each
line is a move that would have saved reading: families move TABLE FAMILY PLACE makes
it. Make them in this order, each when the one before has arrived.`,
		Example:           "  colonnade advise webtable",
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			a, err := t.Advice(cmd.Context())
			if err != nil {
				return err
			}
			queries := a.OtherQueries
			for _, q := range a.Queries {
				queries += q.Queries
			}
			if len(a.Moves) == 0 {
				if err := e.done(cmd, "nothing is worth a move, going by %d queries since %s", queries, timeText(a.Since)); err != nil {
					return err
				}
			}
			s, err := e.sheet(cmd, "family", "place", "saves_bytes", "saves_partitions", "bytes")
			if err != nil {
				return err
			}
			if s.form == table && len(a.Moves) == 0 {
				return nil
			}
			for _, m := range a.Moves {
				if err := s.add(m.Family, orDefault(m.Place), size(m.SavesBytes), m.SavesPartitions, size(m.Bytes)); err != nil {
					return err
				}
			}
			return s.end(nil)
		}),
	})
}
