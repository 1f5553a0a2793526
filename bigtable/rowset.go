package bigtable

import (
	"bytes"
	"fmt"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/widecol"
)

// rowsOf takes a set of rows over. Without keys and ranges it has all rows.
func rowsOf(m *btpb.RowSet) (widecol.RowSet, error) {
	if len(m.GetRowKeys())+len(m.GetRowRanges()) == 0 {
		return widecol.AllRows(), nil
	}
	ranges := make([]widecol.RowRange, 0, len(m.GetRowKeys())+len(m.GetRowRanges()))
	for i, key := range m.GetRowKeys() {
		if err := widecol.CheckRowKey(key); err != nil {
			return nil, statusAt(fmt.Sprintf("rows.row_keys[%d]", i), err)
		}
		ranges = append(ranges, widecol.KeyRange(key))
	}
	for i, m := range m.GetRowRanges() {
		r, err := rangeOf(m)
		if err != nil {
			return nil, invalid(fmt.Sprintf("rows.row_ranges[%d]", i), "%s", err)
		}
		ranges = append(ranges, r)
	}
	return widecol.NewRowSet(ranges...), nil
}

// rangeOf takes a range of rows over. An empty bound is none. Between two keys that follow each other, both open, a range
// is empty and no error: clients that go on in a range behind its first key send it.
func rangeOf(m *btpb.RowRange) (r widecol.RowRange, err error) {
	start, startName := []byte(nil), ""
	switch b := m.GetStartKey().(type) {
	case *btpb.RowRange_StartKeyClosed:
		start, startName = b.StartKeyClosed, "start_key_closed"
		r.Start = start
	case *btpb.RowRange_StartKeyOpen:
		start, startName = b.StartKeyOpen, "start_key_open"
		r.Start = after(start)
	}
	end, endName := []byte(nil), ""
	switch b := m.GetEndKey().(type) {
	case *btpb.RowRange_EndKeyClosed:
		end, endName = b.EndKeyClosed, "end_key_closed"
		r.End = after(end)
	case *btpb.RowRange_EndKeyOpen:
		end, endName = b.EndKeyOpen, "end_key_open"
		if len(end) > 0 {
			r.End = end
		}
	}
	if len(start) == 0 || len(end) == 0 {
		return r, nil
	}
	one := startName == "start_key_closed" && endName == "end_key_closed"
	if c := bytes.Compare(start, end); c > 0 || c == 0 && !one {
		return r, fmt.Errorf("the range is empty: %s must be less than %s", startName, endName)
	}
	return r, nil
}

// after returns the first key behind key, nil for an empty one.
func after(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return append(bytes.Clone(key), 0)
}
