package main

import (
	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/inspect"
)

func newInspect() *cobra.Command {
	var o inspect.Options
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show a file of a store as people read it",
		Long: `Inspect shows a manifest (manifest-00000007), a sorted file (00000045.sst) or a segment of
the log (00000012.log), where it is in the directory of its store. For a directory it
shows the manifest. The server may run meanwhile. Damage ends it with an error that
names the place; check looks for all of it.

Keys are printed as get prints them. # stands before sequence numbers.`,
		Example: `  colonnade inspect /var/lib/colonnade
  colonnade inspect /var/lib/colonnade/partitions/00000003/00000045.sst --entries | less`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect.Show(cmd.OutOrStdout(), args[0], o)
		},
	}
	cmd.Flags().BoolVar(&o.Entries, "entries", false, "show every entry of a sorted file or a segment")
	return cmd
}
