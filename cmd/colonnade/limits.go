package main

import (
	"cmp"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/config"
	"github.com/colonnade-db/colonnade/console"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/metrics/storemetrics"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/vfs"
)

const (
	// maxMemtableMiB is what package engine bounds Options.MemtableBytes to.
	maxMemtableMiB = 8 << 10
	// maxMiB is more than any machine has.
	maxMiB = 1 << 30
	// maxSlots is more than any machine can work on.
	maxSlots = 1 << 16
)

// declareLimits declares what requests may take. Derived defaults are those of the packages.
func (o *serveOptions) declareLimits() {
	c := o.config
	c.Section("Limits of requests")
	c.Int64(&o.maxBodyMiB, "max-body-mib", server.MaxBody>>20, config.Range{Min: 1, Max: 1024, Unit: "MiB"}, "the largest body of a write or a read of rows, before and after inflating, and the longest line of a stream; decoded it takes up to eight times as much memory")
	c.Derived(&o.maxInflightMiB, "max-inflight-mib", "a quarter of the memory limit, at most 256, at least max-body-mib + 1",
		func() int64 { return maxInflightMiB(o.memoryLimit(), o.maxBodyMiB) },
		config.Range{Min: 2, Max: maxMiB, Unit: "MiB"}, "the bodies of all requests under way together; beyond it status 503").Reloads()
	c.Int64(&o.maxConnections, "max-connections", server.MaxConns, config.Range{Min: 1, Max: 1_000_000, Unit: "connections"}, "connections at a time, of HTTP and of Bigtable's clients together; for one more the oldest without a request is closed, or the new one")
	c.Int64(&o.maxScans, "max-scans", admission.MaxScans, config.Range{Min: 1, Max: maxScans, Unit: "scans"}, "scans under way, also those that wait for their clients: each holds a snapshot; beyond it status 503").Reloads()
	slots := config.Range{Min: 1, Max: maxSlots, Unit: "requests"}
	c.Derived(&o.writeSlots, "write-slots", "32 for each CPU", func() int64 { return int64(admission.Limits{}.WithDefaults().WriteSlots) },
		slots, "writes that work at a time; others wait up to a second, then status 503").Reloads()
	c.Derived(&o.readSlots, "read-slots", "8 for each CPU", func() int64 { return int64(admission.Limits{}.WithDefaults().ReadSlots) },
		slots, "reads by row key that work at a time").Reloads()
	c.Derived(&o.scanSlots, "scan-slots", "2 for each CPU", func() int64 { return int64(admission.Limits{}.WithDefaults().ScanSlots) },
		slots, "scans that work at a time; one that waits for its client does not").Reloads()
	c.Check(func() error {
		if o.maxInflightMiB <= o.maxBodyMiB {
			return c.Wrong("max-inflight-mib", "must be more than max-body-mib, which is %d", o.maxBodyMiB)
		}
		return nil
	})
}

// maxScans leaves some of the snapshots that the engine can hold to others.
const maxScans = 9_000

func (o *serveOptions) declareTimeouts() {
	c := o.config
	c.Section("Timeouts")
	d := server.Timeouts{}.WithDefaults()
	span := config.Span{Min: 100 * time.Millisecond, Max: time.Hour}
	c.Duration(&o.timeouts.Header, "header-timeout", d.Header, span, "for a client to send the header of a request")
	c.Duration(&o.timeouts.Read, "read-timeout", d.Read, span, "for it to send the whole request, unless that is a stream of lines")
	c.Duration(&o.timeouts.Progress, "progress-timeout", d.Progress, span, "for it to take 64 KiB of a response, or to send the next part of a stream of lines")
	c.Duration(&o.timeouts.Idle, "idle-timeout", d.Idle, span, "between two requests of a connection")
	c.Duration(&o.timeouts.Write, "write-timeout", d.Write, span, "for a change to be durable; then status 504, and its outcome is not known")
	c.Duration(&o.timeouts.Drain, "drain-timeout", d.Drain, span, "for requests under way when the server stops")
}

