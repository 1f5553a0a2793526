package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Tracer is told what the store has done, and when: that which took its time. Attributes have names, counts and bytes, and
// nothing of a row. Goroutines call it at once, and wait for it.
type Tracer interface {
	// Part adds what was done for the caller whose context this is, if anybody follows it. The context that it returns is
	// for parts of it.
	Part(ctx context.Context, name string, begun, ended time.Time, attrs ...slog.Attr) context.Context
	// Work adds what the store did by itself.
	Work(name string, begun, ended time.Time, attrs ...slog.Attr) context.Context
}

// logTimes is when a group was written to the log and synced.
type logTimes struct {
	begun, synced int64
	bytes         int64 // of its records
}

// traceCommit reports a batch that its Commit has waited for. begun is when Commit was called, entered when the batch got
// its place.
func (db *DB) traceCommit(ctx context.Context, g *group, begun, entered int64, size int, err error) {
	ended := db.opt.Clock.Now()
	ctx = db.opt.Trace.Part(ctx, "commit", time.UnixMicro(begun), time.UnixMicro(ended), slog.Int("batch_bytes", size), slog.Bool("failed", err != nil))
	db.opt.Trace.Part(ctx, "enter", time.UnixMicro(begun), time.UnixMicro(entered))
	if w := g.synced; err == nil && w.synced != 0 { // the group is done, and nobody changes it any more
		db.opt.Trace.Part(ctx, "log sync", time.UnixMicro(w.begun), time.UnixMicro(w.synced), slog.Int("group_batches", len(g.batches)), slog.Int64("group_bytes", w.bytes))
	}
}

func (db *DB) traceFlush(list []flushJob, begun int64, err error) {
	if db.opt.Trace == nil {
		return
	}
	files, size := 0, int64(0)
	for i := range list {
		if f := &list[i]; f.installed {
			files += len(f.out.files)
			size += manifest.TotalSize(f.out.files)
		}
	}
	db.opt.Trace.Work("flush", time.UnixMicro(begun), time.UnixMicro(db.opt.Clock.Now()),
		slog.Int("memtables", len(list)), slog.Int("files", files), slog.Int64("file_bytes", size), slog.Bool("failed", err != nil))
}

func (db *DB) traceCompaction(c *compactionJob, begun int64, err error) {
	if db.opt.Trace == nil {
		return
	}
	inputs := c.choice.Files()
	db.opt.Trace.Work("compaction", time.UnixMicro(begun), time.UnixMicro(db.opt.Clock.Now()),
		slog.String("partition", c.p.name), slog.String("kind", compactionKinds[c.choice.Kind]), slog.Int("input_files", len(inputs)),
		slog.Int64("input_bytes", manifest.TotalSize(inputs)), slog.Int("output_level", c.choice.Output), slog.Bool("failed", err != nil))
}

// compactionKinds are the names of what a compaction does.
var compactionKinds = [...]string{compaction.Nothing: "nothing", compaction.Move: "move", compaction.Merge: "merge", compaction.Drop: "drop"}
