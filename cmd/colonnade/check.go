package main

import (
	"cmp"
	"fmt"
	"os"
	"path"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

func newCheck() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for damage in a directory that is not being served",
		Long: `Check reads every file of a directory: checksums, order, counts, that each
file is the one that the manifest means, and that files go together: newer
entries of a row lie above older ones. It changes nothing. Each piece of
damage is printed with its file, offset and partition, then the counts. The code
is 1 when there is damage.`,
		Example: "  colonnade check --data /var/lib/colonnade",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return check(cmd, data) },
	}
	cmd.Flags().StringVar(&data, "data", cmp.Or(os.Getenv(dataVariable), defaultData), "directory of the tables; also "+dataVariable)
	return cmd
}

func check(cmd *cobra.Command, data string) error {
	out := cmd.OutOrStdout()
	result, err := engine.Check(vfs.OS, path.Clean(data), func(damage *engine.CorruptError) {
		fmt.Fprintf(out, "damage: %v\n", damage)
	})
	if err != nil {
		return held(data, err)
	}
	fmt.Fprintf(out, "%s partitions, %s entries in %s files of %s; %s batches in %s segments of the log; %s files left over by a crash\n",
		thousands(int64(result.Partitions)), thousands(int64(result.Entries)), thousands(int64(result.Files)), megabytes(float64(result.Bytes)),
		thousands(int64(result.Batches)), thousands(int64(result.Segments)), thousands(int64(result.Unreferred)))
	if result.DamageCount > 0 {
		return fmt.Errorf("%s is damaged (places found: %s)", data, thousands(int64(result.DamageCount)))
	}
	fmt.Fprintln(out, "no damage")
	return nil
}
