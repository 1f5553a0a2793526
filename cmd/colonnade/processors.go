package main

import (
	"os"
	"runtime"
)

// addProcessor has the runtime run code on one processor more than there are. While
// clients write, a sync of the log is under way most of the time, and keeps one: the runtime takes it
// back late or not at all. See decision 46. An operator who has set GOMAXPROCS knows better.
//
// What is made for as many processors as there are has to be made before.
func addProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
