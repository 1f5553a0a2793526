package engine

import (
	"context"
	"errors"
)

// Check is the function Check for an open store. It reads the manifest and every sorted file, bypassing
// the cache and as fast as it can, and calls report for each damage. Reads and writes go on. It leaves
// out the log, whose content is in memory and which the scrubber reads.
//
// Each partition is checked as of one moment. A partition whose files contradict each other is
// quarantined.
func (db *DB) Check(ctx context.Context, report func(*CorruptError)) (CheckResult, error) {
	c := &checker{db: db}
	c.report = func(e *CorruptError) {
		c.result.DamageCount++
		report(e)
	}
	if _, _, err := db.readManifestAgain(); c.damaged(err) != nil {
		return c.result, err
	}
	for _, p := range db.partitionsByID() {
		shard := currentShard()
		state := p.acquire(shard)
		if state == nil {
			continue // dropped
		}
		err := c.partition(p, state.version)
		state.unref(shard)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return c.result, err
		}
	}
	return c.result, nil
}
