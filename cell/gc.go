package cell

// GC is the garbage collection policy of a family: which versions of its cells
// have expired for good. The zero value keeps everything. Readers and compactions
// call the same methods, so a read never depends on what was compacted, with the
// exceptions at Gone.
type GC struct {
	// TTLSecs is the age, in seconds, at which a version expires; 0 for never.
	// A version with time 0, or with a time in the future, has no age.
	TTLSecs int64
	// VersionLimit is how many versions of a cell stay, newest first; 0 for all.
	VersionLimit int64
	// Intersection drops a version only if both limits do. Otherwise either is
	// enough.
	Intersection bool
}

// Expired reports whether a version with this time is past the TTL at now. Both
// are in microseconds since the Unix epoch.
func (g *GC) Expired(time, now int64) bool {
	return g.TTLSecs > 0 && time > 0 && time <= now && (now-time)/1_000_000 >= g.TTLSecs
}

// Gone reports whether a version no longer exists at now. newer counts the
// visible versions of the cell that are newer and not gone themselves.
//
// A version that is gone may come back in three cases, unless compaction has
// dropped it: versions that pushed it past VersionLimit are deleted, or the policy
// becomes wider; it has time 0 and the newer ones expire; it has expired and the
// clock steps back.
func (g *GC) Gone(time, now, newer int64) bool {
	over := g.VersionLimit > 0 && newer >= g.VersionLimit
	if g.Intersection {
		return over && g.Expired(time, now)
	}
	return over || g.Expired(time, now)
}
