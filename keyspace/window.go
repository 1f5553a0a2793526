package keyspace

import (
	"slices"
	"strings"
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
	points     []point // the first sorted ones ascend
	sorted     int
	bytes      int64 // that the points take
}

// add adds a sample.
func (w *window) add(key []byte, c counts) {
	if len(w.points) == 2*maxPoints {
		w.condense()
	}
	key = key[:min(len(key), maxKey)]
	w.points = append(w.points, point{string(key), c})
	w.bytes += int64(pointBytes + len(key))
}

// condense sorts the points, and leaves at most maxPoints.
func (w *window) condense() {
	if w.sorted == len(w.points) && w.sorted <= maxPoints {
		return
	}
	w.points = condense(w.points, maxPoints, shares(w.points))
	w.sorted, w.bytes = len(w.points), 0
	for i := range w.points {
		w.bytes += int64(pointBytes + len(w.points[i].key))
	}
}

// join adds the points of a later window.
func (w *window) join(o *window) {
	w.points = append(w.points, o.points...)
	w.end, w.sorted = o.end, 0
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

// condense sorts points and joins those of the same key, then neighbours of little weight, until there are at most most.
// Two neighbours that are left weigh more than 2/most of all together, so a point that weighs that much stays alone.
func condense(points []point, most int, factors counts) []point {
	points = unite(points)
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

// unite sorts points and joins those of the same key.
func unite(points []point) []point {
	slices.SortFunc(points, func(a, b point) int { return strings.Compare(a.key, b.key) })
	kept := points[:0]
	for i := range points {
		if last := len(kept) - 1; last >= 0 && kept[last].key == points[i].key {
			kept[last].add(&points[i].counts)
		} else {
			kept = append(kept, points[i])
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
