// Package compaction decides what a partition compacts next, where the outputs end, and what
// may run in parallel. The engine carries the choices out. There are no locks, no I/O, no clock.
// Pick and what it rests on are pure functions over a manifest.Version. Manual, SmallFileBudget,
// Splitter and Bottommost remember something from call to call; their caller serializes the calls.
//
// # The policy
//
// Level 0 takes flushed memtables, which overlap. The last level is one sorted run that holds
// most of the data. Each upper level between them is one sorted run or empty. This is tiered
// compaction above a leveled bottom (RocksDB calls it universal, with a large last run).
//
//	level 0  |------------------|      overlaps everything
//	      4  |--| |--| |--| |--|       a run that level 0 was a while ago
//	      5  |--| |--| |--| |--|       an older one
//	      6  |--| |--| |--| |--|       several of those, merged
//	      7  |-||-||-||-||-||-||-|     everything else
//
// Reasons to compact, the most urgent first:
//
//  1. A full level 0 is merged with all that lies below its rows, into the last level, as long
//     as that is little: about as much as level 0 brings.
//
//  2. If much lies below, level 0 becomes a run of its own, in the lowest level above all that
//     it overlaps. So its rows are written once, not together with everything below. It is
//     full with twice as many files then: fewer runs are merged less often.
//
//  3. When level 1 is in use, level 0 may soon find no free level: level 1 is merged into a
//     lower run (RunMerges.Intermediate). When the upper levels hold too much compared with
//     the last one, or reads have paid for it, all of them are merged into the last level
//     (RunMerges.Bottommost). Which runs, and where to, is decided once and then carried out
//     step by step, one range of rows at a time.
//
//  4. Files that are mostly tombstones or garbage are compacted by themselves, and so are files of
//     which range tombstones cover a part. What range tombstones cover as a whole is dropped
//     without being read, before anything else.
//
// Outputs of all levels end at the same rows where possible (Splitter). So what overlaps a file
// lies within its range, and a step merges a few files of each level, whatever the size of the
// partition.
//
// A byte is written a few times until it is in the last level. With levels that grow tenfold it
// would be merged with ten others in each. The price is one more run to read per upper level,
// and the space of what was overwritten.
//
// # What keeps the order of a version
//
// Newer entries of a row lie above older ones. Two rules keep that so:
//
//   - Files that leave level 0 take along every file of level 0 that they overlap, and so on:
//     nothing older stays behind. Files that move to a level are merged with every file there
//     that they overlap, and take along every file on the way that they overlap, and so on.
//
//   - The inputs of a compaction hang together: their ranges, laid over one another, have no
//     gap. Anything else that would write into the range of the outputs, from above to the
//     same level or past it, overlaps one of the inputs, finds it busy, and waits. What works
//     wholly below leaves a file wherever there was one (Choice.AppliesTo). Concurrent
//     compactions need to know no more of one another.
package compaction
