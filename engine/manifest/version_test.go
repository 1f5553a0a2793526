package manifest_test

import (
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

func TestVersionCheck(t *testing.T) {
	check := func(want string, v *manifest.Version) {
		t.Helper()
		err := v.Check()
		if want == "" {
			if err != nil {
				t.Errorf("got error %q, want none", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	check("", new(manifest.Version))
	check("", manifesttest.Version("0: 9[a-z] 8[a-z] 7[m-n]", "1: 5[a-b] 6[c-c] 4[ca-z]", "6: 1[a-b] 2[c-z]"))
	check("size of 0", manifesttest.Version("0: 1[a-b]:0"))
	check("size of -1", manifesttest.Version("3: 1[a-b]:-1"))
	check("without a number", manifesttest.Version("3: 0[a-b]"))
	check("no first row", manifesttest.Version("3: 1[-b]"))
	check(`begins with row "c" and ends with "b"`, manifesttest.Version("3: 1[c-b]"))
	check("101 tombstones among 100 entries", manifesttest.Version("3: 1[a-b]:d101"))
	check("", manifesttest.Version("3: 1[a-b]:d100"))
	check("file 1 is in level 2 and again in level 3", manifesttest.Version("2: 1[a-b]", "3: 1[a-b]"))
	check("up to sequence number 70 stands before file 8 up to 80", manifesttest.Version("0: 7[a-z] 8[a-b]"))
	check("up to sequence number 80 stands before file 7 up to 80", manifesttest.Version("0: 8[a-b] 7[c-d]:s80"))
	check(`ends with row "c", the next file 2 begins with "c"`, manifesttest.Version("1: 1[a-c] 2[c-d]"))
	check("the next file 2", manifesttest.Version("6: 1[a-c] 3[d-f] 2[b-b]"))

	empty := manifesttest.Version("1: 1[a-b]")
	empty.Levels[1][0].Entries = 0
	check("no entries", empty)
	turned := manifesttest.Version("1: 1[a-b]")
	turned.Levels[1][0].MinSeq = 11
	check("sequence numbers from 11 to 10", turned)
}
