package keyspace

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// feed passes the rows of a request, each with as many bytes as size says.
func feed(l *Load, now int64, shard uint, rows [][]byte, size func(row []byte) int64) {
	n := int64(len(rows))
	if next, rate := l.First(now, shard); next < n {
		for d := l.Draw(next, rate, shard); d.Next() < n; {
			row := rows[d.Next()]
			d.Add(now, row, 1, size(row))
		}
	}
}

func one(row []byte) int64 { return 1 }

func key(i int) []byte { return fmt.Appendf(nil, "row%07d", i) }

// check checks what holds of every answer, and returns the sums over ranges and windows.
func check(t *testing.T, k widecol.KeySpace) (sum widecol.RangeLoad) {
	t.Helper()
	if !slices.IsSortedFunc(k.Bounds, bytes.Compare) || len(slices.CompactFunc(slices.Clone(k.Bounds), bytes.Equal)) != len(k.Bounds) {
		t.Errorf("bounds do not ascend: %q", k.Bounds)
	}
	if len(k.Bounds) > 200 {
		t.Errorf("%d bounds", len(k.Bounds))
	}
	end := int64(0)
	for _, w := range k.Windows {
		if w.Start < end || w.End <= w.Start || len(w.Loads) == 0 {
			t.Errorf("a window from %d to %d with %d loads, behind %d", w.Start, w.End, len(w.Loads), end)
		}
		end = w.End
		last := -1
		for _, l := range w.Loads {
			if l.Range <= last || l.Range > len(k.Bounds) {
				t.Errorf("range %d behind %d of %d", l.Range, last, len(k.Bounds)+1)
			}
			last = l.Range
			sum.RowsRead += l.RowsRead
			sum.RowsWritten += l.RowsWritten
			sum.BytesRead += l.BytesRead
			sum.BytesWritten += l.BytesWritten
		}
	}
	return sum
}

// near checks an estimate that is made of at least n samples: five standard deviations are allowed.
func near(t *testing.T, what string, got, want int64, n float64) {
	t.Helper()
	if off := math.Abs(float64(got-want)) / float64(want); off > 5/math.Sqrt(n) {
		t.Errorf("%s: got %d, want %d: off by %.1f %%", what, got, want, 100*off)
	}
}

// TestSums: what is little is counted exactly, and of what is much the sums are right within the error of some thousand
// samples, for requests of any size, in any order, for rows and for bytes, and for a part of the keys.
func TestSums(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		table := New(seed).Table()
		size := func(row []byte) int64 { return int64(row[len(row)-1]) }
		var want, low widecol.RangeLoad // low: of the keys below row0000500
		total := []int{50, 1000, 30_000, 1_000_000}[seed%4]
		for left := total; left > 0; {
			n := min(left, 1+rnd.IntN(1+rnd.IntN(5000)))
			left -= n
			rows := make([][]byte, n)
			first := rnd.IntN(1000)
			for i := range rows {
				rows[i] = key((first + i) % 1000)
			}
			l, at := &table.Reads, [2]*int64{&want.RowsRead, &want.BytesRead}
			below := [2]*int64{&low.RowsRead, &low.BytesRead}
			if rnd.IntN(3) == 0 {
				l, at = &table.Writes, [2]*int64{&want.RowsWritten, &want.BytesWritten}
				below = [2]*int64{&low.RowsWritten, &low.BytesWritten}
			}
			for _, row := range rows {
				*at[0]++
				*at[1] += size(row)
				if string(row) < "row0000500" {
					*below[0]++
					*below[1] += size(row)
				}
			}
			feed(l, minute*int64(1+3*(total-left)/total), rnd.UintN(9), rows, size)
		}
		k := table.KeySpace(10*minute, widecol.AllTimes, [][]byte{[]byte("row0000500")})
		got := check(t, k)
		var gotLow widecol.RangeLoad
		at := slices.IndexFunc(k.Bounds, func(b []byte) bool { return string(b) == "row0000500" })
		for _, w := range k.Windows {
			for _, l := range w.Loads {
				if l.Range <= at {
					gotLow.RowsRead += l.RowsRead
					gotLow.BytesWritten += l.BytesWritten
				}
			}
		}
		if total <= samplesPerRate && got != want {
			t.Errorf("seed %d: of %d rows got %+v, want %+v", seed, total, got, want)
		}
		t.Logf("seed %d: %d rows, got %+v, want %+v", seed, total, got, want)
		if want.RowsRead > 1000 {
			near(t, "rows read", got.RowsRead, want.RowsRead, samplesPerRate)
			near(t, "bytes read", got.BytesRead, want.BytesRead, samplesPerRate)
			near(t, "rows read of low keys", gotLow.RowsRead, low.RowsRead, samplesPerRate/4)
		}
		if want.RowsWritten > 1000 {
			near(t, "rows written", got.RowsWritten, want.RowsWritten, samplesPerRate/2)
			near(t, "bytes written", got.BytesWritten, want.BytesWritten, samplesPerRate/2)
			near(t, "bytes written of low keys", gotLow.BytesWritten, low.BytesWritten, samplesPerRate/8)
		}
	}
}

