package main

import (
	"runtime"
	"testing"
)

func TestAddProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, test := range []struct {
		variable string
		want     int
	}{{"3", before}, {"", before + 1}} {
		t.Setenv("GOMAXPROCS", test.variable)
		addProcessor()
		if got := runtime.GOMAXPROCS(0); got != test.want {
			t.Errorf("GOMAXPROCS=%q: code runs on %d processors, want %d of %d", test.variable, got, test.want, before)
		}
	}
}
