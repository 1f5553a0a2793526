package verbs

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func (e *Env) newTables() *cobra.Command {
	return e.command(&cobra.Command{
		Use:     "tables",
		Aliases: []string{"list"},
		Short:   "List the tables",
		Long:    "Tables lists the tables of a server by name: their families, and the bytes that they have on disk.",
		Example: "  colonnade tables",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.Connect(cmd)
			if err != nil {
				return err
			}
			all, err := c.Tables(cmd.Context())
			if err != nil {
				return err
			}
			s, err := e.sheet(cmd, "table", "families", "disk_bytes", "protected")
			if err != nil {
				return err
			}
			for _, t := range all {
				if err := s.add(t.Name, familyNames(t), size(t.DiskBytes), t.DeletionProtection); err != nil {
					return err
				}
			}
			return s.end(nil)
		},
	})
}

func familyNames(t client.TableInfo) []string {
	names := make([]string, len(t.Families))
	for i, f := range t.Families {
		names[i] = f.Name
	}
	return names
}

func (e *Env) newDescribe() *cobra.Command {
	return e.command(&cobra.Command{
		Use:     "describe TABLE",
		Aliases: []string{"desc"},
		Short:   "Show what a table is made of",
		Long: `Describe shows the families of a table, with what is garbage in them and the locality
group where they are, and its settings. With --output json it prints all that the
server says of the table.`,
		Example:           "  colonnade describe webtable\n  colonnade describe webtable --output json",
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			info, err := t.Describe(cmd.Context())
			if err != nil {
				return err
			}
			form, w, _, err := e.output(cmd)
			if err != nil {
				return err
			}
			if form == "json" || form == ndjson {
				out := json.NewEncoder(w)
				if form == "json" {
					out.SetIndent("", "  ")
				}
				return out.Encode(info)
			}
			return e.listFamilies(cmd, info)
		}),
	})
}

// listFamilies prints the families of a table and, for people, what else there is to say of it.
func (e *Env) listFamilies(cmd *cobra.Command, info client.TableInfo) error {
	places := map[string]string{}
	for _, g := range info.Groups {
		for _, f := range g.Families {
			places[f] = g.ID
		}
	}
	s, err := e.sheet(cmd, "family", "garbage", "locality_group", "moving_to")
	if err != nil {
		return err
	}
	for _, f := range info.Families {
		to := ""
		if f.Moving != nil {
			to = orDefault(f.Moving.To)
		}
		if err := s.add(f.Name, rules(f.GC), orDefault(places[f.Name]), to); err != nil {
			return err
		}
	}
	if err := s.end(nil); err != nil {
		return err
	}
	notes := []string{counted(int64(len(info.Families)), "family")}
	if n := len(info.Families); n != 1 {
		notes[0] = strings.Replace(notes[0], "familys", "families", 1)
	}
	notes = append(notes, Bytes(info.DiskBytes)+" on disk")
	if info.DeletionProtection {
		notes = append(notes, "protected from deletion")
	}
	if info.DefaultGC != (client.GC{}) {
		notes = append(notes, "default of new families "+rules(info.DefaultGC))
	}
	for _, p := range info.Partitions {
		if p.Compaction != nil {
			notes = append(notes, "compacting "+p.Name+", "+Bytes(p.Compaction.BytesLeft)+" left")
		}
		if p.Error != "" {
			notes = append(notes, "DAMAGE in "+p.Name+": "+p.Error)
		}
	}
	return e.done(cmd, "%s", strings.Join(notes, ", "))
}

func orDefault(group string) string {
	if group == "" {
		return "default"
	}
	return group
}

func (e *Env) newCreate() *cobra.Command {
	var groups []string
	var protect bool
	cmd := e.command(&cobra.Command{
		Use:     "create TABLE [FAMILY...]",
		Aliases: []string{"createtable"},
		Short:   "Create a table",
		Long:    "Create makes a table with these families, all or nothing.\n\n" + familyHelp,
		Example: `  colonnade create webtable title contents:versions=3 anchor
  colonnade create events data:ttl=30d meta --group data --protect`,
		Args:              arguments(1, -1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			spec := client.TableSpec{}
			var err error
			if spec.Families, err = parseFamilies(args); err != nil {
				return err
			}
			for _, g := range groups {
				spec.Groups = append(spec.Groups, strings.Split(g, ","))
			}
			if err := t.Create(cmd.Context(), spec); err != nil {
				return err
			}
			if protect {
				if err := t.Configure(cmd.Context(), client.TableSettings{DeletionProtection: &protect}); err != nil {
					return err
				}
			}
			return e.done(cmd, "created %s", t.Name())
		}),
	})
	cmd.Flags().StringArrayVar(&groups, "group", nil, "families, with commas between them, that get a locality group of their own; may be repeated")
	cmd.Flags().BoolVar(&protect, "protect", false, "protect the table from deletion")
	return cmd
}

func (e *Env) newDrop() *cobra.Command {
	return e.command(&cobra.Command{
		Use:     "drop TABLE",
		Aliases: []string{"deletetable"},
		Short:   "Delete a table with all of its rows",
		Long: `Drop deletes a table at once, and asks nothing. One that is protected stays: create
--protect makes such tables.`,
		Example:           "  colonnade drop webtable",
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			if err := t.Drop(cmd.Context()); err != nil {
				return err
			}
			return e.done(cmd, "dropped %s", t.Name())
		}),
	})
}
