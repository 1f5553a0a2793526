package explain

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// Read is what is known of a read when it has ended: what the Store has done, and what took how long. It is for one
// goroutine.
type Read struct {
	Query widecol.Query // what was asked; of several queries, the first
	Items int           // how many queries there were, 0 for one that stands for itself

	widecol.Explain

	Receiving time.Duration // of the request, with the wait for a slot
	Opening   time.Duration // of the view
	Reading   time.Duration // in the Store
	Writing   time.Duration // of the answer, and waiting for the client
}

// Timed returns rows whose use counts as Reading. now tells the time.
func (r *Read) Timed(rows widecol.Rows, now func() time.Time) widecol.Rows {
	return &timedRows{rows, r, now}
}

type timedRows struct {
	widecol.Rows
	read *Read
	now  func() time.Time
}

func (t *timedRows) Next() bool {
	begun := t.now()
	more := t.Rows.Next()
	t.read.Reading += t.now().Sub(begun)
	return more
}

// Passed implements widecol.PassedRows.
func (t *timedRows) Passed() []byte {
	if rows, ok := t.Rows.(widecol.PassedRows); ok {
		return rows.Passed()
	}
	return nil
}

// Append appends the explanation as JSON. s is what the read has looked at, total how long it took.
func (r *Read) Append(out []byte, s *widecol.Stats, total time.Duration) []byte {
	out = appendField(out, `{"rows":{"scanned":`, s.RowsScanned)
	out = appendField(out, `,"returned":`, s.Rows)
	out = appendField(out, `},"cells":{"scanned":`, s.CellsScanned)
	out = appendField(out, `,"returned":`, s.Cells)
	out = appendField(out, `,"tombstones":`, r.Tombstones)
	out = appendDropped(append(out, `,"dropped":`...), &r.Dropped)
	out = append(out, `},"pushed_down":`...)
	out = appendNames(out, r.PushedDown.Names())
	out = append(out, `,"checked":`...)
	out = appendNames(out, r.Checked.Names())
	out = append(out, `,"ended":`...)
	out = appendEnded(out, &r.Explain)
	out = append(out, `,"partitions":[`...)
	for i := range r.Partitions {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendExplainedPartition(out, &r.Partitions[i])
	}
	out = appendField(out, `],"micros":{"receive":`, r.Receiving.Microseconds())
	out = appendField(out, `,"open":`, r.Opening.Microseconds())
	out = appendField(out, `,"read":`, r.Reading.Microseconds())
	out = appendField(out, `,"write":`, r.Writing.Microseconds())
	out = appendField(out, `,"total":`, total.Microseconds())
	return append(out, "}}"...)
}

func appendDropped(out []byte, d *widecol.DroppedCells) []byte {
	out = appendField(out, `{"columns":`, d.Columns)
	out = appendField(out, `,"later":`, d.Later)
	out = appendField(out, `,"deleted":`, d.Deleted)
	out = appendField(out, `,"overwritten":`, d.Overwritten)
	out = appendField(out, `,"garbage":`, d.Garbage)
	out = appendField(out, `,"times":`, d.Times)
	out = appendField(out, `,"values":`, d.Values)
	out = appendField(out, `,"filter":`, d.RowFilter)
	return append(out, '}')
}

// appendNames appends a list of names, which need no escapes.
func appendNames(out []byte, names []string) []byte {
	out = append(out, '[')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(out, name)
	}
	return append(out, ']')
}

// appendEnded appends how many queries ended for each reason.
func appendEnded(out []byte, e *widecol.Explain) []byte {
	start := len(out)
	for reason, n := range e.Ended {
		if n > 0 {
			out = append(out, ',')
			out = appendString(out, widecol.EndReason(reason).String())
			out = strconv.AppendInt(append(out, ':'), n, 10)
		}
	}
	if len(out) == start {
		out = append(out, ',')
	}
	out[start] = '{'
	return append(out, '}')
}

func appendExplainedPartition(out []byte, p *widecol.ExplainedPartition) []byte {
	out = appendString(append(out, `{"name":`...), p.Name)
	out = appendField(out, `,"cells_scanned":`, p.CellsScanned)
	out = appendField(out, `,"bytes_scanned":`, p.BytesScanned)
	out = appendField(out, `,"memtables":`, p.Memtables)
	out = append(out, `,"levels":[`...)
	for i := range p.Levels {
		l := &p.Levels[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = appendField(out, `{"level":`, int64(l.Level))
		out = appendField(out, `,"files":`, l.Files)
		out = appendField(out, `,"files_read":`, l.FilesRead)
		out = appendField(out, `,"files_left_out":{"deleted":`, l.FilesDeleted)
		out = appendField(out, `,"times":`, l.FilesOtherTimes)
		out = appendField(out, `,"bloom_filter":`, l.FilesExcluded)
		out = appendField(out, `,"families":`, l.FilesOtherFamilies)
		out = appendField(out, `},"bloom_filters_asked":`, l.BloomAsked)
		out = appendField(out, `,"blocks":{"read":`, l.BlocksRead)
		out = appendField(out, `,"cached":`, l.BlocksCached)
		out = appendField(out, `},"value_blocks":{"read":`, l.ValuesRead)
		out = appendField(out, `,"cached":`, l.ValuesCached)
		out = appendField(out, `},"blocks_left_out":{"times":`, l.BlocksOtherTimes)
		out = appendField(out, `,"columns":`, l.BlocksOtherColumns)
		out = appendField(out, `},"bytes_decompressed":`, l.BytesDecompressed)
		out = append(out, '}')
	}
	return append(out, "]}"...)
}

func appendField(out []byte, literal string, n int64) []byte {
	return strconv.AppendInt(append(out, literal...), n, 10)
}

func appendString(out []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be written
	}
	return append(out, text...)
}
