package kill9

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/remote"
)

// copyTree copies a directory while its files change, like a slow cp -r, in random order.
func copyTree(from, to string, rnd *rand.Rand) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	rnd.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			err = errors.Join(err, copyTree(source, target, rnd))
			time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
			continue
		}
		data, readErr := os.ReadFile(source)
		if errors.Is(readErr, fs.ErrNotExist) {
			continue
		}
		err = errors.Join(err, readErr, os.WriteFile(target, data, 0o600))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a directory has gone
	}
	return err
}

// checkCopy starts a server on a copy. The server must refuse it and name the file, or show a state that the
// directory has had since the census.
func (t *riot) checkCopy(ctx context.Context, dir string, taken *census) error {
	p, err := process.Start(t.serve(dir))
	if err != nil {
		return err
	}
	defer p.Kill()
	t.section.Add("copies", 1)
	url, err := p.URL()
	if err != nil {
		t.section.Add("copies_refused", 1)
		return refusal(dir, err.Error())
	}
	c := remote.NewClient(url, 1)
	defer c.Close()
	copied := tablesOf(c)
	present, err := copied.scan(ctx)
	p.Kill() // what it has said is complete then
	if err != nil && strings.Contains(p.Output(), "corruption in file "+dir) {
		t.section.Add("copies_refused", 1)
		return nil
	}
	if err == nil {
		err = t.history.moment(present, taken)
	}
	if err != nil {
		return fmt.Errorf("a copy of the directory was opened: %w\n%s", err, p.Output())
	}
	return nil
}

// refusal returns an error unless a server that refuses a copy says why.
func refusal(dir, output string) error {
	if strings.Contains(output, "colonnade: open store "+dir+": ") {
		return nil
	}
	return fmt.Errorf("a copy of the directory is refused without a reason: %s", output)
}
