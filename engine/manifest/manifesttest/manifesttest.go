// Package manifesttest makes versions out of short texts, for tests.
package manifesttest

import (
	"fmt"
	"strconv"
	"strings"

	"colonnade/engine/manifest"
)

// Version makes a version out of lines such as
//
//	"0: 9[c-z] 8[a-f]"
//	"6: 1[a-b] 2[c-k]:30 3[m-m]:5:d80:s70"
//
// one line per level, with its files in order: the number, the first and last row, then the
// size (default 10), with d the tombstones among the 100 entries (default 0), and with s the
// largest sequence number (default 10 times the number). It panics on any other text.
func Version(lines ...string) *manifest.Version {
	v := new(manifest.Version)
	for _, line := range lines {
		level, files, _ := strings.Cut(line, ":")
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
		Smallest: []byte(first), Largest: []byte(last),
	}
	f.MaxSeq = 10 * f.Number
	for _, part := range parts[1:] {
		switch part[0] {
		case 'd':
			f.Tombstones = must(strconv.ParseUint(part[1:], 10, 64))
		case 's':
			f.MaxSeq = must(strconv.ParseUint(part[1:], 10, 64))
		default:
			f.Size = must(strconv.ParseInt(part, 10, 64))
		}
	}
	f.MinSeq = min(f.MaxSeq, 1)
	return f
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
