// Command reliability looks for broken promises. It runs the parts of the harness. Each part makes
// something go wrong (crashes, failing disks, damage, kills, overload) and checks what the store then
// reports and keeps.
//
//	go run . [-part crash,flip] [-seed 1] [-short] [-hours 2] [-out reliability.json]
//
// Each part runs in a child process, so a panic, a hang or a leak fails that part and does not end the
// run. The report has the figures of every part and the minimum for a round: a round that did too little
// fails like one that found something. A failure prints the command that repeats it. A short round does an eighth of
// each part, and the next seed another eighth.
package main
