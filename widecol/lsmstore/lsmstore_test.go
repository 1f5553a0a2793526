package lsmstore_test

import (
	"testing"

	"colonnade/widecol/lsmstore/lsmtest"
	"colonnade/widecol/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, lsmtest.Open) }

func TestRandom(t *testing.T) {
	for seed := range uint64(10) {
		storetest.Random(t, lsmtest.Open, seed, 300)
	}
}
