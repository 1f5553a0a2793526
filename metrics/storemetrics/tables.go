package storemetrics

import (
	"cmp"
	"slices"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// MaxTables is how many tables have metrics of their own: those with the most bytes stored, read and written. The
// others are shown together.
const MaxTables = 100

// otherTables is the label of the others. No table has this name.
const otherTables = "_other"

// tables decides which tables are shown, and keeps their counts from falling. What a table has counted since the last
// scrape goes to its own label, or to that of the others while it is among them. So a table that comes to be shown
// begins at 0, and the counts of the others do not fall when one leaves them.
type tables struct {
	last  map[engine.PartitionID]lsmstore.TableCounts // of every table, at the last scrape
	shown map[string]*shownTable                      // by label
}

// shownTable is what one label shows.
type shownTable struct {
	lsmstore.TableMetrics
}

func newTables() *tables {
	return &tables{last: map[engine.PartitionID]lsmstore.TableCounts{}, shown: map[string]*shownTable{}}
}

// show returns what to show of the tables, by label. It sorts them.
func (t *tables) show(list []lsmstore.TableMetrics) map[string]*shownTable {
	slices.SortFunc(list, func(a, b lsmstore.TableMetrics) int {
		return cmp.Or(cmp.Compare(weight(&b), weight(&a)), cmp.Compare(a.Name, b.Name))
	})
	last := make(map[engine.PartitionID]lsmstore.TableCounts, len(list))
	shown := make(map[string]*shownTable, min(len(list), MaxTables)+1)
	if others := t.shown[otherTables]; others != nil {
		shown[otherTables] = &shownTable{TableMetrics: lsmstore.TableMetrics{TableCounts: others.TableCounts}}
	}
	for i := range list {
		m := &list[i]
		label := otherTables
		if i < MaxTables {
			label = m.Name
		}
		if shown[label] == nil {
			shown[label] = new(shownTable)
			if before := t.shown[label]; before != nil {
				shown[label].TableCounts = before.TableCounts
			}
		}
		shown[label].add(m, t.last[m.ID])
		last[m.ID] = m.TableCounts
	}
	t.last, t.shown = last, shown
	return shown
}

// weight is what tables are ranked by.
func weight(m *lsmstore.TableMetrics) uint64 {
	return uint64(m.DiskBytes+m.MemtableBytes) + m.BytesScanned + m.BytesWritten
}

// add adds what a table has, and what it has counted since before.
func (s *shownTable) add(m *lsmstore.TableMetrics, before lsmstore.TableCounts) {
	now := m.TableCounts
	now.Sub(&before)
	s.Add(&now)
	s.DiskBytes += m.DiskBytes
	s.MemtableBytes += m.MemtableBytes
}
