package lsmstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// What files know of their families is only which they are. So how much each has is measured when it is asked for:
// stretches of rows, evenly spread over a partition, are read and stand for all.

const (
	// stretches is about how many are read of a partition.
	stretches = 16
	// measureBytes bounds what is read of all partitions of a table, except that a stretch has leastBytes, and
	// of its first row up to rowBytes.
	measureBytes = 16 << 20
	leastBytes   = 64 << 10
	rowBytes     = 4 << 20
)

// familySize is what a family has in blocks, in bytes without compression.
type familySize struct {
	keys  float64 // what cells take besides their values
	rows  float64 // what its rows take, if no other family is with it
	small float64 // values that share blocks with those of other families
	large float64 // values in blocks of their own, which reads of other families leave out
}

func (f *familySize) bytes() float64 { return f.keys + f.rows + f.small + f.large }

// rowWeight is how many times as much a row takes as a cell without its value: the key, where it is not that of the
// row before, and two offsets, against ids of a column and a version and an offset.
const rowWeight = 2

// measured is what was read of a partition, by family as in schema.sorted.
type measured struct {
	families []familySize
	rows     float64 // what rows take
	passed   float64 // bytes, as cell.Scanned has them
	scale    float64 // how much larger the partition is
}

// sizes are those of a table.
type sizes struct {
	families   []familySize
	partitions map[engine.PartitionID]*measured
}

// measure estimates how much each family has.
func (v *view) measure(ctx context.Context) (*sizes, error) {
	all := &sizes{families: make([]familySize, len(v.schema.sorted)), partitions: make(map[engine.PartitionID]*measured)}
	for _, id := range v.schema.stores {
		m := meter{view: v, id: id, most: measureBytes / len(v.schema.stores), counts: make([]familyCount, len(v.schema.sorted))}
		if err := m.run(ctx); err != nil {
			return nil, err
		}
		p, err := m.result()
		if err != nil {
			return nil, err
		}
		all.partitions[id] = p
		for i := range p.families {
			f, g := &all.families[i], &p.families[i]
			f.keys += g.keys * p.scale
			f.rows += g.rows * p.scale
			f.small += g.small * p.scale
			f.large += g.large * p.scale
		}
	}
	return all, nil
}

// meter reads stretches of a partition.
type meter struct {
	view   *view
	id     engine.PartitionID
	most   int // bytes of a stretch
	counts []familyCount
	rows   int
	total  cell.Scanned
	whole  bool // all of it was read
}

type familyCount struct {
	cells, small, large int
	rows, row           int // the last row, as counted by meter
}

func (m *meter) run(ctx context.Context) error {
	stats, err := m.view.store.db.Stats(m.id)
	if err != nil {
		return failure(err)
	}
	bounds := m.view.snap.Divide(m.id, nil, nil, max(stats.DiskBytes/stretches, 1))
	m.whole = true
	m.most = max(m.most/(len(bounds)+1), leastBytes)
	for i := 0; i <= len(bounds); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		opt := engine.ScanOptions{Policies: m.view.schema.bare[m.id], Now: m.view.now}
		if i > 0 {
			opt.Start = bounds[i-1]
		}
		if i < len(bounds) {
			opt.End = bounds[i]
		}
		if err := m.stretch(opt); err != nil {
			return failure(err)
		}
	}
	return nil
}

// stretch reads the beginning of a range of rows.
func (m *meter) stretch(opt engine.ScanOptions) error {
	scan, err := m.view.snap.Scan(m.id, opt)
	if err != nil {
		return err
	}
	defer scan.Close()
	last, size := 0, 0
	for scan.NextRow() {
		row := len(scan.Row())
		if size >= m.most {
			m.whole = false
			break
		}
		m.rows++
		for cells := scan.Cells(); len(cells) > 0 && size < max(m.most, rowBytes); cells = scan.Cells() {
			for i := range cells {
				c := &cells[i]
				size += row + len(c.Column) + 8 + len(c.Value)
				last = m.add(c, last)
			}
		}
	}
	m.total.Add(scan.Scanned())
	return scan.Err()
}

// add counts a cell. last is the family of the cell before; it returns this one's.
func (m *meter) add(c *cell.Cell, last int) int {
	sorted := m.view.schema.sorted
	name, _ := cell.SplitColumn(c.Column)
	for i := last; i < last+len(sorted); i++ {
		if at := i % len(sorted); sorted[at].name == string(name) {
			f := &m.counts[at]
			f.cells++
			if f.row != m.rows {
				f.rows, f.row = f.rows+1, m.rows
			}
			if len(c.Value) >= engine.LargeValue {
				f.large += len(c.Value)
			} else {
				f.small += len(c.Value)
			}
			return at
		}
	}
	return last
}

// result returns what was measured. What blocks have besides values is divided among rows and cells.
func (m *meter) result() (*measured, error) {
	p := &measured{families: make([]familySize, len(m.counts)), passed: float64(m.total.Bytes), scale: 1}
	cells, values := 0, 0
	for _, f := range m.counts {
		cells += f.cells
		values += f.small + f.large
	}
	if cells == 0 {
		return p, nil
	}
	each := max(float64(m.total.Read)-float64(values), 0) / float64(cells+rowWeight*m.rows)
	p.rows = each * float64(rowWeight*m.rows)
	for i, f := range m.counts {
		p.families[i] = familySize{keys: each * float64(f.cells), rows: each * float64(rowWeight*f.rows), small: float64(f.small), large: float64(f.large)}
	}
	if m.whole {
		return p, nil
	}
	stats, err := m.view.store.db.Stats(m.id)
	if err != nil {
		return nil, failure(err)
	}
	perEntry := float64(m.total.Bytes) / float64(m.total.Cells)
	p.scale = max((float64(stats.Entries)*perEntry+float64(stats.MemtableBytes))/p.passed, 1)
	return p, nil
}
