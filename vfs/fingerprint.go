package vfs

import (
	"hash/maphash"
	"maps"
	"slices"
)

var fingerprintSeed = maphash.MakeSeed()

// Fingerprint returns a number that is equal, within one process, for file systems that look the same
// to readers, and almost surely different for others. A test uses it to open each of many equal images
// once.
func (m *Mem) Fingerprint() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var h maphash.Hash
	h.SetSeed(fingerprintSeed)
	fingerprint(&h, m.root)
	return h.Sum64()
}

func fingerprint(h *maphash.Hash, d *directory) {
	names := slices.Sorted(maps.Keys(d.live))
	maphash.WriteComparable(h, len(names))
	for _, name := range names {
		n := d.live[name]
		maphash.WriteComparable(h, name)
		if n.dir != nil {
			maphash.WriteComparable(h, int64(-1))
			fingerprint(h, n.dir)
			continue
		}
		maphash.WriteComparable(h, n.file.live.size)
		for _, pg := range n.file.live.pages {
			if pg == nil {
				pg = &zeroPage
			}
			h.Write(pg[:])
		}
	}
}
