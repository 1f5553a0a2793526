// Command reliability looks for broken promises: it runs the parts of the
// harness, each of which makes something go wrong (crashes, failing disks,
// damage, kills, overload) and checks what the store then says and keeps.
//
//	go run . [-part crash,flip] [-seed 1] [-hours 2] [-out reliability.json]
//
// Each part runs in a process of its own, so that a panic, a hang or a leak is a
// failure of that part and not the end of the run. The report has the figures of
// every part beside the least that a run has to reach: a run that did too little
// is as red as one that found something. A failure tells the command that
// repeats it.
package main
