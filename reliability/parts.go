package main

import (
	"colonnade/reliability/archive"
	"colonnade/reliability/branches"
	"colonnade/reliability/crash"
	"colonnade/reliability/faults"
	"colonnade/reliability/flip"
	"colonnade/reliability/kill9"
	"colonnade/reliability/lin"
	"colonnade/reliability/meta"
	"colonnade/reliability/mutants"
	"colonnade/reliability/overload"
	"colonnade/reliability/report"
)

// parts are run in this order: the fastest to find something first. branches counts the code that the
// parts before it have run.
var parts = []report.Part{
	crash.Part,
	faults.Part,
	flip.Part,
	meta.Part,
	lin.Part,
	kill9.Part,
	archive.Part,
	overload.Part,
	mutants.Part,
	branches.Part,
}
