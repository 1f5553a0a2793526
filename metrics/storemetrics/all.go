package storemetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colonnade-db/colonnade/engine"
)

// metric is one metric family.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values func(s *snapshot, emit emit)
}

// emit emits one value, with the values of the labels.
type emit func(value float64, labels ...string)

// number is what metrics count.
type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

func family(name, help string, kind prometheus.ValueType, labels []string, values func(*snapshot, emit)) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), kind, values}
}

func gauge[N number](name, help string, value func(*snapshot) N) metric {
	return family(name, help, prometheus.GaugeValue, nil, func(s *snapshot, emit emit) { emit(float64(value(s))) })
}

func counter[N number](name, help string, value func(*snapshot) N) metric {
	return family(name, help, prometheus.CounterValue, nil, func(s *snapshot, emit emit) { emit(float64(value(s))) })
}

// byLevel is a gauge with a value for each level of sorted files.
func byLevel[N number](name, help string, value func(*engine.LevelMetrics) N) metric {
	return family(name, help, prometheus.GaugeValue, []string{"level"}, func(s *snapshot, emit emit) {
		for level := range s.Engine.Levels {
			emit(float64(value(&s.Engine.Levels[level])), strconv.Itoa(level))
		}
	})
}

// byStall is a counter with a value for each reason of stalls.
func byStall(name, help string, value func(engine.Stalls) float64) metric {
	return family(name, help, prometheus.CounterValue, []string{"reason"}, func(s *snapshot, emit emit) {
		for r, n := range s.Engine.Stalls {
			emit(value(n), engine.StallReason(r).String())
		}
	})
}

// byTable has a value for each table that is shown.
func byTable[N number](name, help string, kind prometheus.ValueType, value func(*shownTable) N) metric {
	return family(name, help, kind, []string{"table"}, func(s *snapshot, emit emit) {
		for label, t := range s.tables {
			emit(float64(value(t)), label)
		}
	})
}

// work is the kinds of background work that can fail and is tried again.
var work = []string{"flush", "compaction", "log"}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds returns a time in microseconds since the Unix epoch in seconds.
func seconds(micros int64) float64 { return float64(micros) / float64(time.Second/time.Microsecond) }

