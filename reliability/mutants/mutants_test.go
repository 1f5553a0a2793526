package mutants

import (
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// TestPlantedBugsFitTheSource: a mutant of code that has changed would test
// nothing.
func TestPlantedBugsFitTheSource(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, m := range planted {
		numbers = append(numbers, m.number)
		if _, err := m.overlay(root, t.TempDir()); err != nil {
			t.Error(err)
		}
		if len(m.edits) == 0 || m.bug == "" {
			t.Errorf("mutant %d is no bug: %+v", m.number, m)
		}
	}
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) != len(planted) {
		t.Errorf("numbers of the mutants: %v", numbers)
	}
}

// TestRotation: full and short rounds with successive seeds plant every bug once, and enough each time.
func TestRotation(t *testing.T) {
	for _, env := range []report.Env{{Seed: 70}, {Seed: 70, Short: true}} {
		var numbers []int
		for range rotationOf(env) {
			list := chosen(env)
			if int64(len(list)) < Part.Minimum(env)["planted"] {
				t.Errorf("%+v plants %d bugs", env, len(list))
			}
			for _, m := range list {
				numbers = append(numbers, m.number)
			}
			env.Seed++
		}
		slices.Sort(numbers)
		if len(numbers) != len(planted) || len(slices.Compact(numbers)) != len(planted) {
			t.Errorf("rounds such as %+v plant %v", env, numbers)
		}
	}
}

// TestEditThatDoesNotFit: text that is not there, or there twice, is an error.
func TestEditThatDoesNotFit(t *testing.T) {
	for _, e := range []edit{
		{file: "mutants.go", old: "no such text"[:7]},
		{file: "mutants.go", old: "edit"},
		{file: "no-such-file.go", old: "x"},
	} {
		if _, err := (mutant{edits: []edit{e}}).changed("."); err == nil {
			t.Errorf("%+v was applied", e)
		}
	}
}

// TestEditsOfOneFile: each edit sees what those before it have left.
func TestEditsOfOneFile(t *testing.T) {
	m := mutant{edits: []edit{
		{file: "mutants.go", old: "package mutants\n", new: "package other\n"},
		{file: "mutants.go", old: "package other\n", new: "package third\n"},
	}}
	files, err := m.changed(".")
	if err != nil || !strings.Contains(files["mutants.go"], "package third\n") {
		t.Errorf("%v, %d files", err, len(files))
	}
}
