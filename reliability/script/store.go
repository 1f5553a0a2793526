// Package script is the workloads that are run while something goes wrong: what
// writers do, one step after the other, and what a store then has to hold.
//
// A workload sees a store as spaces, which are made and dropped as a whole and hold
// rows. A row lies in three parts, which a write changes together. For the engine
// a part is a partition; for tables it is a column family in a locality group of
// its own.
package script

import (
	"fmt"
	"strings"

	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/vfs"
)

// Parts is how many parts a row has.
const Parts = 3

// Store is a store under test. It is safe for concurrent use.
type Store interface {
	Create(space string) error
	Drop(space string) error
	// Write writes rows, all or none.
	Write(space string, rows []Row) error
	// Delete deletes a row, in all parts.
	Delete(space, row string) error
	// Move begins to move a part of all rows of a space to another place. A part that moves already is sent back.
	// MoveSome moves some rows, or ends a move, and reports whether there was something to do. Neither changes
	// what a reader sees. A Store without places does nothing.
	Move(space string, part int, to Place) error
	MoveSome() (more bool, err error)
	// Flush and Compact change nothing that a reader sees.
	Flush() error
	Compact() error
	// Read returns everything that a reader sees: "space/" for every space, and
	// "space/row/part" with its value for every cell.
	Read() (ledger.Cells, error)
	// Health returns why the store takes no writes any more, or nil.
	Health() error
	Close() error
}

// Place is where a part can move to.
type Place int

const (
	alone   Place = iota // a new place of its own
	common               // where all parts are that have none of their own
	another              // that of another part
	places
)

// Row is what a write puts into one row. An empty value is not written.
type Row struct {
	Key    string
	Values [Parts]string
}

// Level is where a Store is met: it opens one.
type Level func(fs vfs.FS, size Size) (Store, error)

// Split divides the cells of a store among their owners.
func Split(found ledger.Cells, writers int) ([]ledger.Cells, error) {
	list := make([]ledger.Cells, writers)
	for w := range list {
		list[w] = ledger.Cells{}
	}
	for place, value := range found {
		w := owner(place)
		if w < 0 || w >= writers {
			return nil, fmt.Errorf("a reader sees %q, which nobody has written", place)
		}
		list[w][place] = value
	}
	return list, nil
}

// shared is the space in which every writer has rows. The first one makes it.
const shared = "shared"

// own is a space of a writer's own.
func own(writer int) string { return fmt.Sprintf("own%c", letter(writer)) }

// rowKey is the key of a writer's row number i.
func rowKey(writer, i int) string { return fmt.Sprintf("%c%03d", letter(writer), i) }

func letter(writer int) rune { return 'a' + rune(writer) }

// owner returns the writer that a place belongs to, or some other number.
func owner(place string) int {
	space, rest, _ := strings.Cut(place, "/")
	if name, ok := strings.CutPrefix(space, "own"); ok && name != "" {
		return int(name[0]) - 'a'
	}
	if rest == "" {
		return 0
	}
	return int(rest[0]) - 'a'
}

func spacePlace(space string) string           { return space + "/" }
func place(space, row string, part int) string { return fmt.Sprintf("%s/%s/%d", space, row, part) }
