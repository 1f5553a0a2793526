package main

import (
	"errors"
	"slices"
	"time"

	"github.com/colonnade-db/colonnade/cell"
)

var wideRows = &Table{
	Name:  "wide",
	Title: "One column of wide rows",
	About: "A tenth of the rows, with contents of 4 to 8 KiB; a scan of `language:` alone, in a store opened anew, past its cache where that is possible (colonnade, goleveldb), of fifteen the one in the middle. Together: all families in one keyspace or partition. Apart: `language` in one of its own. Bytes read are those of read calls; memory maps make none.",
	Figures: []Figure{
		{"together-ms", "together, time", millis},
		{"together-read", "together, read", mega},
		{"apart-ms", "apart, time", millis},
		{"apart-read", "apart, read", mega},
		{"load", "load of wide rows, raw MB/s", plain},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runWide,
}

const (
	wideFamily = "language"
	// wideScans is how often it is scanned, an odd number. The shortest scans take milliseconds, and
	// other work on the machine may well delay them.
	wideScans = 15
)

func runWide(s *session) error {
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	for _, layout := range []struct {
		name   string
		spaces int
	}{{"together", 1}, {"apart", 2}} {
		c := s.config()
		c.Spaces = layout.spaces
		s.record("budget", megabytes(c.memtables()+c.Cache))
		if err := s.loadWide(c); err != nil {
			return err
		}
		var took []time.Duration
		for range wideScans {
			st, err := s.open(c)
			if err != nil {
				return err
			}
			rows := s.wide.Len()
			u, err := scanAll(st, Query{Space: c.Spaces - 1, Family: wideFamily, Once: true}, rows, rows)
			if err := errors.Join(err, st.Close()); err != nil {
				return err
			}
			took = append(took, u.wall)
			if !s.e.Mapped {
				s.record(layout.name+"-read", megabytes(u.read))
			}
		}
		slices.Sort(took)
		s.record(layout.name+"-ms", milliseconds(took[wideScans/2]))
		if err := s.remove(); err != nil {
			return err
		}
	}
	s.record("memory", memory.most())
	return nil
}

// loadWide writes the wide rows, the family that is asked for into the last space.
func (s *session) loadWide(c Config) error {
	st, err := s.open(c)
	if err != nil {
		return err
	}
	before, err := readUsage()
	if err != nil {
		return err
	}
	w := st.Writer()
	var cells []cell.Cell
	for i := range s.wide.Len() {
		var key []byte
		key, cells = s.wide.Row(i, cells[:0])
		for k := range cells {
			space := 0
			if family, _ := cell.SplitColumn(cells[k].Column); string(family) == wideFamily {
				space = c.Spaces - 1
			}
			w.Set(space, key, &cells[k])
		}
		if i%loadRows == loadRows-1 || i == s.wide.Len()-1 {
			if err := w.Commit(); err != nil {
				return err
			}
		}
	}
	if err := st.Flush(); err != nil {
		return err
	}
	after, err := awaitQuiet()
	if err != nil {
		return err
	}
	s.record("load", float64(s.wide.Raw())/1e6/after.since(before).wall.Seconds())
	return st.Close()
}
