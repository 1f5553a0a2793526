package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/colonnade-db/colonnade/bigtable"
)

const homeCluster = bigtable.DefaultInstance + "/clusters/colonnade"

// wait waits for an operation.
func (c bigtableClient) wait(ctx context.Context, op *longrunningpb.Operation, err error) error {
	c.Helper()
	for err == nil && !op.Done {
		time.Sleep(time.Millisecond)
		op, err = longrunningpb.NewOperationsClient(c.conn).GetOperation(ctx, &longrunningpb.GetOperationRequest{Name: op.Name})
	}
	if err == nil && op.GetError() != nil {
		err = status.ErrorProto(op.GetError())
	}
	return err
}

// backup makes a backup of a table.
func (c bigtableClient) backup(ctx context.Context, table, id string) error {
	c.Helper()
	op, err := c.admin.CreateBackup(ctx, &adminpb.CreateBackupRequest{Parent: homeCluster, BackupId: id, Backup: &adminpb.Backup{
		SourceTable: bigtable.DefaultInstance + "/tables/" + table, ExpireTime: timestamppb.New(time.Now().Add(7 * time.Hour)),
	}})
	return c.wait(ctx, op, err)
}

// restore makes a table of a backup.
func (c bigtableClient) restore(ctx context.Context, id, table string) error {
	c.Helper()
	op, err := c.admin.RestoreTable(ctx, &adminpb.RestoreTableRequest{
		Parent: bigtable.DefaultInstance, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: homeCluster + "/backups/" + id},
	})
	return c.wait(ctx, op, err)
}

// TestBackupsOfBigtable: a backup that a client makes is one of the repository, for clients after a restart, for the
// commands, and for another server.
func TestBackupsOfBigtable(t *testing.T) {
	top := t.TempDir()
	repository := filepath.Join(top, "repository")
	serve := func(dir string) (*served, bigtableClient) {
		s := startServe(t, filepath.Join(top, dir), "--bigtable-listen", "127.0.0.1:0", "--backup-repository", repository)
		return s, dialBigtable(t, bigtableOf(s))
	}
	ctx := t.Context()
	s, c := serve("data")
	c.create(ctx)
	if err := c.write(ctx, "one", "1"); err != nil {
		t.Fatal(err)
	}
	if err := c.backup(ctx, "t", "first"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := runLine("", "backup", "create", repository, "--url", s.url); got.code != 0 {
			t.Fatalf("create: %+v", got)
		}
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	if got := runLine("", "backup", "prune", repository, "--keep", "1"); got.code != 0 || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("prune: %+v", got)
	}
	if got := runLine("", "backup", "list", repository); got.code != 0 || strings.Count(got.stdout, "\n") != 2 || !strings.Contains(got.stdout, "files  t  "+homeCluster+"/backups/first until 20") {
		t.Errorf("list: %+v", got)
	}
	if got := runLine("", "backup", "verify", repository); got.code != 0 || !strings.Contains(got.stdout, "2 backups") {
		t.Errorf("verify: %+v", got)
	}
	named := filepath.Join(top, "named")
	if got := runLine("", "backup", "restore", repository, named, "--backup", homeCluster+"/backups/first"); got.code != 0 {
		t.Errorf("restore: %+v", got)
	}
	if got := runLine("", "check", "--data", named); got.code != 0 {
		t.Errorf("check: %+v", got)
	}
	for _, dir := range []string{"data", "another"} {
		s, c = serve(dir)
		if err := c.restore(ctx, "first", "copy"); err != nil {
			t.Fatal(err)
		}
		if got := s.call("POST", "/v1/table/copy/scan", "{}"); !strings.Contains(got, `"type":"bytes","value":"MQ=="`) {
			t.Errorf("restored to %s: %s", dir, got)
		}
		if left, _ := filepath.Glob(filepath.Join(top, dir, "checkpoints", "*")); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	}
}

