package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/clock"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Make, check and restore backups of a running server",
		Long: `Backup keeps copies of tables in a repository: a directory, or a bucket of an
S3-compatible service, s3://BUCKET or s3://BUCKET/PREFIX. A backup has the tables as
of one moment, while the server goes on. A file that the repository has already is
not copied again.

Credentials of a bucket come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from
~/.aws/credentials; --endpoint is the URL of a service other than Amazon's.`,
		Example: `  colonnade backup create /backup/colonnade
  colonnade backup verify /backup/colonnade
  colonnade backup restore /backup/colonnade /var/lib/colonnade`,
	}
	needsCommand(cmd)
	cmd.AddCommand(newBackupCreate(), newBackupList(), newBackupVerify(), newBackupRestore(), newBackupPrune())
	return cmd
}

// repositoryFlags say how to reach a repository.
type repositoryFlags struct {
	endpoint, region string
	recipients       []string
	identities       []string // files
}

const amazon = "https://s3.amazonaws.com"

func (f *repositoryFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.endpoint, "endpoint", amazon, "URL of the service of s3://")
	flags.StringVar(&f.region, "region", "", "region of the bucket (default: the service says it)")
}

func (f *repositoryFlags) addIdentity(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.identities, "identity", nil, "file with a secret key of age, for what is encrypted; may be repeated")
}

// storage returns the storage that the command line names.
func (f *repositoryFlags) storage(ctx context.Context, name string) (backup.Storage, error) {
	dir, bucket, prefix, err := parseRepository(name)
	if err != nil {
		return nil, usageError{err}
	}
	if bucket == "" {
		return backup.NewDir(dir), nil
	}
	return backup.NewBucket(ctx, backup.Bucket{Endpoint: f.endpoint, Region: f.region, Name: bucket, Prefix: prefix})
}

// parseRepository returns the directory, or the bucket and the prefix, that name a repository.
func parseRepository(name string) (dir, bucket, prefix string, err error) {
	if name == "" {
		return "", "", "", errors.New("the repository has no name: is a variable of the shell empty?")
	}
	rest, ok := strings.CutPrefix(name, "s3://")
	if !ok {
		if strings.Contains(name, "://") {
			return "", "", "", fmt.Errorf("%s: a repository is a directory, or s3://BUCKET", name)
		}
		return name, "", "", nil
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if bucket == "" {
		return "", "", "", fmt.Errorf("%s names no bucket: s3://BUCKET, or s3://BUCKET/PREFIX", name)
	}
	return "", bucket, strings.Trim(prefix, "/"), nil
}

// options returns those of the repository. show may be nil.
func (f *repositoryFlags) options(cmd *cobra.Command, show *display) (backup.Options, error) {
	opt := backup.Options{Clock: clock.System, Rand: rand.Reader, Log: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }}
	if show != nil {
		opt.Progress, opt.Log = show.bytes, show.line
	}
	var texts []string
	for _, name := range f.identities {
		text, err := os.ReadFile(name)
		if err != nil {
			return opt, fmt.Errorf("--identity: %w", err)
		}
		if _, err := backup.ParseKeys(nil, string(text)); err != nil {
			return opt, fmt.Errorf("--identity %s: %w", name, err)
		}
		texts = append(texts, string(text))
	}
	keys, err := backup.ParseKeys(f.recipients, texts...)
	if err != nil {
		return opt, usageError{err}
	}
	opt.Keys = keys
	return opt, nil
}

// open opens the repository that a command names.
func (f *repositoryFlags) open(ctx context.Context, cmd *cobra.Command, name string, show *display) (*backup.Repository, error) {
	opt, err := f.options(cmd, show)
	if err != nil {
		return nil, err
	}
	s, err := f.storage(ctx, name)
	if err != nil {
		return nil, err
	}
	return backup.Open(ctx, s, opt)
}

// interruptible returns a context that an interrupt ends.
func interruptible() (ctx context.Context, stop context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

var errInterrupted = errors.New("interrupted")

// interrupted replaces the error of a command that an interrupt has ended, unless it says so.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, errInterrupted) {
		return errInterrupted
	}
	return err
}

func newBackupCreate() *cobra.Command {
	var f repositoryFlags
	var connect connectFlags
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create REPOSITORY",
		Short: "Make a backup of a running server",
		Long: `Create asks the server for a checkpoint, copies its files to the repository, and deletes the
checkpoint. REPOSITORY is made if it is empty or missing. Each file is held against its checksum.

On the machine of the server, as its user or root, files are read directly; where the
repository is a directory of the same file system, and not encrypted, they are hard links.

With access control the server needs a token of scope admin for all tables. A backup that
is interrupted or killed leaves the repository as it was; the next one goes on with the files
that it has copied.`,
		Example: `  colonnade backup create /backup/colonnade
  colonnade backup create s3://backups/colonnade --table webtable --recipient age1…`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return interrupted(ctx, createBackup(ctx, cmd, &f, &connect, args[0], &o))
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringArrayVar(&o.tables, "table", nil, "only this table; may be repeated (default all)")
	flags.Int64Var(&o.maxRate, "max-rate-mib", 0, "read at most so many MiB a second of the files, so that clients notice less of it (default no limit)")
	flags.StringArrayVar(&f.recipients, "recipient", nil, "encrypt for this public key of age; may be repeated")
	connect.add(flags)
	return cmd
}

