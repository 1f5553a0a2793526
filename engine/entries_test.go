package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

func TestBatchEntries(t *testing.T) {
	var b Batch
	b.Add(3, []byte("r"), &cell.Cell{Column: cell.AppendColumn(nil, []byte("f"), []byte("c")), Time: 7, Type: cell.String, Value: []byte("v")})
	b.Add(3, []byte("r"), &cell.Cell{Column: cell.AppendColumn(nil, []byte("f"), []byte("d")), Kind: cell.DeleteColumn, Time: cell.TombstoneTime})
	b.DeleteRange(4, []byte("s"), []byte("u"))
	if b.err != nil {
		t.Fatal(b.err)
	}
	var got []string
	show := func(e Entry) {
		_, qualifier := cell.SplitColumn(e.Cell.Column)
		line := fmt.Sprintf("%d %s %s %d %s", e.Partition, e.Row, qualifier, e.Cell.Kind, e.Cell.Value)
		if e.Range != nil {
			line = fmt.Sprintf("%d %s-%s", e.Partition, e.Range.Start, e.Range.End)
		}
		got = append(got, line)
	}
	b.setTime(5)
	if time, err := BatchEntries(b.buf, show); time != 5 || err != nil || strings.Join(got, ", ") != "3 r c 0 v, 3 r d 2 , 4 s-u" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := BatchEntries(b.buf[:len(b.buf)-1], show); err == nil {
		t.Error("a batch that is cut short has no error")
	}
}
