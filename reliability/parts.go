package main

import (
	"colonnade/reliability/branches"
	"colonnade/reliability/crash"
	"colonnade/reliability/faults"
	"colonnade/reliability/flip"
	"colonnade/reliability/kill9"
	"colonnade/reliability/lin"
	"colonnade/reliability/meta"
	"colonnade/reliability/overload"
	"colonnade/reliability/report"
)

// parts are run in this order. Each is declared where its package is.
var parts = []report.Part{
	branches.Part,
	crash.Part,
	faults.Part,
	flip.Part,
	kill9.Part,
	meta.Part,
	lin.Part,
	overload.Part,
}
