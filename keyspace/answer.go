package keyspace

import (
	"bytes"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// maxRanges bounds the ranges of an answer, but for the bounds that its caller adds.
const maxRanges = 128

// answer returns the load of windows by ranges.
func answer(windows []window, further [][]byte) widecol.KeySpace {
	k := widecol.KeySpace{Bounds: boundsOf(windows, further)}
	for i := range windows {
		k.Windows = append(k.Windows, loadWindow(&windows[i], k.Bounds))
	}
	return k
}

// boundsOf returns the bounds of ranges with about the same load each, and further ones. Half of what a point weighs is
// its share of the whole, half its share of its window: a busy minute must not hide where the load of the others is.
func boundsOf(windows []window, further [][]byte) [][]byte {
	var all []point
	for i := range windows {
		all = append(all, windows[i].points...)
	}
	whole := shares(all)
	at := 0
	for i := range windows {
		own := shares(windows[i].points)
		for range windows[i].points {
			p := &all[at]
			p.counts = counts{p.weight(&whole) + p.weight(&own)/float64(len(windows))}
			at++
		}
	}
	points := condense(unite(all), maxRanges, counts{1})
	bounds := slices.Clone(further)
	for i := range points {
		if i > 0 { // range 0 begins with all keys
			bounds = append(bounds, []byte(points[i].key))
		}
	}
	slices.SortFunc(bounds, bytes.Compare)
	return slices.CompactFunc(bounds, bytes.Equal)
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
	return kept
}

func loadWindow(w *window, bounds [][]byte) widecol.LoadWindow {
	l := widecol.LoadWindow{Start: w.start, End: w.end}
	for i := 0; i < len(w.points); {
		n := rangeOf(bounds, w.points[i].key)
		var sum counts
		for ; i < len(w.points) && (n == len(bounds) || w.points[i].key < string(bounds[n])); i++ {
			sum.add(&w.points[i].counts)
		}
		l.Loads = append(l.Loads, widecol.RangeLoad{
			Range: n, RowsRead: round(sum[0]), BytesRead: round(sum[1]), RowsWritten: round(sum[2]), BytesWritten: round(sum[3]),
		})
	}
	return l
}

// rangeOf returns the number of the range that has a key.
func rangeOf(bounds [][]byte, key string) int {
	return sort.Search(len(bounds), func(i int) bool { return string(bounds[i]) > key })
}

func round(n float64) int64 { return int64(math.Round(min(n, 1<<62))) }