// TestEveryRowHasTheSameChance: where in a request a row stands, or in a pattern of requests, does not matter.
func TestEveryRowHasTheSameChance(t *testing.T) {
	table := New(1).Table()
	rows := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d")}
	for range 200_000 {
		feed(&table.Reads, minute, 0, rows, one)
	}
	k := table.KeySpace(minute, widecol.AllTimes, nil)
	if len(k.Windows) != 1 || len(k.Windows[0].Loads) != 4 {
		t.Fatalf("got %+v", k)
	}
	for _, l := range k.Windows[0].Loads {
		near(t, fmt.Sprint("range ", l.Range), l.RowsRead, 200_000, samplesPerRate/2)
	}
}

// TestMany: rows that are taken in one step, of which many are sampled or none.
func TestMany(t *testing.T) {
	table := New(1).Table()
	for range 4000 {
		next, rate := table.Reads.First(minute, 0)
		d := table.Reads.Draw(next, rate, 0)
		for row := int64(0); row < 1000; row += 50 {
			if d.Next() < row+50 {
				d.AddUntil(minute, key(int(row)), row+50, 1, 10)
			}
		}
	}
	got := check(t, table.KeySpace(minute, widecol.AllTimes, nil))
	near(t, "rows", got.RowsRead, 4_000_000, samplesPerRate)
	near(t, "bytes", got.BytesRead, 40_000_000, samplesPerRate)
}

// TestHotRangeIsNarrow: of a scan and a hot range, the ranges lie in the hot one, and a hot key has a range of its own.
func TestHotRangeIsNarrow(t *testing.T) {
	table := New(1).Table()
	all := make([][]byte, 100_000)
	for i := range all {
		all[i] = key(i)
	}
	feed(&table.Reads, minute, 0, all, one)
	for range 9 {
		feed(&table.Reads, minute, 0, all[50_000:51_000], one) // a tenth of the load, of a hundredth of the rows
	}
	for range 50_000 {
		feed(&table.Writes, minute, 0, all[70_000:70_001], one)
	}
	k := table.KeySpace(minute, widecol.AllTimes, nil)
	check(t, k)
	hot, alone := 0, false
	for i, b := range k.Bounds {
		if c := string(b); c >= "row0050000" && c < "row0051000" {
			hot++
		}
		alone = alone || string(b) == "row0070000" && k.Windows[0].Loads[i+1].RowsWritten > 0
	}
	if hot < 2 || len(k.Bounds) < 20 {
		t.Errorf("%d of %d bounds are in the hot range", hot, len(k.Bounds))
	}
	if !alone {
		t.Errorf("the hot key has no range of its own: %q", k.Bounds)
	}
	for _, l := range k.Windows[0].Loads {
		if r := k.Range(l.Range); l.RowsWritten > 0 && string(r.Start) != "row0070000" {
			t.Errorf("writes in %q", r)
		}
	}
}

// TestOldWindowsGo: windows become coarse after an hour and go after a day, and their sums stay until then.
func TestOldWindowsGo(t *testing.T) {
	s := New(1)
	table := s.Table()
	rows := [][]byte{[]byte("a"), []byte("b")}
	const minutes = 30 * 60
	for m := range int64(minutes) {
		feed(&table.Reads, m*minute+minute/2, 0, rows, one)
	}
	now := int64(minutes) * minute
	k := table.KeySpace(now, widecol.AllTimes, nil)
	got := check(t, k)
	// What is within a day is there, and of the window that the day begins in perhaps the rest.
	if least, most := int64(2*24*60), int64(2*(24*60+10)); got.RowsRead < least || got.RowsRead > most {
		t.Errorf("got %d rows of a day, want %d to %d", got.RowsRead, least, most)
	}
	if n := len(k.Windows); n < 60+23*6-1 || n > 61+23*6+10 {
		t.Errorf("got %d windows", n)
	}
	for _, w := range k.Windows {
		if length := w.End - w.Start; w.End > now-coarseAge && length > coarseTime || length < windowTime || length > coarseTime {
			t.Errorf("a window of %d s", length/1e6)
		}
	}
	k = table.KeySpace(now, widecol.TimeRange{Start: now - 10*minute, End: now}, nil)
	if got := check(t, k); got.RowsRead != 20 || len(k.Windows) != 10 {
		t.Errorf("of ten minutes: %d rows, %d windows", got.RowsRead, len(k.Windows))
	}
	if k := table.KeySpace(now+forgetAge, widecol.AllTimes, nil); len(k.Windows) != 0 || len(k.Bounds) != 0 {
		t.Errorf("a day later: got %+v", k)
	}
	feed(&table.Reads, now+2*forgetAge, 0, rows, one)
	if len(table.windows) != 0 {
		t.Errorf("%d windows are kept", len(table.windows))
	}
	table.Drop()
	feed(&table.Reads, now+2*forgetAge, 0, rows, one)
	if n := s.bytes.Load(); n != 0 || len(s.tables) != 0 {
		t.Errorf("a dropped table leaves %d bytes", n)
	}
}

