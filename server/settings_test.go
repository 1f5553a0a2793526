package server

import "testing"

func TestTableSettings(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.must(200, "PATCH", "/v1/table/t", `{"deletion_protection":true,"default_gc_settings":{"version_limit":2,"ttl_secs":9,"mode":"intersection"}}`)
	c.refused(409, "deletion_protected", "", "DELETE", "/v1/table/t", "")
	c.refused(409, "deletion_protected", "", "DELETE", "/v1/table/t/column-family/title", "")
	c.must(201, "POST", "/v1/table/t/column-family", `{"column_families":[{"name":"inherits"},{"name":"own","gc_settings":{}}]}`)
	c.must(200, "PATCH", "/v1/table/t", `{"deletion_protection":false}`)
	c.must(202, "DELETE", "/v1/table/t/column-family/anchor", "")
	c.same(c.must(200, "GET", "/v1/table", ""), `{"cache_stats":{"block_count":0,"memory_usage_in_bytes":0},"tables":{"count":1,"items":[{"name":"t","column_families":[
		{"name":"contents","gc_settings":{"ttl_secs":null,"version_limit":null}},
		{"name":"inherits","gc_settings":{"ttl_secs":9,"version_limit":2,"mode":"intersection"}},
		{"name":"own","gc_settings":{"ttl_secs":null,"version_limit":null}},
		{"name":"title","gc_settings":{"ttl_secs":null,"version_limit":null}}],
		"locality_groups":[{"id":"1","column_families":["title"]}],
		"partitions":[{"name":"_man_t","path":"memory"},{"name":"_dat_t","path":"memory"},{"name":"_lg_1","path":"memory"}],
		"disk_space_in_bytes":0,"default_gc_settings":{"ttl_secs":9,"version_limit":2,"mode":"intersection"}}]}}`)
	c.must(202, "DELETE", "/v1/table/t", "")
}

func TestDryRunOfSettings(t *testing.T) {
	c := newClient(t)
	c.webtable()
	before := c.everything()
	c.same(c.must(200, "PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{"version_limit":1},"dry_run":true}`), `{"row_count":1,"cell_count":1,"bytes":20}`)
	c.same(c.must(200, "PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{"version_limit":2},"dry_run":true}`), `{"row_count":0,"cell_count":0,"bytes":0}`)
	if after := c.everything(); after != before {
		t.Errorf("a dry run has changed\n%s\nto\n%s", before, after)
	}
	c.must(200, "PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{"version_limit":1},"dry_run":false}`)
	if after := c.everything(); after == before {
		t.Error("a change without a dry run has changed nothing")
	}
}
