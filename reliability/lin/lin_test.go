package lin

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
)

func TestServer(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "colonnade")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/colonnade-db/colonnade/cmd/colonnade").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	var s report.Section
	r := &run{
		program: func(args ...string) *exec.Cmd { return exec.Command(binary, args...) },
		data:    filepath.Join(t.TempDir(), "data"), section: &s, history: newHistory(), rnd: rand.New(rand.NewPCG(1, 1)),
	}
	if err := r.run(context.Background()); err != nil {
		t.Error(err)
	}
	for _, figure := range []string{"operations", "unknown", "create_conflicts", "kills", "updates", "no_numbers", "moves"} {
		if s.Figures()[figure].Value == 0 {
			t.Errorf("figure %s is 0 of %v", figure, s.Figures())
		}
	}
}
