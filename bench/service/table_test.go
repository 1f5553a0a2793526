package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sampleOf(requests int64, latency time.Duration) *sample {
	s := &sample{requests: requests, cells: 10 * requests, elapsed: time.Second, latency: newHistogram(), server: time.Millisecond}
	_ = s.latency.RecordValue(int64(latency))
	return s
}

func TestVerdict(t *testing.T) {
	l := line{
		name: "reads", target: &target{row: 17, ratio: 0.5},
		real: []*sample{sampleOf(900, 1), sampleOf(50, 1), sampleOf(60, 1)},
		bare: []*sample{sampleOf(1000, 1), sampleOf(100, 1), sampleOf(100, 1)},
	}
	if wanted, found, met := l.verdict(); wanted != "0.50 of bare" || found != "0.60" || met != "met" {
		t.Errorf("%s, %s, %s, want the median ratio of the runs, 0.60", wanted, found, met)
	}
	l.target.ratio = 0.7
	if _, _, met := l.verdict(); met != "not met" {
		t.Errorf("0.60 of 0.70 is %s", met)
	}
	l.target = &target{row: 15, cells: 1e6}
	if wanted, found, met := l.verdict(); wanted != "1 M cells/s" || found != "600" || met != "not met" {
		t.Errorf("%s, %s, %s, want 600 cells/s, the median of the runs", wanted, found, met)
	}
	text := render(settings{rows: 5, runs: 3}, []*line{&l})
	if !strings.Contains(text, "| reads | 0 | 60 |") || !strings.Contains(text, "| 15 | reads, 0 connections | 1 M cells/s | 600 | not met |") {
		t.Errorf("the tables do not have the medians:\n%s", text)
	}
}

func TestInsert(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	for _, bad := range []string{"nothing\n", endMarker + beginMarker} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if insert(name, "new\n") == nil {
			t.Errorf("text was put into %q", bad)
		}
	}
	if err := os.WriteFile(name, []byte("before\n"+beginMarker+"old\n"+endMarker+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := insert(name, "new\n")
	got, readErr := os.ReadFile(name)
	if want := "before\n" + beginMarker + "new\n" + endMarker + "after\n"; string(got) != want || err != nil || readErr != nil {
		t.Errorf("got %q, %v, want %q", got, errors.Join(err, readErr), want)
	}
}

func TestAnswerKeepsItsEnds(t *testing.T) {
	text := strings.Repeat("0123456789", 200)
	for _, step := range []int{1, 7, 511, 512, 513, 2000} {
		var a answer
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			a.add([]byte(rest[:n]))
			rest = rest[n:]
		}
		if string(a.head) != text[:ends] || string(a.tail) != text[len(text)-ends:] || a.size != int64(len(text)) {
			t.Errorf("in steps of %d: %d bytes, head %q, tail %q", step, a.size, a.head, a.tail)
		}
	}
}

func TestProcessIsMeasured(t *testing.T) {
	self := os.Getpid()
	for begin, spent := time.Now(), time.Duration(0); spent < 2*idleTime; {
		var err error
		if spent, err = cpuTime(self); err != nil || time.Since(begin) > time.Minute {
			t.Fatalf("%v of CPU time after %v, %v", spent, time.Since(begin), err)
		}
	}
	if most := watch(self)(); most < 1<<20 {
		t.Errorf("this process has %d bytes of memory", most)
	}
	const none = 1<<22 + 1 // above what the kernel gives out
	if _, err := cpuTime(none); err == nil {
		t.Error("a process that is not there has CPU time")
	}
}

// TestBesideAnotherLine: a target that is about another workload is judged run by run.
func TestBesideAnotherLine(t *testing.T) {
	samples := func(requests ...int64) (list []*sample) {
		for _, n := range requests {
			list = append(list, &sample{requests: n, elapsed: time.Second, latency: newHistogram()})
		}
		return list
	}
	plain := &line{name: "row write", connections: 64, real: samples(100, 200, 300)}
	s := suite{lines: []*line{{name: "row write", connections: 8}, plain}}
	goal := &target{ratio: 0.6, beside: "row write"}
	if s.beside(nil, 64) != nil || s.beside(&target{}, 64) != nil || s.beside(goal, 64) != plain {
		t.Error("the wrong line was found")
	}
	for _, test := range []struct {
		real []*sample
		want string
	}{{samples(70, 100, 210), "met"}, {samples(50, 200, 150), "not met"}} {
		l := &line{target: goal, beside: plain, real: test.real, bare: samples(1, 1, 1)}
		if wanted, found, met := l.verdict(); met != test.want || wanted != "0.60 of row write" {
			t.Errorf("got %s, %s, %s, want it %s", wanted, found, met, test.want)
		}
	}
}
