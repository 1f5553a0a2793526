package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsOfTheCookbook runs the recipes, and the quick starts, each of these with a server of its own.
func TestCommandsOfTheCookbook(t *testing.T) {
	needCommands(t, "bash", "curl", "sed", "awk")
	for page, wants := range map[string][]string{
		"cookbook.md": {
			"cpu#web1#2026-11-29T10,hour:max,1", `"avg":{"type":"f64","value":41.333333333333336}`, `"value":6`, `"sum":{"type":"i64","value":7}`,
			"c3,mail:subject,", "Re: Lunch", `"value":18`, "by-mail/ann@example.com,ref:user,", "by-mail/ann@example.org,ref:user,", "the name is taken", "somebody was faster",
			"stock/plum-bread,count:sold,", `"row_key":"ann/2026-11-29T10:15:00Z/c3"`, "bob,in:ann,", `{"rows":2,"cells":4}`,
		},
		"quickstart/application.md": {`"row_key":"ann/2026-11-29/17","columns":{"customer":{"name":`},
		"quickstart/analyst.md":     {"Oslo/2026-11-28/1,v:euros,", `{"rows":2,"cells":4}`, `{"key":"Oslo/","count":2,"sum":{"type":"f64","value":26.5}`},
		"quickstart/operator.md":    {"colonnade_", "PARTITIONS"},
		"quickstart/bigtable.md":    {"ann@example.com"},
		"quickstart/hbase.md":       {`"value":6`},
		"quickstart/dynamodb.md":    {"customer#7/order#2026-11-29,item:total,"},
	} {
		t.Run(page, func(t *testing.T) {
			s := startServe(t, filepath.Join(t.TempDir(), "data"))
			before := `colonnade() { case "$1:${2:-}" in
backup:list|backup:verify) command colonnade "$@";;
backup:*) command colonnade "$1" "$2" --url=` + s.url + ` "${@:3}";;
*) command colonnade "$1" --url=` + s.url + ` "${@:2}";; esac; }
curl() { command curl --fail-with-body "$@"; }` + "\n"
			_, output := runPage(t, "../../docs/"+page, before, "localhost:9876", strings.TrimPrefix(s.url, "http://"))
			for _, want := range wants {
				if !strings.Contains(output, want) {
					t.Errorf("no %q in\n%s", want, output)
				}
			}
		})
	}
}
