package widecol

// Capabilities are promises that a Store may make beyond those that all Stores make. They stay the same as long as
// the Store is open.
type Capabilities struct {
	// AtomicWrite is that Write applies its mutations together whatever rows they are of, and so does
	// WriteRows with those that it does not refuse. A Store without it applies those of each row together:
	// of several rows, some may be written before others, and only some if the outcome is Unknown.
	AtomicWrite bool
	// TableSnapshot is that a View has the whole table as it was at one moment. A View of a Store without it
	// has each row as it was at some moment since the View was opened, in all its families.
	TableSnapshot bool
}
