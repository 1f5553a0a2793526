// Profile reads a CPU profile and writes what a compiler takes of it: functions, lines and
// how often. Names of files, of the program and of the machine stay behind, so that the profile can
// be kept beside the code.
//
//	go run ./profile IN OUT
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: profile IN OUT")
		os.Exit(2)
	}
	if err := strip(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

// strip writes the profile in from to the file to.
func strip(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := profile.Parse(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for _, m := range p.Mapping {
		m.File, m.BuildID = "", ""
	}
	for _, f := range p.Function {
		f.Filename = ""
	}
	p.Comments = nil
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := p.Write(out); err != nil {
		return err
	}
	return out.Close()
}
