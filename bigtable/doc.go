// Package bigtable serves a widecol.Store to the clients of Google Bigtable: the gRPC services
// google.bigtable.v2.Bigtable, BigtableTableAdmin and BigtableInstanceAdmin of google.bigtable.admin.v2.
//
// It stands beside package server, over the same tables. It knows widecol and gRPC, and nothing below. Messages of
// the protocol end here: what goes down are queries, mutations and filters of widecol.
//
//	receive.go          a message received, once its sender is known and there is memory for it
//	deliver.go          a message sent, and clients that do not take theirs
//	watch.go            calls counted and audited
//	call.go             what a call on a table holds
//	names.go            names of the protocol, and the tables that they stand for
//	status.go           errors of a Store as gRPC statuses
//	filter.go           a filter tree taken over
//	rowset.go           keys and ranges taken over
//	mutations.go        mutations taken over: MutateRow, MutateRows; decode.go decodes their requests
//	update.go           CheckAndMutateRow, ReadModifyWriteRow
//	read_rows.go        ReadRows; chunks.go encodes its answers
//	sample_row_keys.go  SampleRowKeys
//	table_admin.go      tables and families; gc_rule.go their GC rules
//	families.go         ModifyColumnFamilies
//	backups.go          what backups of tables are; backup_calls.go the calls about them
//	operations.go       work that may take longer than a call
//	instance_admin.go   as much of instances and clusters as clients need
//
// A value of the protocol has no type. A cell that is written here has the type bytes. A cell of another type is read
// as widecol.ValueBytes has it.
//
// Times are those of a table with granularity MILLIS: a cell is written at a multiple of 1000 microseconds. Cells that
// were written in another way are read with the time that they have.
package bigtable
