// Package client is the Go client of a Colonnade server.
//
// A Client has the connections, a Table has the methods that read and write:
//
//	c, err := client.New("http://127.0.0.1:9876", client.Options{})
//	table := c.Table("webtable")
//	err = table.Write(ctx, client.Row{Key: "org.example/", Cells: []client.Cell{
//		{Family: "title", Value: client.String("Example")},
//	}})
//	for row, err := range table.Scan(ctx, client.Query{Rows: client.Prefix("org.")}) {
//		…
//	}
//
// All of them are safe for concurrent use. docs/client.md is a tour, docs/api.md says what the server does.
//
// # Bytes and values
//
// Row keys and qualifiers are strings of any bytes. Values keep their type and every bit: the largest i64, -0.0,
// a byte 255. What the model does not have, as a NaN or a string that is not UTF-8, is sent in a form that the
// server refuses, so that there is one place that decides, and names the cell.
//
// # Retries
//
// A request is sent up to Options.Attempts times, with pauses that grow from 0.1 s to 10 s or are what the server
// asks for (Retry-After, up to a minute), as long as its context allows. Failures that do not pass are returned at
// once.
//
//   - Reads are sent again after every failure that may pass.
//   - Changes of cells are too: each has an idempotency key, so that the server applies it once, however many of
//     its requests arrive.
//   - Changes of tables and families are sent again only if the server says that nothing has happened, or was not
//     reached.
//
// An error that is ErrOutcomeUnknown says that the attempts have ended without the answer whether a change was
// applied. WithIdempotencyKey lets a program settle that later.
//
// # Bounds
//
// There is no timeout but that of the context. A Scan holds the current row only. Pages, ReadRows, groups of
// aggregates and the answers to changes are held as a whole, and so is each request.
package client
