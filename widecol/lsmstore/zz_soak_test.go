package lsmstore_test

import (
	"os"
	"strconv"
	"testing"

	"colonnade/widecol/lsmstore/lsmtest"
	"colonnade/widecol/storetest"
)

func TestZZSoak(t *testing.T) {
	from, _ := strconv.ParseUint(os.Getenv("FROM"), 10, 64)
	n, _ := strconv.ParseUint(os.Getenv("N"), 10, 64)
	var w storetest.Work
	for seed := from; seed < from+n; seed++ {
		work, f := storetest.Try(lsmtest.Open, seed, 300)
		w.Add(work)
		if f != nil {
			t.Fatal(f.Shrunk())
		}
	}
	t.Logf("%+v", w)
}