// TestBackupsOfBigtableKilled kills a server while it makes a backup, and while it restores one, in the middle of its work. After
// the next start there is no backup, or a whole one, and no table, or a whole one.
func TestBackupsOfBigtableKilled(t *testing.T) {
	top := t.TempDir()
	dir, repository := filepath.Join(top, "data"), filepath.Join(top, "repository")
	ctx := t.Context()
	var s *served
	var c bigtableClient
	serve := func() {
		s = startServe(t, dir, "--memtable-mib", "8", "--bigtable-listen", "127.0.0.1:0", "--backup-repository", repository)
		c = dialBigtable(t, bigtableOf(s))
	}
	serve()
	s.call("PUT", "/v1/table/web", twoFamilies)
	s.fill(t, 5000)
	want := runLine("", "export", "web", "--url", s.url).stdout
	if len(want) < 5000*4000 {
		t.Fatalf("the table has %d bytes as lines", len(want))
	}
	// killWhen kills the server once something has come about while a call runs, and starts it again.
	killWhen := func(what string, do func() error, come func() bool) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		until(t, what, func() bool { return come() || len(ended) > 0 })
		s.signal(syscall.SIGKILL)
		s.cmd.Wait()
		<-ended
		serve()
		if left, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*")); len(left) > 0 {
			t.Errorf("%s: left are %q", what, left)
		}
	}
	found := func(pattern string) func() bool {
		return func() bool {
			list, _ := filepath.Glob(filepath.Join(top, pattern))
			return len(list) > 0
		}
	}
	missing := 0
	for what, come := range map[string]func() bool{
		"the lock is there":        found("repository/locks/create-*"),
		"the checkpoint is there":  found("data/checkpoints/*"),
		"an object is there":       found("repository/objects/*/*.sst"),
		"the description is there": found("repository/backups/*.json"),
	} {
		killWhen(what, func() error { return c.backup(ctx, "web", "one") }, come)
		if got := runLine("", "backup", "verify", repository); got.code != 0 {
			t.Errorf("%s: verify: %+v", what, got)
		}
		_, err := c.admin.GetBackup(ctx, &adminpb.GetBackupRequest{Name: homeCluster + "/backups/one"})
		if status.Code(err) == codes.NotFound {
			missing++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.admin.DeleteBackup(ctx, &adminpb.DeleteBackupRequest{Name: homeCluster + "/backups/one"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 4 kills left no backup", missing)
	if missing == 0 {
		t.Error("no kill came in time for a backup")
	}
	if err := c.backup(ctx, "web", "one"); err != nil {
		t.Fatal(err)
	}
	partitions := func() int {
		list, _ := os.ReadDir(filepath.Join(dir, "partitions"))
		return len(list)
	}
	before, none := partitions(), 0
	for what, come := range map[string]func() bool{
		"files are restored": found("data/checkpoints/restore-*"),
		"the store is open":  found("data/checkpoints/restore-*/LOCK"),
		"cells are written":  func() bool { return partitions() > before },
		"files are written":  func() bool { return len(tablesOf(dir, before)) > 0 },
	} {
		killWhen(what, func() error { return c.restore(ctx, "one", "copy") }, come)
		got := runLine("", "export", "copy", "--url", s.url)
		if got.code != 0 && strings.Contains(got.stderr, "does not exist") {
			none++
			until(t, "the partitions are gone", func() bool { return partitions() == before })
			continue
		}
		if got.code != 0 || got.stdout != want {
			t.Errorf("%s: the table has %d bytes as lines, want %d: %s", what, len(got.stdout), len(want), got.stderr)
		}
		s.call("DELETE", "/v1/table/copy", "")
	}
	t.Logf("%d of 4 kills left no table", none)
	if none == 0 {
		t.Error("no kill came in time for a restore")
	}
	if err := c.restore(ctx, "one", "copy"); err != nil {
		t.Fatal(err)
	}
	if got := runLine("", "export", "copy", "--url", s.url); got.code != 0 || got.stdout != want {
		t.Errorf("after all, the table has %d bytes as lines, want %d: %s", len(got.stdout), len(want), got.stderr)
	}
	s.stop(syscall.SIGTERM)
	if got := runLine("", "check", "--data", dir); got.code != 0 {
		t.Errorf("check: %+v", got)
	}
}

// tablesOf returns the sorted files of the partitions behind the first ones.
func tablesOf(dir string, first int) (files []string) {
	list, _ := os.ReadDir(filepath.Join(dir, "partitions"))
	for i, p := range list {
		if i >= first {
			found, _ := filepath.Glob(filepath.Join(dir, "partitions", p.Name(), "*.sst"))
			files = append(files, found...)
		}
	}
	return files
}

// TestRestoreStops: a server that stops in the middle of a restore ends it, before the store is closed, and leaves nothing behind.
func TestRestoreStops(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "data")
	s := startServe(t, dir, "--memtable-mib", "8", "--drain-timeout", "100ms", "--bigtable-listen", "127.0.0.1:0", "--backup-repository", filepath.Join(top, "repository"))
	c := dialBigtable(t, bigtableOf(s))
	s.call("PUT", "/v1/table/web", twoFamilies)
	s.fill(t, 15000) // more than is mostly restored in the time
	if err := c.backup(t.Context(), "web", "one"); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.restore(context.WithoutCancel(t.Context()), "one", "copy") }()
	until(t, "files are restored", func() bool {
		list, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "restore-*"))
		return len(list) > 0
	})
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	if line := s.stderr.line("method=RestoreTable"); !strings.Contains(line, "code=Canceled") && !strings.Contains(line, "code=OK") { // as fast as that
		t.Errorf("the restore ended with %s", line)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if got := runLine("", "check", "--data", dir); got.code != 0 {
		t.Errorf("check: %+v", got)
	}
}

