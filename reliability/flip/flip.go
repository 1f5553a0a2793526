// Package flip damages a small store in every place and checks that the store notices.
//
// The store has two tables in five partitions, each with files in two levels, a log that was synced forty times
// and not closed, and a manifest of many edits. A case damages a copy, opens it and reads everything. Either all
// results are right, or an error names the damaged file. Other partitions answer and accept writes as before, the
// damaged file stays as it is, and check finds the damage too.
//
// A round flips one bit of every byte. Eight rounds reach every bit; after them comes another store. A short round
// does every eighth case of a round.
package flip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// Part is the damage part of the harness.
var Part = report.Part{
	Name:    "flip",
	About:   "damage in every byte of every file",
	Minimum: report.Least(map[string]int64{"cases": 60_000, "detected": 20_000, "refused_open": 5_000, "files": 20}),
	Limit:   15 * time.Minute,
	Run:     run,
}

func run(ctx context.Context, env report.Env, s *report.Section) error {
	st, err := newStore(env.Seed/8, false)
	if err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	list, err := st.round(env.Seed)
	if err != nil {
		return err
	}
	list = chosen(list, env)
	s.Largest("files", int64(len(st.files)))
	s.Largest("store_bytes", st.size())
	for _, c := range []class{harmless, detected, refused, lost, wrong, unnamed, spread, touched, overlooked, panicked, hung, excessive} {
		s.Add(string(c), 0)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(2000)) // there is next to nothing to keep
	r := &round{store: st, list: list, section: s, env: env, longest: longest}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { r.work(ctx) })
	}
	workers.Wait()
	return ctx.Err()
}

// chosen returns the cases that a round does, in their order, which is random, and numbers them: what else happens in a
// case depends on its number.
func chosen(list []damage, env report.Env) (some []damage) {
	for i, d := range list {
		if env.Chosen(i) {
			d.turn = len(some)
			some = append(some, d)
		}
	}
	return some
}

func (st *store) size() (n int64) {
	for _, f := range st.files {
		n += int64(len(f.data))
	}
	return n
}

// round returns the cases of a round: first the few general ones, then those for each byte.
func (st *store) round(seed uint64) ([]damage, error) {
	twin, err := newStore(seed/8, true)
	if err != nil {
		return nil, err
	}
	first, err := st.swaps()
	if err != nil {
		return nil, err
	}
	first = append(first, st.foreign(twin)...)
	first = append(first, st.stale()...)
	first = append(first, st.exchanges()...)
	var sectors, bytes []damage
	for i := range st.files {
		f := &st.files[i]
		first = append(first, f.wholes()...)
		sectors = append(sectors, f.sectors()...)
		bytes = append(bytes, f.flips(seed)...)
		bytes = append(bytes, f.cuts(seed)...)
	}
	for _, f := range st.tableFiles() {
		sectors = append(sectors, online(f.sectors(), seed%2 == 0)...)
		for i := int(seed % 8); i < len(f.data); i += 8 {
			bytes = append(bytes, online([]damage{f.flip(i, seed/8%8)}, i/8%2 == 0)...)
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for _, list := range [][]damage{first, sectors, bytes} {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return slices.Concat(first, sectors, bytes), nil
}
