package lsmstore_test

import (
	"math/rand/v2"
	"testing"

	"colonnade/widecol/lsmstore/lsmtest"
	"colonnade/widecol/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, lsmtest.Open) }

func TestRandom(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		storetest.Random(t, lsmtest.Open, seed, 300)
	}
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
