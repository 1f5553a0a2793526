package main

import (
	"github.com/colonnade-db/colonnade/reliability/archive"
	"github.com/colonnade-db/colonnade/reliability/branches"
	"github.com/colonnade-db/colonnade/reliability/crash"
	"github.com/colonnade-db/colonnade/reliability/faults"
	"github.com/colonnade-db/colonnade/reliability/flip"
	"github.com/colonnade-db/colonnade/reliability/kill9"
	"github.com/colonnade-db/colonnade/reliability/lin"
	"github.com/colonnade-db/colonnade/reliability/meta"
	"github.com/colonnade-db/colonnade/reliability/mutants"
	"github.com/colonnade-db/colonnade/reliability/overload"
	"github.com/colonnade-db/colonnade/reliability/report"
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
