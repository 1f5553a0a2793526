package client

import (
	"context"
	"io"
	"iter"
	"net/http"
)

// PageToken is a place in the answer to a Query: behind a Page. It is text, which a program may store or pass on. ""
// is the start.
type PageToken string

// Page is a part of the answer to a Query.
type Page struct {
	Rows  []Row // a row may go on on the next page, with the same key, if Limit.Cells has ended this one
	Stats Stats
	Next  PageToken // for Query.Page, "" if nothing follows
}

// ReadPage reads the rows of a query up to Limit.Rows or Limit.Cells. It holds them all. Query.Stats gets what the
// page has cost.
func (t *Table) ReadPage(ctx context.Context, q Query) (page Page, err error) {
	r := t.scan(&q)
	r.compress(t.c.opt.Compression)
	err = t.c.retry(ctx, r.class, func() error {
		rows, sum, err := t.c.readAll(ctx, r)
		if err == nil {
			page = Page{rows, sum.stats, sum.next}
			if q.Stats != nil {
				*q.Stats = sum.stats
			}
		}
		return err
	})
	return page, err
}

// Pages reads a query page by page, each with the Limit of rows and cells that the query has; together they are
// its answer without it. A page that breaks off is read again. Each page reads the table as it is at its time.
func (t *Table) Pages(ctx context.Context, q Query) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		q := q
		for {
			page, err := t.ReadPage(ctx, q)
			if !yield(page, err) || err != nil || page.Next == "" {
				return
			}
			q.Page = page.Next
		}
	}
}

func (t *Table) scan(q *Query) *request {
	return &request{class: read, method: http.MethodPost, path: t.path + "/scan", body: q.append(nil)}
}

// ScanLines returns the rows of a query as lines (NDJSON), in the form that imports take. The caller closes it.
// Without a last line of statistics it is not whole.
func (t *Table) ScanLines(ctx context.Context, q Query) (io.ReadCloser, error) {
	return t.c.Lines(ctx, t.path+"/scan", q.append(nil))
}

// ScanEach returns the rows of several queries, one query after the other, all as of one moment. Queries can have
// neither Reverse nor Page; their Stats are not used. It is like Scan in all else.
func (t *Table) ScanEach(ctx context.Context, queries ...Query) iter.Seq2[Row, error] {
	body := append([]byte(nil), `{"items":`...)
	body = appendList(body, queries, func(dst []byte, q Query) []byte {
		if q.Rows.field == "" {
			q.Rows = Prefix("") // an item says so
		}
		return q.append(dst)
	})
	return t.stream(ctx, &request{class: read, method: http.MethodPost, path: t.path + "/rows", body: append(body, '}')}, nil)
}
