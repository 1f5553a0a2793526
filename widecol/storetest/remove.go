package storetest

import "github.com/colonnade-db/colonnade/widecol"

// removeRow deletes from one row, and returns how many versions a read would have returned of those.
func removeRow(s widecol.Store, table, row string, filter widecol.Filter, key string) (int64, error) {
	n, err := s.Delete(background, table, widecol.RowDeletion([]byte(row), filter), key)
	return n.Cells, err
}
