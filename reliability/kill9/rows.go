package kill9

import "fmt"

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