// createOptions say what a backup has, and how fast it is made.
type createOptions struct {
	tables  []string
	maxRate int64 // MiB a second, 0 for no limit
}

// maxRateMiB is more than any disk reads in a second.
const maxRateMiB = 1 << 20

// clientOf returns a client of the server that the flags name.
func clientOf(cmd *cobra.Command, connect *connectFlags) (*client.Client, error) {
	to, err := connect.server(cmd)
	if err != nil {
		return nil, err
	}
	c, err := client.New(to.URL, client.Options{Token: to.Token, TLS: to.TLS, Attempts: 4, UserAgent: "colonnade-backup", OnRetry: func(err error, wait time.Duration) {
		fmt.Fprintf(cmd.ErrOrStderr(), "again in %v: %v\n", wait.Round(time.Millisecond), err)
	}})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

func createBackup(ctx context.Context, cmd *cobra.Command, f *repositoryFlags, connect *connectFlags, name string, o *createOptions) error {
	if o.maxRate < 0 || o.maxRate > maxRateMiB {
		return usageError{fmt.Errorf("--max-rate-mib must be 0, for no limit, to %d", int64(maxRateMiB))}
	}
	begin := time.Now()
	c, err := clientOf(cmd, connect)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := f.storage(ctx, name)
	if err != nil {
		return err
	}
	show := newDisplay(cmd.ErrOrStderr(), "copying", -1, begin)
	defer show.close()
	opt, err := f.options(cmd, show)
	if err != nil {
		return err
	}
	opt.MaxRate = o.maxRate << 20
	r, err := backup.Create(ctx, s, opt)
	if err != nil {
		return err
	}
	done := func() {}
	made, err := r.Create(ctx, func(ctx context.Context) (*backup.Source, error) {
		cp, err := c.Checkpoint(ctx, o.tables...)
		if err != nil {
			return nil, withoutCheckpoint(connect.url, err)
		}
		stop := keepAlive(ctx, cp)
		done = func() {
			stop()
			if err := cp.Delete(context.WithoutCancel(ctx)); err != nil {
				show.line(fmt.Sprintf("the checkpoint was not deleted, the server does it in ten minutes: %v", err))
			}
		}
		return sourceOf(cp, len(o.tables) == 0), nil
	})
	done()
	if err != nil {
		return err
	}
	show.close()
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", made.ID)
	fmt.Fprintf(cmd.ErrOrStderr(), "%d tables, %d files of %s in %.2f s: %d copied (%s), %d linked, %d there already\n",
		len(made.Tables), len(made.Files), megabytes(float64(made.Size())), time.Since(begin).Seconds(),
		made.Copied, megabytes(float64(made.CopiedBytes)), made.Linked, len(made.Files)-made.Copied-made.Linked)
	return nil
}

// withoutCheckpoint says what to do about a server that has made no checkpoint.
func withoutCheckpoint(url string, err error) error {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Code == "unknown_route" {
		return errors.New("the server makes no checkpoints: it is older than this program")
	}
	return unreachable(url, err)
}

// unreachable says what to do about a server that is not there.
func unreachable(url string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server answers at %s: start it, or name another with --url", url)
	}
	return err
}

func sourceOf(cp *client.Checkpoint, whole bool) *backup.Source {
	s := &backup.Source{Store: cp.Store, Place: backup.Place{Timeline: cp.Timeline, Sequence: cp.Sequence, Time: cp.Time, Whole: whole}, Path: cp.Path, Open: func(ctx context.Context, name string) (io.ReadCloser, error) { return cp.Open(ctx, name) }}
	for _, t := range cp.Tables {
		s.Tables = append(s.Tables, backup.Table(t))
	}
	for _, f := range cp.Files {
		s.Files = append(s.Files, backup.SourceFile(f))
	}
	return s
}

