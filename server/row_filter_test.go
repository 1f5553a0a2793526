package server

import (
	"fmt"
	"strings"
	"testing"
)

// withFilter returns a body with a filter.
func withFilter(filter string) string { return `{"filter":` + filter + `}` }

func TestFilter(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"},{"name":"b"}]}`)
	c.must(200, "POST", "/v1/table/t/write", `{"items":[
		{"row_key":"q","cells":[{"column_key":"a:x","type":"string","value":"one","time":5},{"column_key":"b:y","type":"i64","value":258,"time":5}]},
		{"row_key":"r","cells":[{"column_key":"a:x","type":"string","value":"two","time":9},{"column_key":"a:x","type":"string","value":"one","time":4}]},
		{"row_key":"é","cells":[{"column_key":"a:é","type":"bytes","value":"/wA=","time":1}]}]}`)
	row := func(key, columns string) string { return fmt.Sprintf(`{"row_key":%q,"columns":%s}`, key, columns) }
	const (
		qx = `"a":{"x":[{"time":5,"type":"string","value":"one"}]}`
		qy = `"b":{"y":[{"time":5,"type":"i64","value":258}]}`
		rx = `{"a":{"x":[{"time":9,"type":"string","value":"two"},{"time":4,"type":"string","value":"one"}]}}`
		e  = `{"a":{"é":[{"time":1,"type":"bytes","value":"/wA="}]}}`
	)
	for _, tc := range []struct{ filter, rows string }{
		{`{"pass_all_filter":true}`, answerOf(row("q", "{"+qx+","+qy+"}"), row("r", rx), row("é", e))},
		{`{"block_all_filter":true}`, answerOf()},
		{`{"row_key_regex_filter":"[a-q]"}`, answerOf(row("q", "{"+qx+","+qy+"}"))},
		{`{"row_key_regex_filter":"\\C{2}"}`, answerOf(row("é", e))},
		{`{"row_key_regex_filter":{"base64":"w6k="}}`, answerOf(row("é", e))},
		{`{"column_qualifier_regex_filter":"é"}`, answerOf(row("é", e))},
		{`{"family_name_regex_filter":"b"}`, answerOf(row("q", "{"+qy+"}"))},
		{`{"value_regex_filter":{"base64":"/1xD"}}`, answerOf(row("é", e))},
		{`{"value_regex_filter":"\\x00{6}\\x01\\x02"}`, answerOf(row("q", "{"+qy+"}"))},
		{`{"value_range_filter":{"start_value_closed":{"base64":"/w=="}}}`, answerOf(row("é", e))},
		{`{"value_range_filter":{"start_value_open":"one","end_value_closed":"two"}}`, answerOf(row("r", `{"a":{"x":[{"time":9,"type":"string","value":"two"}]}}`))},
		{`{"column_range_filter":{"family_name":"a","start_qualifier_open":"x"}}`, answerOf(row("é", e))},
		{`{"column_range_filter":{"family_name":"b","start_qualifier_closed":"x","end_qualifier_open":"z"}}`, answerOf(row("q", "{"+qy+"}"))},
		{`{"column_range_filter":{"family_name":"b","end_qualifier_closed":"x"}}`, answerOf()},
		{`{"timestamp_range_filter":{"start_timestamp_micros":5,"end_timestamp_micros":6}}`, answerOf(row("q", "{"+qx+","+qy+"}"))},
		{`{"timestamp_range_filter":{"start_timestamp_micros":6,"end_timestamp_micros":0}}`, answerOf(row("r", `{"a":{"x":[{"time":9,"type":"string","value":"two"}]}}`))},
		{`{"cells_per_row_offset_filter":1}`, answerOf(row("q", "{"+qy+"}"), row("r", `{"a":{"x":[{"time":4,"type":"string","value":"one"}]}}`))},
		{`{"chain":{"filters":[{"cells_per_row_limit_filter":1},{"row_key_regex_filter":"q"}]}}`, answerOf(row("q", "{"+qx+"}"))},
		{`{"chain":{"filters":[{"family_name_regex_filter":"b"},{"strip_value_transformer":true}]}}`, answerOf(row("q", `{"b":{"y":[{"time":5,"type":"bytes","value":""}]}}`))},
		{`{"chain":{"filters":[{"row_key_regex_filter":"r"},{"cells_per_column_limit_filter":1},{"apply_label_transformer":"l-1"}]}}`,
			answerOf(row("r", `{"a":{"x":[{"time":9,"type":"string","value":"two","labels":["l-1"]}]}}`))},
		{`{"chain":{"filters":[{"row_key_regex_filter":"é"},{"interleave":{"filters":[{"pass_all_filter":true},{"apply_label_transformer":"l"}]}}]}}`,
			answerOf(row("é", `{"a":{"é":[{"time":1,"type":"bytes","value":"/wA="},{"time":1,"type":"bytes","value":"/wA=","labels":["l"]}]}}`))},
		{`{"condition":{"predicate_filter":{"value_regex_filter":"two"},"false_filter":{"family_name_regex_filter":"b"}}}`, answerOf(row("q", "{"+qy+"}"))},
		{`{"condition":{"predicate_filter":{"value_regex_filter":"two"},"true_filter":{"pass_all_filter":true}}}`, answerOf(row("r", rx))},
		{`{"chain":{"filters":[{"family_name_regex_filter":"b"},{"sink":true}]}}`, answerOf(row("q", "{"+qy+"}"))},
		{`{"chain":{"filters":[{"row_sample_filter":0.999999999},{"family_name_regex_filter":"b"}]}}`, answerOf(row("q", "{"+qy+"}"))},
	} {
		c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", withFilter(tc.filter))), tc.rows)
	}
	c.same(c.must(200, "POST", "/v1/table/t/count", withFilter(`{"value_regex_filter":"one"}`)), `{"row_count":2,"cell_count":2,"cells_scanned":5,"bytes_scanned":81}`)
	// Filters of a row are applied to it alone. A row of which nothing is left is missing.
	c.same(c.must(200, "POST", "/v1/table/t/rows", `{"items":[
		{"row":{"key":"q"},"filter":{"value_regex_filter":"two"}},
		{"row":{"key":"r"},"filter":{"value_regex_filter":"two"},"column":{"key":"a"}},
		{"row":{"key":"q","cell_limit":1},"filter":{"cells_per_row_offset_filter":1}}]}`),
		`{"rows":[`+row("r", `{"a":{"x":[{"time":9,"type":"string","value":"two"}]}}`)+`,`+row("q", "{"+qy+"}")+`],"missing":[0],
		"row_count":2,"cell_count":2,"rows_scanned":3,"cells_scanned":6,"bytes_scanned":100,"affected_locality_groups":1}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{"filter":{"cells_per_column_limit_filter":1},"row":{"limit":1,"offset":1},"cell":{"strip_value":true}}`)),
		answerOf(row("r", `{"a":{"x":[{"time":9,"type":"string","value":null}]}}`)))
}

