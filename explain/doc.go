// Package explain says what was done for a read, in the same words for all front ends: as JSON, and in the log of slow
// queries.
//
//	Read      collects what the Store explains, and what took how long
//	SlowLog   gets the reads that took long, with the shape of what was asked
//
// Neither has a row key, a qualifier, a pattern or a value.
package explain
