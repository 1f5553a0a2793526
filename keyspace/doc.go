// Package keyspace samples where in the row keys of tables the load is: what it takes for a heat map over time and row
// keys.
//
// A Table counts rows and bytes, read and written, in windows of time. Of many rows it sees one, which stands for all of
// them: the first rows of a minute are all sampled, and each time that samplesPerRate were, half as many of the
// rest. So a table with little load is counted exactly, and one with much load pays for a few thousand samples a minute.
// Which rows are sampled is random, each with the same chance, so that the estimates are right on average whatever the
// order of the rows.
//
// A window keeps at most maxPoints points: row keys with the load at and behind them, up to the next one. When there are
// more, neighbours with little load become one. So a hot key stays a point of its own, while a cold stretch is one
// point, and no list of ranges has to be set up beforehand. An answer chooses the bounds of its ranges in the same way, for
// all of its windows.
//
// Windows of minutes become windows of ten minutes after an hour, and go after a day. All tables of a Sampler share
// maxBytes of memory: if they have more, the oldest windows of any go earlier.
package keyspace
