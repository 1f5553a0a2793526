package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmbeddingBringsNoServer: a program that imports the package at the root of the module gets the store, and nothing
// that only the server needs.
func TestEmbeddingBringsNoServer(t *testing.T) {
	out := runGo(t, "../..", "list", "-deps", ".")
	if !strings.Contains(out, moduleRules.Module+"/engine\n") {
		t.Errorf("the list of imports lacks the engine:\n%s", out)
	}
	for _, path := range strings.Fields(out) {
		for _, part := range []string{
			"colonnade/server", "colonnade/bigtable", "colonnade/client", "colonnade/backup", "colonnade/metrics", "colonnade/tracing", "colonnade/cmd",
			"net/http", "google.golang.org/", "prometheus", "parquet", "cobra", "opentelemetry", "minio",
		} {
			if strings.Contains(path, part) {
				t.Errorf("who embeds the store gets %s, too", path)
			}
		}
	}
}

// TestEmbeddingFromAnotherModule builds a program of a module elsewhere, and runs it twice on one directory. The
// network is not needed: the modules that this one requires are there, as the test was built.
func TestEmbeddingFromAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	_, requirements, _ := strings.Cut(read("go.mod"), "\n")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/app\n" + requirements +
			"\nrequire " + moduleRules.Module + " v0.0.0\nreplace " + moduleRules.Module + " => " + root + "\n",
		"go.sum":  read("go.sum"),
		"main.go": embeddingProgram,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGo(t, dir, "build", "-mod=mod", "-o", "app", ".")
	for _, want := range []string{"visit 1\n", "visit 2\n"} {
		got, err := exec.Command(filepath.Join(dir, "app"), filepath.Join(dir, "data")).CombinedOutput()
		if err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
}

const embeddingProgram = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/colonnade-db/colonnade"
)

func main() {
	ctx := context.Background()
	db, err := colonnade.Open(os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.CreateTable(ctx, "pages", colonnade.TableSpec{Families: []colonnade.Family{{Name: "meta"}}})
	if err != nil && !errors.Is(err, colonnade.ErrExists) {
		log.Fatal(err)
	}
	visits, err := db.Table("pages").Increment(ctx, "org.example/", "meta", "visits", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("visit", visits)
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}
`

func runGo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
