package kill9

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// tables are the tables under test. A client works on one of them.
var tables = []string{"kill9.0", "kill9.1"}

func tableOf(client int) string { return tables[client%len(tables)] }

// groups are the families of a table, each in a locality group of its own.
var groups = []string{"ga", "gb", "gc"}

// gone is the version of a row that is not there.
const gone = 0

// A client owns rowsPerClient rows, which nobody else writes.
const rowsPerClient = 40

// clientPrefix begins the keys of a client's rows, and of nobody else's.
func clientPrefix(client int) string { return fmt.Sprintf("client%02d/", client) }

func rowKey(client, n int) string { return fmt.Sprintf("%srow%02d", clientPrefix(client), n) }

// owner returns the client that a row belongs to, and whether there is one.
func owner(key string) (client int, ok bool) {
	var n int
	_, err := fmt.Sscanf(key, "client%02d/row%02d", &client, &n)
	return client, err == nil && key == rowKey(client, n)
}

// value returns what the cell of a row in a group holds at a version. Some are
// long, so that memtables and blocks fill.
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

// rowVersion takes the values of a row, by group, and returns their version, or
// what is wrong with them.
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

// brief shows values without what makes them long.
func brief(values map[string]string) string {
	short := make(map[string]string)
	for group, text := range values {
		short[group] = text[:min(len(text), 40)]
	}
	return fmt.Sprint(short)
}
