package remote

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// groups are the families of a table, each in a locality group of its own.
var groups = []string{"ga", "gb", "gc"}

// RowCells is how many cells a row has.
const RowCells = 3

// value returns the cell of a row in a group at a version. Some are long, so that memtables and blocks fill.
func value(key string, version int64, group string) string {
	sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %d %s", key, version, group)))
	repeat := 1
	switch {
	case version%256 == 0:
		repeat = 2048
	case version%16 == 0:
		repeat = 128
	}
	return fmt.Sprintf("%d|%s", version, strings.Repeat(sum, repeat))
}

// rowVersion returns the version of a row's values, by group, or an error if the row is torn.
func rowVersion(key string, values map[string]string) (int64, error) {
	var version int64
	for i, group := range groups {
		text, _, _ := strings.Cut(values[group], "|")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || values[group] != value(key, v, group) {
			return 0, fmt.Errorf("torn: row %s holds %.40q in group %s, of %s in all", key, values[group], group, brief(values))
		}
		if i > 0 && v != version {
			return 0, fmt.Errorf("torn: row %s mixes two requests: %s", key, brief(values))
		}
		version = v
	}
	if len(values) != len(groups) {
		return 0, fmt.Errorf("row %s has cells of other families: %s", key, brief(values))
	}
	return version, nil
}

// brief shows values without their padding.
func brief(values map[string]string) string {
	short := make(map[string]string)
	for group, text := range values {
		short[group] = text[:min(len(text), 40)]
	}
	return fmt.Sprint(short)
}
