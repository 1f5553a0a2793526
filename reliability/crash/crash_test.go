package crash

import (
	"context"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

var brief = workload{
	name: "brief", level: script.Engine, steps: 3, lives: 2, size: small,
	mix: script.Mix{Writers: 2, Rows: 3, Batch: 2, Values: []int{8, 100}, Deletes: 10, Flushes: 20, Remakes: 10},
}

// explored runs a workload on a level, until the first failure.
func explored(level script.Level) *report.Section {
	w, s := brief, new(report.Section)
	w.level = level
	explore(context.Background(), &w, report.Env{Seed: 1, First: true}, 0, s)
	return s
}

func TestStoreSurvives(t *testing.T) {
	for _, level := range []script.Level{script.Engine, script.Tables} {
		s := explored(level)
		if s.Failed() {
			t.Fatalf("%+v", s)
		}
		figures := s.Figures()
		for _, name := range []string{"crash_points", "images", "second_crashes", "reads_before_crash"} {
			if figures[name].Value < 20 {
				t.Errorf("%s is only %d", name, figures[name].Value)
			}
		}
	}
}

// TestShortRound: it judges fewer images, and everything happens to them.
func TestShortRound(t *testing.T) {
	whole, short := explored(script.Engine).Figures(), new(report.Section)
	explore(context.Background(), &brief, report.Env{Seed: 1, Short: true}, 0, short)
	figures := short.Figures()
	if short.Failed() || figures["images"].Value > whole["images"].Value/2 {
		t.Errorf("a short round judges %d images, a whole one %d; failed: %v", figures["images"].Value, whole["images"].Value, short.Failed())
	}
	for _, name := range []string{"crash_points", "images", "second_crashes", "reads_before_crash"} {
		if figures[name].Value < 5 {
			t.Errorf("%s is only %d", name, figures[name].Value)
		}
	}
}

// TestRoundGoesOn: a round that has done too little has further turns, up to a bound, unless
// it has found something.
func TestRoundGoesOn(t *testing.T) {
	var little, enough, failed report.Section
	for name, n := range least(report.Env{}) {
		little.Add(name, n-1)
		enough.Add(name, n)
		failed.Add(name, n-1)
	}
	failed.Fail("", "a promise is broken")
	for _, c := range []struct {
		turns int
		short bool
		s     *report.Section
		want  bool
	}{
		{turns, false, &enough, false}, {turns, false, &little, true}, {maxTurns - 1, false, &little, true},
		{maxTurns, false, &little, false}, {turns, false, &failed, false}, {turns, true, &little, false},
	} {
		if got := wanting(c.turns, report.Env{Short: c.short}, c.s); got != c.want {
			t.Errorf("after %d turns of a round, short is %t, wanting is %t, want %t", c.turns, c.short, got, c.want)
		}
	}
}

// forgetful is a file system on which some syncs do nothing.
type forgetful struct {
	vfs.FS
	files, dirs bool
}

func (f forgetful) SyncDir(dir string) error {
	if f.dirs {
		return nil
	}
	return f.FS.SyncDir(dir)
}

func (f forgetful) Create(name string) (vfs.File, error) { return f.wrap(f.FS.Create(name)) }

func (f forgetful) Reuse(old, new string) (vfs.File, error) { return f.wrap(f.FS.Reuse(old, new)) }

func (f forgetful) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil || !f.files {
		return file, err
	}
	return unsynced{file}, nil
}

type unsynced struct{ vfs.File }

func (unsynced) Sync() error { return nil }

// A store on such a file system breaks its promises, and has to be found out.
func TestFindsMissingSyncs(t *testing.T) {
	for name, lie := range map[string]forgetful{"files": {files: true}, "directories": {dirs: true}} {
		t.Run(name, func(t *testing.T) {
			s := explored(func(fs vfs.FS, size script.Size) (script.Store, error) {
				lie.FS = fs
				return script.Engine(lie, size)
			})
			if !s.Failed() {
				t.Error("nothing was found")
			}
		})
	}
}

// half is a store that shows one part less than there is.
type half struct{ script.Store }

func (h half) Read() (ledger.Cells, error) {
	found, err := h.Store.Read()
	for at := range found {
		if strings.HasSuffix(at, "/1") {
			delete(found, at)
		}
	}
	return found, err
}

func TestFindsTornRows(t *testing.T) {
	s := explored(func(fs vfs.FS, size script.Size) (script.Store, error) {
		store, err := script.Engine(fs, size)
		return half{store}, err
	})
	if !s.Failed() {
		t.Error("nothing was found")
	}
}
