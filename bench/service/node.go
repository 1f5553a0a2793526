package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/colonnade-db/colonnade/internal/process"
)

// node is a server under measurement, a child process.
type node struct {
	*process.Process
	address string // HOST:PORT
}

func start(cmd *exec.Cmd) (*node, error) {
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	text, err := p.URL()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil {
		p.Kill()
		return nil, err
	}
	return &node{p, u.Host}, nil
}

// idleTime is the CPU time below which a process has nothing to do.
const idleTime = 10 * time.Millisecond

// cpuTime returns the CPU time that a process has used, by its own clock, which
// clock_getcpuclockid(3) names so.
func cpuTime(pid int) (time.Duration, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("no process has the id %d", pid)
	}
	const perProcess = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcess), &used); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// anonymous returns how many bytes of a process's memory are no file's.
func anonymous(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("/proc/%d/status says nothing of RssAnon", pid)
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10, err
}

// watch looks at the memory of a process until stop is called, which returns the
// most that it has seen.
func watch(pid int) (stop func() int64) {
	most, done := make(chan int64), make(chan struct{})
	go func() {
		var top int64
		clock := time.NewTicker(20 * time.Millisecond)
		defer clock.Stop()
		for {
			bytes, _ := anonymous(pid) // a process that has gone fails its requests
			top = max(top, bytes)
			select {
			case <-clock.C:
			case <-done:
				most <- top
				return
			}
		}
	}()
	return func() int64 { close(done); return <-most }
}

// settle waits until a process has nothing to do. It is an error if that takes longer.
func settle(pid int, most time.Duration) error {
	const look = 200 * time.Millisecond
	before, err := cpuTime(pid)
	for end := time.Now().Add(most); err == nil && time.Now().Before(end); {
		time.Sleep(look)
		var now time.Duration
		now, err = cpuTime(pid)
		if now-before <= idleTime {
			return err
		}
		before = now
	}
	return cmp.Or(err, fmt.Errorf("the server is still at work after %v", most))
}
