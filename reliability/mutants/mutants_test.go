package mutants

import (
	"slices"
	"testing"
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
	}
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) != len(planted) {
		t.Errorf("numbers of the mutants: %v", numbers)
	}
}

// TestEditThatDoesNotFit: text that is not there, or there twice, is an error.
func TestEditThatDoesNotFit(t *testing.T) {
	for _, e := range []edit{
		{file: "mutants.go", old: "no such text"},
		{file: "mutants.go", old: "import"[:2]},
		{file: "no-such-file.go", old: "x"},
	} {
		if _, err := e.edited("."); err == nil {
			t.Errorf("%+v was applied", e)
		}
	}
}
