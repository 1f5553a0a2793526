package lsmstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// openStepping opens a store in which families move step by step.
func openStepping(t *testing.T, fs vfs.FS, bytes int) *lsmstore.Store {
	t.Helper()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", MoveBytes: bytes, StepMoves: true, Engine: engine.Options{
		FS: fs, Clock: clock.System, SegmentBytes: 64 << 10, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// arrive steps until no family moves.
func arrive(t *testing.T, s *lsmstore.Store) {
	t.Helper()
	for {
		more, err := s.MoveStep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func move(t *testing.T, s *lsmstore.Store, family, place string) widecol.Move {
	t.Helper()
	m, err := s.MoveFamily(t.Context(), "t", family, place)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func createAB(t *testing.T, s *lsmstore.Store) {
	t.Helper()
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}, Groups: [][]string{{"b"}}}
	if err := s.CreateTable(t.Context(), "t", spec); err != nil {
		t.Fatal(err)
	}
}

// contents returns all versions of table t, and fails if one comes twice.
func contents(t *testing.T, s *lsmstore.Store) map[string]string {
	t.Helper()
	v, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	q := widecol.NewQuery()
	rows, err := v.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := make(map[string]string)
	for rows.Next() {
		for _, c := range rows.Cells() {
			place := fmt.Sprintf("%s %q %d", rows.Row(), c.Column, c.Time)
			if before, twice := all[place]; twice {
				t.Fatalf("%s is there twice, as %q and %q", place, before, c.Value)
			}
			all[place] = string(c.Value)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// crashScript makes changes of a table, and knows what must be there when one of them is under way.
type crashScript struct {
	mu      sync.Mutex
	acked   map[string]string
	pending map[string]string // with the change that is under way, if there is one
	images  []crashImage
	seen    map[uint64]bool
}

type crashImage struct {
	fs             *vfs.Mem
	at             string
	acked, pending map[string]string
}

// change makes a change, which set sets to a value, "" for gone.
func (c *crashScript) change(t *testing.T, s *lsmstore.Store, m widecol.Mutation) {
	t.Helper()
	place := fmt.Sprintf("%s %q %d", m.Row, cell.AppendColumn(nil, m.Family, m.Qualifier), m.Time)
	next := maps.Clone(c.acked)
	if next[place] = string(m.Value); m.Op != widecol.Set {
		maps.DeleteFunc(next, func(place, _ string) bool { return strings.HasPrefix(place, string(m.Row)+" ") })
	}
	c.mu.Lock()
	c.pending = next
	c.mu.Unlock()
	if _, err := s.Write(context.Background(), "t", []widecol.Mutation{m}, ""); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.acked, c.pending = next, nil
	c.mu.Unlock()
}

// hook takes images of each operation of the file system, before and after it.
func (c *crashScript) hook(fs *vfs.Mem) func(vfs.Op, bool) {
	return func(op vfs.Op, done bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, model := range []vfs.Model{vfs.KeepAll, vfs.DropAll} {
			image := fs.Crash(model, 0)
			if mark := image.Fingerprint(); !c.seen[mark] {
				c.seen[mark] = true
				c.images = append(c.images, crashImage{image, fmt.Sprintf("%v of %v, done %t", model, op, done), c.acked, c.pending})
			}
		}
	}
}

// TestMoveCrashes crashes a store at each operation of moves there and back, while the family is written. Every
// crash leaves each version once, and the move goes on to its end.
func TestMoveCrashes(t *testing.T) {
	fs := vfs.NewMem()
	s := openStepping(t, fs, 1)
	createAB(t, s)
	c := &crashScript{acked: map[string]string{}, seen: map[uint64]bool{}}
	set := func(row string, time int64, value string) {
		c.change(t, s, widecol.Mutation{Row: []byte(row), Family: []byte("a"), Qualifier: []byte("x"), Time: time, Value: []byte(value), Type: cell.String})
	}
	for _, row := range []string{"p", "q", "r", "s"} {
		set(row, 1, "old")
		set(row, 2, "old")
	}
	fs.SetHook(c.hook(fs))
	step := func() {
		if _, err := s.MoveStep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	move(t, s, "a", widecol.NewGroup)
	set("q", 2, "new")
	step()
	set("r", 3, "new")
	c.change(t, s, widecol.Mutation{Row: []byte("s"), Op: widecol.DeleteRow})
	step()
	step()
	move(t, s, "a", "")
	set("p", 1, "back")
	step()
	move(t, s, "a", groupOf(t, s, "a"))
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	arrive(t, s)
	set("q", 1, "last")
	fs.SetHook(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(c.images) < 50 {
		t.Errorf("only %d images were taken", len(c.images))
	}
	for _, image := range c.images {
		s := openStepping(t, image.fs, 1)
		before := contents(t, s)
		if !maps.Equal(before, image.acked) && (image.pending == nil || !maps.Equal(before, image.pending)) {
			t.Fatalf("%s left %q, want %q or %q", image.at, before, image.acked, image.pending)
		}
		for more := true; more; {
			var err error
			if more, err = s.MoveStep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if after := contents(t, s); !maps.Equal(before, after) {
				t.Fatalf("%s left %q, and a step of the move %q", image.at, before, after)
			}
		}
		if table, err := s.Table(t.Context(), "t"); err != nil || table.Moves != nil {
			t.Fatalf("%s: the move ends as %+v, %v", image.at, table.Moves, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// groupOf returns the place that a family moves from if there is one, or else its group.
func groupOf(t *testing.T, s *lsmstore.Store, family string) string {
	t.Helper()
	table, err := s.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range table.Moves {
		if m.Family == family {
			return m.From
		}
	}
	for _, g := range table.Groups {
		if slices.Contains(g.Families, family) {
			return g.ID
		}
	}
	return ""
}

// TestMoveUnderLoad: while a family moves there and back in the background, no update of a row is lost, each
// view has each cell once, and what was overwritten or deleted does not come back.
func TestMoveUnderLoad(t *testing.T) {
	const rows, writers, updates, overwrites = 200, 4, 200, 500
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	createAB(t, s)
	ctx := t.Context()
	add := func(row int) error {
		_, _, err := s.ReadModifyWrite(ctx, "t", &widecol.ReadModifyWrite{Row: fmt.Appendf(nil, "row%03d", row), Rules: []widecol.Rule{
			{Family: []byte("a"), Qualifier: []byte("n"), Increment: 1}, {Family: []byte("b"), Qualifier: []byte("n"), Increment: 1},
		}}, "")
		return err
	}
	for row := range rows {
		if err := add(row); err != nil {
			t.Fatal(err)
		}
	}
	var writing, reading sync.WaitGroup
	written, over := make(chan struct{}), make(chan struct{})
	last := func(w, i int) widecol.Mutation {
		m := widecol.Mutation{
			Row: fmt.Appendf(nil, "last%d-%d", w, i%20), Family: []byte("a"), Qualifier: []byte("last"), Time: 1,
			Value: fmt.Append(nil, i), Type: cell.String}
		if i%5 == 0 {
			m.Op = widecol.DeleteFamily
		}
		return m
	}
	for w := range writers {
		writing.Go(func() {
			for i := range overwrites {
				if _, err := s.Write(ctx, "t", []widecol.Mutation{last(w, i)}, ""); err != nil {
					t.Error(err)
					return
				}
				if i >= 10 {
					if err := shows(ctx, s, last(w, i-10)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		writing.Go(func() {
			for i := range updates {
				if err := add((i*writers + w) * 7 % rows); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	reading.Go(func() {
		for {
			if err := sumsAgree(ctx, s, rows, -1); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	go func() {
		defer close(written)
		writing.Wait()
	}()
	moves := 0
	for ended := false; !ended || moves < 4; {
		for _, place := range []string{widecol.NewGroup, ""} {
			move(t, s, "a", place)
			moves++
			for moving := true; moving; {
				table, err := s.Table(ctx, "t")
				if err != nil {
					t.Fatal(err)
				}
				moving = table.Moves != nil
			}
		}
		select {
		case <-written:
			ended = true
		default:
		}
	}
	close(over)
	reading.Wait()
	if err := sumsAgree(ctx, s, rows, rows+writers*updates); err != nil {
		t.Error(err)
	}
	t.Logf("%d moves", moves)
}

// shows checks that a row has what was written to it last, alone.
func shows(ctx context.Context, s *lsmstore.Store, m widecol.Mutation) error {
	v, err := s.View(ctx, "t")
	if err != nil {
		return err
	}
	defer v.Close()
	q := widecol.NewQuery()
	q.SetKey(m.Row)
	result, err := v.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer result.Close()
	var got []string
	for result.Next() {
		for _, c := range result.Cells() {
			got = append(got, string(c.Value))
		}
	}
	if result.Err() != nil {
		return result.Err()
	}
	var want []string
	if m.Op == widecol.Set {
		want = []string{string(m.Value)}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("row %s has %q, want %q", m.Row, got, want)
	}
	return nil
}

// sumsAgree checks that each row has the same newest number in both families, and that these add up to sum, if it
// is not negative.
func sumsAgree(ctx context.Context, s *lsmstore.Store, rows, sum int) error {
	v, err := s.View(ctx, "t")
	if err != nil {
		return err
	}
	defer v.Close()
	q := widecol.NewQuery()
	q.SetPrefix([]byte("row"))
	q.ColumnCellLimit = 1
	result, err := v.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer result.Close()
	newest := map[string][]uint64{}
	for result.Next() {
		for _, c := range result.Cells() {
			row := string(result.Row())
			newest[row] = append(newest[row], binary.LittleEndian.Uint64(c.Value))
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	total := 0
	for row, n := range newest {
		if len(n) != 2 || n[0] != n[1] {
			return fmt.Errorf("row %s has %d, one for each family, should be two that are equal", row, n)
		}
		total += int(n[0])
	}
	if len(newest) != rows || sum >= 0 && total != sum {
		return fmt.Errorf("%d rows with a sum of %d, should be %d with %d", len(newest), total, rows, sum)
	}
	return nil
}

// TestMoveLargeRow: a row that is larger than a step moves in several, each of which is bounded.
func TestMoveLargeRow(t *testing.T) {
	const cells, size, step = 40, 10_000, 100_000
	s := openStepping(t, vfs.NewMem(), step)
	defer s.Close()
	createAB(t, s)
	for i := range cells {
		m := widecol.Mutation{Row: []byte("r"), Family: []byte("a"), Qualifier: fmt.Append(nil, i%7), Time: int64(i), Value: make([]byte, size), Type: cell.Bytes}
		if _, err := s.Write(t.Context(), "t", []widecol.Mutation{m}, ""); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, s)
	move(t, s, "a", widecol.NewGroup)
	last, steps := int64(0), 0
	for {
		more, err := s.MoveStep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after := contents(t, s); !maps.Equal(before, after) {
			t.Fatalf("after step %d there are %d cells, want %d", steps, len(after), len(before))
		}
		table, err := s.Table(t.Context(), "t")
		if err != nil || !more {
			t.Fatalf("%v, %t", err, more)
		}
		if table.Moves == nil {
			break
		}
		m := table.Moves[0]
		if moved := m.Bytes - last; moved < step/2 || moved > step+2*size {
			t.Errorf("step %d has moved %d bytes", steps, moved)
		}
		last = m.Bytes
		steps++
	}
	if steps < cells*size/step-1 {
		t.Errorf("the row has moved in %d steps", steps)
	}
}

// TestMoveManyVersions: a limit of versions holds for a column with many more of them, whose family moves.
func TestMoveManyVersions(t *testing.T) {
	s := openStepping(t, vfs.NewMem(), 1<<20)
	defer s.Close()
	createAB(t, s)
	var versions []widecol.Mutation
	for i := range int64(200) {
		versions = append(versions, widecol.Mutation{Row: []byte("r"), Family: []byte("a"), Qualifier: []byte("x"), Time: i, Type: cell.Bytes})
	}
	if _, err := s.Write(t.Context(), "t", versions, ""); err != nil {
		t.Fatal(err)
	}
	move(t, s, "a", widecol.NewGroup)
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	q.ColumnCellLimit = 2
	rows, err := view.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := 0
	for rows.Next() {
		found += len(rows.Cells())
	}
	if rows.Err() != nil || found != 2 {
		t.Errorf("%d versions, %v", found, rows.Err())
	}
}

// formatOf returns the format of the metadata of table t.
func formatOf(t *testing.T, s *lsmstore.Store) int64 {
	t.Helper()
	for _, p := range s.Engine().Partitions() {
		if p.Name != "_man_t" {
			continue
		}
		scan, err := s.Engine().Scan(p.ID, engine.ScanOptions{Now: math.MaxInt64, Columns: cell.NewColumns(cell.ColumnRange([]byte("d"), []byte("format")))})
		if err != nil {
			t.Fatal(err)
		}
		defer scan.Close()
		for scan.NextRow() {
			if cells := scan.Cells(); len(cells) > 0 {
				return int64(binary.LittleEndian.Uint64(cells[0].Value))
			}
		}
	}
	t.Fatal("there is no format")
	return 0
}

// TestMoveFormat: a program that does not know of moves cannot open a table with a family that moves, and can
// afterwards.
func TestMoveFormat(t *testing.T) {
	s := openStepping(t, vfs.NewMem(), 1)
	defer s.Close()
	createAB(t, s)
	write := func() {
		if _, err := s.Write(t.Context(), "t", append(one("q", "a"), one("r", "a")...), ""); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, format int64) {
		t.Helper()
		if got := formatOf(t, s); got != format {
			t.Errorf("%s: the format is %d, want %d", when, got, format)
		}
	}
	write()
	want("before a move", 1)
	move(t, s, "a", widecol.NewGroup)
	move(t, s, "b", "")
	want("while two families move", 2)
	yes := true
	if err := s.AlterTable(t.Context(), "t", widecol.TableChange{Protected: &yes}); err != nil {
		t.Fatal(err)
	}
	want("with other settings", 2)
	for range 2 {
		if _, err := s.MoveStep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want("when one has arrived", 2)
	arrive(t, s)
	want("when both have arrived", 1)
	move(t, s, "a", "")
	want("again", 2)
	yes = false
	if err := s.AlterTable(t.Context(), "t", widecol.TableChange{Protected: &yes}); err != nil {
		t.Fatal(err)
	}
	if err := s.DropFamily(t.Context(), "t", "a"); err != nil {
		t.Fatal(err)
	}
	want("without the family", 1)
}

// damagedMove makes a store in which the group of family b has a damaged file, and returns what undoes the damage
// under the open store. b has a cell in row q, a has one in row r.
func damagedMove(t *testing.T, opt lsmstore.Options) (s *lsmstore.Store, undo func()) {
	t.Helper()
	fs := vfs.NewMem()
	opt.Dir, opt.MoveBytes = "data", 1
	opt.Engine.FS, opt.Engine.SegmentBytes, opt.Engine.ReserveBytes = fs, 64<<10, -1
	open := func() *lsmstore.Store {
		s, err := lsmstore.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s = open()
	createAB(t, s)
	if _, err := s.Write(t.Context(), "t", append(one("q", "b"), one("r", "a")...), ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	table, err := s.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := table.Partitions[2].Path // of the group of b
	flipIn(t, fs, dir)
	s = open()
	t.Cleanup(func() { s.Close() })
	return s, func() { flipUnder(t, fs, dir) }
}

// TestMoveFromDamage: a move whose origin is damaged does not get on, and says why, in the log once. Nothing is
// dropped, and another family moves meanwhile. When the damage is gone, it goes on.
func TestMoveFromDamage(t *testing.T) {
	var log strings.Builder
	s, undo := damagedMove(t, lsmstore.Options{StepMoves: true, Engine: engine.Options{
		Clock: clock.NewManual(1), Log: slog.New(slog.NewTextHandler(&log, nil)),
	}})
	move(t, s, "b", "")
	for range 3 {
		if more, err := s.MoveStep(t.Context()); !more || widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("a step returned %t, %v, want damage", more, err)
		}
	}
	move(t, s, "a", widecol.NewGroup)
	if more, err := s.MoveStep(t.Context()); !more || err != nil {
		t.Errorf("a step of the other family returned %t, %v", more, err)
	}
	table, err := s.Table(t.Context(), "t")
	if err != nil || len(table.Moves) != 1 || widecol.KindOf(table.Moves[0].Err) != widecol.Corrupt || len(table.Partitions) != 4 {
		t.Errorf("the table is %+v, %v", table, err)
	}
	undo()
	arrive(t, s)
	if got := contents(t, s); len(got) != 2 {
		t.Errorf("the table has %q", got)
	}
	for text, want := range map[string]int{"does not move on": 1, ".sst, offset 0": 1, "family moves on": 1} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("the log says %q %d times, want %d:\n%s", text, n, want, log.String())
		}
	}
}

// TestMoveFromDamageIsSentBack: a move that does not get on can be cancelled at once.
func TestMoveFromDamageIsSentBack(t *testing.T) {
	s, undo := damagedMove(t, lsmstore.Options{StepMoves: true, Engine: engine.Options{Clock: clock.NewManual(1)}})
	home := groupOf(t, s, "b")
	move(t, s, "b", "")
	if _, err := s.MoveStep(t.Context()); widecol.KindOf(err) != widecol.Corrupt {
		t.Errorf("a step returned %v, want damage", err)
	}
	if _, err := s.Write(t.Context(), "t", one("z", "b"), ""); err != nil {
		t.Fatal(err)
	}
	if m := move(t, s, "b", home); m.Err != nil {
		t.Errorf("it is sent back with the error %v", m.Err)
	}
	arrive(t, s)
	if table, err := s.Table(t.Context(), "t"); err != nil || table.Moves != nil || groupOf(t, s, "b") != home {
		t.Errorf("the table is %+v, %v", table, err)
	}
	undo()
	if got := contents(t, s); len(got) != 3 {
		t.Errorf("the table has %q", got)
	}
}

// TestMoverTriesAgain: the goroutine that moves families rests after an error. Another move wakes it up, and time
// makes it try again.
func TestMoverTriesAgain(t *testing.T) {
	manual := clock.NewManual(1)
	s, undo := damagedMove(t, lsmstore.Options{Engine: engine.Options{Clock: manual}})
	await := func(what string, done func([]widecol.Move) bool) {
		t.Helper()
		for {
			table, err := s.Table(t.Context(), "t")
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if done(table.Moves) {
				return
			}
			runtime.Gosched()
		}
	}
	move(t, s, "b", "")
	await("an error", func(m []widecol.Move) bool { return m[0].Err != nil })
	move(t, s, "a", widecol.NewGroup)
	await("the end of the other move", func(m []widecol.Move) bool { return len(m) == 1 })
	undo()
	await("the end of the move that failed", func(m []widecol.Move) bool {
		manual.Advance(time.Minute)
		return len(m) == 0
	})
}
