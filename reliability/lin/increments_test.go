package lin

import (
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/remote"
)

// TestIncrements: 1,000 increments of one row by 50 clients are 1,000, also after a kill.
func TestIncrements(t *testing.T) {
	dir := t.TempDir()
	binary, data := filepath.Join(dir, "colonnade"), filepath.Join(dir, "data")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/colonnade-db/colonnade/cmd/colonnade").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const clients, each = 50, 20
	start := func() (*process.Process, remote.Table) {
		p, err := process.Start(exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		url, err := p.URL()
		if err != nil {
			t.Fatal(err)
		}
		c := remote.NewClient(url, clients)
		t.Cleanup(c.Close)
		return p, remote.Table{Client: c, Name: "counters"}
	}
	p, table := start()
	if err := table.Create(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	sums := make([][]int64, clients)
	var working sync.WaitGroup
	for c := range clients {
		working.Go(func() {
			for range each {
				sum, err := table.Increment(t.Context(), "row", 1)
				if err != nil {
					t.Errorf("client %d: %v", c, err)
					return
				}
				sums[c] = append(sums[c], sum)
			}
		})
	}
	working.Wait()
	all := slices.Concat(sums...)
	slices.Sort(all)
	for i, sum := range all {
		if sum != int64(i+1) {
			t.Fatalf("sum %d of %d is %d: they have to be 1, 2, 3 and so on", i, len(all), sum)
		}
	}
	p.Kill()
	_, table = start()
	if c, err := table.Counter(t.Context(), "row"); c != (remote.Counter{There: true, Value: clients * each}) || err != nil {
		t.Errorf("after the kill: %+v, %v, want %d", c, err, clients*each)
	}
}
