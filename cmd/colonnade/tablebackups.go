package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/tablebackup"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// tableBackups are the options for the backups that Bigtable's clients make.
type tableBackups struct {
	repository repositoryFlags
	name       string
}

func (o *serveOptions) declareTableBackups() {
	c, b := o.config, &o.tableBackups
	c.String(&b.name, "backup-repository", "", "repository, a directory or s3://BUCKET/PREFIX, for the backups of tables that clients of Google Bigtable make; none by default; see bigtable.md")
	c.String(&b.repository.endpoint, "backup-endpoint", amazon, "URL of the service of s3://")
	c.String(&b.repository.region, "backup-region", "", "region of the bucket; by default the service says it")
	c.Check(func() error {
		if b.name == "" {
			return nil
		}
		if _, _, _, err := parseRepository(b.name); err != nil {
			return c.Wrong("backup-repository", "%v", err)
		}
		if o.bigtableListen == "" {
			return c.Wrong("backup-repository", "needs bigtable-listen: it is for the backups that clients of Google Bigtable make")
		}
		return nil
	})
}

// keep returns what keeps the backups of the tables of a store, nil if the options name no repository. dir is the directory of
// the store, "" for one in memory. A restore leaves reserve bytes of its disk free.
func (b *tableBackups) keep(store *lsmstore.Store, dir string, reserve int64, log *slog.Logger) *tablebackup.Keeper {
	if b.name == "" {
		return nil
	}
	temp := inSystemTemp
	if dir != "" {
		temp = func() (string, func(), error) { return besideCheckpoints(store) }
	}
	return tablebackup.New(store, tablebackup.Options{
		Clock: clock.System, Log: log, Temp: temp, Reserve: reserve,
		Open: func(ctx context.Context) (*backup.Repository, error) { return b.open(ctx, log) },
	})
}

// open opens the repository, or makes it.
func (b *tableBackups) open(ctx context.Context, log *slog.Logger) (*backup.Repository, error) {
	s, err := b.repository.storage(ctx, b.name)
	if err != nil {
		return nil, err
	}
	return backup.Create(ctx, s, backup.Options{Clock: clock.System, Rand: rand.Reader, Log: func(text string) { log.Warn("repository of backups: " + text) }})
}

// besideCheckpoints returns a directory in that of a store, among its checkpoints: the next start removes it if this process is
// killed.
func besideCheckpoints(store *lsmstore.Store) (dir string, remove func(), err error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return "", nil, err
	}
	dir = filepath.FromSlash(store.Engine().CheckpointPath("restore-" + hex.EncodeToString(id)))
	return dir, func() { os.RemoveAll(dir) }, os.MkdirAll(filepath.Dir(dir), 0o700)
}

// inSystemTemp returns a directory for a store that is in memory.
func inSystemTemp() (dir string, remove func(), err error) {
	top, err := os.MkdirTemp("", "colonnade-restore-*")
	return filepath.Join(top, "store"), func() { os.RemoveAll(top) }, err
}
