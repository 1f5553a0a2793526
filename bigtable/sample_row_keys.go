package bigtable

import (
	"bytes"
	"context"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

const (
	// mostSamples is about how many keys SampleRowKeys returns at most.
	mostSamples = 200
	// leastSample is the least distance of two keys, in bytes of files.
	leastSample = 1 << 20
)

// SampleRowKeys implements the data service. The keys divide the table into parts of about equal size. The last sample
// has no key: it stands for the end of the table.
func (s *Server) SampleRowKeys(r *btpb.SampleRowKeysRequest, stream btpb.Bigtable_SampleRowKeysServer) error {
	c, err := s.begin(stream.Context(), access.Read, admission.Read, r.TableName)
	if err != nil {
		return err
	}
	defer c.end()
	t, err := s.store.Table(stream.Context(), c.table)
	if err != nil {
		return statusOf(err)
	}
	view, err := s.store.View(stream.Context(), c.table)
	if err != nil {
		return statusOf(err)
	}
	defer view.Close()
	keys := divisions(view, max(t.DiskBytes/mostSamples, leastSample))
	if len(keys) == 0 { // clients expect one of a table that has rows
		if keys, err = lastKey(stream.Context(), view); err != nil {
			return statusOf(err)
		}
	}
	c.slot.Release()
	for i, key := range append(keys, nil) {
		offset := t.DiskBytes * int64(i+1) / int64(len(keys)+1)
		if err := stream.Send(&btpb.SampleRowKeysResponse{RowKey: key, OffsetBytes: offset}); err != nil {
			return err
		}
	}
	return nil
}

// divisions returns keys that divide a table into parts of about least bytes, in order.
func divisions(view widecol.View, least int64) (keys [][]byte) {
	d, ok := view.(widecol.Divider)
	if !ok {
		return nil
	}
	q := widecol.NewQuery()
	for _, part := range d.Divide(&q, least) {
		if start := part.Rows[0].Start; len(start) > 0 {
			keys = append(keys, start)
		}
	}
	return keys
}

// lastKey returns the key of the last row, if there is one.
func lastKey(ctx context.Context, view widecol.View) (keys [][]byte, err error) {
	q := widecol.NewQuery()
	q.Reverse, q.RowCellLimit, q.RowLimit, q.KeysOnly = true, 1, 1, true
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if rows.Next() {
		keys = [][]byte{bytes.Clone(rows.Row())}
	}
	return keys, rows.Err()
}
