package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// moves are families that move: many small cells, or one of several KiB in each row.
var moves = []struct {
	family string
	bytes  int // of a row
}{{"anchor", 100}, {"contents", 6000}}

// BenchmarkMove moves a family to a group of its own and back. MB are those of widecol.Move.
func BenchmarkMove(b *testing.B) {
	for _, move := range moves {
		b.Run("family="+move.family, func(b *testing.B) {
			s := openWeb(b, movedTable(b, move.bytes), nil)
			var bytes int64
			m := startMeter(b)
			for b.Loop() {
				for _, place := range []string{widecol.NewGroup, ""} {
					bytes += s.move(b, move.family, place)
				}
			}
			m.stop()
			b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
		})
	}
}

// movedTable has fewer rows if they are large.
func movedTable(b *testing.B, bytes int) *dataset.Table {
	return generated(b, max(rowCount(b)*100/bytes, rowCount(b)/10), bytes)
}

// move moves a family and returns how many bytes it has seen move.
func (s *web) move(b *testing.B, family, place string) (bytes int64) {
	_, err := s.MoveFamily(context.Background(), webName, family, place)
	for must(b, err); ; {
		t, err := s.Table(context.Background(), webName)
		must(b, err)
		if len(t.Moves) == 0 {
			return bytes
		}
		must(b, t.Moves[0].Err)
		bytes = t.Moves[0].Bytes
		time.Sleep(time.Millisecond)
	}
}

// BenchmarkBesideMove writes rows, and increments counters, of 64 clients, in a family that moves there and back all
// the time, or stays.
func BenchmarkBesideMove(b *testing.B) {
	for _, op := range []struct {
		name string
		do   func(s *web, row []byte, family string) error
	}{{"write", (*web).writeRow}, {"increment", (*web).increment}} {
		for _, move := range moves {
			for _, moving := range []bool{false, true} {
				b.Run(fmt.Sprintf("op=%s/family=%s/moves=%t", op.name, move.family, moving), func(b *testing.B) {
					const clients = 64
					data := movedTable(b, move.bytes)
					s := openWeb(b, data, nil)
					over := s.moveOn(b, move.family, moving)
					l := make(latencies, clients)
					concurrently(b, clients, func(g int) func() error {
						rnd := rand.New(rand.NewPCG(1, uint64(g)))
						return l.timed(g, func() error { return op.do(s, keyOf(data, rnd.IntN(data.Len())), move.family) })
					})
					b.ReportMetric(float64(over()), "moves")
					l.report(b)
				})
			}
		}
	}
}

func keyOf(data *dataset.Table, i int) []byte {
	key, _ := data.Row(i, nil)
	return key
}

// moveOn moves a family until over is called, which returns how often.
func (s *web) moveOn(b *testing.B, family string, moves bool) (over func() int) {
	if !moves {
		return func() int { return 0 }
	}
	stop, n := make(chan struct{}), make(chan int)
	go func() {
		for count := 0; ; count++ {
			select {
			case <-stop:
				n <- count
				return
			default:
				s.move(b, family, []string{widecol.NewGroup, ""}[count%2])
			}
		}
	}()
	return func() int { close(stop); return <-n }
}

func (s *web) writeRow(row []byte, family string) error {
	m := widecol.Mutation{Row: row, Family: []byte(family), Qualifier: []byte("written"), Value: make([]byte, 100), Time: widecol.CommitTime, Type: cell.Bytes}
	_, err := s.Write(context.Background(), webName, []widecol.Mutation{m}, "")
	return err
}

func (s *web) increment(row []byte, family string) error {
	_, _, err := s.ReadModifyWrite(context.Background(), webName, &widecol.ReadModifyWrite{Row: row, Rules: []widecol.Rule{
		{Family: []byte(family), Qualifier: []byte("count"), Increment: 1},
	}}, "")
	return err
}
