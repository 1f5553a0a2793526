package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/config"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// archiveOptions are the options of serve for the archive of the log.
type archiveOptions struct {
	repository repositoryFlags
	name       string
	interval   time.Duration
}

func (o *serveOptions) declareArchive() {
	c, a := o.config, &o.archive
	c.Section("Archive of the log")
	c.String(&a.name, "archive", "", "repository of backups, a directory or s3://BUCKET/PREFIX, that gets the write-ahead log as it is written: a backup can then be restored to any second; none by default; see backup.md")
	c.Duration(&a.interval, "archive-interval", 10*time.Second, config.Span{Min: 100 * time.Millisecond, Max: time.Hour}, "how long a change may wait until it is sent to the archive")
	c.Strings(&a.repository.recipients, "archive-recipient", "encrypt the archive for this public key of age; may be repeated")
	c.String(&a.repository.endpoint, "archive-endpoint", amazon, "URL of the service of s3://")
	c.String(&a.repository.region, "archive-region", "", "region of the bucket; by default the service says it")
	c.Check(func() error {
		if a.name == "" {
			return nil
		}
		if _, _, _, err := parseRepository(a.name); err != nil {
			return c.Wrong("archive", "%v", err)
		}
		if _, err := backup.ParseKeys(a.repository.recipients); errors.Is(err, backup.ErrSecretKey) {
			return fmt.Errorf("archive-recipient: %w", err)
		} else if err != nil {
			return c.Wrong("archive-recipient", "%v", err)
		}
		return nil
	})
}

// archivePatience is how long a server that stops waits until the rest of its log is archived.
const archivePatience = 10 * time.Second

// start starts to archive the log of a store, if the options say so, and adds the metrics. The caller calls stop before it
// closes the store.
func (a *archiveOptions) start(store widecol.Store, log *slog.Logger, m *metrics.Registry) (stop func()) {
	if a.name == "" {
		m.AddArchive(func() metrics.Archive { return metrics.Archive{} })
		return func() {}
	}
	archiver := backup.NewArchiver(store.(*lsmstore.Store).Engine(), a.open, backup.ArchiverOptions{Clock: clock.System, Interval: a.interval, Log: log})
	m.AddArchive(func() metrics.Archive { return metrics.Archive(archiver.Stats()) })
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), archivePatience)
		defer cancel()
		archiver.Close(ctx)
	}
}

// open opens the repository, or makes it.
func (a *archiveOptions) open(ctx context.Context) (*backup.Repository, error) {
	keys, err := backup.ParseKeys(a.repository.recipients)
	if err != nil {
		return nil, err
	}
	s, err := a.repository.storage(ctx, a.name)
	if err != nil {
		return nil, err
	}
	return backup.Create(ctx, s, backup.Options{Clock: clock.System, Rand: rand.Reader, Keys: keys})
}
