package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// unflushed is the number of raw bytes in the log alone when a store is killed, for a million rows.
const unflushed = 60 << 20

var reopens = &Table{
	Name:  "reopen",
	Title: "Reopen",
	About: "Open the store and read one row. Killed: a process that has written 60 MiB, durably, into memtables that hold all of it, gets SIGKILL. Closed: the same store, closed and opened, of three times the one in the middle.",
	Figures: []Figure{
		{"killed", "after a kill", millis},
		{"closed", "after a close", millis},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runReopen,
}

func (s *session) reopenConfig() Config {
	c := s.config()
	c.Durable, c.Writers = true, loaders
	c.Memtables = c.scaled(2*usualMemtables, 2<<20)
	return c
}

// reopenRows is the number of unflushed rows.
func (s *session) reopenRows() int {
	bytes := s.config().scaled(unflushed, 1<<20)
	return int(min(bytes*int64(s.data.Len())/s.data.Raw(), int64(s.data.Len())))
}

func runReopen(s *session) error {
	if err := s.kill(); err != nil {
		return err
	}
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	c := s.reopenConfig()
	s.record("budget", megabytes(c.memtables()+c.Cache))
	last := s.shuffled.Key(s.reopenRows() - 1)
	var closed []time.Duration
	for i := range 4 {
		start := time.Now()
		st, err := s.open(c)
		if err != nil {
			return err
		}
		if err := wantRow(st.Reader(), 0, last, 10); err != nil {
			return errors.Join(err, st.Close())
		}
		if i == 0 {
			s.record("killed", milliseconds(time.Since(start)))
		} else {
			closed = append(closed, time.Since(start))
		}
		if _, err := awaitQuiet(); err != nil {
			return err
		}
		if err := st.Close(); err != nil {
			return err
		}
	}
	slices.Sort(closed)
	s.record("closed", milliseconds(closed[1]))
	s.record("memory", memory.most())
	return nil
}

const writtenLine = "written\n"

// kill starts a process that writes, and kills it when all is written.
func (s *session) kill() error {
	c := exec.Command("/proc/self/exe", append(slices.Clone(os.Args[1:]), "-victim")...)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	killed := c.Process.Kill()
	io.Copy(io.Discard, out)
	c.Wait() // returns the kill as an error
	if line != writtenLine {
		return fmt.Errorf("the process that was to be killed said %q: %w", line, err)
	}
	return killed
}

// victim writes, reports it, and waits for the kill.
func (s *session) victim() error {
	st, err := s.open(s.reopenConfig())
	if err != nil {
		return err
	}
	if _, err := load(st, 0, s.reopenRows(), inOrder(s.shuffled)); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(writtenLine); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // ends when the other process does
	return err
}
