package meta

import (
	"context"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore/lsmtest"
	"github.com/colonnade-db/colonnade/widecol/memstore"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

// forgetful is a store that loses every hundredth write.
type forgetful struct {
	*memstore.Store
	writes int
}

func (f *forgetful) Write(ctx context.Context, table string, ms []widecol.Mutation, key string) (int64, error) {
	before := f.Clone()
	time, err := f.Store.Write(ctx, table, ms, key)
	if f.writes++; f.writes%100 == 0 && err == nil {
		f.Store = before
	}
	return time, err
}

// TestRoundCanFail: a store that loses writes turns the round red, and with First
// the round ends there.
func TestRoundCanFail(t *testing.T) {
	var s report.Section
	r := round{env: report.Env{Seed: 1, First: true}, section: &s}
	r.open = func(env *storetest.Env) (*storetest.Subject, error) {
		return &storetest.Subject{Store: &forgetful{Store: memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})}}, nil
	}
	r.run(t.Context(), 1000)
	if tried := s.Figures()["seeds"].Value; !s.Failed() || tried > 2*workers {
		t.Errorf("failed: %v, after %d seeds", s.Failed(), tried)
	}
}

// TestRound: the store passes, and what has a minimum is counted.
func TestRound(t *testing.T) {
	var s report.Section
	r := round{open: lsmtest.Open, env: report.Env{Seed: 1}, section: &s}
	r.run(t.Context(), 4)
	if s.Failed() {
		data, _ := s.MarshalJSON()
		t.Errorf("%s", data)
	}
	for name := range Part.Minimum(report.Env{}) {
		if s.Figures()[name].Value == 0 {
			t.Errorf("%s is 0", name)
		}
	}
}
