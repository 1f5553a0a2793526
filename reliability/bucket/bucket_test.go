// Package bucket tries backups and the archive of the log against a server of the S3 protocol, with the program as it is shipped.
package bucket

import (
	"bufio"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// program builds the program.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "colonnade")
	if output, err := exec.Command("go", "build", "-o", name, "github.com/colonnade-db/colonnade/cmd/colonnade").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return name
}

// service is an S3 service in memory. It speaks TLS: over plain HTTP a client signs pieces of a body, which it does not know.
type service struct {
	url     string
	ca      string // file with its certificate
	backend *s3mem.Backend
}

func newService(t *testing.T) *service {
	s := &service{backend: s3mem.New()}
	server := httptest.NewTLSServer(gofakes3.New(s.backend).Server())
	t.Cleanup(server.Close)
	s.url, s.ca = server.URL, filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(s.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	return s
}

// objects returns the content of all objects.
func (s *service) objects(t *testing.T) map[string][]byte {
	t.Helper()
	list, err := s.backend.ListBucket("backups", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for _, o := range list.Contents {
		object, err := s.backend.GetObject("backups", o.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key], err = io.ReadAll(object.Contents)
		object.Contents.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (s *service) put(t *testing.T, name string, content []byte) {
	t.Helper()
	if _, err := s.backend.PutObject("backups", name, map[string]string{}, bytes.NewReader(content), int64(len(content)), nil); err != nil {
		t.Fatal(err)
	}
}

type world struct {
	t       *testing.T
	program string
	s3      *service
	url     string // of the server
}

// run runs a command, and returns all that it prints, and its code.
func (w *world) run(args ...string) (output string, code int) {
	w.t.Helper()
	cmd := w.command(args...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func (w *world) must(args ...string) string {
	w.t.Helper()
	output, code := w.run(args...)
	if code != 0 {
		w.t.Fatalf("%v: code %d\n%s", args, code, output)
	}
	return output
}

func (w *world) command(args ...string) *exec.Cmd {
	if args[0] == "backup" {
		args = append(args, "--endpoint", w.s3.url)
	}
	cmd := exec.Command(w.program, args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "SSL_CERT_FILE="+w.s3.ca)
	return cmd
}

// serve starts a server on a directory, and returns its URL.
func (w *world) serve(dir string, args ...string) (url string, stop func()) {
	w.t.Helper()
	cmd := w.command(append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		w.t.Fatalf("got %q, %v", line, err)
	}
	return url, func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }
}

func (w *world) fill(from, to int) {
	w.t.Helper()
	var b strings.Builder
	r := rand.New(rand.NewPCG(uint64(from), 1))
	for n := from; n < to; n++ {
		fmt.Fprintf(&b, `{"row_key":"%08d","cells":[{"column_key":"f:","type":"string","value":"`, n)
		for range 500 {
			fmt.Fprintf(&b, "%08x", r.Uint32())
		}
		b.WriteString("\"}]}\n")
	}
	cmd := w.command("import", "--table", "web", "--create-table", "--create-families", "--url", w.url)
	cmd.Stdin = strings.NewReader(b.String())
	if text, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("import: %v\n%s", err, text)
	}
}

func TestBackupsInABucket(t *testing.T) {
	w := &world{t: t, program: program(t), s3: newService(t)}
	top := t.TempDir()
	var stop func()
	w.url, stop = w.serve(filepath.Join(top, "data"))
	defer stop()
	w.fill(0, 6000) // 24 MB: more than a part of an upload
	const repository = "s3://backups/some/prefix"
	create := []string{"backup", "create", repository, "--url", w.url}
	w.must(create...)
	first := len(w.s3.objects(t))
	w.fill(6000, 6100)
	w.must(create...)
	if output := w.must("backup", "list", repository); strings.Count(output, "web") != 2 {
		t.Errorf("list: %s", output)
	}
	if output := w.must("backup", "verify", repository); !strings.Contains(output, "no damage") {
		t.Errorf("verify: %s", output)
	}
	for name := range w.s3.objects(t) {
		if !strings.HasPrefix(name, "some/prefix/") || strings.Contains(name, "locks/") {
			t.Errorf("there is an object %s", name)
		}
	}
	w.restores(filepath.Join(top, "restored"), repository, 6100)

	// A flipped bit, in each object.
	r := rand.New(rand.NewPCG(1, 1))
	for name, content := range w.s3.objects(t) {
		flipped := bytes.Clone(content)
		bit := r.IntN(8 * len(flipped))
		flipped[bit/8] ^= 1 << (bit % 8)
		w.s3.put(t, name, flipped)
		if output, code := w.run("backup", "verify", repository); code != 1 || !strings.Contains(output, strings.TrimPrefix(name, "some/prefix/")) {
			t.Errorf("bit %d of %s: code %d\n%s", bit, name, code, output)
		}
		w.s3.put(t, name, content)
	}

	if output := w.must("backup", "prune", repository, "--keep", "1"); !strings.Contains(output, "1 backups") {
		t.Errorf("prune: %s", output)
	}
	w.must("backup", "verify", repository)
	if left := len(w.s3.objects(t)); left > first {
		t.Errorf("%d objects are left of one backup, it was %d before", left, first)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"backup", "list", "s3://none"}, `there is no bucket "none"`},
		{[]string{"backup", "list", "s3://backups/other"}, "there are no backups"},
	} {
		if output, code := w.run(c.args...); code != 1 || !strings.Contains(output, c.want) {
			t.Errorf("%v: code %d, want %q\n%s", c.args, code, c.want, output)
		}
	}
}

// TestKilledBackupsInABucket kills encrypted backups at random moments.
func TestKilledBackupsInABucket(t *testing.T) {
	w := &world{t: t, program: program(t), s3: newService(t)}
	top := t.TempDir()
	var stop func()
	w.url, stop = w.serve(filepath.Join(top, "data"))
	defer stop()
	w.fill(0, 6000)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(top, "key")
	if err := os.WriteFile(key, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	const repository = "s3://backups"
	create := []string{"backup", "create", repository, "--url", w.url, "--recipient", id.Recipient().String()}
	begin := time.Now()
	w.must(create...)
	whole := time.Since(begin)
	r := rand.New(rand.NewPCG(7, 7))
	for round := range 5 {
		w.fill(6000+1500*round, 6000+1500*(round+1))
		cmd := w.command(create...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(r.Float64()*float64(whole)), func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
		if output, code := w.run("backup", "verify", repository, "--identity", key); code != 0 {
			t.Fatalf("verify after kill %d: %s", round, output)
		}
	}
	w.must(create...)
	w.must("backup", "prune", repository, "--keep", "1") // it waits until it knows that the others are dead
	w.must("backup", "verify", repository, "--identity", key)
	w.restores(filepath.Join(top, "restored"), repository, 6000+5*1500, "--identity", key)
}

// TestArchiveInABucket: a server sends its log to a bucket; from there and a backup all that it had is restored, after its
// directory is lost.
func TestArchiveInABucket(t *testing.T) {
	w := &world{t: t, program: program(t), s3: newService(t)}
	top := t.TempDir()
	const repository = "s3://backups/some/prefix"
	archive := []string{"--archive", repository, "--archive-endpoint", w.s3.url, "--archive-interval", "200ms"}
	var stop func()
	w.url, stop = w.serve(filepath.Join(top, "data"), archive...)
	w.fill(0, 100)
	w.must("backup", "create", repository, "--url", w.url)
	w.fill(100, 6000)
	stop() // sends the rest
	if err := os.RemoveAll(filepath.Join(top, "data")); err != nil {
		t.Fatal(err)
	}
	if output := w.must("backup", "list", repository); !strings.Contains(output, "--until") {
		t.Errorf("list: %s", output)
	}
	w.must("backup", "verify", repository)
	w.restores(filepath.Join(top, "restored"), repository, 6000, "--until", "latest")
	w.must("backup", "prune", repository, "--keep", "1")
	w.restores(filepath.Join(top, "again"), repository, 6000, "--until", "latest")
}

// restores restores the newest backup and counts its rows.
func (w *world) restores(dir, repository string, rows int, args ...string) {
	w.t.Helper()
	w.must(append([]string{"backup", "restore", repository, dir}, args...)...)
	w.must("check", "--data", dir)
	url, stop := w.serve(dir)
	defer stop()
	resp, err := http.Post(url+"/v1/table/web/count", "", strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if want := fmt.Sprintf(`"row_count":%d,`, rows); err != nil || !strings.Contains(string(text), want) {
		w.t.Errorf("the restored table: %s, %v, want %s", text, err, want)
	}
}
