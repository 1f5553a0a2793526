package storetest

import (
	"testing"

	"colonnade/widecol/memstore"
)

// openMem opens a memstore, which can do everything at once.
func openMem(_ testing.TB, env *Env) *Subject {
	s := memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})
	return &Subject{Store: s}
}

func TestRandomPassesMemstore(t *testing.T) {
	for seed := range uint64(20) {
		Random(t, openMem, seed, 1000)
	}
}

func BenchmarkRandom(b *testing.B) {
	const ops = 1000
	seed := uint64(0)
	for b.Loop() {
		Random(b, openMem, seed, ops)
		seed++
	}
	b.ReportMetric(float64(groupings*ops*b.N)/b.Elapsed().Seconds(), "ops/s")
}
