package crash

import (
	"fmt"
	"math/rand/v2"

	"github.com/colonnade-db/colonnade/vfs"
)

// kind is a way to crash.
type kind struct {
	model  vfs.Model
	seed   uint64
	killed bool // the process ends and the power stays
}

func (k kind) String() string {
	if k.killed {
		return "killed"
	}
	return fmt.Sprintf("%v (%d)", k.model, k.seed)
}

func (k kind) crash(fs *vfs.Mem) *vfs.Mem {
	if k.killed {
		return fs.Clone()
	}
	return fs.Crash(k.model, k.seed)
}

// sector is what a disk writes whole or not at all, and bigWrite the length from
// which a write is not torn at every sector: most of them would be alike.
const (
	sector   = 512
	bigWrite = 16 << 10
)

// kinds returns all ways to crash now: every systematic one, every pending write torn at every sector and
// at odd bytes, and some random ones.
func kinds(fs *vfs.Mem, rnd *rand.Rand) []kind {
	list := []kind{{killed: true}}
	for _, m := range fs.Systematic() {
		list = append(list, kind{model: m})
	}
	pending := fs.Pending()
	for i, op := range pending {
		if op.Kind == vfs.OpWrite {
			list = append(list, torn(i, op, rnd)...)
		}
	}
	if len(pending) == 0 {
		return list
	}
	for _, m := range []vfs.Model{vfs.Subset, vfs.Subset, vfs.SizeNoData, vfs.Garbage, vfs.Garbage, vfs.Garbage} {
		list = append(list, kind{model: m, seed: rnd.Uint64()})
	}
	return list
}

func torn(i int, op vfs.Op, rnd *rand.Rand) (list []kind) {
	cut := func(n int) {
		if 0 < n && n < op.Len {
			list = append(list, kind{model: vfs.Prefix(i, n)})
		}
	}
	cut(1)
	cut(1 + rnd.IntN(op.Len))
	cut(op.Len - 1)
	step := sector
	if op.Len > bigWrite {
		step = sector * (1 + op.Len/bigWrite)
	}
	for n := sector - int(op.Offset%sector); n < op.Len; n += step {
		cut(n)
	}
	return list
}

// someKind returns one way to crash now.
func someKind(fs *vfs.Mem, rnd *rand.Rand) kind {
	list := kinds(fs, rnd)
	if rnd.IntN(3) == 0 {
		return kind{model: vfs.DropAll}
	}
	return list[rnd.IntN(len(list))]
}
