package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestRecentIsBounded: the newest lines are kept, by their number and by their bytes.
func TestRecentIsBounded(t *testing.T) {
	l := NewSlowLog(slog.New(slog.NewTextHandler(io.Discard, nil)), time.Second)
	add := func(table, partition string) {
		read := &Read{Explain: widecol.Explain{Partitions: []widecol.ExplainedPartition{{Name: partition}}}}
		l.Add(t.Context(), read, &widecol.Stats{}, Call{Table: table, Begun: time.UnixMicro(1)})
	}
	tables := func() (names []string) {
		for _, line := range l.Recent() {
			var read struct{ Table string }
			if err := json.Unmarshal(line, &read); err != nil {
				t.Fatalf("%v in %.200s", err, line)
			}
			names = append(names, read.Table)
		}
		return names
	}
	for i := range maxRecent + 5 {
		add(fmt.Sprint(i), "p")
	}
	if got := tables(); len(got) != maxRecent || got[0] != fmt.Sprint(maxRecent+4) || got[maxRecent-1] != "5" {
		t.Errorf("%d lines: %v", len(got), got)
	}
	long := strings.Repeat("p", maxRecentBytes/4)
	for i := range 5 {
		add(fmt.Sprint("long", i), long)
	}
	if got := tables(); len(got) != 3 || got[0] != "long4" {
		t.Errorf("long lines: %v", got)
	}
	add("longest", strings.Repeat("p", maxRecentBytes))
	if got := tables(); len(got) != 1 || got[0] != "longest" {
		t.Errorf("a line longer than all: %v", got)
	}
	add("short", "p")
	if got := tables(); len(got) != 1 || got[0] != "short" {
		t.Errorf("after it: %v", got)
	}
}
