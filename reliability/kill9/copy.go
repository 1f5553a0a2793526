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

	"colonnade/reliability/remote"
)

// copyInAnyOrder copies a directory whose files come, grow and go meanwhile, like
// cp -r: in what order, is up to the file system.
func copyInAnyOrder(from, to string, rnd *rand.Rand) error {
	var names []string
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		inside, relErr := filepath.Rel(from, name)
		data, readErr := os.ReadFile(name)
		if errors.Is(readErr, fs.ErrNotExist) {
			continue
		}
		target := filepath.Join(to, inside)
		err = errors.Join(err, relErr, readErr, os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, data, 0o600))
	}
	return err
}

// checkCopy starts a server on a copy. It has to refuse it and say which file is
// wrong, or to show a moment that the directory has been through since the
// census.
func (t *riot) checkCopy(ctx context.Context, dir string, taken *census) error {
	p, err := remote.Start(t.serve(dir))
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

// refusal reports unless a server that does not serve a copy says what is wrong
// with which file.
func refusal(dir, output string) error {
	if strings.Contains(output, "corruption in file "+dir) {
		return nil
	}
	return fmt.Errorf("a copy of the directory is refused without a file that is wrong: %s", output)
}
