package admission

// paceMeter measures how fast a queue moves, over the last one to two windows.
type paceMeter struct {
	moved  int64                         // when the queue last moved, or the measurement began
	start  int64                         // of this window
	moves  int64                         // in this window
	before struct{ length, moves int64 } // the window before, 0 for none
}

// window is the length of a window, in microseconds. A group of writes gives its slots back
// together, every few milliseconds; a window holds many groups.
const window = 50_000

// reset starts a measurement, for a queue that was empty.
func (m *paceMeter) reset(now int64) { *m = paceMeter{moved: now, start: now} }

// count counts a request that gets its slot.
func (m *paceMeter) count(now int64) {
	m.moved = now
	m.moves++
	m.roll(now)
}

// wait estimates how long n requests take to get their slots, in microseconds: at least the time
// since the queue last moved, and no more than that until the first window is over.
func (m *paceMeter) wait(now int64, n int) int64 {
	m.roll(now)
	still := now - m.moved
	if m.before.length == 0 {
		return still
	}
	length, moves := m.before.length+now-m.start, m.before.moves+m.moves
	return max(still, int64(n)*length/max(moves, 1))
}

// roll begins a new window if this one is over and something moved in it.
func (m *paceMeter) roll(now int64) {
	if length := now - m.start; length >= window && m.moves > 0 {
		m.before.length, m.before.moves = length, m.moves
		m.start, m.moves = now, 0
	}
}
