package keyspace

import (
	"slices"
	"sort"
)

const (
	// maxPoints is how many points a window has when it is over, and half of how many it may have before.
	maxPoints = 128
	// maxKey bounds the bytes of a key that are remembered, of up to 64 KiB. Longer keys that begin alike are one.
	maxKey = 256
)

// counts are rows read, bytes read, rows written, bytes written: see Table.take.
type counts [4]float64

func (c *counts) add(o *counts) {
	for i := range c {
		c[i] += o[i]
	}
}

// point is the load of the rows from a key on.
type point struct {
	key string
	counts
}

// pointBytes is what a point takes without its key.
const pointBytes = 48

// window is the load of a table in a time.
type window struct {
	start, end int64
	points     []point // their keys ascend
	bytes      int64   // that they take
}

// add adds load at a key.
func (w *window) add(key []byte, c *counts) {
	key = key[:min(len(key), maxKey)]
	i := sort.Search(len(w.points), func(i int) bool { return w.points[i].key >= string(key) })
	if i < len(w.points) && w.points[i].key == string(key) {
		w.points[i].add(c)
		return
	}
	w.points = slices.Insert(w.points, i, point{string(key), *c})
	w.bytes += int64(pointBytes + len(key))
	if len(w.points) > 2*maxPoints {
		w.condense()
	}
}

// condense leaves at most maxPoints.
func (w *window) condense() {
	if len(w.points) <= maxPoints {
		return
	}
	w.points = condense(w.points, maxPoints, shares(w.points))
	w.bytes = 0
	for i := range w.points {
		w.bytes += int64(pointBytes + len(w.points[i].key))
	}
}

// join adds the points of a later window.
func (w *window) join(o *window) {
	w.end = o.end
	for i := range o.points {
		w.add([]byte(o.points[i].key), &o.points[i].counts)
	}
	w.condense()
}

// shares returns a factor for each count, which makes that of all points 1.
func shares(points []point) (factors counts) {
	for i := range points {
		factors.add(&points[i].counts)
	}
	for i, sum := range factors {
		if sum > 0 {
			factors[i] = 1 / sum
		}
	}
	return factors
}

// condense joins neighbours of little weight until there are at most most points. Two neighbours that are left weigh
// more than 2/most of all together, so a point that weighs that much stays alone.
func condense(points []point, most int, factors counts) []point {
	if len(points) <= most {
		return points
	}
	total := 0.0
	for i := range points {
		total += points[i].weight(&factors)
	}
	kept, weight := points[:0], 0.0 // of the last one kept
	for i := range points {
		p := points[i]
		if w := p.weight(&factors); len(kept) > 0 && weight+w <= 2*total/float64(most) {
			kept[len(kept)-1].add(&p.counts)
			weight += w
		} else {
			kept, weight = append(kept, p), w
		}
	}
	clear(points[len(kept):])
	return kept
}

func (p *point) weight(factors *counts) (w float64) {
	for i, n := range p.counts {
		w += n * factors[i]
	}
	return w
}
