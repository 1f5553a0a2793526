package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// The blocks of docs/client.md are parts of these examples.

func TestDocumentedCode(t *testing.T) {
	page, err := os.ReadFile("../docs/client.md")
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
			t.Errorf("docs/client.md shows code that no example runs:\n%s", code)
		}
	}
	if len(blocks) < 10 {
		t.Errorf("only %d blocks on the page", len(blocks)/2)
	}
}

// newTestServer starts a server with an empty store in memory. A program has the URL of a real one.
func newTestServer() *httptest.Server {
	return httptest.NewServer(server.New(memstore.New(memstore.Options{}), server.Options{Now: time.Now}).Handler())
}

func Example() {
	s := newTestServer()
	defer s.Close()
	url, ctx := s.URL, context.Background()

	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	table := c.Table("webtable")
	err = table.Create(ctx, client.TableSpec{
		Families: []client.Family{{Name: "title"}, {Name: "contents", GC: client.GC{VersionLimit: 3}}},
		Groups:   [][]string{{"contents"}},
	})
	if err != nil {
		log.Fatal(err)
	}

	err = table.Write(ctx,
		client.Row{Key: "org.example/", Cells: []client.Cell{
			{Family: "title", Value: client.String("Example")},
			{Family: "contents", Qualifier: "length", Value: client.I64(1256)},
		}},
		client.Row{Key: "org.example/about", Cells: []client.Cell{
			{Family: "title", Value: client.String("About"), Time: client.At(1763600000000000)},
		}},
	)
	if err != nil {
		log.Fatal(err)
	}

	var stats client.Stats
	query := client.Query{Rows: client.Prefix("org."), Columns: client.Families("title"), Stats: &stats}
	for row, err := range table.Scan(ctx, query) {
		if err != nil {
			log.Fatal(err)
		}
		title, _ := row.Get("title", "")
		fmt.Println(row.Key, title.Value)
	}
	fmt.Println(stats.Rows, "rows,", stats.LocalityGroups, "locality group")

	// Output:
	// org.example/ Example
	// org.example/about About
	// 2 rows, 1 locality group
}

// newTable returns an empty table with the families title and contents.
func newTable(s *httptest.Server) *client.Table {
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	table := c.Table("webtable")
	spec := client.TableSpec{Families: []client.Family{{Name: "title"}, {Name: "contents"}}}
	if err := table.Create(context.Background(), spec); err != nil {
		log.Fatal(err)
	}
	return table
}

func ExampleTable_Mutate() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	commit, err := table.Mutate(ctx, client.RowMutations{Key: "org.example/", Mutations: []client.Mutation{
		client.DeleteFamily("contents"),
		client.DeleteVersions("title", "", client.Times{End: client.At(1763600000000000)}),
		client.Set(client.Cell{Family: "title", Value: client.String("New")}),
	}})
	if err != nil {
		log.Fatal(err)
	}
	row, err := table.ReadRow(ctx, "org.example/")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range row.Cells {
		fmt.Println(c.Family, c.Value, c.Time == commit)
	}
	// Output: title New true
}

func ExampleTable_MutateRows() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	set := []client.Mutation{client.Set(client.Cell{Family: "title", Value: client.String("x")})}
	wrong := []client.Mutation{client.DeleteFamily("nope")}
	_, outcomes, err := table.MutateRows(ctx, client.RowMutations{Key: "a", Mutations: set}, client.RowMutations{Key: "b", Mutations: wrong})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcomes[0])
	fmt.Println(outcomes[1], errors.Is(outcomes[1], client.ErrNotFound))
	// Output:
	// <nil>
	// items[1].mutations[0].delete_family: table "webtable" has no column family "nope" true
}

func ExampleTable_CheckAndMutate() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	take := client.Check{If: client.Exists(true), Else: []client.Mutation{
		client.Set(client.Cell{Family: "title", Qualifier: "owner", Value: client.String("me")}),
	}}
	for range 2 {
		taken, _, err := table.CheckAndMutate(ctx, "lock.1", take)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("taken already:", taken)
	}
	// Output:
	// taken already: false
	// taken already: true
}

