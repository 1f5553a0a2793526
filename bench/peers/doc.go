// Command peers runs the same work on this engine and on the embedded engines that a Go program would
// use instead. It writes the results, plots and a verdict on each target to REPORT.md.
//
//	go run . [-rows 100000] [-runs 3] [-engines pebble,bbolt] [-tables reads] [-out REPORT.md]
//
// Each engine implements Store (engine.go) in a file of its own, and each table of work is a file too
// (ordered and random loads, durable commits, reads, …). Each table runs on each engine in a new
// process, so memory, CPU time and I/O are those of one engine and one table. Within a run the engines
// take turns table by table, and every other run reverses their order. So a machine that drifts
// drifts for all.
//
// All engines get the same data and batches (fixed seeds), the same memory for memtables and cache, and
// one namespace of sorted keys. All have each returned cell's bytes looked at. One thing differs: this
// engine always syncs every batch. Peers load without a sync, which is faster for them, and sync in the
// table of durable commits.
package main
