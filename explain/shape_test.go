package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestFilterShapeIsBounded: a tree may have thousands of filters.
func TestFilterShapeIsBounded(t *testing.T) {
	wide := &widecol.RowFilter{Op: widecol.Interleave}
	for range 4000 {
		wide.Filters = append(wide.Filters, &widecol.RowFilter{Op: widecol.PassAll})
	}
	deep := &widecol.RowFilter{Op: widecol.PassAll}
	for range 1000 {
		deep = &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{deep, deep}}
	}
	for _, f := range []*widecol.RowFilter{wide, deep} {
		var text strings.Builder
		if appendFilterShape(&text, f); text.Len() > 2*maxFilterShape || !strings.Contains(text.String(), "…") {
			t.Errorf("%d bytes: %.100s", text.Len(), text.String())
		}
	}
}

// TestFamiliesShapeIsBounded: what a client names does not fill the log.
func TestFamiliesShapeIsBounded(t *testing.T) {
	q := widecol.Query{Rows: widecol.AllRows(), Times: widecol.AllTimes, Sample: 1}
	for i := range 10_000 {
		q.Filter.Families = append(q.Filter.Families, fmt.Sprintf("family%04d", i))
	}
	text := fmt.Sprint(queryShape(&q))
	if len(text) > 1000 || !strings.Contains(text, "family0031 …") {
		t.Errorf("%d bytes: %.900s", len(text), text)
	}
}
