package storetest

// Work counts the work of runs of Random.
type Work struct {
	Runs       int64 // lists of operations run in one configuration
	Operations int64
	Writes     int64 // acknowledged
	Again      int64 // of the writes, those sent again with their idempotency key
	Together   int64 // of the writes, those that were under way at the same time
	Aggregates int64 // compared with the model
	Pages      int64 // of a query, or all of its pages, compared with the model
	Scans      int64 // gets and scans, each compared with the model
	Views      int64 // opened to be read later
	ViewReads  int64 // scans of such a view, or of parts of one
	Flushes    int64
	Compacts   int64
	Moves      int64 // of families, begun or turned back
	Advice     int64 // asked for
	Steps      int64 // calls of Subject.Step that had something to do
	Reopens    int64
	Crashes    int64 // with those after a fault
	Unknown    int64 // changes with an unknown outcome
	Doubts     int64 // steps after which garbage could become visible again
	Verified   int64 // calls of Subject.Verify
}

// Add adds the work of other runs.
func (w *Work) Add(v Work) {
	w.Runs += v.Runs
	w.Operations += v.Operations
	w.Writes += v.Writes
	w.Again += v.Again
	w.Together += v.Together
	w.Aggregates += v.Aggregates
	w.Pages += v.Pages
	w.Scans += v.Scans
	w.Views += v.Views
	w.ViewReads += v.ViewReads
	w.Flushes += v.Flushes
	w.Compacts += v.Compacts
	w.Moves += v.Moves
	w.Advice += v.Advice
	w.Steps += v.Steps
	w.Reopens += v.Reopens
	w.Crashes += v.Crashes
	w.Unknown += v.Unknown
	w.Doubts += v.Doubts
	w.Verified += v.Verified
}
