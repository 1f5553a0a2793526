package explain

import (
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