// TestRateFollowsTheLoad: with more load fewer rows are sampled, and all are again in the next window.
func TestRateFollowsTheLoad(t *testing.T) {
	table := New(1).Table()
	count := func(now int64, n int) (samples int) {
		for range n {
			if next, rate := table.Writes.First(now, 0); next == 0 {
				d := table.Writes.Draw(next, rate, 0)
				d.Add(now, []byte("k"), 1, 1)
				samples++
			}
		}
		return samples
	}
	if n := count(minute, samplesPerRate); n != samplesPerRate {
		t.Errorf("of the first rows %d are sampled", n)
	}
	if n := count(minute, 1_000_000); n > 15*samplesPerRate || n < 5*samplesPerRate {
		t.Errorf("of 1,000,000 rows %d are sampled", n)
	}
	if n := count(2*minute, samplesPerRate); n != samplesPerRate {
		t.Errorf("of the first rows of the next minute %d are sampled", n)
	}
}

// TestMemory: a window has few points whatever the keys are, long keys are cut, and many tables share the memory. The
// oldest windows go first.
func TestMemory(t *testing.T) {
	s := New(1)
	rnd := rand.New(rand.NewPCG(1, 1))
	var tables []*Table
	for i := range 1000 {
		table := s.Table()
		tables = append(tables, table)
		for range samplesPerRate {
			long := bytes.Repeat([]byte{byte(rnd.Uint32())}, 1+rnd.IntN(1000))
			feed(&table.Writes, int64(i+1)*minute, 0, [][]byte{long}, one)
		}
		if n := len(table.current.points); n > 2*maxPoints {
			t.Fatalf("%d points", n)
		}
		if n := s.bytes.Load(); n > maxBytes {
			t.Fatalf("%d bytes after %d tables", n, i+1)
		}
	}
	sum := int64(0)
	for _, table := range tables {
		sum += table.bytes
		for _, p := range table.current.points {
			if len(p.key) > maxKey {
				t.Fatalf("a key of %d bytes", len(p.key))
			}
		}
	}
	if n := s.bytes.Load(); n != sum {
		t.Errorf("accounted are %d bytes, the tables have %d", n, sum)
	}
	first, last := tables[0].KeySpace(1000*minute, widecol.AllTimes, nil), tables[999].KeySpace(1000*minute, widecol.AllTimes, nil)
	if len(first.Windows) != 0 || check(t, last).RowsWritten != samplesPerRate {
		t.Errorf("the first table has %d windows, the last one %d", len(first.Windows), len(last.Windows))
	}
}

// TestClockStepsBack: times before the current window count in it.
func TestClockStepsBack(t *testing.T) {
	table := New(1).Table()
	rows := [][]byte{[]byte("a")}
	feed(&table.Reads, 5*minute, 0, rows, one)
	feed(&table.Reads, 3*minute, 0, rows, one)
	feed(&table.Reads, 6*minute, 0, rows, one)
	k := table.KeySpace(6*minute, widecol.AllTimes, nil)
	if len(k.Windows) != 2 || k.Windows[0].Loads[0].RowsRead != 2 {
		t.Errorf("got %+v", k.Windows)
	}
}

// TestAtOnce: requests at once, with drops and answers between them. The race detector looks on.
func TestAtOnce(t *testing.T) {
	s := New(1)
	table := s.Table()
	var group sync.WaitGroup
	const requests = 20_000
	for g := range uint(4) {
		group.Go(func() {
			for i := range requests {
				feed(&table.Reads, minute*int64(1+4*i/requests), g, [][]byte{key(i), key(i + 1)}, one)
			}
		})
	}
	group.Go(func() {
		for range 100 {
			check(t, table.KeySpace(5*minute, widecol.AllTimes, nil))
			other := s.Table()
			feed(&other.Writes, minute, 0, [][]byte{[]byte("k")}, one)
			other.Drop()
		}
	})
	group.Wait()
	got := check(t, table.KeySpace(5*minute, widecol.AllTimes, nil))
	near(t, "rows", got.RowsRead, 4*2*requests, samplesPerRate/2)
	if n := s.bytes.Load(); n != table.bytes {
		t.Errorf("accounted are %d bytes, the table has %d", n, table.bytes)
	}
}

// TestNothingIsAllocated: a request that is not sampled allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	table := New(1).Table()
	row := [][]byte{[]byte("k")}
	for range 100 * samplesPerRate {
		feed(&table.Reads, minute, 0, row, one)
	}
	if n := testing.AllocsPerRun(1000, func() { feed(&table.Reads, minute, 0, row, one) }); n > 0.1 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	table := New(1).Table()
	rows := [][]byte{[]byte("k")}
	for range b.N {
		feed(&table.Reads, minute, 0, rows, one)
	}
}
