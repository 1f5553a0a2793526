// Package archive lets stores live with an archive of their log, and restores what they had at moments of that life.
//
// Tables come and go, are written and deleted from, and their families move, while the store is flushed, closed and
// loses power, its log is archived and backups are made, all at random. A restore to the time of a moment must give
// all that the store had then, and nothing more.
package archive

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

const (
	lives   = 60  // of a round
	actions = 300 // of a life
	points  = 12  // restored of each
)

// Part is the part of the harness.
var Part = report.Part{
	Name:  "archive",
	About: "any moment restored from backups and the archived log",
	Minimum: report.Least(map[string]int64{
		"lives": lives, "moments": 1_500, "restores": lives * points, "crashes": 200, "backups": 300, "tables_dropped": 250, "moves": 300,
	}),
	Limit: 20 * time.Minute,
	Run:   run,
}

func run(ctx context.Context, env report.Env, s *report.Section) error {
	for i := range lives {
		if !env.Chosen(i) || ctx.Err() != nil || env.First && s.Failed() {
			continue
		}
		l := newLife(env.Seed*lives+uint64(i), filepath.Join(env.Dir, fmt.Sprint(i)), s)
		if err := l.run(ctx); err != nil {
			s.Fail(env.Repeat("archive")+" -first", "life %d: %v", i, err)
		}
	}
	return nil
}