func ExampleTable_ReadModifyWrite() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	for range 2 {
		row, err := table.ReadModifyWrite(ctx, "org.example/", client.Increment("contents", "visits", 1))
		if err != nil {
			log.Fatal(err)
		}
		visits, _ := row.Cells[0].Value.Int()
		fmt.Println(visits)
	}
	// Output:
	// 1
	// 2
}

func ExampleTable_WriteLines() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()
	rows := func(yield func(client.Row) bool) {
		for n := range 100_000 {
			title := client.Cell{Family: "title", Value: client.I64(int64(n)), Time: client.At(1)}
			if !yield(client.Row{Key: fmt.Sprintf("row%06d", n), Cells: []client.Cell{title}}) {
				return
			}
		}
	}

	written := int64(0)
	for batch, err := range table.WriteLines(ctx, rows) {
		if err != nil {
			log.Fatalf("behind row %d: %v", written, err)
		}
		written = batch.Last
	}
	fmt.Println(written)
	// Output: 100000
}

func ExampleTable_Pages() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()
	for _, key := range []string{"a", "b", "c", "d", "\xff"} {
		if err := table.Write(ctx, client.Row{Key: key, Cells: []client.Cell{{Family: "title", Value: client.Bytes([]byte(key))}}}); err != nil {
			log.Fatal(err)
		}
	}

	query := client.Query{Rows: client.Ranges(client.Range{Start: "b"}), Limit: client.Limit{Rows: 3}, Reverse: true}
	for page, err := range table.Pages(ctx, query) {
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range page.Rows {
			fmt.Printf("%q ", row.Key)
		}
		fmt.Println("and more:", page.Next != "")
	}
	// Output:
	// "\xff" "d" "c" and more: true
	// "b" and more: false
}

func ExampleChain() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()
	err := table.Write(ctx, client.Row{Key: "host1", Cells: []client.Cell{
		{Family: "contents", Qualifier: "cpu0", Value: client.I64(97), Time: client.At(2)},
		{Family: "contents", Qualifier: "cpu0", Value: client.I64(12), Time: client.At(1)},
		{Family: "contents", Qualifier: "disk", Value: client.I64(3), Time: client.At(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}

	newest := client.Chain(client.QualifierRegex("cpu[0-9]+"), client.CellsPerColumn(1), client.Label("cpu"))
	for row, err := range table.Scan(ctx, client.Query{Filter: newest}) {
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range row.Cells {
			fmt.Println(row.Key, c.Qualifier, c.Value, c.Label)
		}
	}
	// Output: host1 cpu0 97 cpu
}

func ExampleTable_Aggregate() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()
	for i, key := range []string{"de/mon", "de/tue", "fr/mon"} {
		visits := client.Cell{Family: "contents", Qualifier: "visits", Value: client.I64(int64(20 + i))}
		if err := table.Write(ctx, client.Row{Key: key, Cells: []client.Cell{visits}}); err != nil {
			log.Fatal(err)
		}
	}

	query := client.Query{Columns: client.Columns("contents:visits")}
	groups, _, err := table.Aggregate(ctx, query, client.ByRowDelimiter("/"), client.CountOf, client.Sum, client.Avg)
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.Key, g.Count, g.Sum, g.Avg)
	}
	// Output:
	// de/ 2 41 20.5
	// fr/ 1 22 22.0
}

func ExampleError() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	err := table.Write(ctx, client.Row{Key: "a", Cells: []client.Cell{{Family: "titel", Value: client.I64(1)}}})
	var e *client.Error
	switch {
	case errors.Is(err, client.ErrOutcomeUnknown):
		fmt.Println("may be written, or not")
	case errors.Is(err, client.ErrUnavailable):
		fmt.Println("not written; later it may be")
	case errors.As(err, &e):
		fmt.Println(e.Status, e.Code, e.At)
	}
	// Output: 404 unknown_column_family items[0].cells[0].column_key
}

func ExampleWithIdempotencyKey() {
	s := newTestServer()
	defer s.Close()
	table, ctx := newTable(s), context.Background()

	// The key is kept with the job, so a job that runs again after a crash counts once.
	keyed := client.WithIdempotencyKey(ctx, "job-17")
	for range 2 {
		row, err := table.ReadModifyWrite(keyed, "jobs", client.Increment("title", "done", 1))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Cells[0].Value)
	}
	// Output:
	// 1
	// 1
}
