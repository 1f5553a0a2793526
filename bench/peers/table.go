package main

// Table is a table of work and its figures.
type Table struct {
	Name    string
	Title   string
	About   string // the work, for the report
	Figures []Figure
	Run     func(*session) error
	// Ceilings is set if a ceiling can do the work too.
	Ceilings bool
	// Asked is set if the table runs only when it is named.
	Asked bool
}

// Figure is one line of a table.
type Figure struct {
	Name string // as a session records it
	What string
	Unit unit
}

// unit is how a figure is printed.
type unit int

const (
	perSecond unit = iota
	millis
	micros
	mega  // MB
	plain // a number or ratio
)

// tables are in the order of the report.
var tables = []*Table{
	orderedLoad, randomLoad, commits, reads, wideRows, reopens, histories, largeValues, manyColumns, manySpaces, growth,
}

// figure returns the figure with a name, or nil.
func (t *Table) figure(name string) *Figure {
	for i := range t.Figures {
		if t.Figures[i].Name == name {
			return &t.Figures[i]
		}
	}
	return nil
}
