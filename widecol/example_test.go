package widecol_test

import (
	"context"
	"fmt"
	"log"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// A table with two families, one of them in a locality group. A write to both is atomic; a scan of
// one family reads only the partition of its group.
func Example() {
	ctx := context.Background()
	var store widecol.Store
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: "store", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	err = store.CreateTable(ctx, "web", widecol.TableSpec{
		Families: []widecol.Family{{Name: "contents"}, {Name: "title"}},
		Groups:   [][]string{{"title"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	set := func(row, family, value string) widecol.Mutation {
		return widecol.Mutation{
			Row: []byte(row), Family: []byte(family), Value: []byte(value),
			Time: widecol.CommitTime, Type: cell.String,
		}
	}
	_, err = store.Write(ctx, "web", []widecol.Mutation{
		set("org.example/", "title", "Example"), set("org.example/", "contents", "…"),
		set("org.example/about", "title", "About us"),
	}, "")
	if err != nil {
		log.Fatal(err)
	}

	view, err := store.View(ctx, "web")
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	filter, wrong := widecol.ColumnsFilter("title:")
	if wrong != nil {
		log.Fatal(wrong)
	}
	q.Filter = filter
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			fmt.Printf("%s: %s\n", rows.Row(), c.Value)
		}
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("partitions read:", rows.Stats().Partitions)
	// Output:
	// org.example/: Example
	// org.example/about: About us
	// partitions read: 1
}
