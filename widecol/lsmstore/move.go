package lsmstore

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// A move of a family has three steps, so that each view has each of its cells in exactly one partition:
//
//  1. One change of the metadata makes the new place the family's home, and the old one its origin. From then on
//     what is set goes home; tombstones go to both, and one for each version that is set to the origin
//     (writer.add). Readers merge both (mergingRows). What home still has of the family from an earlier stay is
//     hidden by its since: compaction may have dropped the tombstones of what is left.
//  2. The mover goes through the rows of the origin in order. With the row locked, one batch sets what the origin
//     has of it at home, and deletes it from the origin. The origin only loses, so one pass finds everything, and
//     one that begins anew after a restart finds what is left.
//  3. Another change of the metadata forgets the origin, and the group that no family is in any more.
//
// To send a family back is to exchange home and origin.

// progress is what a move has moved since it began, or since the store was opened.
type progress struct {
	rows, cells, bytes atomic.Int64
	err                atomic.Pointer[error] // why it does not get on
	// Of the mover alone: since it has failed, when to try again and the time between.
	retry   int64
	backoff time.Duration
}

// MoveFamily implements widecol.Store.
func (s *Store) MoveFamily(ctx context.Context, name, familyName, place string) (widecol.Move, error) {
	var m widecol.Move // not read if the context ends first
	err := s.change(ctx, name, func(t *table) error {
		f := t.schema.family([]byte(familyName))
		if f == nil {
			return widecol.UnknownFamily(name, familyName)
		}
		if place != f.group {
			if err := s.beginMove(ctx, t, f, place); err != nil {
				return err
			}
			s.mover.wakeUp()
		}
		m = t.schema.family([]byte(familyName)).move()
		return nil
	})
	if err != nil {
		return widecol.Move{}, err
	}
	return m, nil
}

// beginMove makes place the home of a family.
func (s *Store) beginMove(ctx context.Context, t *table, f *family, place string) error {
	moved, groups := *f, t.schema.groups
	moved.from = &origin{group: f.group, partition: f.partition, since: f.since}
	r := &record{partition: t.metadata}
	at := slices.IndexFunc(groups, func(g group) bool { return g.id == place })
	switch {
	case f.from != nil && f.from.group == place:
		moved.group, moved.partition, moved.since = place, f.from.partition, f.from.since
	case f.from != nil:
		return widecol.FamilyMoves(f.name)
	case place == widecol.NewGroup:
		g, err := s.newGroup()
		if err != nil {
			return err
		}
		r.group(g)
		groups = append(groups[:len(groups):len(groups)], g)
		moved.group, moved.partition, moved.since = g.id, g.partition, 0
		err = s.replace(ctx, t, r, &moved, groups)
		if err != nil && widecol.KindOf(err) != widecol.Unknown {
			s.db.DropPartitions(g.partition) // if it fails, the next open does it
		}
		return err
	case place == "":
		moved.group, moved.partition, moved.since = "", t.data, s.db.LastSeq()
	case at < 0:
		return widecol.UnknownGroup(t.name, place)
	default:
		moved.group, moved.partition, moved.since = place, groups[at].partition, s.db.LastSeq()
	}
	return s.replace(ctx, t, r, &moved, groups)
}

// endMove forgets the origin of a move. Nothing of the family is there.
func (s *Store) endMove(ctx context.Context, name, familyName string, from *origin) error {
	return s.change(ctx, name, func(t *table) error {
		f := t.schema.family([]byte(familyName))
		if f == nil || f.from != from {
			return nil
		}
		arrived := *f
		arrived.from = nil
		return s.replace(ctx, t, &record{partition: t.metadata}, &arrived, t.schema.groups)
	})
}

// move describes where a family is.
func (f *family) move() widecol.Move {
	m := widecol.Move{Family: f.name, To: f.group, From: f.group}
	if o := f.from; o != nil {
		m.From, m.Rows, m.Cells, m.Bytes = o.group, o.rows.Load(), o.cells.Load(), o.bytes.Load()
		if err := o.err.Load(); err != nil {
			m.Err = failure(*err)
		}
	}
	return m
}
