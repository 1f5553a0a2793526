package load

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openJournal(t *testing.T, name string) *Journal { return openJournalAt(t, name, 100) }

func openJournalAt(t *testing.T, name string, time int64) *Journal {
	t.Helper()
	j, err := OpenJournal(name, JournalHead{Input: "in", Table: "t", Time: time})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// TestJournalGoesOn: after a failure, a load goes on behind the last request before which all are acknowledged, and the cells
// have the times of the first load. A third load has nothing to do.
func TestJournalGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	lines := rowLines(100)
	for i, l := range lines {
		lines[i] = strings.Replace(l, `,"time":5`, "", 1)
	}
	text := strings.Join(lines, "\n")
	f := newFake(t)
	f.write = func(w http.ResponseWriter, n int, _ []json.RawMessage) bool {
		if n == 4 {
			reply(w, 500, "damage", "corruption", "", nil)
		}
		return n == 4
	}
	for i, want := range []int64{40, 60, 0} {
		j := openJournalAt(t, name, 100+1000*int64(i))
		if got := []int64{0, 40, 100}[i]; j.Rows() != got {
			t.Fatalf("load %d begins behind %d rows, want %d", i, j.Rows(), got)
		}
		got := loadLines(t, f, text, func(o *Options) { o.BatchCells, o.Journal, o.Time = 10, j, j.Head.Time })
		if (got.err != nil) != (i == 0) || got.Rows != want {
			t.Errorf("load %d: %d rows, %v, want %d", i, got.Rows, got.err, want)
		}
	}
	var want []string
	for i, l := range lines {
		want = append(want, strings.Replace(l, "}]", `,"time":`+jsonNumber(101+i)+"}]", 1))
	}
	if !slices.Equal(f.taken, want) {
		t.Errorf("the server took %d lines, the last %s, want %d", len(f.taken), f.taken[len(f.taken)-1], len(want))
	}
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestJournalWaitsForTheFirst: a request that is acknowledged before an earlier one does not count until that is, too.
func TestJournalWaitsForTheFirst(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, name)
	for _, step := range []struct{ order, rows, want int64 }{{1, 20, 0}, {2, 30, 0}, {0, 10, 30}, {4, 50, 30}, {3, 40, 50}} {
		if err := j.done(step.order, position{Rows: step.rows}); err != nil {
			t.Fatal(err)
		}
		if j.Rows() != step.want || openJournal(t, name).Rows() != step.want {
			t.Errorf("with %d: %d rows, in the file %d, want %d", step.order, j.Rows(), openJournal(t, name).Rows(), step.want)
		}
	}
}

// TestJournalCutOff: wherever a crash cuts the file off, the last whole line counts, and the journal goes on from there.
func TestJournalCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, name)
	for i := range int64(3) {
		if err := j.done(i, position{Rows: 10 * (i + 1), Hash: 1 << 63}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := append(slices.Clone(text), "\x00\x00\n\x00"...)
	for size := range len(spoiled) + 1 {
		if err := os.WriteFile(name, spoiled[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		j := openJournal(t, name)
		want := 10 * max(0, int64(strings.Count(string(text[:min(size, len(text))]), "\n"))-1)
		if j.Rows() != want {
			t.Errorf("%d bytes: %d rows, want %d", size, j.Rows(), want)
		}
		if err := j.done(0, position{Rows: 70}); err != nil {
			t.Fatal(err)
		}
		if got := openJournal(t, name).Rows(); got != 70 {
			t.Errorf("%d bytes: went on to %d rows, want 70", size, got)
		}
	}
}

// TestJournalRefuses: a journal of another import, a file that is none, an input that has changed.
func TestJournalRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	f := newFake(t)
	text := strings.Join(rowLines(20), "\n")
	if got := loadLines(t, f, text, func(o *Options) { o.Journal = openJournal(t, name) }); got.err != nil {
		t.Fatal(got.err)
	}
	for _, changed := range []string{strings.Replace(text, "row0003", "row9999", 1), strings.Join(rowLines(19), "\n")} {
		if got := loadLines(t, f, changed, func(o *Options) { o.Journal = openJournal(t, name) }); got.err == nil || !strings.Contains(got.err.Error(), "the input has changed") {
			t.Errorf("a changed input: %v", got.err)
		}
	}
	if got := loadLines(t, f, text+"\n"+rowLine("more"), func(o *Options) { o.Journal = openJournal(t, name) }); got.err != nil || got.Rows != 1 {
		t.Errorf("a longer input: %d rows, %v, want one", got.Rows, got.err)
	}
	for _, head := range []JournalHead{{Input: "other", Table: "t"}, {Input: "in", Table: "u"}, {Input: "in", Table: "t", Shape: " --format csv"}} {
		if _, err := OpenJournal(name, head); err == nil || !strings.Contains(err.Error(), `journal of an import of in into table "t"`) {
			t.Errorf("%+v: %v", head, err)
		}
	}
	for _, text := range []string{"a file\n", "a file", `{"row_key":"a"}` + "\n", "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJournal(name, JournalHead{Input: "in", Table: "t"}); err == nil || !strings.Contains(err.Error(), "no journal") {
			t.Errorf("%q: %v", text, err)
		}
		if got, _ := os.ReadFile(name); string(got) != text {
			t.Errorf("%q was changed to %q", text, got)
		}
	}
}
