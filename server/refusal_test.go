package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// long is a text of n bytes.
func long(n int) string { return strings.Repeat("k", n) }

// someToken is a page token of no query.
var someToken = tokenText.EncodeToString((&pageToken{}).append(nil))

// cellOf is a write of one cell.
func cellOf(typ, value string) string {
	return fmt.Sprintf(`{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":%q,"value":%s}]}]}`, typ, value)
}

// TestRefusals has a case for every rule about input: the answer names the rule
// and the place, and nothing has changed.
func TestRefusals(t *testing.T) {
	c := newClient(t)
	c.webtable()
	const (
		item = `{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"string","value":"v"}]},`
		cell = "items[1].cells[0]"
	)
	for _, e := range []struct {
		endpoint string
		status   int
		code, at string
		body     string
	}{
		// the text
		{"write", 400, "invalid_json", "", ""},
		{"write", 400, "invalid_json", "", "{"},
		{"write", 400, "invalid_json", "", item[:len(item)-1] + "]}x"},
		{"write", 400, "invalid_json", "", item[:len(item)-1] + "]}{}"},
		{"write", 400, "invalid_json", "", "\xef\xbb\xbf" + item[:len(item)-1] + "]}"},
		{"write", 400, "invalid_json", "items[1]", item + "]}"},
		{"write", 400, "invalid_json", "items[1].row_key", item + "{\"row_key\":\"a\x00b\""},
		{"write", 400, "invalid_utf8", "items[1].row_key", item + "{\"row_key\":\"a\xffb\""},
		{"write", 400, "invalid_utf8", "items[1].row_key", item + `{"row_key":"a\ud800b"`},
		{"write", 400, "duplicate_field", "items", item[:len(item)-1] + `],"items":[]}`},
		{"write", 400, "duplicate_field", "items[1].row_key", item + `{"row_key":"a","r\u006fw_key":"a"}]}`},
		{"write", 400, "unknown_field", "items[1].ROW_KEY", item + `{"ROW_KEY":"a"}]}`},
		{"write", 400, "unknown_field", `["row key"]`, `{"row key":1}`},
		{"scan", 400, "unknown_field", "row.reversed", `{"row":{"reversed":true}}`},
		{"scan", 400, "unknown_field", "explained", `{"explained":true}`},
		{"scan", 400, "invalid_value", "explain", `{"explain":"all"}`},
		{"scan", 400, "wrong_type", "explain", `{"explain":null}`},
		{"scan", 400, "wrong_type", "explain", `{"explain":1}`},
		{"scan", 400, "wrong_type", "explain", `{"explain":{}}`},
		{"scan", 400, "duplicate_field", "explain", `{"explain":true,"explain":"only"}`},
		{"count", 400, "invalid_value", "explain", `{"explain":""}`},
		{"aggregate", 400, "invalid_value", "explain", `{"of":["sum"],"explain":"true"}`},
		{"rows", 400, "invalid_value", "explain", `{"items":[{"row":{"key":"a"}}],"explain":"no"}`},
		{"rows", 400, "unknown_field", "items[0].explain", `{"items":[{"row":{"key":"a"},"explain":true}]}`},
		{"scan", 400, "wrong_type", "", `[]`},
		{"scan", 400, "wrong_type", "row", `{"row":null}`},
		{"scan", 400, "wrong_type", "row", `{"row":""}`},
		{"scan", 400, "unknown_field", "x", `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`},
		{"scan", 400, "too_deep", "row.limit" + strings.Repeat("[0]", 30), `{"row":{"limit":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`},

		// a write
		{"write", 400, "missing_field", "items", `{}`},
		{"write", 400, "wrong_type", "items", `{"items":{}}`},
		{"write", 400, "empty_list", "items", `{"items":[]}`},
		{"write", 400, "missing_field", "items[1].row_key", item + `{"cells":[{"column_key":"title:","type":"string","value":"v"}]}]}`},
		{"write", 400, "missing_field", "items[1].cells", item + `{"row_key":"a"}]}`},
		{"write", 400, "empty_list", "items[1].cells", item + `{"row_key":"a","cells":[]}]}`},
		{"write", 400, "invalid_row_key", "items[1].row_key", item + `{"row_key":"","cells":[]}]}`},
		{"write", 400, "invalid_row_key", "items[1].row_key", item + `{"row_key":"` + long(4097) + `","cells":[]}]}`},
		{"write", 400, "missing_field", cell + ".column_key", item + `{"row_key":"a","cells":[{"type":"string","value":"v"}]}]}`},
		{"write", 400, "missing_field", cell + ".type", item + `{"row_key":"a","cells":[{"column_key":"title:","value":"v"}]}]}`},
		{"write", 400, "missing_field", cell + ".value", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string"}]}]}`},
		{"write", 400, "unknown_field", cell + ".ttl", item + `{"row_key":"a","cells":[{"ttl":1}]}]}`},
		{"write", 404, "unknown_column_family", cell + ".column_key", item + `{"row_key":"a","cells":[{"column_key":"nope:","type":"string","value":"v"}]}]}`},
		{"write", 400, "invalid_column_key", cell + ".column_key", item + `{"row_key":"a","cells":[{"column_key":":q","type":"string","value":"v"}]}]}`},
		{"write", 400, "invalid_column_key", cell + ".column_key", item + `{"row_key":"a","cells":[{"column_key":"ti tle:","type":"string","value":"v"}]}]}`},
		{"write", 400, "invalid_column_key", cell + ".column_key", item + `{"row_key":"a","cells":[{"column_key":"title:` + long(16385) + `","type":"string","value":"v"}]}]}`},
		{"write", 413, "value_too_large", cell + ".value", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"` + long(1<<20+1) + `"}]}]}`},
		{"write", 400, "invalid_type", cell + ".type", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"String","value":"v"}]}]}`},
		{"write", 400, "invalid_type", cell + ".type", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"none","value":"v"}]}]}`},
		{"write", 400, "invalid_type", cell + ".type", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"` + long(100) + `","value":"v"}]}]}`},
		{"write", 400, "wrong_type", cell + ".value", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":["v"]}]}]}`},
		{"write", 400, "number_out_of_range", cell + ".time", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"v","time":-1}]}]}`},
		{"write", 400, "number_out_of_range", cell + ".time", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"v","time":9223372036854775807}]}]}`},
		{"write", 400, "not_an_integer", cell + ".time", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"v","time":1.0}]}]}`},
		{"write", 400, "wrong_type", cell + ".time", item + `{"row_key":"a","cells":[{"column_key":"title:","type":"string","value":"v","time":null}]}]}`},

		// bytes
		{"write", 400, "invalid_base64", "items[1].row_key.base64", item + `{"row_key":{"base64":"/w"}}]}`},
		{"write", 400, "invalid_base64", "items[1].row_key.base64", item + `{"row_key":{"base64":"_w=="}}]}`},
		{"write", 400, "invalid_row_key", "items[1].row_key", item + `{"row_key":{"base64":""}}]}`},
		{"write", 400, "missing_field", "items[1].row_key.base64", item + `{"row_key":{}}]}`},
		{"write", 400, "unknown_field", "items[1].row_key.hex", item + `{"row_key":{"hex":"ff"}}]}`},
		{"write", 400, "wrong_type", "items[1].row_key.base64", item + `{"row_key":{"base64":1}}]}`},
		{"scan", 400, "invalid_base64", "row.range.start.base64", `{"row":{"range":{"start":{"base64":"x"}}}}`},
		{"scan", 400, "invalid_column_key", "column.key", `{"column":{"key":{"base64":"/zp4"}}}`},

		// an aggregate
		{"aggregate", 400, "missing_field", "of", `{}`},
		{"aggregate", 400, "empty_list", "of", `{"of":[]}`},
		{"aggregate", 400, "wrong_type", "of", `{"of":"sum"}`},
		{"aggregate", 400, "wrong_type", "of[1]", `{"of":["sum",null]}`},
		{"aggregate", 400, "invalid_function", "of[1]", `{"of":["sum","SUM"]}`},
		{"aggregate", 400, "invalid_function", "of[2]", `{"of":["sum","min","sum"]}`},
		{"aggregate", 400, "duplicate_field", "of", `{"of":["sum"],"of":["sum"]}`},
		{"aggregate", 400, "unknown_field", "having", `{"of":["sum"],"having":{}}`},
		{"aggregate", 400, "wrong_type", "group_by", `{"of":["sum"],"group_by":null}`},
		{"aggregate", 400, "wrong_type", "group_by", `{"of":["sum"],"group_by":["column"]}`},
		{"aggregate", 400, "invalid_group_by", "group_by", `{"of":["sum"],"group_by":"row"}`},
		{"aggregate", 400, "missing_field", "group_by.row_prefix", `{"of":["sum"],"group_by":{}}`},
		{"aggregate", 400, "unknown_field", "group_by.column", `{"of":["sum"],"group_by":{"column":1}}`},
		{"aggregate", 400, "duplicate_field", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":1,"row_prefix":2}}`},
		{"aggregate", 400, "wrong_type", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":null}}`},
		{"aggregate", 400, "wrong_type", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":true}}`},
		{"aggregate", 400, "number_out_of_range", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":0}}`},
		{"aggregate", 400, "number_out_of_range", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":-1}}`},
		{"aggregate", 400, "number_out_of_range", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":4097}}`},
		{"aggregate", 400, "not_an_integer", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":1.0}}`},
		{"aggregate", 400, "invalid_group_by", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":""}}`},
		{"aggregate", 400, "invalid_group_by", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":{"base64":""}}}`},
		{"aggregate", 400, "invalid_group_by", "group_by.row_prefix", `{"of":["sum"],"group_by":{"row_prefix":"` + long(4097) + `"}}`},
		{"aggregate", 400, "invalid_base64", "group_by.row_prefix.base64", `{"of":["sum"],"group_by":{"row_prefix":{"base64":"/w"}}}`},
		{"aggregate", 400, "missing_field", "group_by.row_prefix.base64", `{"of":["sum"],"group_by":{"row_prefix":{}}}`},
		{"aggregate", 400, "unknown_field", "cell.limit", `{"of":["sum"],"cell":{"limit":1}}`},
		{"aggregate", 400, "unknown_field", "cell.strip_value", `{"of":["sum"],"cell":{"strip_value":true}}`},
		{"aggregate", 400, "number_out_of_range", "row.sample", `{"of":["sum"],"row":{"sample":0}}`},
		{"aggregate", 404, "unknown_column_family", "column.multi_key[1]", `{"of":["sum"],"column":{"multi_key":["title:","nope:"]}}`},

		{"aggregate", 400, "unknown_field", "row.reverse", `{"of":["sum"],"row":{"reverse":true}}`},
		{"aggregate", 400, "conflicting_fields", "row.prefix", `{"of":["sum"],"row":{"key":"a","prefix":"b"}}`},
		{"aggregate", 400, "invalid_range", "cell.time", `{"of":["sum"],"cell":{"time":{"start":2,"end":1}}}`},
		{"aggregate", 400, "missing_field", "cell.value.op", `{"of":["sum"],"cell":{"value":{"type":"i64","value":1}}}`},
		{"aggregate", 400, "invalid_filter", "filter.chain", `{"of":["sum"],"filter":{"chain":{"filters":[]}}}`},
		{"aggregate", 400, "invalid_regex", "filter.row_key_regex_filter", `{"of":["sum"],"filter":{"row_key_regex_filter":"("}}`},

		// other changes
		{"mutate", 400, "missing_field", "items", `{}`},
		{"mutate", 400, "invalid_value", "atomic", `{"atomic":"table"}`},
		{"mutate", 400, "wrong_type", "atomic", `{"atomic":true}`},
		{"mutate", 400, "empty_list", "items", `{"items":[]}`},
		{"mutate", 400, "missing_field", "items[0].mutations", `{"items":[{"row_key":"a"}]}`},
		{"mutate", 400, "missing_field", "items[0].row_key", `{"items":[{"mutations":[{"delete_row":true}]}]}`},
		{"mutate", 400, "empty_list", "items[0].mutations", `{"items":[{"row_key":"a","mutations":[]}]}`},
		{"mutate", 400, "missing_field", "items[0].mutations[0].set", `{"items":[{"row_key":"a","mutations":[{}]}]}`},
		{"mutate", 400, "unknown_field", "items[0].mutations[0].put", `{"items":[{"row_key":"a","mutations":[{"put":{}}]}]}`},
		{"mutate", 400, "conflicting_fields", "items[0].mutations[0].delete_family", `{"items":[{"row_key":"a","mutations":[{"delete_row":true,"delete_family":"title"}]}]}`},
		{"mutate", 400, "invalid_value", "items[0].mutations[0].delete_row", `{"items":[{"row_key":"a","mutations":[{"delete_row":false}]}]}`},
		{"mutate", 400, "invalid_column_family_name", "items[0].mutations[0].delete_family", `{"items":[{"row_key":"a","mutations":[{"delete_family":"a b"}]}]}`},
		{"mutate", 404, "unknown_column_family", "items[0].mutations[0].delete_family", `{"items":[{"row_key":"a","mutations":[{"delete_family":"nope"}]}]}`},
		{"mutate", 404, "unknown_column_family", "items[1].mutations[0].delete_column.column_key", `{"items":[{"row_key":"org.a","mutations":[{"delete_row":true}]},{"row_key":"a","mutations":[{"delete_column":{"column_key":"nope:"}}]}]}`},
		{"mutate", 400, "missing_field", "items[0].mutations[0].delete_column.column_key", `{"items":[{"row_key":"a","mutations":[{"delete_column":{}}]}]}`},
		{"mutate", 400, "invalid_range", "items[0].mutations[0].delete_column.time", `{"items":[{"row_key":"a","mutations":[{"delete_column":{"column_key":"title:","time":{"start":5,"end":5}}}]}]}`},
		{"mutate", 400, "invalid_range", "items[0].mutations[0].delete_column.time", `{"items":[{"row_key":"a","mutations":[{"delete_column":{"column_key":"title:","time":{"start":5,"end":4}}}]}]}`},
		{"mutate", 400, "invalid_type", "items[0].mutations[0].set.type", `{"items":[{"row_key":"a","mutations":[{"set":{"column_key":"title:","type":"int","value":1}}]}]}`},
		{"mutate", 413, "value_too_large", "items[0].mutations[0].set.value", `{"items":[{"row_key":"a","mutations":[{"set":{"column_key":"title:","type":"string","value":"` + long(1<<20+1) + `"}}]}]}`},
		{"check-and-mutate", 400, "missing_field", "row_key", `{"if":{"exists":true},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "missing_field", "if", `{"row_key":"a","then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "missing_field", "then", `{"row_key":"a","if":{"exists":true}}`},
		{"check-and-mutate", 400, "empty_list", "else", `{"row_key":"a","if":{"exists":true},"else":[]}`},
		{"check-and-mutate", 400, "conflicting_fields", "if.pass_all_filter", `{"row_key":"a","if":{"exists":true,"pass_all_filter":true},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "conflicting_fields", "if.exists", `{"row_key":"a","if":{"pass_all_filter":true,"exists":true},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "unknown_field", "if.filter", `{"row_key":"a","if":{"filter":{}},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "invalid_filter", "if", `{"row_key":"a","if":{},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 400, "wrong_type", "if.exists", `{"row_key":"a","if":{"exists":1},"then":[{"delete_row":true}]}`},
		{"check-and-mutate", 404, "unknown_column_family", "else[0].delete_family", `{"row_key":"a","if":{"exists":true},"then":[{"delete_row":true}],"else":[{"delete_family":"nope"}]}`},
		{"check-and-mutate", 404, "unknown_column_family", "then[1].delete_family", `{"row_key":"a","if":{"exists":true},"else":[{"delete_row":true}],"then":[{"delete_row":true},{"delete_family":"nope"}]}`},
		{"read-modify-write", 400, "missing_field", "row_key", `{"rules":[{"column_key":"title:","increment":1}]}`},
		{"read-modify-write", 400, "missing_field", "rules", `{"row_key":"a"}`},
		{"read-modify-write", 400, "empty_list", "rules", `{"row_key":"a","rules":[]}`},
		{"read-modify-write", 400, "missing_field", "rules[0].column_key", `{"row_key":"a","rules":[{"increment":1}]}`},
		{"read-modify-write", 400, "missing_field", "rules[0].increment", `{"row_key":"a","rules":[{"column_key":"title:"}]}`},
		{"read-modify-write", 400, "conflicting_fields", "rules[0].append", `{"row_key":"a","rules":[{"column_key":"title:","increment":1,"append":"x"}]}`},
		{"read-modify-write", 400, "not_an_integer", "rules[0].increment", `{"row_key":"a","rules":[{"column_key":"title:","increment":1.5}]}`},
		{"read-modify-write", 400, "wrong_type", "rules[0].append", `{"row_key":"a","rules":[{"column_key":"title:","append":1}]}`},
		{"read-modify-write", 404, "unknown_column_family", "rules[1].column_key", `{"row_key":"a","rules":[{"column_key":"title:","increment":1},{"column_key":"nope:","increment":1}]}`},
		{"read-modify-write", 400, "invalid_column_key", "rules[0].column_key", `{"row_key":"a","rules":[{"column_key":":","increment":1}]}`},
		{"delete", 400, "all_rows", "", `{}`},
		{"delete", 400, "all_rows", "row.prefix", `{"row":{"prefix":""}}`},
		{"delete", 400, "all_rows", "row.range", `{"row":{"range":{}}}`},
		{"delete", 400, "all_rows", "", `{"column":{"key":"title:"},"dry_run":true}`},
		{"delete", 400, "invalid_value", "all", `{"all":false}`},
		{"delete", 400, "missing_field", "row.key", `{"row":{}}`},
		{"delete", 400, "unknown_field", "row.limit", `{"row":{"key":"a","limit":1}}`},
		{"delete", 400, "conflicting_fields", "row.prefix", `{"row":{"key":"a","prefix":"b"}}`},
		{"delete", 400, "unknown_field", "column.cell_limit", `{"row":{"key":"a"},"column":{"key":"title:","cell_limit":1}}`},
		{"delete", 404, "unknown_column_family", "column.key", `{"row":{"key":"org.a"},"column":{"key":"nope:"}}`},
		{"delete", 400, "invalid_range", "time", `{"row":{"key":"a"},"time":{"start":2,"end":1}}`},
		{"delete", 400, "wrong_type", "dry_run", `{"row":{"key":"a"},"dry_run":1}`},

		// reads
		{"scan", 400, "not_an_integer", "row.limit", `{"row":{"limit":1e3}}`},
		{"scan", 400, "number_out_of_range", "row.limit", `{"row":{"limit":-1}}`},
		{"scan", 400, "number_out_of_range", "row.limit", `{"row":{"limit":9223372036854775808}}`},
		{"scan", 400, "number_out_of_range", "row.limit", `{"row":{"limit":1e999}}`},
		{"scan", 400, "wrong_type", "row.limit", `{"row":{"limit":"10"}}`},
		{"scan", 400, "number_out_of_range", "row.offset", `{"row":{"offset":-1}}`},
		{"scan", 400, "number_out_of_range", "row.cell_limit", `{"row":{"cell_limit":-5}}`},
		{"scan", 400, "number_out_of_range", "column.cell_limit", `{"column":{"cell_limit":-5}}`},
		{"scan", 400, "number_out_of_range", "cell.limit", `{"cell":{"limit":-5}}`},
		{"scan", 400, "number_out_of_range", "row.sample", `{"row":{"sample":0}}`},
		{"scan", 400, "number_out_of_range", "row.sample", `{"row":{"sample":1.01}}`},
		{"scan", 400, "number_out_of_range", "row.sample", `{"row":{"sample":-0.5}}`},
		{"scan", 400, "wrong_type", "row.sample", `{"row":{"sample":"0.5"}}`},
		{"scan", 400, "conflicting_fields", "row.range", `{"row":{"prefix":"","range":{}}}`},
		{"scan", 400, "conflicting_fields", "row.prefix", `{"row":{"range":{},"prefix":""}}`},
		{"scan", 400, "unknown_field", "cell.type", `{"cell":{"type":"i64"}}`},
		{"scan", 400, "wrong_type", "cell.time", `{"cell":{"time":1}}`},
		{"scan", 400, "not_an_integer", "cell.time.start", `{"cell":{"time":{"start":1.5}}}`},
		{"scan", 400, "number_out_of_range", "cell.time.end", `{"cell":{"time":{"end":-1}}}`},
		{"scan", 400, "invalid_range", "cell.time", `{"cell":{"time":{"start":2,"end":1}}}`},
		{"count", 400, "unknown_field", "cell.time.from", `{"cell":{"time":{"from":1}}}`},
		{"scan", 400, "missing_field", "cell.value.op", `{"cell":{"value":{"type":"i64","value":1}}}`},
		{"scan", 400, "missing_field", "cell.value.type", `{"cell":{"value":{"op":"=","value":1}}}`},
		{"scan", 400, "missing_field", "cell.value.value", `{"cell":{"value":{"op":"=","type":"i64"}}}`},
		{"scan", 400, "invalid_operator", "cell.value.op", `{"cell":{"value":{"op":"==","type":"i64","value":1}}}`},
		{"scan", 400, "invalid_type", "cell.value.type", `{"cell":{"value":{"op":"=","type":"int","value":1}}}`},
		{"scan", 400, "invalid_value", "cell.value.value", `{"cell":{"value":{"op":"=","type":"byte","value":256}}}`},
		{"scan", 400, "invalid_value", "cell.value.value", `{"cell":{"value":{"op":"=","type":"string","value":null}}}`},
		{"scan", 400, "wrong_type", "row.reverse", `{"row":{"reverse":1}}`},
		{"scan", 400, "wrong_type", "row.page_token", `{"row":{"page_token":null}}`},
		{"scan", 400, "wrong_type", "row.page_token", `{"row":{"page_token":1}}`},
		{"scan", 400, "wrong_type", "row.page_token", `{"row":{"page_token":{"base64":""}}}`},
		{"scan", 400, "invalid_page_token", "row.page_token", `{"row":{"page_token":""}}`},
		{"scan", 400, "invalid_page_token", "row.page_token", `{"row":{"page_token":"org.a"}}`},
		{"scan", 400, "invalid_page_token", "row.page_token", `{"row":{"page_token":"` + long(100_000) + `"}}`},
		{"scan", 400, "duplicate_field", "row.page_token", `{"row":{"page_token":"` + someToken + `","page_token":"` + someToken + `"}}`},
		{"scan", 400, "page_token_mismatch", "row.page_token", `{"row":{"page_token":"` + someToken + `"}}`},
		{"scan", 400, "unknown_field", "page_token", `{"page_token":"` + someToken + `"}`},
		{"count", 400, "unknown_field", "row.page_token", `{"row":{"page_token":"` + someToken + `"}}`},
		{"aggregate", 400, "unknown_field", "row.page_token", `{"of":["sum"],"row":{"page_token":"` + someToken + `"}}`},
		{"scan", 400, "duplicate_field", "row.reverse", `{"row":{"reverse":true,"reverse":true}}`},
		{"rows", 400, "unknown_field", "items[0].row.reverse", `{"items":[{"row":{"key":"a","reverse":true}}]}`},
		{"scan", 400, "wrong_type", "cell.strip_value", `{"cell":{"strip_value":"yes"}}`},
		{"scan", 400, "conflicting_fields", "row.keys", `{"row":{"key":"a","keys":["a"]}}`},
		{"count", 400, "conflicting_fields", "row.ranges", `{"row":{"range":{},"ranges":[{}]}}`},
		{"scan", 400, "invalid_row_key", "row.key", `{"row":{"key":""}}`},
		{"scan", 400, "wrong_type", "row.keys", `{"row":{"keys":"a"}}`},
		{"scan", 400, "wrong_type", "row.keys[1]", `{"row":{"keys":["a",1]}}`},
		{"scan", 400, "empty_list", "row.keys", `{"row":{"keys":[]}}`},
		{"scan", 400, "invalid_row_key", "row.keys[1]", `{"row":{"keys":["a","` + long(4097) + `"]}}`},
		{"scan", 400, "too_many_rows", "row.keys[16384]", `{"row":{"keys":["a"` + strings.Repeat(`,"a"`, 16384) + `]}}`},
		{"scan", 400, "empty_list", "row.ranges", `{"row":{"ranges":[]}}`},
		{"scan", 400, "invalid_range", "row.ranges[1]", `{"row":{"ranges":[{},{"start":"b","end":"a"}]}}`},
		{"scan", 400, "unknown_field", "row.ranges[0].prefix", `{"row":{"ranges":[{"prefix":"a"}]}}`},
		{"scan", 400, "too_many_rows", "row.ranges[16384]", `{"row":{"ranges":[{}` + strings.Repeat(`,{}`, 16384) + `]}}`},
		{"scan", 400, "wrong_type", "row.range.exclusive", `{"row":{"range":{"exclusive":"yes"}}}`},
		{"scan", 400, "missing_field", "row.range.start", `{"row":{"range":{"exclusive":true,"end":"a"}}}`},
		{"count", 400, "missing_field", "row.ranges[1].end", `{"row":{"ranges":[{},{"start":"a","inclusive":true}]}}`},
		{"scan", 400, "conflicting_fields", "column.families", `{"column":{"key":"title:","families":["title"]}}`},
		{"scan", 400, "empty_list", "column.families", `{"column":{"families":[]}}`},
		{"scan", 400, "invalid_column_family_name", "column.families[0]", `{"column":{"families":["title:"]}}`},
		{"scan", 400, "wrong_type", "column.families[0]", `{"column":{"families":[["title"]]}}`},
		{"scan", 400, "too_many_columns", "column.families[1024]", `{"column":{"families":["title"` + strings.Repeat(`,"title"`, 1024) + `]}}`},
		{"scan", 400, "invalid_range", "row.range", `{"row":{"range":{"start":"b","end":"a"}}}`},
		{"scan", 400, "invalid_row_key", "row.range.end", `{"row":{"range":{"end":""}}}`},
		{"scan", 400, "unknown_field", "row.range.stop", `{"row":{"range":{"stop":""}}}`},
		{"scan", 400, "wrong_type", "row.range.inclusive", `{"row":{"range":{"inclusive":1}}}`},
		{"scan", 400, "conflicting_fields", "column.prefix", `{"column":{"key":"title:","prefix":"t"}}`},
		{"scan", 400, "conflicting_fields", "column.multi_key", `{"column":{"prefix":"t","multi_key":["title:"]}}`},
		{"scan", 400, "empty_list", "column.multi_key", `{"column":{"multi_key":[]}}`},
		{"scan", 400, "invalid_column_key", "column.multi_key[1]", `{"column":{"multi_key":["title:",":x"]}}`},
		{"scan", 400, "invalid_column_key", "column.key", `{"column":{"key":""}}`},
		{"scan", 400, "invalid_column_key", "column.key", `{"column":{"key":"title:` + long(16385) + `"}}`},
		{"scan", 400, "wrong_type", "column.key", `{"column":{"key":["title:"]}}`},
		{"scan", 400, "unknown_field", "column.regex", `{"column":{"regex":"."}}`},
		{"scan", 400, "unknown_field", "column.regex", `{"column":{"key":"title:","regex":"."}}`},
		{"scan", 400, "too_many_columns", "column.multi_key[1024]", `{"column":{"multi_key":["title:"` + strings.Repeat(`,"title:"`, 1024) + `]}}`},
		{"rows", 400, "missing_field", "items", `{}`},
		{"rows", 400, "empty_list", "items", `{"items":[]}`},
		{"rows", 400, "missing_field", "items[0].row", `{"items":[{}]}`},
		{"rows", 400, "missing_field", "items[0].row.key", `{"items":[{"row":{"cell_limit":1}}]}`},
		{"rows", 400, "invalid_row_key", "items[0].row.key", `{"items":[{"row":{"key":""}}]}`},
		{"rows", 400, "invalid_row_key", "items[0].row.key", `{"items":[{"row":{"key":"` + long(4097) + `"}}]}`},
		{"rows", 400, "missing_field", "items[0].row.key", `{"items":[{"row":{"limit":1,"sample":0.5}}]}`},
		{"rows", 400, "missing_field", "items[1].row", `{"items":[{"row":{"prefix":""}},{"cell":{}}]}`},
		{"rows", 400, "conflicting_fields", "items[0].row.prefix", `{"items":[{"row":{"key":"a","prefix":""}}]}`},
		{"rows", 400, "conflicting_fields", "items[0].row.key", `{"items":[{"row":{"keys":["a"],"key":"a"}}]}`},
		{"rows", 400, "conflicting_fields", "items[0].row.ranges", `{"items":[{"row":{"range":{},"ranges":[{}]}}]}`},
		{"rows", 400, "duplicate_field", "items[0].row.key", `{"items":[{"row":{"key":"a","key":"a"}}]}`},
		{"rows", 400, "wrong_type", "items[0].row.keys", `{"items":[{"row":{"keys":"a"}}]}`},
		{"rows", 400, "empty_list", "items[0].row.keys", `{"items":[{"row":{"keys":[]}}]}`},
		{"rows", 400, "invalid_row_key", "items[0].row.keys[1]", `{"items":[{"row":{"keys":["a",""]}}]}`},
		{"rows", 400, "wrong_type", "items[0].row.prefix", `{"items":[{"row":{"prefix":1}}]}`},
		{"rows", 400, "invalid_range", "items[0].row.range", `{"items":[{"row":{"range":{"start":"b","end":"a"}}}]}`},
		{"rows", 400, "empty_list", "items[0].row.ranges", `{"items":[{"row":{"ranges":[]}}]}`},
		{"rows", 400, "missing_field", "items[0].row.ranges[0].end", `{"items":[{"row":{"ranges":[{"inclusive":true}]}}]}`},
		{"rows", 400, "number_out_of_range", "items[0].row.limit", `{"items":[{"row":{"key":"a","limit":-1}}]}`},
		{"rows", 400, "not_an_integer", "items[0].row.offset", `{"items":[{"row":{"key":"a","offset":1.0}}]}`},
		{"rows", 400, "number_out_of_range", "items[0].row.sample", `{"items":[{"row":{"key":"a","sample":0}}]}`},
		{"rows", 400, "unknown_field", "items[0].row.page_token", `{"items":[{"row":{"key":"a","page_token":"` + someToken + `"}}]}`},
		{"rows", 400, "wrong_type", "items[0].cell", `{"items":[{"cell":1}]}`},
		{"rows", 400, "unknown_field", "items[0].cell.type", `{"items":[{"cell":{"type":"i64"}}]}`},
		{"rows", 400, "number_out_of_range", "items[0].cell.limit", `{"items":[{"cell":{"limit":-1}}]}`},
		{"rows", 400, "invalid_range", "items[0].cell.time", `{"items":[{"cell":{"time":{"start":2,"end":1}}}]}`},
		{"rows", 400, "missing_field", "items[0].cell.value.op", `{"items":[{"cell":{"value":{"type":"i64","value":1}}}]}`},
		{"rows", 400, "wrong_type", "items[0].cell.strip_value", `{"items":[{"cell":{"strip_value":null}}]}`},
		{"rows", 400, "unknown_field", "row", `{"row":{}}`},
		{"column-family", 400, "missing_field", "column_families", `{}`},
		{"column-family", 400, "empty_list", "column_families", `{"column_families":[]}`},
		{"column-family", 400, "missing_field", "column_families[0].name", `{"column_families":[{}]}`},
		{"column-family", 400, "invalid_column_family_name", "column_families[1].name", `{"column_families":[{"name":"ok"},{"name":"not ok"}]}`},
		{"column-family", 400, "invalid_column_family_name", "column_families[0].name", `{"column_families":[{"name":""}]}`},
		{"column-family", 400, "invalid_column_family_name", "column_families[0].name", `{"column_families":[{"name":"` + long(201) + `"}]}`},
		{"column-family", 400, "duplicate_column_family", "column_families[1].name", `{"column_families":[{"name":"n"},{"name":"n"}]}`},
		{"column-family", 409, "column_family_exists", "column_families[1].name", `{"column_families":[{"name":"n"},{"name":"title"}]}`},
		{"column-family", 400, "wrong_type", "locality_group", `{"column_families":[{"name":"n"}],"locality_group":null}`},
		{"column-family", 400, "number_out_of_range", "column_families[0].gc_settings.ttl_secs", `{"column_families":[{"name":"n","gc_settings":{"ttl_secs":0}}]}`},
		{"column-family", 400, "number_out_of_range", "column_families[0].gc_settings.ttl_secs", `{"column_families":[{"name":"n","gc_settings":{"ttl_secs":9223372036855}}]}`},
		{"column-family", 400, "number_out_of_range", "column_families[0].gc_settings.version_limit", `{"column_families":[{"name":"n","gc_settings":{"version_limit":-1}}]}`},
		{"column-family", 400, "not_an_integer", "column_families[0].gc_settings.version_limit", `{"column_families":[{"name":"n","gc_settings":{"version_limit":1.5}}]}`},
		{"column-family", 400, "invalid_gc_settings", "column_families[0].gc_settings", `{"column_families":[{"name":"n","gc_settings":{"version_limit":2,"mode":"intersection"}}]}`},
		{"column-family", 400, "invalid_gc_settings", "column_families[0].gc_settings.mode", `{"column_families":[{"name":"n","gc_settings":{"mode":"both"}}]}`},
	} {
		c.refused(e.status, e.code, e.at, "POST", "/v1/table/t/"+e.endpoint, e.body)
	}
}

func TestRefusalsOfOtherMethods(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, e := range []struct {
		method, path string
		status       int
		code, at     string
		body         string
	}{
		{"PUT", "/v1/table/new", 400, "unknown_field", "dry_run", `{"dry_run":true}`},
		{"PUT", "/v1/table/new", 400, "invalid_locality_group", "locality_groups", `{"column_families":[{"name":"a"}],"locality_groups":[["b"]]}`},
		{"PUT", "/v1/table/new", 400, "invalid_locality_group", "locality_groups", `{"column_families":[{"name":"a"}],"locality_groups":[["a"],["a"]]}`},
		{"PUT", "/v1/table/new", 400, "invalid_locality_group", "locality_groups", `{"column_families":[{"name":"a"}],"locality_groups":[[]]}`},
		{"PUT", "/v1/table/new", 400, "duplicate_column_family", "column_families[2].name", `{"column_families":[{"name":"a"},{"name":"b"},{"name":"a"}]}`},
		{"PUT", "/v1/table/_new", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/n%20w", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/n%2Fw", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/n%00w", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/" + long(201), 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/..", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/%2e", 400, "invalid_table_name", "path", ""},
		{"PUT", "/v1/table/t", 409, "table_exists", "path", ""},
		{"PUT", "/v1/table/new?x=1", 400, "unknown_parameter", "query", ""},
		{"GET", "/v1/table", 400, "unknown_field", "limit", `{"limit":1}`},
		{"POST", "/v1/table/t/compact", 400, "unknown_field", "group", `{"group":"a"}`},
		{"POST", "/v1/table/t/compact", 400, "wrong_type", "locality_group", `{"locality_group":1}`},
		{"POST", "/v1/table/t/compact", 400, "invalid_locality_group", "locality_group", `{"locality_group":""}`},
		{"POST", "/v1/table/t/compact", 404, "unknown_locality_group", "locality_group", `{"locality_group":"nope"}`},
		{"POST", "/v1/table/t/compact", 404, "unknown_locality_group", "locality_group", `{"locality_group":"new"}`},
		{"POST", "/v1/table/nope/compact", 404, "unknown_table", "path", ``},
		{"GET", "/v1/table/t/compact", 405, "method_not_allowed", "path", ""},
		{"GET", "/v1/checkpoint", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/checkpoint?limit=1", 400, "unknown_parameter", "query", ""},
		{"GET", "/v1/slow-query", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/slow-query?table=t", 400, "unknown_parameter", "query", ""},
		{"DELETE", "/v1/slow-query", 405, "method_not_allowed", "path", ""},
		{"GET", "/v1/token", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/token?id=1", 400, "unknown_parameter", "query", ""},
		{"POST", "/v1/token", 405, "method_not_allowed", "path", ""},
		{"GET", "/healthz", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/readyz", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/table/t", 400, "unknown_field", "x", `{"x":1}`},
		{"DELETE", "/v1/table/t", 400, "unknown_field", "x", `{"x":1}`},
		{"DELETE", "/v1/table/t/column-family/title", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/table?limit=1", 400, "unknown_parameter", "query", ""},
		{"GET", "/v1/table/t/advice", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/table/t/advice?since=1", 400, "unknown_parameter", "query", ""},
		{"GET", "/v1/table/nope/advice", 404, "unknown_table", "path", ""},
		{"POST", "/v1/table/t/advice", 405, "method_not_allowed", "path", ""},
		{"GET", "/v1/table/t/keyspace", 400, "unknown_field", "x", `{"x":1}`},
		{"GET", "/v1/table/t/keyspace?prefix=a", 400, "unknown_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?start=1&start=2", 400, "duplicate_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?start=now", 400, "invalid_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?start=-1", 400, "invalid_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?end=9223372036854775807", 400, "invalid_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?start=5&end=5", 400, "invalid_parameter", "query", ""},
		{"GET", "/v1/table/t/keyspace?start=%zz", 400, "invalid_parameter", "query", ""},
		{"GET", "/v1/table/nope/keyspace", 404, "unknown_table", "path", ""},
		{"POST", "/v1/table/t/keyspace", 405, "method_not_allowed", "path", ""},
		{"GET", "/v1/table/nope", 404, "unknown_table", "path", ""},
		{"DELETE", "/v1/table/nope", 404, "unknown_table", "path", ""},
		{"POST", "/v1/table/nope/scan", 404, "unknown_table", "path", "{}"},
		{"POST", "/v1/table/nope/count", 404, "unknown_table", "path", "{}"},
		{"POST", "/v1/table/nope/aggregate", 404, "unknown_table", "path", `{"of":["sum"]}`},
		{"POST", "/v1/table/nope/rows", 404, "unknown_table", "path", `{"items":[{"row":{"key":"a"}}]}`},
		{"POST", "/v1/table/nope/write", 404, "unknown_table", "path", cellOf("string", `""`)},
		{"POST", "/v1/table/nope/column-family", 404, "unknown_table", "path", `{"column_families":[{"name":"a"}]}`},
		{"DELETE", "/v1/table/nope/row", 404, "unknown_table", "path", `{"row_key":"a"}`},
		{"PATCH", "/v1/table/nope/column-family/a", 404, "unknown_table", "path", `{"gc_settings":{}}`},
		{"DELETE", "/v1/table/nope/column-family/a", 404, "unknown_table", "path", ""},
		{"PATCH", "/v1/table/t/column-family/nope", 404, "unknown_column_family", "path", `{"gc_settings":{}}`},
		{"DELETE", "/v1/table/t/column-family/nope", 404, "unknown_column_family", "path", ""},
		{"PATCH", "/v1/table/t/column-family/a%3Ab", 400, "invalid_column_family_name", "path", `{"gc_settings":{}}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "missing_field", "gc_settings", `{}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "wrong_type", "dry_run", `{"gc_settings":{},"dry_run":1}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "missing_field", "gc_settings", `{"dry_run":true}`},
		{"PATCH", "/v1/table/t/column-family/nope", 404, "unknown_column_family", "path", `{"gc_settings":{},"dry_run":true}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "wrong_type", "locality_group", `{"locality_group":true}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "wrong_type", "locality_group", `{"locality_group":1}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "wrong_type", "locality_group", `{"locality_group":["new"]}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "invalid_locality_group", "locality_group", `{"locality_group":""}`},
		{"PATCH", "/v1/table/t/column-family/title", 404, "unknown_locality_group", "locality_group", `{"locality_group":"nope"}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "conflicting_fields", "gc_settings", `{"locality_group":null,"gc_settings":{}}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "conflicting_fields", "locality_group", `{"gc_settings":{},"locality_group":"new"}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "conflicting_fields", "dry_run", `{"locality_group":"new","dry_run":true}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "conflicting_fields", "dry_run", `{"dry_run":true,"locality_group":"new"}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "duplicate_field", "locality_group", `{"locality_group":null,"locality_group":null}`},
		{"PATCH", "/v1/table/t/column-family/nope", 404, "unknown_column_family", "path", `{"locality_group":"new"}`},
		{"PATCH", "/v1/table/nope/column-family/title", 404, "unknown_table", "path", `{"locality_group":"new"}`},
		{"PATCH", "/v1/table/t", 400, "missing_field", "deletion_protection", `{}`},
		{"PATCH", "/v1/table/t", 400, "unknown_field", "protected", `{"protected":true}`},
		{"PATCH", "/v1/table/t", 400, "wrong_type", "deletion_protection", `{"deletion_protection":null}`},
		{"PATCH", "/v1/table/t", 400, "number_out_of_range", "default_gc_settings.ttl_secs", `{"default_gc_settings":{"ttl_secs":0}}`},
		{"PATCH", "/v1/table/nope", 404, "unknown_table", "path", `{"deletion_protection":true}`},
		{"PATCH", "/v1/table/t/column-family/title", 400, "wrong_type", "gc_settings", `{"gc_settings":null}`},
		{"DELETE", "/v1/table/t/row", 400, "missing_field", "row_key", `{}`},
		{"DELETE", "/v1/table/t/row", 400, "invalid_json", "", ``},
		{"DELETE", "/v1/table/t/row", 400, "invalid_row_key", "row_key", `{"row_key":""}`},
		{"DELETE", "/v1/table/t/row", 400, "unknown_field", "column_filter.cell_limit", `{"row_key":"a","column_filter":{"cell_limit":1}}`},
		{"DELETE", "/v1/table/t/row", 400, "unknown_field", "column_filter.cell_limit", `{"row_key":"a","column_filter":{"key":"title","cell_limit":1}}`},
		{"DELETE", "/v1/table/t/row", 400, "conflicting_fields", "column", `{"row_key":"a","column_filter":{"key":"title"},"column":{"key":"title"}}`},
		{"DELETE", "/v1/table/t/row", 404, "unknown_column_family", "column.key", `{"row_key":"a","column":{"key":"nope"}}`},
		{"DELETE", "/v1/table/t/row", 400, "conflicting_fields", "column_filter.prefix", `{"row_key":"a","column_filter":{"key":"title","prefix":""}}`},
	} {
		c.refused(e.status, e.code, e.at, e.method, e.path, e.body)
	}
}

// TestRefusedWhole: one bad row among good ones, and nothing is applied (H16).
func TestRefusedWhole(t *testing.T) {
	c := newClient(t)
	c.webtable()
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"row_key":"new%d","cells":[{"column_key":"title:","type":"i64","value":1},{"column_key":"anchor:","type":"i64","value":1}]}`, i))
	}
	for bad := range items {
		whole := items[bad]
		items[bad] = strings.Replace(whole, "anchor", "nope", 1)
		c.refused(404, "unknown_column_family", fmt.Sprintf("items[%d].cells[1].column_key", bad), "POST", "/v1/table/t/write", `{"items":[`+strings.Join(items, ",")+`]}`)
		items[bad] = whole
	}
}

// TestColumnKeyLimits: the filters of a request have a bound together, and what
// they take counts as memory of the request.
func TestColumnKeyLimits(t *testing.T) {
	c := newClient(t)
	c.webtable()
	item := `{"row":{"key":"a"},"column":{"multi_key":["t"` + strings.Repeat(`,"t"`, maxColumnKeys-1) + `]}}`
	items := maxColumnKeysInAll / maxColumnKeys
	body := `{"items":[` + item + strings.Repeat(","+item, items)
	c.refused(400, tooManyColumns, fmt.Sprintf("items[%d].column.multi_key[0]", items), "POST", "/v1/table/t/rows", body+"]}")
	c.admission.Memory().Take(c.admission.Memory().Free() - 1<<20)
	c.refused(503, "overloaded", "", "POST", "/v1/table/t/rows", `{"items":[`+item+strings.Repeat(","+item, 9)+"]}")
}

// TestSmallBodies: only what carries data may be large.
func TestSmallBodies(t *testing.T) {
	c := newClient(t)
	c.webtable()
	spaces := strings.Repeat(" ", maxSmallBody)
	for _, endpoint := range []string{"scan", "count", "column-family"} {
		c.refused(413, "body_too_large", "", "POST", "/v1/table/t/"+endpoint, "{}"+spaces)
	}
	c.must(200, "POST", "/v1/table/t/scan", "{}"+spaces[2:])
	c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}}]}`+spaces)
	c.must(200, "POST", "/v1/table/t/write", cellOf("i64", "1")+spaces)
}

// TestContentType: what every client sends by default is taken as JSON (H9).
func TestContentType(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, e := range []struct {
		value  string
		status int
	}{
		{"", 200}, {"application/json", 200}, {"application/json; charset=utf-8", 200}, {"Application/JSON;charset=\"UTF-8\"", 200},
		{"text/json", 200}, {"application/vnd.x+json", 200}, {"application/x-www-form-urlencoded", 200},
		{"text/plain", 415}, {"multipart/form-data; boundary=x", 415}, {"application/json; charset=utf-16", 415}, {"application/xml", 415},
		{"/", 415}, {"application/json; charset", 415},
	} {
		r := httptest.NewRequest("POST", "/v1/table/t/count", strings.NewReader("{}"))
		if e.value != "" {
			r.Header.Set("Content-Type", e.value)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != e.status || w.Code == 415 && !strings.Contains(w.Body.String(), `"code":"unsupported_media_type","at":"header"`) {
			t.Errorf("%q: got %d %s, want %d", e.value, w.Code, w.Body, e.status)
		}
	}
}

// TestErrorShape: an error has the envelope's fields and two more.
func TestErrorShape(t *testing.T) {
	c := newClient(t)
	w := c.send("GET", "/v1/table/nope", "")
	var got map[string]json.RawMessage
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || string(got["result"]) != "null" || string(got["status"]) != "404" || got["time_ms"] == nil ||
		string(got["message"]) != `"table \"nope\" does not exist"` || string(got["error"]) != `{"code":"unknown_table","at":"path"}` {
		t.Errorf("got %s", w.Body)
	}
}