// all are the metrics of a store, in the order of docs/metrics.md.
var all = []metric{
	// Batches and the log.
	counter("colonnade_batches_total", "Batches that were taken, each the change of a request or a part of it.", func(s *snapshot) uint64 { return s.Engine.Batches }),
	counter("colonnade_batch_bytes_total", "Bytes of the batches that were taken, as they are in the log.", func(s *snapshot) uint64 { return s.Engine.BatchBytes }),
	gauge("colonnade_log_segments", "Segments of the log in use.", func(s *snapshot) int { return s.Engine.LogSegments }),
	gauge("colonnade_log_size_bytes", "Bytes of the segments in use. After a crash, the next start reads so much.", func(s *snapshot) int64 { return s.Engine.LogBytes }),
	gauge("colonnade_log_reserved_bytes", "Bytes of segments that are ready or kept for reuse.", func(s *snapshot) int64 { return s.Engine.LogReservedBytes }),
	gauge("colonnade_log_held_bytes", "Bytes of segments that are kept until they are archived.", func(s *snapshot) int64 { return s.Engine.LogHeldBytes }),
	counter("colonnade_log_filled_bytes_total", "Bytes of zeros written to make new segments.", func(s *snapshot) int64 { return s.Engine.LogFilled }),

	// Memtables and flushes.
	family("colonnade_memtables", "Memtables with entries, by whether they take more or wait for their flush.", prometheus.GaugeValue, []string{"state"}, func(s *snapshot, emit emit) {
		emit(float64(s.Engine.MemtablesGrowing), "growing")
		emit(float64(s.Engine.MemtablesFrozen), "frozen")
	}),
	gauge("colonnade_memtable_bytes", "Bytes of all memtables.", func(s *snapshot) int64 { return s.Engine.MemtableBytes }),
	gauge("colonnade_memtable_limit_bytes", "Bytes that memtables may have together. Writes wait at this limit.", func(s *snapshot) int64 { return s.Engine.MemtableBudget }),
	counter("colonnade_flushes_total", "Memtables that were flushed.", func(s *snapshot) uint64 { return s.Engine.Flushes.Count }),
	counter("colonnade_flush_written_bytes_total", "Bytes of the sorted files that flushes wrote.", func(s *snapshot) int64 { return s.Engine.Flushes.WroteBytes }),
	counter("colonnade_flush_seconds_total", "Time during which a flush was under way.", func(s *snapshot) float64 { return s.Engine.Flushes.Time.Seconds() }),

	// Sorted files and compactions.
	byLevel("colonnade_level_files", "Sorted files by level. Level 0 has what flushes wrote, the last one most of the data.", func(l *engine.LevelMetrics) int { return l.Files }),
	byLevel("colonnade_level_bytes", "Bytes of sorted files by level.", func(l *engine.LevelMetrics) int64 { return l.Bytes }),
	byLevel("colonnade_level_raw_bytes", "Bytes of the entries in sorted files before encoding and compression, by level.", func(l *engine.LevelMetrics) int64 { return l.RawBytes }),
	byLevel("colonnade_level_entries", "Entries in sorted files by level, tombstones included.", func(l *engine.LevelMetrics) uint64 { return l.Entries }),
	byLevel("colonnade_level_tombstones", "Tombstones in sorted files by level.", func(l *engine.LevelMetrics) uint64 { return l.Tombstones }),
	gauge("colonnade_compaction_debt_bytes", "Bytes that compactions are due to read.", func(s *snapshot) int64 { return s.Engine.CompactionDebt }),
	gauge("colonnade_compaction_cpus", "CPUs that compactions run on now.", func(s *snapshot) int { return s.Engine.CompactionCPUs }),
	family("colonnade_compactions_total", "Compactions by kind: merge reads and writes, move and drop change only what the manifest says.", prometheus.CounterValue, []string{"kind"}, func(s *snapshot, emit emit) {
		emit(float64(s.Engine.Merges.Count), "merge")
		emit(float64(s.Engine.Moves), "move")
		emit(float64(s.Engine.Drops), "drop")
	}),
	counter("colonnade_compaction_read_bytes_total", "Bytes of the sorted files that compactions read.", func(s *snapshot) int64 { return s.Engine.Merges.ReadBytes }),
	counter("colonnade_compaction_written_bytes_total", "Bytes of the sorted files that compactions wrote.", func(s *snapshot) int64 { return s.Engine.Merges.WroteBytes }),
	counter("colonnade_compaction_seconds_total", "Time of all compactions together.", func(s *snapshot) float64 { return s.Engine.Merges.Time.Seconds() }),
	family("colonnade_background_failures_total", "Failures of background work, which is tried again, by kind of work.", prometheus.CounterValue, []string{"work"}, func(s *snapshot, emit emit) {
		for _, w := range work {
			emit(float64(s.Engine.Failures[w]), w)
		}
	}),

	// Stalls.
	byStall("colonnade_write_stalls_total", "Waits of writes before they were taken, by what they waited for.", func(n engine.Stalls) float64 { return float64(n.Count) }),
	byStall("colonnade_write_stall_seconds_total", "Time that writes waited before they were taken, of all writes together.", func(n engine.Stalls) float64 { return n.Time.Seconds() }),
	gauge("colonnade_write_rate_limit_bytes_per_second", "Rate to which writes of the slowest partition are slowed down. 0 is no limit.", func(s *snapshot) int64 { return s.Engine.WriteRateLimit }),
	family("colonnade_partitions", "Partitions of the store, by whether their writes are taken at once, slowed down, or wait for a compaction.", prometheus.GaugeValue, []string{"writes"}, func(s *snapshot, emit emit) {
		slowed, stopped := s.Engine.SlowedPartitions, s.Engine.StoppedPartitions
		emit(float64(len(s.Engine.Partitions)-slowed), "normal")
		emit(float64(slowed-stopped), "slowed")
		emit(float64(stopped), "stopped")
	}),

	// Reads.
	family("colonnade_cache_requests_total", "Blocks that queries used, by whether the block cache had them.", prometheus.CounterValue, []string{"result"}, func(s *snapshot, emit emit) {
		emit(float64(s.Engine.Reads.CacheHits), "hit")
		emit(float64(s.Engine.Reads.CacheMisses), "miss")
	}),
	counter("colonnade_block_read_bytes_total", "Bytes of the blocks that queries read from files, after decompression.", func(s *snapshot) uint64 { return s.Engine.Reads.ReadBytes }),
	gauge("colonnade_cache_blocks", "Blocks in the block cache.", func(s *snapshot) int { return s.Engine.CacheBlocks }),
	gauge("colonnade_cache_bytes", "Bytes of the block cache, with what open files keep in it.", func(s *snapshot) int64 { return s.Engine.CacheBytes }),
	gauge("colonnade_cache_limit_bytes", "Bytes that the block cache may have.", func(s *snapshot) int64 { return s.Engine.CacheBudget }),
	family("colonnade_bloom_answers_total", "Answers of Bloom filters to reads of one row: the file does not have it, may have it and does, or may have it and does not.", prometheus.CounterValue, []string{"answer"}, func(s *snapshot, emit emit) {
		r := &s.Engine.Reads
		emit(float64(r.BloomNo), "negative")
		emit(float64(r.BloomYes-min(r.BloomWrong, r.BloomYes)), "positive")
		emit(float64(r.BloomWrong), "false_positive")
	}),
	gauge("colonnade_open_files", "Sorted files that are open.", func(s *snapshot) int { return s.Engine.OpenFiles }),
	gauge("colonnade_open_files_limit", "Sorted files that may be open at once.", func(s *snapshot) int { return s.Engine.OpenFilesLimit }),
	counter("colonnade_files_opened_total", "How often a sorted file was opened for reads.", func(s *snapshot) uint64 { return s.Engine.FilesOpened }),
	gauge("colonnade_snapshots", "Snapshots open. Each keeps the memtables and files of its moment.", func(s *snapshot) int { return s.Engine.Snapshots.Open }),
	gauge("colonnade_snapshots_limit", "Snapshots that may be open at once.", func(s *snapshot) int { return s.Engine.SnapshotsLimit }),
	gauge("colonnade_snapshot_oldest_age_seconds", "Time since the oldest open snapshot was opened, 0 without any.", func(s *snapshot) float64 {
		if s.Engine.Snapshots.Oldest == 0 {
			return 0
		}
		return seconds(max(0, s.now-s.Engine.Snapshots.Oldest))
	}),

	// State.
	family("colonnade_store_refuses_writes", "1 while the store takes no writes for this reason, else 0.", prometheus.GaugeValue, []string{"reason"}, func(s *snapshot, emit emit) {
		emit(truth(s.Engine.ReadOnly), "read_only")
		emit(truth(s.Engine.DiskFull), "disk_full")
		emit(truth(s.Engine.SlowDisk), "slow_disk")
	}),
	gauge("colonnade_damage", "Partitions and files that are known to be damaged or unreadable.", func(s *snapshot) int { return s.Engine.Damaged }),
	gauge("colonnade_disk_free_bytes", "Free bytes of the disk when the store last looked, which it does every second while there are writes. 0 if it does not know.", func(s *snapshot) uint64 { return s.Engine.FreeBytes }),
	gauge("colonnade_disk_reserve_bytes", "Bytes of the disk below which writes are refused.", func(s *snapshot) int64 { return max(0, s.Engine.ReserveBytes) }),
	counter("colonnade_scrub_passes_total", "Times that the scrubber has read everything on disk.", func(s *snapshot) int { return s.Engine.Scrub.Passes }),
	counter("colonnade_scrub_files_total", "Sorted files and log segments that the scrubber has read and found whole.", func(s *snapshot) int { return s.Engine.Scrub.Files }),
	counter("colonnade_scrub_bytes_total", "Bytes of the files that the scrubber has read and found whole.", func(s *snapshot) int64 { return s.Engine.Scrub.Bytes }),
	counter("colonnade_scrub_errors_total", "Damaged and unreadable files that the scrubber has met. It meets them again in each pass.", func(s *snapshot) uint64 { return s.Engine.ScrubErrors }),
	gauge("colonnade_scrub_last_end_timestamp_seconds", "When the last pass of the scrubber ended, 0 if none has.", func(s *snapshot) float64 { return seconds(s.Engine.Scrub.Ended) }),
	gauge("colonnade_idempotency_keys", "Idempotency keys that are stored, some of them expired.", func(s *snapshot) uint64 { return s.Keys }),
	gauge("colonnade_idempotency_keys_claimed", "Idempotency keys whose request is under way.", func(s *snapshot) int { return s.KeysUnderWay }),
	gauge("colonnade_family_moves", "Column families that move to another locality group.", func(s *snapshot) int { return s.Moves }),

	// Rows and cells of all tables.
	counter("colonnade_reads_total", "Reads: each opens a view of a table.", func(s *snapshot) uint64 { return s.Total.Reads }),
	counter("colonnade_rows_returned_total", "Rows that queries returned, those for updates included.", func(s *snapshot) uint64 { return s.Total.RowsReturned }),
	counter("colonnade_cells_returned_total", "Cell versions that queries returned.", func(s *snapshot) uint64 { return s.Total.CellsReturned }),
	counter("colonnade_rows_scanned_total", "Rows that queries looked at, returned or not.", func(s *snapshot) uint64 { return s.Total.RowsScanned }),
	counter("colonnade_cells_scanned_total", "Cell versions and tombstones that queries stepped over, returned or not.", func(s *snapshot) uint64 { return s.Total.CellsScanned }),
	counter("colonnade_scanned_bytes_total", "Bytes of what queries stepped over: keys, times and values.", func(s *snapshot) uint64 { return s.Total.BytesScanned }),
	counter("colonnade_writes_total", "Batches that became durable, those of moves included.", func(s *snapshot) uint64 { return s.Total.Writes }),
	counter("colonnade_rows_written_total", "Rows in durable batches, but for moves and ranges of rows that were deleted.", func(s *snapshot) uint64 { return s.Total.RowsWritten }),
	counter("colonnade_entries_written_total", "Entries in durable batches: cell versions, tombstones and those of idempotency keys.", func(s *snapshot) uint64 { return s.Total.EntriesWritten }),
	counter("colonnade_written_bytes_total", "Bytes of durable batches, as they are in the log.", func(s *snapshot) uint64 { return s.Total.BytesWritten }),

	// The same by table.
	gauge("colonnade_tables", "Tables.", func(s *snapshot) int { return len(s.Tables) }),
	byTable("colonnade_table_disk_bytes", "Bytes of the sorted files of a table.", prometheus.GaugeValue, func(t *shownTable) int64 { return t.DiskBytes }),
	byTable("colonnade_table_memtable_bytes", "Bytes of the memtables of a table.", prometheus.GaugeValue, func(t *shownTable) int64 { return t.MemtableBytes }),
	byTable("colonnade_table_reads_total", "Reads of a table.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.Reads }),
	byTable("colonnade_table_rows_returned_total", "Rows of a table that queries returned.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.RowsReturned }),
	byTable("colonnade_table_cells_returned_total", "Cell versions of a table that queries returned.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.CellsReturned }),
	byTable("colonnade_table_rows_scanned_total", "Rows of a table that queries looked at.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.RowsScanned }),
	byTable("colonnade_table_cells_scanned_total", "Cell versions and tombstones of a table that queries stepped over.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.CellsScanned }),
	byTable("colonnade_table_scanned_bytes_total", "Bytes of what queries stepped over in a table.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.BytesScanned }),
	byTable("colonnade_table_writes_total", "Batches of a table that became durable.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.Writes }),
	byTable("colonnade_table_rows_written_total", "Rows of a table in durable batches.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.RowsWritten }),
	byTable("colonnade_table_entries_written_total", "Entries of a table in durable batches.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.EntriesWritten }),
	byTable("colonnade_table_written_bytes_total", "Bytes of durable batches of a table.", prometheus.CounterValue, func(t *shownTable) uint64 { return t.BytesWritten }),
}
