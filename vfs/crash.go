package vfs

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
)

// Crash returns a file system that a loss of power now could leave behind. It is independent of m,
// has the same capacity, no open handles, no locks and no hook, and everything in it is durable. The
// same state, model and seed give the same image. Only Subset, SizeNoData and Garbage use the seed.
//
// It may be called at any time, also from a hook. It shares memory with m, so it costs little more
// than a visit to every file.
func (m *Mem) Crash(model Model, seed uint64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crash{model: model, seed: seed, at: opPosition{seq: math.MaxUint64}, removed: m.removed, files: map[*file]*file{}}
	if pending := m.listPending(); model.i < len(pending) {
		c.at = pending[model.i].at
	}
	out := m.empty()
	out.root = c.directory(m.root)
	for _, f := range c.files {
		out.used += f.live.size
	}
	return out
}

// empty returns a file system without a root that continues the counters of m.
func (m *Mem) empty() *Mem {
	return &Mem{seq: m.seq, ids: m.ids, reused: m.reused, capacity: m.capacity, removed: m.removed}
}

// crash builds one image.
type crash struct {
	model   Model
	seed    uint64
	at      opPosition // of the operation that the model names, or after all
	removed []fileData
	files   map[*file]*file // done; a crash can leave a file with two names
}

// keeps reports whether a systematic model keeps an operation.
func (c *crash) keeps(at opPosition) bool {
	switch c.model.kind {
	case keepAll:
		return true
	case prefix:
		return at.compare(c.at) < 0
	case allButOne:
		return at != c.at
	case onlyOne:
		return at == c.at
	}
	return false
}

// rand returns a source that depends only on the seed and the file or directory, so the order of
// visits does not matter.
func (c *crash) rand(id uint64) *rand.Rand { return rand.New(rand.NewPCG(c.seed, id)) }

func (c *crash) directory(d *directory) *directory {
	names := maps.Clone(d.durable)
	switch {
	case len(d.pending) == 0:
	case c.model.random():
		keepSomeOps(names, d.pending, c.rand(d.id))
	default:
		for i := range d.pending {
			if c.keeps(opPosition{seq: d.pending[i].seq}) {
				d.pending[i].apply(names)
			}
		}
	}
	for name, n := range names {
		at := path.Join(d.path, name)
		if n.dir != nil {
			names[name] = node{dir: c.directory(n.dir)}
		} else {
			names[name] = node{file: c.file(n.file, at)}
		}
	}
	return &directory{id: d.id, path: d.path, live: names, durable: names, shared: true}
}

// keepSomeOps applies a random choice of the operations, but none after a dropped one on the same
// name.
func keepSomeOps(names map[string]node, ops []dirOp, r *rand.Rand) {
	keep := [...]float64{0, 0.5, 0.9, 1, 1}[r.IntN(5)]
	var omitted []*dirOp
	for i := range ops {
		o := &ops[i]
		blocked := slices.ContainsFunc(omitted, func(e *dirOp) bool { return e.touches(o.drop) || e.touches(o.set) })
		if blocked || r.Float64() >= keep {
			omitted = append(omitted, o)
			continue
		}
		o.apply(names)
	}
}

func (c *crash) file(f *file, at string) *file {
	if out := c.files[f]; out != nil {
		out.links++
		return out
	}
	im := c.content(f)
	out := &file{id: f.id, path: at, links: 1, live: im.share(), durable: im.share()}
	c.files[f] = out
	return out
}

func (c *crash) content(f *file) fileData {
	switch {
	case len(f.pending) == 0 || c.model.kind == keepAll:
		return f.live.share()
	case c.model.random():
		return c.sectors(f)
	}
	im := f.durable.share()
	for i := range f.pending {
		w := &f.pending[i]
		at := opPosition{w.seq, w.off}
		if c.keeps(at) {
			im.write(w.data, w.off)
		} else if at == c.at && c.model.torn > 0 {
			im.write(w.data[:min(c.model.torn, len(w.data))], w.off)
		}
	}
	return im
}

// sectorSize is the unit that a disk writes atomically.
const sectorSize = 512

// sectors builds the content of a file from sectors of different moments of its history.
func (c *crash) sectors(f *file) fileData {
	r := c.rand(f.id)
	lo, hi := f.pending[0].off, f.pending[0].end()
	for i := range f.pending {
		lo, hi = min(lo, f.pending[i].off), max(hi, f.pending[i].end())
	}
	// buf is the content from lo to hi: the durable bytes, and after them the model's substitute for
	// missing data.
	buf := make([]byte, hi-lo)
	end := f.durable.size
	if c.model.kind != subset {
		end = f.live.size
	}
	if c.model.kind == garbage {
		c.fillGarbage(buf, lo, r)
	}
	f.durable.readAt(buf, lo)

	moments := drawMoments(int(hi/sectorSize-lo/sectorSize)+1, len(f.pending), r)
	for i := range f.pending {
		w := &f.pending[i]
		for at := w.off; at < w.end(); {
			next := min((at/sectorSize+1)*sectorSize, w.end())
			if i < moments[at/sectorSize-lo/sectorSize] {
				copy(buf[at-lo:], w.data[at-w.off:next-w.off])
				end = max(end, next)
			}
			at = next
		}
	}
	im := f.durable.share()
	if end > lo {
		im.write(buf[:min(end, hi)-lo], lo)
	}
	im.grow(end)
	return im
}

// drawMoments draws for each sector how many of the writes it has seen. Most sectors of a file get
// similar numbers: independent draws would never keep or lose a large write as a whole.
func drawMoments(sectors, writes int, r *rand.Rand) []int {
	last := [...]float64{-1, 0.1, 0.5, 0.9, 1}[r.IntN(5)]
	moments := make([]int, sectors)
	for i := range moments {
		switch {
		case last < 0:
		case r.Float64() < last:
			moments[i] = writes
		default:
			moments[i] = r.IntN(writes)
		}
	}
	return moments
}

// fillGarbage fills buf, at offset off of its file, with random bytes or with bytes of a removed file,
// from the same offset or another.
func (c *crash) fillGarbage(buf []byte, off int64, r *rand.Rand) {
	for i := 0; i < len(buf); i += 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], r.Uint64())
		copy(buf[i:], b[:])
	}
	if len(c.removed) == 0 || r.IntN(3) == 0 {
		return
	}
	old := &c.removed[r.IntN(len(c.removed))]
	if r.IntN(2) == 0 {
		off = r.Int64N(old.size/sectorSize+1) * sectorSize
	}
	old.readAt(buf, off)
}
