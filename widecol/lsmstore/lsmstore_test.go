package lsmstore_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/widecol/lsmstore/lsmtest"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, lsmtest.Open) }

func TestRandom(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storetest.Random(t, lsmtest.Open, seed, 300)
		})
	}
}

// With these, TestRandomSoak runs; see make soak-random.
var (
	soakFrom  = flag.Uint64("soak.from", 0, "the first seed")
	soakSeeds = flag.Uint64("soak.seeds", 0, "how many seeds")
)

// TestRandomSoak is TestRandom with many seeds, one at a time on each core. It goes on after a failure.
func TestRandomSoak(t *testing.T) {
	if *soakSeeds == 0 {
		t.Skip("make soak-random runs it: it takes hours")
	}
	var next atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n := next.Add(1); n <= *soakSeeds; n = next.Add(1) {
				if _, f := storetest.Try(lsmtest.Open, *soakFrom+n-1, 300); f != nil {
					t.Error(f.Shrunk())
				}
				if n%100 == 0 {
					t.Logf("%d of %d seeds", n, *soakSeeds)
				}
			}
		})
	}
	workers.Wait()
}

// FuzzOpsVsModel lets the fuzzer choose the operations, crashes among them.
func FuzzOpsVsModel(f *testing.F) {
	for seed := range byte(16) {
		data := make([]byte, 400)
		rand.NewChaCha8([32]byte{seed}).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := storetest.Replay(lsmtest.Open, data); err != nil {
			t.Fatal(err)
		}
	})
}
