package lsmstore

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// mover moves the families of all tables, one after the other. It works for as long as it rests, and holds the
// locks of few rows at a time. A move that fails steps aside for the others, and is tried again later.
type mover struct {
	wake   chan struct{}
	cancel context.CancelFunc   // nil if there is no goroutine
	done   chan struct{}        // closed when it has ended
	at     cursor               // of the goroutine, or the caller of MoveStep
	left   []engine.PartitionID // that families have left since the goroutine rested; likewise
}

// cursor is the move under way and how far it is.
type cursor struct {
	table, family string
	from          *origin // nil for none
	// The origin has no cells in rows before the first of rows, or before next if there are none.
	rows [][]byte // with cells to move
	next []byte   // the row from which to look for others, nil at the end
}

const (
	// moveRows bounds the rows of a step with cells to move, passRows those that it passes over. It keeps schema
	// changes, and writes behind them, from their table.
	moveRows = 256
	passRows = 4096
	// moveBytes is the default of Options.MoveBytes. Other writes of the rows wait while a step reads and inserts:
	// for 2 ms if it has this much in small cells, for 18 ms if it had 600 KiB.
	moveBytes = 256 << 10
	// moveRest bounds a rest between two steps. A move that fails is tried again after firstBackoff, and then after
	// twice as long each time, up to moveBackoff.
	moveRest     = 100 * time.Millisecond
	firstBackoff = 50 * time.Millisecond
	moveBackoff  = time.Minute
)