func (o *serveOptions) declareDisk() {
	c := o.config
	c.Section("Disk")
	c.Derived(&o.diskReserveMiB, "disk-reserve-mib", "twice memtable-mib, at least 256", func() int64 { return o.engineDefaults().ReserveBytes >> 20 },
		config.Range{Min: 0, Max: maxMiB, Unit: "MiB"}, "writes get status 507 while less is free on the disk; 0 for no reserve")
	c.Derived(&o.walMiB, "wal-mib", "twice memtable-mib, at least 128", func() int64 { return o.engineDefaults().LogBytes >> 20 },
		config.Range{Min: 64, Max: maxMiB, Unit: "MiB"}, "write-ahead log: from half of it on memtables are flushed, at all of it writes wait for that")
	d := engine.Options{}.WithDefaults()
	c.Int64(&o.compactionWorkers, "compaction-workers", int64(d.Workers), config.Range{Min: 1, Max: 64, Unit: "CPUs"}, "CPUs that compactions use beside reads and writes; a server that is idle, or behind, uses up to four")
	c.Int64(&o.scrubMiB, "scrub-mib", d.ScrubBytesPerSecond>>20, config.Range{Min: 0, Max: 1024, Unit: "MiB/s"}, "what is read from the sorted files to find damage early; 0 for none")
	c.Derived(&o.openFiles, "open-files", "half of what ulimit -n allows, at most 4096", openFiles, config.Range{Min: 1, Max: 1_000_000, Unit: "files"}, "sorted files open at a time")
	c.Check(func() error {
		if limit, known := fileLimit(); known && uint64(o.openFiles) >= limit {
			return c.Wrong("open-files", "must be less than ulimit -n, which is %d", limit)
		}
		return nil
	})
}

// serverOptions returns the options for package server.
func (o *serveOptions) serverOptions(l *logs, guard *protection, m *metrics.Registry, t *tracing.Tracer) server.Options {
	return server.Options{
		Now:       time.Now,
		Clock:     clock.System,
		Seed:      rand.Uint64(),
		Log:       l.server,
		Hosts:     o.hosts,
		Origins:   o.origins,
		Console:   o.console(),
		Access:    guard.control,
		Audit:     l.audit,
		AccessLog: l.access,
		SlowQuery: o.slowQuery(),
		Tracer:    t,
		Quotas:    o.quotas(),
		Metrics:   m,
		MaxBody:   o.maxBodyMiB << 20,
		MaxConns:  int(o.maxConnections),
		Limits:    o.limits(),
		Timeouts:  o.timeouts,
	}
}

// console returns the files of the console, nil for none.
func (o *serveOptions) console() fs.FS {
	if o.noConsole {
		return nil
	}
	return console.Files()
}

func (o *serveOptions) slowQuery() time.Duration { return time.Duration(o.slowMs) * time.Millisecond }

// limits returns those of serverOptions that a reload changes.
func (o *serveOptions) limits() admission.Limits {
	return admission.Limits{
		Memory:     o.maxInflightMiB << 20,
		Scans:      o.maxScans,
		WriteSlots: int(o.writeSlots),
		ReadSlots:  int(o.readSlots),
		ScanSlots:  int(o.scanSlots),
	}
}

// engineOptions returns the options for package engine.
func (o *serveOptions) engineOptions(log *slog.Logger, m *metrics.Registry, t *tracing.Tracer) engine.Options {
	e := engine.Options{
		FS:                  vfs.OS,
		Clock:               clock.System,
		Log:                 log,
		MemtableBytes:       o.memtableMiB << 20,
		CacheBytes:          o.cacheMiB << 20,
		LogBytes:            o.walMiB << 20,
		OpenFiles:           int(o.openFiles),
		Workers:             int(o.compactionWorkers),
		ScrubBytesPerSecond: cmp.Or(o.scrubMiB<<20, -1),
		ReserveBytes:        cmp.Or(o.diskReserveMiB<<20, -1),
		ArchiveLog:          o.archive.name != "",
		LogSynced:           storemetrics.LogSynced(m),
	}
	if t != nil {
		e.Trace = t
	}
	return e
}

// engineDefaults returns what package engine takes where options follow from the memtables.
func (o *serveOptions) engineDefaults() engine.Options {
	return engine.Options{MemtableBytes: o.memtableMiB << 20}.WithDefaults()
}

// otherMemory is the memory of the process besides memtables and cache: indexes and filters of open files,
// requests and responses under way, the runtime.
const otherMemory = 100 << 20

// memoryLimit returns the runtime's memory limit in bytes: GOMEMLIMIT, or else the sum of the options, so that
// garbage does not double it.
func (o *serveOptions) memoryLimit() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return debug.SetMemoryLimit(-1)
	}
	return (o.memtableMiB+o.cacheMiB)<<20 + otherMemory
}

// maxInflightMiB returns how much of the memory the bodies of requests may take: a quarter, because a decoded
// body takes several times its size (package server says how many) and the other budgets have the rest, but
// more than one body of the largest size.
func maxInflightMiB(memory, maxBodyMiB int64) int64 {
	return max(min(memory/4>>20, 256), maxBodyMiB+1)
}

// maxOpenFiles bounds the open sorted files by default.
const maxOpenFiles = 4096

// openFiles returns how many sorted files the store may open: half of the process's limit. The other half
// is for connections and files being written.
func openFiles() int64 {
	limit, known := fileLimit()
	if !known {
		return int64(engine.Options{}.WithDefaults().OpenFiles)
	}
	return int64(min(max(limit/2, 1), maxOpenFiles))
}

// fileLimit returns how many files the process may open.
func fileLimit() (limit uint64, known bool) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
	return r.Cur, err == nil
}
