package kill9

import (
	"context"
	"fmt"
	"maps"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// tables are the tables under test. A client works on one of them.
type tables [2]remote.Table

func tablesOf(c *remote.Client) tables {
	return tables{{Client: c, Name: "kill9.0"}, {Client: c, Name: "kill9.1"}}
}

// of returns the table of a client.
func (t *tables) of(client int) remote.Table { return t[client%len(t)] }

// create makes the tables, each in one of two ways.
func (t *tables) create(ctx context.Context) error {
	const versions = 3
	if err := t[0].Create(ctx, versions); err != nil {
		return err
	}
	return t[1].CreateByGroup(ctx, versions)
}

// send sends an attempt.
func (a *attempt) send(ctx context.Context, t remote.Table) error {
	if a.deletes {
		_, err := t.DeleteRow(ctx, a.rows[0])
		return err
	}
	return t.Write(ctx, a.version, a.rows...)
}

// scan reads the versions of all rows of all tables, each of which has to be
// where it was written.
func (t *tables) scan(ctx context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	for _, table := range t {
		present, err := table.Scan(ctx, "")
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", table.Name, err)
		}
		for key := range present {
			if client, ok := owner(key); !ok || t.of(client) != table {
				return nil, fmt.Errorf("row %s is in table %s, where nobody wrote it", key, table.Name)
			}
		}
		maps.Copy(all, present)
	}
	return all, nil
}
