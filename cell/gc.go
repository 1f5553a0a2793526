package cell

// GC says which versions of a family's cells have gone. The zero value keeps
// everything. A version that has gone is never returned again, whether or not
// its space was reclaimed: readers and compactions ask the same method.
type GC struct {
	// TTLSecs is the age in seconds at which a version has gone, 0 for never.
	// A version with time 0, or with a time in the future, has no age.
	TTLSecs int64
	// VersionLimit is how many versions of a cell stay, newest first, 0 for all.
	VersionLimit int64
	// Intersection makes a version go only when both limits say so. Otherwise
	// either is enough.
	Intersection bool
}

// Expired reports whether a version with this time is past the TTL at now.
// Both are in microseconds since the Unix epoch.
func (g *GC) Expired(time, now int64) bool {
	return g.TTLSecs > 0 && time > 0 && time <= now && (now-time)/1_000_000 >= g.TTLSecs
}

// Gone reports whether a version has gone at now, where newer is the number of
// versions of its cell that are newer, visible and have not gone themselves.
//
// One case is left open: when versions that pushed an older one past
// VersionLimit are deleted, or the settings become wider, the older one shows
// again or not, depending on whether its space has been reclaimed. The same holds
// for a version with time 0 once the newer ones expire, and for whatever has
// expired when the clock steps back.
func (g *GC) Gone(time, now, newer int64) bool {
	over := g.VersionLimit > 0 && newer >= g.VersionLimit
	if g.Intersection {
		return over && g.Expired(time, now)
	}
	return over || g.Expired(time, now)
}
