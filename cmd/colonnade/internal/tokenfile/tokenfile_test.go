package tokenfile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/access"
)

// add adds a token to the file, and returns its ID.
func add(t *testing.T, path string) (id string) {
	t.Helper()
	token, _, err := access.NewToken(rand.Reader, access.Token{Scope: access.Read, Tables: []string{"*"}, Created: time.Now()})
	if err == nil {
		err = Update(path, func(all *access.Tokens) (*access.Tokens, error) { return all.With(token) })
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	return token.ID
}

// TestUpdate adds tokens from many goroutines, through links of two names. None may be lost.
func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "tokens.json"), filepath.Join(dir, "link.json")
	add(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { add(t, []string{path, link}[i%2]) })
	}
	all.Wait()
	tokens, err := Read(path)
	if err != nil || len(tokens.All()) != 21 {
		t.Fatalf("%d tokens, %v", len(tokens.All()), err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}

// TestUpdateKeepsOwner: root may change the tokens of a server that runs as another user.
func TestUpdateKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may replace the file of another user")
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	add(t, path)
	const user, group = 12345, 12346
	if err := os.Chown(path, user, group); err != nil {
		t.Fatal(err)
	}
	add(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if of := info.Sys().(*syscall.Stat_t); of.Uid != user || of.Gid != group || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is of user %d, group %d, mode %v", of.Uid, of.Gid, info.Mode())
	}
}

// TestUpdateFails: a change that fails leaves the file as it was.
func TestUpdateFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	add(t, path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := Update(path, func(*access.Tokens) (*access.Tokens, error) { return nil, refused }); err != refused {
		t.Errorf("Update: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has %q, %v", after, err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:                                    "is not a file of tokens",
		filepath.Join(dir, "none"):              "no such file",
		dir:                                     "is not a file of tokens",
		write("others", `{"tokens":[]}`, 0o644): "chmod 600",
		write("group", `{"tokens":[]}`, 0o640):  "mode 0640",
		write("broken", `{"tokens":[`, 0o600):   "broken: unexpected EOF",
	} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if tokens, err := Read(write("empty", ``, 0o600)); err != nil || len(tokens.All()) != 0 {
		t.Errorf("an empty file: %v", err)
	}
}
