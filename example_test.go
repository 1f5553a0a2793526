package colonnade_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade"
)

// The blocks of docs/embedding.md are parts of these examples.

func TestDocumentedCode(t *testing.T) {
	page, err := os.ReadFile("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```")
	for i := 1; i < len(blocks); i += 2 {
		code, ok := strings.CutPrefix(blocks[i], "go\n")
		if !ok {
			continue
		}
		indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n\t")
		if !strings.Contains(string(source), strings.ReplaceAll(indented, "\n\t\n", "\n\n")) {
			t.Errorf("docs/embedding.md shows code that no example runs:\n%s", code)
		}
	}
	if len(blocks) < 10 {
		t.Errorf("only %d blocks on the page", len(blocks)/2)
	}
}

// example opens a directory that goes when the example ends. A program has a directory of its own.
func example() (db *colonnade.DB, end func()) {
	dir, err := os.MkdirTemp("", "colonnade-example-")
	if err != nil {
		log.Fatal(err)
	}
	db, err = colonnade.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

// exampleTable is example with a table of pages.
func exampleTable() (db *colonnade.DB, pages *colonnade.Table, end func()) {
	db, end = example()
	err := db.CreateTable(context.Background(), "pages", colonnade.TableSpec{
		Families: []colonnade.Family{{Name: "title"}, {Name: "contents", GC: colonnade.GC{VersionLimit: 3}}, {Name: "meta"}},
		Groups:   [][]string{{"contents"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, db.Table("pages"), end
}

func Example() {
	parent, err := os.MkdirTemp("", "colonnade-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir, ctx := filepath.Join(parent, "data"), context.Background()

	db, err := colonnade.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.CreateTable(ctx, "pages", colonnade.TableSpec{
		Families: []colonnade.Family{{Name: "title"}, {Name: "contents", GC: colonnade.GC{VersionLimit: 3}}},
		Groups:   [][]string{{"contents"}},
	})
	if err != nil && !errors.Is(err, colonnade.ErrExists) {
		log.Fatal(err)
	}
	pages := db.Table("pages")

	_, err = pages.Write(ctx,
		colonnade.Set("org.example/", "title", "", colonnade.String("Example")),
		colonnade.Set("org.example/", "contents", "", colonnade.String("…")),
		colonnade.Set("org.example/about", "title", "", colonnade.String("About us")),
	)
	if err != nil {
		log.Fatal(err)
	}

	for row, err := range pages.Scan(ctx, colonnade.Query{Rows: colonnade.Prefix("org."), Columns: colonnade.Columns("title")}) {
		if err != nil {
			log.Fatal(err)
		}
		for cell, err := range row.Cells() {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s: %s\n", row.Key(), cell.Value())
		}
	}
	// Output:
	// org.example/: Example
	// org.example/about: About us
}

func ExampleTable_Write() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()

	commit, err := pages.Write(ctx,
		colonnade.DeleteRow("org.example/"),
		colonnade.Set("org.example/", "title", "", colonnade.String("Example")),
		colonnade.Set("org.example/", "meta", "visits", colonnade.I64(1)),
		colonnade.Set("org.example/old", "meta", "visits", colonnade.I64(7)).At(1_763_600_000_000_000),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(time.UnixMicro(commit).Before(time.Now()))
	// Output: true
}

func ExampleTable_Get() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()
	if _, err := pages.Write(ctx, colonnade.Set("org.example/", "title", "", colonnade.String("Example")), colonnade.Set("org.example/", "meta", "visits", colonnade.I64(7))); err != nil {
		log.Fatal(err)
	}

	title, ok, err := pages.Get(ctx, "org.example/", "title", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ok, title.Value())

	row, err := pages.Row(ctx, "org.example/", colonnade.Query{Columns: colonnade.Columns("title", "meta:visits")})
	if err != nil {
		log.Fatal(err)
	}
	if visits, ok := row.Find("meta", "visits"); ok {
		n, _ := visits.Value().Int()
		fmt.Println(len(row), n)
	}
	// Output:
	// true Example
	// 2 7
}

func ExampleTable_Scan() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()
	for _, key := range []string{"com.example/", "org.example/", "org.example/about", "org.example/news"} {
		if _, err := pages.Write(ctx, colonnade.Set(key, "title", "", colonnade.String(key))); err != nil {
			log.Fatal(err)
		}
	}

	var stats colonnade.Stats
	newest := colonnade.Query{
		Rows:    colonnade.Prefix("org.example/"),
		Columns: colonnade.Columns("title"),
		Limit:   colonnade.Limit{CellsPerColumn: 1},
		Reverse: true,
		Stats:   &stats,
	}
	for row, err := range pages.Scan(ctx, newest) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", row.Key())
		if string(row.Key()) == "org.example/about" {
			break // closes the scan
		}
	}
	fmt.Println(stats.Rows, "rows,", stats.Partitions, "partition")
	// Output:
	// org.example/news
	// org.example/about
	// 2 rows, 1 partition
}

// Pages of a list: each begins behind the last row of the one before.
func ExampleRange() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()
	for i := range 5 {
		if _, err := pages.Write(ctx, colonnade.Set(fmt.Sprintf("item/%d", i), "title", "", colonnade.String("…"))); err != nil {
			log.Fatal(err)
		}
	}

	after := "item/"
	for {
		page := colonnade.Query{Rows: colonnade.Range(after, "item0"), Limit: colonnade.Limit{Rows: 2}}
		var keys []string
		for row, err := range pages.Scan(ctx, page) {
			if err != nil {
				log.Fatal(err)
			}
			keys = append(keys, string(row.Key()))
		}
		if len(keys) == 0 {
			break
		}
		fmt.Println(keys)
		after = keys[len(keys)-1] + "\x00"
	}
	// Output:
	// [item/0 item/1]
	// [item/2 item/3]
	// [item/4]
}

// A name that only the first one gets, and an optimistic lock.
func ExampleTable_CheckAndMutate() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()

	take := func(who string) bool {
		taken, err := pages.CheckAndMutate(ctx, colonnade.Check{
			Row:  "user/ada",
			If:   colonnade.RowExists(),
			Else: []colonnade.Mutation{colonnade.Set("user/ada", "meta", "owner", colonnade.String(who))},
		})
		if err != nil {
			log.Fatal(err)
		}
		return !taken
	}
	fmt.Println(take("first"), take("second"))

	changed, err := pages.CheckAndMutate(ctx, colonnade.Check{
		Row:  "user/ada",
		If:   colonnade.ColumnEquals("meta", "owner", colonnade.String("first")),
		Then: []colonnade.Mutation{colonnade.Set("user/ada", "meta", "owner", colonnade.String("third"))},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(changed)
	// Output:
	// true false
	// true
}

func ExampleTable_Increment() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()

	for range 2 {
		visits, err := pages.Increment(ctx, "org.example/", "meta", "visits", 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(visits)
	}
	// Output:
	// 1
	// 2
}

func ExampleTable_Snapshot() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()
	if _, err := pages.Write(ctx, colonnade.Set("org.example/", "title", "", colonnade.String("Before"))); err != nil {
		log.Fatal(err)
	}

	snapshot, err := pages.Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	if err := pages.DeleteRows(ctx, colonnade.Prefix("org.")); err != nil {
		log.Fatal(err)
	}
	title, _, err := snapshot.Get(ctx, "org.example/", "title", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(title.Value())
	// Output: Before
}

func ExampleDB_Checkpoint() {
	db, pages, end := exampleTable()
	defer end()
	ctx := context.Background()
	if _, err := pages.Write(ctx, colonnade.Set("org.example/", "title", "", colonnade.String("Example"))); err != nil {
		log.Fatal(err)
	}
	parent, err := os.MkdirTemp("", "colonnade-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	target := filepath.Join(parent, "sunday")

	if err := db.Checkpoint(ctx, target); err != nil {
		log.Fatal(err)
	}
	sunday, err := colonnade.Open(target, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sunday.Close()
	title, _, err := sunday.Table("pages").Get(ctx, "org.example/", "title", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(title.Value())
	// Output: Example
}

func ExampleError() {
	_, pages, end := exampleTable()
	defer end()
	ctx := context.Background()

	_, err := pages.Write(ctx, colonnade.Set("org.example/", "titel", "", colonnade.String("Example")))
	var failure *colonnade.Error
	switch {
	case errors.Is(err, colonnade.ErrOverloaded):
		// nothing has changed: try again later
	case errors.Is(err, colonnade.ErrOutcomeUnknown):
		// read what is there
	case errors.As(err, &failure):
		fmt.Println(failure.Code, failure.Index)
		fmt.Println(errors.Is(err, colonnade.ErrNotFound), err)
	}
	// Output:
	// unknown_column_family 0
	// true item 0: table "pages" has no column family "titel"
}