// startMover starts the goroutine that moves families.
func (s *Store) startMover() {
	s.mover.wake = make(chan struct{}, 1)
	if s.opt.MoveBytes <= 0 {
		s.opt.MoveBytes = moveBytes
	}
	if s.opt.Engine.Log == nil {
		s.opt.Engine.Log = slog.New(slog.DiscardHandler)
	}
	if s.opt.StepMoves {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mover.cancel, s.mover.done = cancel, make(chan struct{})
	go func() {
		defer close(s.mover.done)
		s.runMover(ctx)
	}()
}

// stop ends the goroutine. A batch or schema change that it has begun goes on.
func (m *mover) stop() {
	if m.cancel != nil {
		m.cancel()
		<-m.done
	}
}

// wakeUp says that there is something to move.
func (m *mover) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (s *Store) runMover(ctx context.Context) {
	for ctx.Err() == nil {
		begun := s.opt.Engine.Clock.Now()
		at := &s.mover.at
		switch s.findMove(at); {
		case at.from == nil:
			s.compactLeft()
			select {
			case <-s.mover.wake:
			case <-ctx.Done():
			}
		case at.from.retry > begun: // all moves have failed
			s.compactLeft()
			s.rest(ctx, time.Duration(at.from.retry-begun)*time.Microsecond, s.mover.wake)
		default:
			s.step(ctx, at)
			took := time.Duration(s.opt.Engine.Clock.Now()-begun) * time.Microsecond
			s.rest(ctx, min(took, moveRest), nil)
		}
	}
}

// compactLeft has the partitions compacted that families have left, once for all of them. No reader sees what they
// have left, but reads step over it, and other compactions may not come to it for long.
func (s *Store) compactLeft() {
	s.mover.left = slices.DeleteFunc(s.mover.left, s.db.CompactSoon)
}

// rest waits, or until the context ends or wake wakes it up.
func (s *Store) rest(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	if d <= 0 { // the clock has stepped back
		return
	}
	over := make(chan struct{})
	stop := s.opt.Engine.Clock.AfterFunc(min(d, moveBackoff), func() { close(over) })
	defer stop()
	select {
	case <-over:
	case <-wake:
	case <-ctx.Done():
	}
}

// MoveStep moves some cells of a family that moves, or ends its move. It reports whether there was something to
// do. It is for a Store with Options.StepMoves, and for one goroutine at a time.
func (s *Store) MoveStep(ctx context.Context) (more bool, err error) {
	at := &s.mover.at
	if s.findMove(at); at.from == nil {
		return false, nil
	}
	return true, s.step(ctx, at)
}

// step is a step of a move.
func (s *Store) step(ctx context.Context, at *cursor) error {
	ended, err := s.moveSome(ctx, at)
	if err == nil && ended {
		err = s.endMove(ctx, at.table, at.family, at.from)
		if err == nil && !slices.Contains(s.mover.left, at.from.partition) {
			s.mover.left = append(s.mover.left, at.from.partition)
		}
	}
	if widecol.KindOf(err) == widecol.NotFound { // dropped meanwhile
		return nil
	}
	if ctx.Err() == nil {
		s.note(at, err)
	}
	return err
}

// note notes how a step of a move has ended. The log has each error once, not each time that it comes.
func (s *Store) note(at *cursor, err error) {
	m, last := at.from, at.from.err.Load()
	if err == nil {
		m.retry, m.backoff = 0, 0
		if m.err.Store(nil); last != nil {
			s.opt.Engine.Log.Info("column family moves on", "table", at.table, "family", at.family)
		}
		return
	}
	m.backoff = min(max(2*m.backoff, firstBackoff), moveBackoff)
	m.retry = s.opt.Engine.Clock.Now() + m.backoff.Microseconds()
	if m.err.Store(&err); last == nil || (*last).Error() != err.Error() {
		s.opt.Engine.Log.Warn("column family does not move on; it is tried again, and can be sent back", "table", at.table, "family", at.family, "cause", err)
	}
}

// findMove sets at to the move that is to go on: that one again, unless it has ended or failed. Otherwise one that
// has not failed, or else the one to be tried again first. It sets at.from to nil if no family moves.
func (s *Store) findMove(at *cursor) {
	s.mu.RLock()
	same := s.tables[at.table]
	s.mu.RUnlock()
	if same != nil && at.from != nil && at.from.retry == 0 && same.hasMove(at.from) {
		return
	}
	s.mu.RLock()
	tables := slices.SortedFunc(maps.Values(s.tables), func(a, b *table) int { return strings.Compare(a.name, b.name) })
	s.mu.RUnlock()
	var next cursor
	for _, t := range tables {
		for _, f := range t.moving() {
			if next.from == nil || f.from.retry < next.from.retry {
				next = cursor{table: t.name, family: f.name, from: f.from}
			}
		}
	}
	if next.from == nil || next.from != at.from {
		*at = next
	}
}

// moving returns the families that move.
func (t *table) moving() []*family {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.exists() != nil {
		return nil
	}
	return t.schema.moving
}

func (t *table) hasMove(from *origin) bool {
	return slices.ContainsFunc(t.moving(), func(f *family) bool { return f.from == from })
}

// moveSome moves cells of the next rows. ended says that there are none.
func (s *Store) moveSome(ctx context.Context, at *cursor) (ended bool, err error) {
	t, done, err := s.beginChange(ctx, at.table)
	if err != nil {
		return false, err
	}
	defer done()
	f := t.schema.family([]byte(at.family))
	if f == nil || f.from != at.from { // dropped or sent back
		return false, nil
	}
	if len(at.rows) == 0 {
		if at.rows, at.next, err = s.rowsToMove(t, f, at.next); err != nil {
			return false, err
		}
	}
	if len(at.rows) > 0 {
		done, err := s.moveRowsOf(ctx, t, f, at.rows)
		if err != nil {
			return false, err
		}
		at.rows = at.rows[done:]
	}
	return len(at.rows) == 0 && at.next == nil, nil
}

// scanOrigin scans what the origin of a family has, garbage too: it must not come back when settings change.
func (v *view) scanOrigin(f *family, start, end []byte, keysOnly bool) (*engine.Scan, error) {
	return v.snap.Scan(f.from.partition, engine.ScanOptions{
		Start: start, End: end, Columns: cell.NewColumns(cell.FamilyRange([]byte(f.name))),
		Policies: v.schema.bare[f.from.partition], Now: v.now, KeysOnly: keysOnly,
	})
}

// rowsToMove returns the next rows with cells to move, and the row from which to look for others, nil at the end.
// On an error the row is start.
func (s *Store) rowsToMove(t *table, f *family, start []byte) (rows [][]byte, next []byte, err error) {
	v, err := s.newView(t)
	if err != nil {
		return nil, start, err
	}
	defer v.Close()
	scan, err := v.scanOrigin(f, start, nil, true)
	if err != nil {
		return nil, start, failure(err)
	}
	defer scan.Close()
	for passed := 0; scan.NextRow(); passed++ {
		if len(rows) == moveRows || passed == passRows {
			return rows, bytes.Clone(scan.Row()), nil
		}
		if len(scan.Cells()) > 0 {
			rows = append(rows, bytes.Clone(scan.Row()))
		}
	}
	if err := scan.Err(); err != nil {
		return nil, start, failure(err)
	}
	return rows, nil, nil
}

// moveRowsOf moves the cells of rows in one batch. It returns how many rows had room in it.
func (s *Store) moveRowsOf(ctx context.Context, t *table, f *family, rows [][]byte) (done int, err error) {
	w := newWriter(s, t)
	defer w.release()
	for _, row := range rows {
		w.locks.takeAlone(row)
	}
	w.lock()
	v, err := s.viewOfEntered(t)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	last := rows[len(rows)-1]
	scan, err := v.scanOrigin(f, rows[0], append(last[:len(last):len(last)], 0), false)
	if err != nil {
		return 0, failure(err)
	}
	defer scan.Close()
	m := rowMover{w: w, f: f, most: s.opt.MoveBytes}
	done = len(rows)
	for scan.NextRow() {
		if !m.move(scan) {
			done, _ = slices.BinarySearchFunc(rows, scan.Row(), bytes.Compare)
			break
		}
	}
	if err := scan.Err(); err != nil {
		return 0, failure(err)
	}
	if w.batch.Len() == 0 { // deleted meanwhile
		return done, nil
	}
	if _, err := w.commit(ctx); err != nil {
		return 0, err
	}
	f.from.rows.Add(m.rows)
	f.from.cells.Add(m.cells)
	f.from.bytes.Add(m.bytes)
	return done, nil
}

// rowMover adds the cells of rows to a batch, until it is full.
type rowMover struct {
	w    *writer
	f    *family
	most int // bytes of the batch

	rows, cells, bytes int64
	versions           []movedVersion // of the row
	columns            []byte         // theirs, one after the other
}

type movedVersion struct {
	column int // its end in columns
	time   int64
}

func (m *rowMover) full() bool { return m.w.batch.Bytes() >= m.most }

// move moves the row of a scan. It reports whether all of the row had room.
func (m *rowMover) move(scan *engine.Scan) bool {
	m.versions, m.columns = m.versions[:0], m.columns[:0]
	row := scan.Row()
	for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
		for i := range cells {
			c := &cells[i]
			if m.full() {
				m.deleteVersions(row)
				return false
			}
			m.w.batch.Add(m.f.partition, row, &cell.Cell{Kind: cell.Set, Column: c.Column, Time: c.Time, Type: c.Type, Value: c.Value})
			m.cells++
			m.bytes += int64(len(row) + len(c.Column) + 8 + len(c.Value))
			m.columns = append(m.columns, c.Column...)
			m.versions = append(m.versions, movedVersion{len(m.columns), c.Time})
		}
	}
	if len(m.versions) > 0 {
		m.rows++
		m.w.batch.Add(m.f.from.partition, row, &cell.Cell{Kind: cell.DeleteFamily, Column: []byte(m.f.name), Time: cell.TombstoneTime})
	}
	return true
}

// deleteVersions deletes from the origin what was moved of a row that is too large for the batch.
func (m *rowMover) deleteVersions(row []byte) {
	start := 0
	for _, v := range m.versions {
		m.w.batch.Add(m.f.from.partition, row, &cell.Cell{Kind: cell.DeleteVersion, Column: m.columns[start:v.column], Time: v.time})
		start = v.column
	}
}
