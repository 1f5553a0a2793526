package engine

import (
	"testing"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// TestPickWaits: while level 0 waits for files of the last level that another compaction uses, no
// compaction begins that it would have to wait for as well, unless it would wait for ever.
func TestPickWaits(t *testing.T) {
	heavy := manifesttest.Version("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]", "6: 3[e-f]:70", "7: 1[a-b]:15 2[c-d]:15")
	garbage := manifesttest.Version("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]", "7: 1[a-b]:20 2[c-d]:20 3[e-f]:20:d90")
	for v, next := range map[*manifest.Version]string{heavy: "move 6: 3[e-f] to 7", garbage: "merge 7: 3[e-f] to 7"} {
		check := func(name string, damage error, busy map[uint64]bool, want string) {
			t.Helper()
			db := &DB{opt: Options{MemtableBytes: 100, FileBytes: 10}}
			db.visible.Store(1000)
			c := db.pickLocked(&partition{version: v, busy: busy, damage: damage, active: newMemTable()}, false, false)
			if got := c.String(); got != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, want)
			}
		}
		damage := new(CorruptError)
		under := map[uint64]bool{1: true}
		all := "0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]"
		for range compaction.Level0Files - 4 {
			v.Levels[0] = append(v.Levels[0], manifesttest.File("5[a-d]"))
			all += " 5[a-d]"
		}
		check("nothing is under way", nil, nil, "merge "+all+", 7: 1[a-b] 2[c-d] to 7")
		check("a file of the last level is", nil, under, "nothing")
		check("it is damaged", damage, under, next)
	}
}
