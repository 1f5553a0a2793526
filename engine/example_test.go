package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// A batch writes to two partitions at once. A scan reads one of them as of its start. The store is
// in memory here; with vfs.OS it is on disk.
func Example() {
	db, err := engine.Open("store", engine.Options{FS: vfs.NewMem(), Clock: clock.System})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ids, err := db.CreatePartitions("pages", "links")
	if err != nil {
		log.Fatal(err)
	}
	pages, links := ids[0], ids[1]

	var b engine.Batch
	put := func(partition engine.PartitionID, row, family, qualifier, value string) {
		b.Add(partition, []byte(row), &cell.Cell{
			Column: cell.AppendColumn(nil, []byte(family), []byte(qualifier)),
			Time:   engine.CommitTime, Type: cell.String, Value: []byte(value),
		})
	}
	put(pages, "org.example/", "title", "", "Example")
	put(pages, "org.example/about", "title", "", "About us")
	put(links, "org.example/about", "anchor", "org.example/", "about")
	if _, err := db.Commit(context.Background(), &b); err != nil {
		log.Fatal(err) // the batch had no effect, unless the error is an *engine.UnknownError
	}

	scan, err := db.Scan(pages, engine.ScanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer scan.Close()
	for scan.NextRow() {
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				family, qualifier := cell.SplitColumn(c.Column)
				fmt.Printf("%s %s:%s = %s\n", scan.Row(), family, qualifier, c.Value)
			}
		}
	}
	if err := scan.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// org.example/ title: = Example
	// org.example/about title: = About us
}