// TestEmulatorBackups: the emulator keeps backups in a directory, also of tables in memory.
func TestEmulatorBackups(t *testing.T) {
	top := t.TempDir()
	repository := filepath.Join(top, "repository")
	for _, args := range [][]string{nil, {"--data", filepath.Join(top, "data")}} {
		c := dialBigtable(t, startEmulator(t, append(args, "--backup-repository", repository)...))
		c.create(t.Context())
		if err := c.write(t.Context(), "one", "1"); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("backup-", len(args))
		if err := c.backup(t.Context(), "t", id); err != nil {
			t.Fatal(err)
		}
		if _, err := c.admin.DeleteTable(t.Context(), &adminpb.DeleteTableRequest{Name: homeTable}); err != nil {
			t.Fatal(err)
		}
		if err := c.restore(t.Context(), id, "t"); err != nil {
			t.Fatal(err)
		}
		if got := c.read(t.Context()); got != "one=1" {
			t.Errorf("%v: read %q", args, got)
		}
	}
	c := dialBigtable(t, startEmulator(t))
	c.create(t.Context())
	if err := c.backup(t.Context(), "t", "one"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "--backup-repository") {
		t.Errorf("without a repository: %v", err)
	}
}

// startEmulator starts an emulator and returns its address.
func startEmulator(t *testing.T, args ...string) string {
	t.Helper()
	cmd := program(append([]string{"emulator", "--port", "0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "export BIGTABLE_EMULATOR_HOST=")
	if !ok {
		t.Fatalf("first line %q", line)
	}
	return address
}

// TestBackupRepositoryOption: the option goes with an address for Bigtable's clients, and names a repository.
func TestBackupRepositoryOption(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--backup-repository", "x"}, "needs bigtable-listen"},
		{[]string{"--backup-repository", "gs://x", "--bigtable-listen", "127.0.0.1:0"}, "a repository is a directory, or s3://BUCKET"},
	} {
		if got := runLine("", append([]string{"config"}, c.args...)...); got.code != exitUsage || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: %+v", c.args, got)
		}
	}
}
