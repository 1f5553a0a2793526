// Package manifesttest makes versions out of short texts, for tests.
package manifesttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// Version makes a version out of lines such as
//
//	"0: 9[c-z] 8[a-f]"
//	"6: 1[a-b] 2[c-k]:30 3[m-m]:5:d80:s70"
//	"ranges: [b-d)#75 [x-)#20"
//
// one line per level, with its files in order: the number, the first and last row, then the
// size (default 10), with d the tombstones among the 100 entries (default 0), with s the
// largest sequence number (default 10 times the number), with m the smallest (default 1), and with
// c the range tombstones of which it is clean (default 0). The last line has range tombstones. It
// panics on any other text.
func Version(lines ...string) *manifest.Version {
	v := new(manifest.Version)
	for _, line := range lines {
		level, files, _ := strings.Cut(line, ":")
		if level == "ranges" {
			v.RangeTombstones = rangedel.New(RangeTombstones(files))
			continue
		}
		l := must(strconv.Atoi(level))
		for _, text := range strings.Fields(files) {
			v.Levels[l] = append(v.Levels[l], File(text))
		}
	}
	return v
}

// File makes one file; see Version.
func File(text string) *manifest.File {
	parts := strings.Split(text, ":")
	number, rows, _ := strings.Cut(parts[0], "[")
	first, last, _ := strings.Cut(strings.TrimSuffix(rows, "]"), "-")
	f := &manifest.File{
		Number: must(strconv.ParseUint(number, 10, 64)), Size: 10, Entries: 100,
		Smallest: []byte(first), Largest: []byte(last), Times: cell.AllTimes,
	}
	f.MaxSeq = 10 * f.Number
	f.MinSeq = 1
	for _, part := range parts[1:] {
		switch part[0] {
		case 'd':
			f.Tombstones = must(strconv.ParseUint(part[1:], 10, 64))
		case 's':
			f.MaxSeq = must(strconv.ParseUint(part[1:], 10, 64))
		case 'm':
			f.MinSeq = must(strconv.ParseUint(part[1:], 10, 64))
		case 'c':
			f.CleanSeq = must(strconv.ParseUint(part[1:], 10, 64))
		default:
			f.Size = must(strconv.ParseInt(part, 10, 64))
		}
	}
	f.MinSeq = min(f.MaxSeq, f.MinSeq)
	return f
}

// RangeTombstones makes range tombstones; see Version. An empty end is open.
func RangeTombstones(text string) (list []rangedel.Tombstone) {
	for _, text := range strings.Fields(text) {
		rows, seq, _ := strings.Cut(strings.TrimPrefix(text, "["), ")#")
		start, end, _ := strings.Cut(rows, "-")
		t := rangedel.Tombstone{Start: []byte(start), Seq: must(strconv.ParseUint(seq, 10, 64))}
		if end != "" {
			t.End = []byte(end)
		}
		list = append(list, t)
	}
	return list
}

// RangeTombstonesText shows range tombstones as Version takes them.
func RangeTombstonesText(list []rangedel.Tombstone) string {
	var texts []string
	for _, t := range list {
		texts = append(texts, fmt.Sprintf("[%s-%s)#%d", t.Start, t.End, t.Seq))
	}
	return strings.Join(texts, " ")
}

// FileText shows a file as number[first-last].
func FileText(f *manifest.File) string {
	return fmt.Sprintf("%d[%s-%s]", f.Number, f.Smallest, f.Largest)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
