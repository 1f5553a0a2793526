// Package examples has the tables that the documents and the demo work with.
package examples

import _ "embed"

// Webtable is the sample table, in the form that import takes: some web pages, a row each, by reversed domain.
//
//go:embed webtable.ndjson
var Webtable []byte