// nestedFilter returns a filter of some depth.
func nestedFilter(depth int) string {
	const open, end = `{"chain":{"filters":[{"pass_all_filter":true},`, `]}}`
	return strings.Repeat(open, depth-1) + `{"pass_all_filter":true}` + strings.Repeat(end, depth-1)
}

// TestFilterRefusals has a case for each rule about filters: the wrong type of each field, each bound, and
// the place of the error.
func TestFilterRefusals(t *testing.T) {
	c := newClient(t)
	c.webtable()
	chain := func(filter string) string { return `{"chain":{"filters":[{"pass_all_filter":true},` + filter + `]}}` }
	const second = "chain.filters[1]"
	for _, e := range []struct{ code, at, filter string }{
		{"wrong_type", "", `null`},
		{"wrong_type", "", `[]`},
		{"wrong_type", "", `"pass_all_filter"`},
		{"invalid_filter", "", `{}`},
		{"unknown_field", "pass_all", `{"pass_all":true}`},
		{"unknown_field", "passAllFilter", `{"passAllFilter":true}`},
		{"unknown_field", "value_bitmask_filter", `{"value_bitmask_filter":{}}`},
		{"conflicting_fields", "block_all_filter", `{"pass_all_filter":true,"block_all_filter":true}`},
		{"duplicate_field", "pass_all_filter", `{"pass_all_filter":true,"pass_all_filter":true}`},

		{"wrong_type", "chain", `{"chain":[]}`},
		{"invalid_filter", "chain", `{"chain":{}}`},
		{"wrong_type", "chain.filters", `{"chain":{"filters":{}}}`},
		{"invalid_filter", "chain", `{"chain":{"filters":[]}}`},
		{"invalid_filter", "chain", `{"chain":{"filters":[{"pass_all_filter":true}]}}`},
		{"wrong_type", second, chain(`1`)},
		{"invalid_filter", second, chain(`{}`)},
		{"unknown_field", "chain.filter", `{"chain":{"filter":[]}}`},
		{"invalid_filter", second + ".interleave", chain(`{"interleave":{"filters":[{"sink":true}]}}`)},
		{"unknown_field", "interleave.x", `{"interleave":{"x":[]}}`},

		{"wrong_type", "condition", `{"condition":true}`},
		{"unknown_field", "condition.predicate", `{"condition":{"predicate":{}}}`},
		{"wrong_type", "condition.true_filter", `{"condition":{"true_filter":null}}`},
		{"invalid_filter", "condition.predicate_filter", `{"condition":{"true_filter":{"pass_all_filter":true}}}`},
		{"invalid_filter", "condition.false_filter.sink", `{"condition":{"predicate_filter":{"pass_all_filter":true},"false_filter":{"sink":true}}}`},

		{"wrong_type", "pass_all_filter", `{"pass_all_filter":1}`},
		{"invalid_filter", "pass_all_filter", `{"pass_all_filter":false}`},
		{"wrong_type", "block_all_filter", `{"block_all_filter":"true"}`},
		{"invalid_filter", "block_all_filter", `{"block_all_filter":false}`},
		{"wrong_type", "sink", `{"sink":{}}`},
		{"invalid_filter", "sink", `{"sink":false}`},
		{"wrong_type", "strip_value_transformer", `{"strip_value_transformer":null}`},
		{"invalid_filter", second + ".strip_value_transformer", chain(`{"strip_value_transformer":false}`)},

		{"wrong_type", "row_key_regex_filter", `{"row_key_regex_filter":1}`},
		{"invalid_filter", "row_key_regex_filter", `{"row_key_regex_filter":""}`},
		{"invalid_regex", "row_key_regex_filter", `{"row_key_regex_filter":"a("}`},
		{"wrong_type", "family_name_regex_filter", `{"family_name_regex_filter":{"base64":"YQ=="}}`},
		{"invalid_filter", "family_name_regex_filter", `{"family_name_regex_filter":"a:.*"}`},
		{"wrong_type", "column_qualifier_regex_filter", `{"column_qualifier_regex_filter":[]}`},
		{"unknown_field", "column_qualifier_regex_filter.hex", `{"column_qualifier_regex_filter":{"hex":"00"}}`},
		{"missing_field", "column_qualifier_regex_filter.base64", `{"column_qualifier_regex_filter":{}}`},
		{"wrong_type", "value_regex_filter.base64", `{"value_regex_filter":{"base64":1}}`},
		{"invalid_base64", "value_regex_filter.base64", `{"value_regex_filter":{"base64":"YQ="}}`},
		{"invalid_base64", "value_regex_filter.base64", `{"value_regex_filter":{"base64":"YQ==\n"}}`},
		{"invalid_regex", second + ".value_regex_filter", chain(`{"value_regex_filter":"(?<=a)b"}`)},

		{"wrong_type", "row_sample_filter", `{"row_sample_filter":"0.5"}`},
		{"number_out_of_range", "row_sample_filter", `{"row_sample_filter":0}`},
		{"number_out_of_range", "row_sample_filter", `{"row_sample_filter":1}`},
		{"wrong_type", "cells_per_row_limit_filter", `{"cells_per_row_limit_filter":"1"}`},
		{"not_an_integer", "cells_per_row_limit_filter", `{"cells_per_row_limit_filter":1.5}`},
		{"number_out_of_range", "cells_per_row_limit_filter", `{"cells_per_row_limit_filter":0}`},
		{"number_out_of_range", "cells_per_row_limit_filter", `{"cells_per_row_limit_filter":2147483648}`},
		{"number_out_of_range", "cells_per_column_limit_filter", `{"cells_per_column_limit_filter":0}`},
		{"number_out_of_range", "cells_per_row_offset_filter", `{"cells_per_row_offset_filter":-1}`},

		{"wrong_type", "column_range_filter", `{"column_range_filter":"a"}`},
		{"missing_field", "column_range_filter.family_name", `{"column_range_filter":{"start_qualifier_closed":"a"}}`},
		{"invalid_column_family_name", "column_range_filter.family_name", `{"column_range_filter":{"family_name":"not ok"}}`},
		{"wrong_type", "column_range_filter.start_qualifier_open", `{"column_range_filter":{"family_name":"a","start_qualifier_open":1}}`},
		{"conflicting_fields", "column_range_filter.start_qualifier_open", `{"column_range_filter":{"family_name":"a","start_qualifier_closed":"a","start_qualifier_open":"a"}}`},
		{"conflicting_fields", "column_range_filter.end_qualifier_closed", `{"column_range_filter":{"family_name":"a","end_qualifier_open":"a","end_qualifier_closed":"a"}}`},
		{"unknown_field", "column_range_filter.start_value_open", `{"column_range_filter":{"family_name":"a","start_value_open":"a"}}`},
		{"invalid_range", "column_range_filter", `{"column_range_filter":{"family_name":"a","start_qualifier_closed":"b","end_qualifier_closed":"a"}}`},
		{"unknown_field", "value_range_filter.family_name", `{"value_range_filter":{"family_name":"a"}}`},
		{"invalid_range", "value_range_filter", `{"value_range_filter":{"start_value_open":"b","end_value_open":"a"}}`},
		{"wrong_type", "timestamp_range_filter.start_timestamp_micros", `{"timestamp_range_filter":{"start_timestamp_micros":"1"}}`},
		{"number_out_of_range", "timestamp_range_filter.end_timestamp_micros", `{"timestamp_range_filter":{"end_timestamp_micros":-1}}`},
		{"unknown_field", "timestamp_range_filter.start", `{"timestamp_range_filter":{"start":1}}`},
		{"invalid_range", "timestamp_range_filter", `{"timestamp_range_filter":{"start_timestamp_micros":2,"end_timestamp_micros":1}}`},

		{"wrong_type", "apply_label_transformer", `{"apply_label_transformer":["a"]}`},
		{"invalid_filter", "apply_label_transformer", `{"apply_label_transformer":""}`},
		{"invalid_filter", "apply_label_transformer", `{"apply_label_transformer":"Label"}`},
		{"invalid_filter", "apply_label_transformer", `{"apply_label_transformer":"aaaaaaaaaaaaaaaa"}`},
		{"invalid_filter", "chain.filters[1]", `{"chain":{"filters":[{"apply_label_transformer":"a"},{"apply_label_transformer":"b"}]}}`},

		{"invalid_filter", strings.Repeat("chain.filters[1].", 19) + "chain.filters[0]", nestedFilter(21)},
		{"too_deep", strings.Repeat("chain.filters[1].", 20) + "chain.filters[0]", nestedFilter(30)},
		{"invalid_filter", "", `{"value_regex_filter":"` + long(20477) + `"}`},
		{"invalid_filter", "value_regex_filter", `{"value_regex_filter":"` + long(20481) + `"}`},
		{"invalid_filter", "chain.filters[4095]", `{"chain":{"filters":[{"sink":true}` + strings.Repeat(`,{"sink":true}`, 5000) + `]}}`},
		{"invalid_filter", "", `{"chain":{"filters":[{"pass_all_filter":true}` + strings.Repeat(`,{"interleave":{"filters":[{"sink":true},{"pass_all_filter":true},{"pass_all_filter":true}]}}`, 20) + `]}}`},
	} {
		at := "filter"
		if e.at != "" {
			at += "." + e.at
		}
		c.refused(400, e.code, at, "POST", "/v1/table/t/scan", withFilter(e.filter))
		c.refused(400, e.code, at, "POST", "/v1/table/t/count", withFilter(e.filter))
		if e.code != "too_deep" { // it is found earlier there
			c.refused(400, e.code, "items[1]."+at, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}},{"row":{"key":"a"},"filter":`+e.filter+`}]}`)
		}
	}
	for _, endpoint := range []string{"scan", "count"} {
		c.must(200, "POST", "/v1/table/t/"+endpoint, withFilter(nestedFilter(20)))
	}
	deepest := strings.Replace(nestedFilter(20), `{"pass_all_filter":true}]`, `{"value_range_filter":{"start_value_open":{"base64":"YQ=="}}}]`, 1)
	c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"},"filter":`+deepest+`}]}`)
	// Elsewhere the depth is what it was.
	c.refused(400, "too_deep", "row.limit"+strings.Repeat("[0]", 30), "POST", "/v1/table/t/scan",
		`{"filter":`+nestedFilter(20)+`,"row":{"limit":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`}}`)
	many := `{"row":{"key":"a"},"filter":{"chain":{"filters":[{"pass_all_filter":true}` + strings.Repeat(`,{"pass_all_filter":true}`, 999) + `]}}}`
	hard := `{"row":{"key":"a"},"filter":{"value_regex_filter":"(abcdefghijklmnopqrstuvwxyz123456789){1000}"}}`
	c.refused(400, "too_many_filters", "items[26].filter", "POST", "/v1/table/t/rows", `{"items":[`+hard+strings.Repeat(","+hard, 99)+`]}`)
	c.refused(400, "too_many_filters", "items[65].filter.chain.filters[470]", "POST", "/v1/table/t/rows", `{"items":[`+many+strings.Repeat(","+many, 99)+`]}`)
}
