package verbs

import (
	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func (e *Env) newFamilies() *cobra.Command {
	cmd := e.command(&cobra.Command{
		Use:   "families TABLE",
		Short: "List, add, change and drop the families of a table",
		Long: `Families lists the families of a table, with what is garbage in them and the locality
group where they are. Its commands change them.`,
		Example: `  colonnade families webtable
  colonnade families add webtable language contents:versions=3`,
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			info, err := t.Describe(cmd.Context())
			if err != nil {
				return err
			}
			return e.listFamilies(cmd, info)
		}),
	})
	cmd.AddCommand(e.newFamiliesAdd(), e.newFamiliesSet(), e.newFamiliesMove(), e.newFamiliesDrop())
	return cmd
}

func (e *Env) newFamiliesAdd() *cobra.Command {
	var group bool
	cmd := e.command(&cobra.Command{
		Use:   "add TABLE FAMILY...",
		Short: "Add families to a table",
		Long:  "Add makes these families, all or none.\n\n" + familyHelp,
		Example: `  colonnade families add webtable language
  colonnade families add webtable contents:versions=3,ttl=30d --group`,
		Args:              arguments(2, -1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			list, err := parseFamilies(args)
			if err != nil {
				return err
			}
			create := t.CreateFamilies
			if group {
				create = t.CreateGroup
			}
			if err := create(cmd.Context(), list...); err != nil {
				return err
			}
			return e.done(cmd, "added to %s", t.Name())
		}),
	})
	cmd.Flags().BoolVar(&group, "group", false, "put these families together into a new locality group")
	return cmd
}

func (e *Env) newFamiliesSet() *cobra.Command {
	var dryRun bool
	cmd := e.command(&cobra.Command{
		Use:   "set TABLE FAMILY:RULES",
		Short: "Change what is garbage in a family",
		Long: `Set replaces the rules of a family as a whole; none keeps all versions. Reads leave out
what is garbage at once. With --dry-run it changes nothing, and counts what would go.

` + familyHelp,
		Example: `  colonnade families set webtable contents:versions=1 --dry-run
  colonnade families set webtable contents:none`,
		Args:              arguments(2, 2),
		ValidArgsFunction: e.complete(tables, families, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			f, err := parseFamily(args[0])
			if err != nil {
				return err
			}
			if f.DefaultGC {
				return usagef("%s says nothing of what is garbage: %s:versions=3, or %s:none", args[0], args[0], args[0])
			}
			if dryRun {
				g, err := t.CountGarbage(cmd.Context(), f.Name, f.GC)
				if err != nil {
					return err
				}
				return e.record(cmd, []string{"rows", "cells", "bytes"}, g.Rows, g.Cells, size(g.Bytes))
			}
			if err := t.SetGC(cmd.Context(), f.Name, f.GC); err != nil {
				return err
			}
			return e.done(cmd, "%s of %s: %s", f.Name, t.Name(), rules(f.GC))
		}),
	})
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing, and count what reads would no longer return")
	return cmd
}

func (e *Env) newFamiliesMove() *cobra.Command {
	return e.command(&cobra.Command{
		Use:   "move TABLE FAMILY PLACE",
		Short: "Move a family to another locality group",
		Long: `Move sends a family to a locality group by its id, to a new one of its own for "new", or to
the default partition for "default". It returns when the move has begun; families
shows where it is going until it has arrived.`,
		Example:           "  colonnade families move webtable anchor new",
		Args:              arguments(3, 3),
		ValidArgsFunction: e.complete(tables, families, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			place := args[1]
			if place == "default" {
				place = ""
			}
			if err := t.MoveFamily(cmd.Context(), args[0], place); err != nil {
				return err
			}
			return e.done(cmd, "%s of %s is on its way", args[0], t.Name())
		}),
	})
}

func (e *Env) newFamiliesDrop() *cobra.Command {
	return e.command(&cobra.Command{
		Use:               "drop TABLE FAMILY",
		Short:             "Delete a family with all of its cells",
		Long:              "Drop deletes a family and its cells at once, and asks nothing.",
		Example:           "  colonnade families drop webtable language",
		Args:              arguments(2, 2),
		ValidArgsFunction: e.complete(tables, families, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			if err := t.DropFamily(cmd.Context(), args[0]); err != nil {
				return err
			}
			return e.done(cmd, "dropped %s of %s", args[0], t.Name())
		}),
	})
}
