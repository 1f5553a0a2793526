package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/server"
)

// loaded returns the options of a command line.
func loaded(t *testing.T, args ...string) *serveOptions {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o := declareOptions(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if _, err := o.config.Load(nil); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestDefaultLimits: without options the packages have the defaults of their own.
func TestDefaultLimits(t *testing.T) {
	o := loaded(t)
	s, wantServer := o.serverOptions(new(logs), new(protection), nil, nil), server.Options{
		MaxBody:  server.MaxBody,
		MaxConns: server.MaxConns,
		Limits:   admission.Limits{Memory: o.maxInflightMiB << 20}.WithDefaults(),
		Timeouts: server.Timeouts{}.WithDefaults(),
	}
	if s.MaxBody != wantServer.MaxBody || s.MaxConns != wantServer.MaxConns || s.Limits != wantServer.Limits || s.Timeouts.WithDefaults() != wantServer.Timeouts {
		t.Errorf("got %+v, want %+v", s, wantServer)
	}
	for _, mib := range []string{"1", "128", "1000"} {
		o := loaded(t, "--memtable-mib", mib)
		got := o.engineOptions(nil, metrics.New(), nil)
		want := engine.Options{MemtableBytes: o.memtableMiB << 20, OpenFiles: int(openFiles())}.WithDefaults()
		if fields(got) != fields(want) {
			t.Errorf("%s MiB: got %v, want %v", mib, fields(got), fields(want))
		}
	}
}

// fields returns what options change.
func fields(o engine.Options) [7]int64 {
	return [...]int64{o.MemtableBytes, o.CacheBytes, o.LogBytes, int64(o.OpenFiles), int64(o.Workers), o.ScrubBytesPerSecond, o.ReserveBytes}
}

// TestLimitsReachTheirPlace: each option sets its field and no other.
func TestLimitsReachTheirPlace(t *testing.T) {
	o := loaded(t, strings.Fields("--max-body-mib 3 --max-inflight-mib 4 --max-connections 5 --max-scans 6 --write-slots 7 --read-slots 8 --scan-slots 9 "+
		"--header-timeout 10s --read-timeout 11s --progress-timeout 12s --idle-timeout 13s --write-timeout 14s --drain-timeout 15s "+
		"--memtable-mib 16 --cache-mib 17 --disk-reserve-mib 18 --wal-mib 64 --compaction-workers 20 --scrub-mib 21 --open-files 22")...)
	s := o.serverOptions(new(logs), new(protection), nil, nil)
	if s.MaxBody != 3<<20 || s.MaxConns != 5 || s.Limits != (admission.Limits{Memory: 4 << 20, Scans: 6, WriteSlots: 7, ReadSlots: 8, ScanSlots: 9}) {
		t.Errorf("got %+v", s)
	}
	if want := (server.Timeouts{Header: 10 * time.Second, Read: 11 * time.Second, Progress: 12 * time.Second, Idle: 13 * time.Second, Write: 14 * time.Second, Drain: 15 * time.Second}); s.Timeouts != want {
		t.Errorf("got %+v, want %+v", s.Timeouts, want)
	}
	if got, want := fields(o.engineOptions(nil, metrics.New(), nil)), [...]int64{16 << 20, 17 << 20, 64 << 20, 22, 20, 21 << 20, 18 << 20}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if e := loaded(t, "--disk-reserve-mib", "0", "--scrub-mib", "0").engineOptions(nil, metrics.New(), nil); e.ReserveBytes != -1 || e.ScrubBytesPerSecond != -1 {
		t.Errorf("reserve %d and scrubber %d are not switched off", e.ReserveBytes, e.ScrubBytesPerSecond)
	}
}

// TestLimitsThatDoNotGoTogether are errors, also those against the limits of the process.
func TestLimitsThatDoNotGoTogether(t *testing.T) {
	for line, want := range map[string]string{
		"--max-inflight-mib 64":                    "--max-inflight-mib 64: must be more than max-body-mib, which is 64",
		"--max-body-mib 70 --max-inflight-mib 70":  "--max-inflight-mib 70: must be more than max-body-mib, which is 70",
		"--open-files 1000000 --max-body-mib 1000": "--open-files 1000000: must be less than ulimit -n",
	} {
		if got := runLine("", append([]string{"config"}, strings.Fields(line)...)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
}

// status sends a body to be written, and returns the status.
func (s *served) status(body []byte) int {
	s.t.Helper()
	resp, err := http.Post(s.url+"/v1/table/t/write", "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestReloadOfALimit: a limit of requests changes while the server runs, and requests.
func TestReloadOfALimit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "colonnade.toml")
	if err := os.WriteFile(path, []byte("max-body-mib = 2\nmax-inflight-mib = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--config", path)
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	body := fmt.Appendf(nil, `{"items":[{"row_key":"a","cells":[{"column_key":"f:q","type":"string","value":"%s"}]}]}`, strings.Repeat("x", 3<<19))
	if code := s.status(body); code != http.StatusOK {
		t.Fatalf("1.5 MiB alone: status %d", code)
	}
	if code := s.status(append(body, make([]byte, 1<<20)...)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("2.5 MiB: status %d, want 413", code)
	}

	// While a body of 2 MiB does not end, there is no room for 1.5 MiB.
	conn := slowRequest(t, s.url, "POST /v1/table/t/write", 2<<20)
	if code := s.status(body); code != http.StatusServiceUnavailable {
		t.Errorf("1.5 MiB beside 2 MiB of 3: status %d, want 503", code)
	}
	s.hangup(path, "max-body-mib = 2\nmax-inflight-mib = 30\n", "option=max-inflight-mib from=3 to=30")
	if code := s.status(body); code != http.StatusOK {
		t.Errorf("after the reload: status %d, want 200", code)
	}
	conn.Close()
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d, want 0\n%s", code, s.stderr)
	}
}
