package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
)

func TestStrip(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "github.com/colonnade-db/colonnade/server.f", Filename: "/home/somebody/f.go", StartLine: 3}
	m := &profile.Mapping{ID: 1, Start: 0, Limit: 10, File: "/home/somebody/served.test", BuildID: "b"}
	l := &profile.Location{ID: 1, Mapping: m, Address: 1, Line: []profile.Line{{Function: f, Line: 5}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{7}}},
		Mapping:    []*profile.Mapping{m}, Location: []*profile.Location{l}, Function: []*profile.Function{f},
		Comments: []string{"somebody's"},
	}
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	file, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := strip(in, out); err != nil {
		t.Fatal(err)
	}
	if file, err = os.Open(out); err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := profile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Comments) != 0 || got.Mapping[0].File != "" || got.Function[0].Filename != "" {
		t.Errorf("something of the machine is left: %v", got)
	}
	line := got.Sample[0].Location[0].Line[0]
	if line.Function.Name != f.Name || line.Function.StartLine != 3 || line.Line != 5 || got.Sample[0].Value[0] != 7 {
		t.Errorf("got %v, want the function, its lines and its sample", got)
	}
}