// keepAlive reads a file of the checkpoint now and then, so that it does not expire while its directory is read.
func keepAlive(ctx context.Context, cp *client.Checkpoint) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if in, err := cp.Open(ctx, cp.Files[len(cp.Files)-1].Name); err == nil { // of the log, and small
					_, _ = io.Copy(io.Discard, in)
					in.Close()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

func newBackupList() *cobra.Command {
	var f repositoryFlags
	cmd := &cobra.Command{
		Use:     "list REPOSITORY",
		Short:   "List backups, the oldest first, and the times that restore --until takes",
		Example: "  colonnade backup list /backup/colonnade",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			r, err := f.open(ctx, cmd, args[0], nil)
			if err != nil {
				return err
			}
			damaged := 0
			list, err := r.List(ctx, func(d *backup.Damage) {
				damaged++
				fmt.Fprintf(cmd.OutOrStdout(), "damage: %v\n", d)
			})
			if err != nil {
				return err
			}
			for _, b := range list {
				var names []string
				for _, t := range b.Tables {
					names = append(names, t.Name)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %9s in %d files  %s", b.ID, megabytes(float64(b.Size())), len(b.Files), strings.Join(names, " "))
				if l := b.Label; l != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "  %s until %s", l.Name, l.Expires.Format(time.RFC3339))
				}
				fmt.Fprintln(cmd.OutOrStdout())
			}
			spans, err := r.Spans(ctx, list)
			if err != nil {
				return err
			}
			for _, s := range spans {
				fmt.Fprintf(cmd.OutOrStdout(), "--until %s to %s  of store %.8s, timeline %.8s\n", s.From.Format(time.RFC3339Nano), s.To.Format(time.RFC3339Nano), s.Store, s.Timeline)
			}
			if damaged > 0 {
				return fmt.Errorf("%d descriptions of backups are damaged", damaged)
			}
			return nil
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func newBackupVerify() *cobra.Command {
	var f repositoryFlags
	cmd := &cobra.Command{
		Use:   "verify REPOSITORY [BACKUP…]",
		Short: "Read backups and look for damage",
		Long: `Verify reads everything that all backups need, or those named, and prints what is
missing or not as it was written. The code is 1 when there is damage. Without names it reads the
archived log, too.

Of encrypted backups it needs no key to find damage; with --identity it also sees that they
can be decrypted.`,
		Example: "  colonnade backup verify /backup/colonnade",
		Args:    arguments(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible()
			defer stop()
			return interrupted(ctx, verifyBackups(ctx, cmd, &f, args[0], args[1:]))
		},
	}
	f.add(cmd.Flags())
	f.addIdentity(cmd.Flags())
	return cmd
}

func verifyBackups(ctx context.Context, cmd *cobra.Command, f *repositoryFlags, name string, ids []string) error {
	show := newDisplay(cmd.ErrOrStderr(), "reading", -1, time.Now())
	defer show.close()
	r, err := f.open(ctx, cmd, name, show)
	if err != nil {
		return err
	}
	v, err := r.Verify(ctx, ids, func(d *backup.Damage) {
		show.clear()
		fmt.Fprintf(cmd.OutOrStdout(), "damage: %v\n", d)
	})
	if err != nil {
		return err
	}
	show.close()
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%d backups, %d objects of %s", v.Backups, v.Objects, megabytes(float64(v.Bytes)))
	if v.Closed > 0 {
		fmt.Fprintf(out, ", %d not decrypted for want of the right --identity", v.Closed)
	}
	fmt.Fprintln(out)
	if v.Damage > 0 {
		return fmt.Errorf("%s is damaged (places found: %d)", name, v.Damage)
	}
	fmt.Fprintln(out, "no damage")
	if v.Closed > 0 && len(f.identities) > 0 {
		return fmt.Errorf("%d objects are encrypted for other keys than those of --identity: with these alone not all can be restored", v.Closed)
	}
	return nil
}

func newBackupPrune() *cobra.Command {
	var f repositoryFlags
	var keep int
	cmd := &cobra.Command{
		Use:   "prune REPOSITORY --keep N",
		Short: "Remove all backups but the newest",
		Long: `Prune removes all backups but the newest N, then what none of these needs, also what killed
backups have left, and the archived log that is older than the oldest of them. It fails
while a backup is being made.

Backups that clients of Bigtable have named do not count. Each stays until it has expired.`,
		Example: "  colonnade backup prune /backup/colonnade --keep 7",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keep < 1 {
				return usagef("--keep must be at least 1")
			}
			ctx, stop := interruptible()
			defer stop()
			r, err := f.open(ctx, cmd, args[0], nil)
			if err != nil {
				return err
			}
			p, err := r.Prune(ctx, keep)
			for _, id := range p.Backups {
				fmt.Fprintln(cmd.OutOrStdout(), id)
			}
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d backups and %d files of %s removed\n", len(p.Backups), p.Objects, megabytes(float64(p.Bytes)))
			}
			return interrupted(ctx, err)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().IntVar(&keep, "keep", 0, "how many backups stay, at least 1")
	return cmd
}
