// Command peers runs the same work on this engine and on the embedded engines
// that a Go program would take instead, and writes what came out, with plots and
// a verdict on each target, to REPORT.md.
//
//	go run . [-rows 100000] [-runs 3] [-engines pebble,bbolt] [-tables reads] [-out REPORT.md]
//
// Each engine is behind a Store (engine.go), in a file of its own; each table of
// work is a file as well (ordered and random loads, durable commits, reads, …). A
// table runs on an engine in a process of its own, so that memory, CPU time
// and I/O are those of that engine and that work alone. Within a run the engines
// take turns table by table, and every other run has them in the opposite order:
// when the machine drifts, it drifts for all.
//
// What is the same for all of them: the data and the batches (fixed seeds), the
// memory for memtables and for the cache, one namespace of sorted keys, and what
// counts as a result: each cell's bytes are looked at. What is not: this engine
// syncs every batch, always, while peers load without a sync, which is their faster
// way; in the table of durable commits all of them sync.
package main
