package flip

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// read returns the content of a table, a line for each cell: of one row or of all (nil), of some families or
// of all (nil). With an error it returns the lines before it.
func read(s *lsmstore.Store, table string, row []byte, families []string) (lines []string, err error) {
	v, err := s.View(context.Background(), table)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	q := widecol.NewQuery()
	if row != nil {
		q.SetKey(row)
	}
	if families != nil {
		filter, err := widecol.ColumnsFilter(families...)
		if err != nil {
			return nil, err
		}
		q.Filter = filter
	}
	rows, err := v.Scan(context.Background(), &q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var b []byte
	for rows.Next() {
		for _, c := range rows.Cells() {
			b = append(append(b[:0], rows.Row()...), ' ')
			b = append(append(b, c.Column...), ' ', byte(c.Type))
			b = binary.BigEndian.AppendUint64(b, uint64(c.Time))
			lines = append(lines, string(append(b, c.Value...)))
		}
	}
	return lines, rows.Err()
}

// ofRow returns the lines of a row.
func ofRow(lines []string, row string) (list []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, row+" ") {
			list = append(list, line)
		}
	}
	return list
}

// ofFamilies returns the lines of some families.
func ofFamilies(lines []string, families []string) (list []string) {
	for _, line := range lines {
		_, column, _ := strings.Cut(line, " ")
		family, _, _ := strings.Cut(column, "\x00")
		if slices.Contains(families, family) {
			list = append(list, line)
		}
	}
	return list
}

// differ compares a result with the expected one. A result that only lacks lines has lost them.
func differ(got, want []string) class {
	if slices.Equal(got, want) {
		return harmless
	}
	for _, line := range got {
		i := slices.Index(want, line)
		if i < 0 {
			return wrong
		}
		want = want[i+1:]
	}
	return lost
}

// common returns the length of the common prefix.
func common(got, want []string) (n int) {
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	return n
}
