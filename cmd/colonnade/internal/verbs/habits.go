package verbs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

// habits are commands under the names that cbt and the HBase shell have for what verbs do in other words. Help does not
// list them: docs/shell.md does.
func (e *Env) habits() []*cobra.Command {
	all := []*cobra.Command{
		named(e.newFamiliesAdd(), "createfamily TABLE FAMILY..."),
		named(e.newFamiliesDrop(), "deletefamily TABLE FAMILY"),
		named(e.newFamiliesSet(), "setgcpolicy TABLE FAMILY:RULES"),
		pairs(e.newPut(), "set TABLE KEY COLUMN=VALUE..."),
		pairs(e.newIncr(), "addtocell TABLE KEY COLUMN=N"),
		allRows(e.newDelete(), "truncate TABLE", "deleteallrows"),
		e.newLs(), e.newDisable(),
	}
	for _, cmd := range all {
		cmd.Hidden = true
	}
	return all
}

func named(cmd *cobra.Command, use string) *cobra.Command {
	cmd.Use = use
	return cmd
}

// pairs makes a command take columns and values with an equals sign between them.
func pairs(cmd *cobra.Command, use string) *cobra.Command {
	run := cmd.RunE
	cmd.Use, cmd.Args = use, arguments(3, -1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		divided := args[:2:2]
		for _, arg := range args[2:] {
			column, value, found := strings.Cut(arg, "=")
			if !found {
				return usagef("%s is no COLUMN=VALUE", arg)
			}
			divided = append(divided, column, value)
		}
		return run(cmd, divided)
	}
	return cmd
}

// allRows makes a delete of a table's name delete from all rows.
func allRows(cmd *cobra.Command, use, alias string) *cobra.Command {
	cmd.Use, cmd.Aliases, cmd.Args = use, []string{alias}, arguments(1, 1)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return cmd.Flags().Set("all", "true") }
	return cmd
}

// newLs lists tables, or the families of one.
func (e *Env) newLs() *cobra.Command {
	all, one := e.newTables(), e.newFamilies()
	return e.command(&cobra.Command{
		Use:               "ls [TABLE]",
		Short:             "List the tables, or the families of one",
		Example:           "  colonnade ls",
		Args:              arguments(0, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return all.RunE(cmd, args)
			}
			return one.RunE(cmd, args)
		},
	})
}

// newDisable does nothing: scripts of HBase disable a table before they drop it.
func (e *Env) newDisable() *cobra.Command {
	return e.command(&cobra.Command{
		Use:               "disable TABLE",
		Short:             "Look whether a table is there: drop needs nothing before it",
		Example:           "  colonnade disable webtable",
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			_, err := t.Describe(cmd.Context())
			return err
		}),
	})
}
