package bench

import (
	"context"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/widecol"
)

// BenchmarkDeletePrefix deletes a prefix with all rows of a table, and reads it. Each time the rows are loaded
// anew, which does not count.
func BenchmarkDeletePrefix(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	d := widecol.NewDeletion()
	d.Rows = widecol.RowSet{widecol.PrefixRange([]byte("com."))}
	b.Run("delete", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			s := openWeb(b, data, nil)
			b.StartTimer()
			_, err := s.Delete(context.Background(), webName, &d, "")
			must(b, err)
			b.StopTimer()
			emptyBelow(b, s, data)
			b.StartTimer()
		}
	})
	b.Run("read", func(b *testing.B) {
		s := openWeb(b, data, nil)
		_, err := s.Delete(context.Background(), webName, &d, "")
		must(b, err)
		for b.Loop() {
			emptyBelow(b, s, data)
		}
	})
}

// emptyBelow reads the prefix that was deleted.
func emptyBelow(b *testing.B, s *web, data *dataset.Table) {
	q := widecol.NewQuery()
	q.SetPrefix([]byte("com."))
	stats, err := s.scan(&q)
	must(b, err)
	if stats.Rows > 0 {
		b.Fatalf("%d rows of %d are left", stats.Rows, data.Len())
	}
}
