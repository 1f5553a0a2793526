package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// drawVersion makes a version out of lines such as
//
//	"0: 9[c-z] 8[a-f]"
//	"6: 1[a-b] 2[c-k]:30 3[m-m]:5:d80:s70"
//
// one for a level, with its files in order: the number, the first and last
// row, then the size (default 10), with d the tombstones among the 100 entries
// (default 0), and with s the largest sequence number (default 10 times the
// number).
func drawVersion(lines ...string) *version {
	v := new(version)
	for _, line := range lines {
		level, files, _ := strings.Cut(line, ":")
		l := must(strconv.Atoi(level))
		for _, text := range strings.Fields(files) {
			v.levels[l] = append(v.levels[l], drawFile(text))
		}
	}
	return v
}

func drawFile(text string) *file {
	parts := strings.Split(text, ":")
	number, rows, _ := strings.Cut(parts[0], "[")
	first, last, _ := strings.Cut(strings.TrimSuffix(rows, "]"), "-")
	f := &file{
		number: must(strconv.ParseUint(number, 10, 64)), size: 10, cells: 100,
		smallest: []byte(first), largest: []byte(last),
	}
	f.maxSeq = 10 * f.number
	for _, part := range parts[1:] {
		switch part[0] {
		case 'd':
			f.deletes = must(strconv.ParseUint(part[1:], 10, 64))
		case 's':
			f.maxSeq = must(strconv.ParseUint(part[1:], 10, 64))
		default:
			f.size = must(strconv.ParseInt(part, 10, 64))
		}
	}
	f.minSeq = min(f.maxSeq, 1)
	return f
}

// fileText shows a file as number[first-last].
func fileText(f *file) string { return fmt.Sprintf("%d[%s-%s]", f.number, f.smallest, f.largest) }

func TestVersionCheck(t *testing.T) {
	check := func(want string, v *version) {
		t.Helper()
		err := v.check()
		if want == "" {
			if err != nil {
				t.Errorf("got error %q, want none", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	check("", new(version))
	check("", drawVersion("0: 9[a-z] 8[a-z] 7[m-n]", "1: 5[a-b] 6[c-c] 4[ca-z]", "6: 1[a-b] 2[c-z]"))
	check("size of 0", drawVersion("0: 1[a-b]:0"))
	check("size of -1", drawVersion("3: 1[a-b]:-1"))
	check("without a number", drawVersion("3: 0[a-b]"))
	check("no first row", drawVersion("3: 1[-b]"))
	check(`begins with row "c" and ends with "b"`, drawVersion("3: 1[c-b]"))
	check("101 tombstones among 100 entries", drawVersion("3: 1[a-b]:d101"))
	check("", drawVersion("3: 1[a-b]:d100"))
	check("file 1 is in level 2 and again in level 3", drawVersion("2: 1[a-b]", "3: 1[a-b]"))
	check("up to sequence number 70 stands before file 8 up to 80", drawVersion("0: 7[a-z] 8[a-b]"))
	check("up to sequence number 80 stands before file 7 up to 80", drawVersion("0: 8[a-b] 7[c-d]:s80"))
	check(`ends with row "c", the next file 2 begins with "c"`, drawVersion("1: 1[a-c] 2[c-d]"))
	check("the next file 2", drawVersion("6: 1[a-c] 3[d-f] 2[b-b]"))

	empty := drawVersion("1: 1[a-b]")
	empty.levels[1][0].cells = 0
	check("no entries", empty)
	turned := drawVersion("1: 1[a-b]")
	turned.levels[1][0].minSeq = 11
	check("sequence numbers from 11 to 10", turned)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
