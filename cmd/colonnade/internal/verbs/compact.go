package verbs

import (
	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func (e *Env) newCompact() *cobra.Command {
	var group string
	cmd := e.command(&cobra.Command{
		Use:     "compact TABLE",
		Aliases: []string{"major_compact"},
		Short:   "Rewrite the files of a table without garbage and what was deleted",
		Long: `Compact has the server rewrite what a table has on disk, without garbage and what was
deleted. It returns when that has begun: describe shows how much is left. Reads and
writes go on meanwhile.`,
		Example: `  colonnade compact webtable
  colonnade compact webtable --group default`,
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			var err error
			switch {
			case !cmd.Flags().Changed("group"):
				err = t.Compact(cmd.Context())
			case group == "default":
				err = t.CompactGroup(cmd.Context(), "")
			case group == "":
				return usagef("--group is empty: it is the id of a locality group, or default")
			default:
				err = t.CompactGroup(cmd.Context(), group)
			}
			if err != nil {
				return err
			}
			return e.done(cmd, "%s is being compacted", t.Name())
		}),
	})
	cmd.Flags().StringVar(&group, "group", "", "only this locality group, by its id, or default for the default partition")
	return cmd
}
