package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestVerbs runs verbs against a server, in the order of a user's first hour.
func TestVerbs(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	for _, e := range []struct {
		line string // words with | between them
		code int
		want string // of the output, "" for none
	}{
		{"create|t|title|n:versions=2,ttl=30d|blob|--group|blob|--protect", 0, ""},
		{"create|t", 1, "exists"},
		{"tables", 0, `{"table":"t","families":["blob","n","title"],"disk_bytes":0,"protected":true}`},
		{"list|-o|csv", 0, "t,\"blob, n, title\",0,true\n"},
		{"families|t|-o|table", 0, "n       versions=2,ttl=30d  default"},
		{"families|add|t|lang:versions=1|--group", 0, ""},
		{"families|set|t|lang:none", 0, ""},
		{"families|set|t|lang", 2, "lang:none"},
		{"families|set|t|n:versions=1|--dry-run", 0, `{"rows":0,"cells":0,"bytes":0}`},
		{"families|drop|t|lang", 1, "protected"},
		{"describe|t", 0, `"deletion_protection":true`},
		{"describe|t|-o|table", 0, "4 families, 0 B on disk, protected from deletion"},
		{`put|t|a\xff\\|title:|it's|n:i|i64:5|blob:\x00|hex:00ff`, 0, ""},
		{"put|t|b|title:|two\nlines|--time|1700000000000000|-o|table", 0, "wrote 1 cell"},
		{"put|t|b|title:", 2, "takes: colonnade put TABLE KEY COLUMN VALUE"},
		{"put|t|b|title:|x|n:i", 2, "column n:i has no value"},
		{"put|t|b|title|x", 2, "FAMILY:QUALIFIER"},
		{"put|t|b|n:i|i64:x", 2, "string: before it"},
		{"put|t|b|n:i|-5", 2, "-- before it makes it a value"},
		{"put|t|b|n:i|--|-5", 0, ""},
		{"put|t|b|nope:|x", 1, "no column family"},
		{`get|t|a\xff\\|blob`, 0, `{"row_key":{"base64":"Yf9c"},"cells":[{"column_key":"blob:\u0000","type":"bytes","value":"AP8="`},
		{`get|t|a\xff\\|-o|table`, 0, `a\xff\\  blob:\x00`},
		{"lookup|t|b|title:|-o|csv", 0, "row_key,column_key,time,type,value\nb,title:,1700000000000000,string,\"two\nlines\"\n"},
		{"get|t|none", 1, "t has no row none"},
		{"get|nope|a", 1, "does not exist"},
		{`get|t|a\z`, 2, `nothing else begins with one`},
		{"scan|t|-o|json|--column|n|--value|>=i64:5", 0, "[\n {\"row_key\":{"},
		{"scan|t|-o|json|--prefix|zz", 0, "[\n]\n"},
		{"scan|t|--prefix|b|--until|1700000000000001|-o|table", 0, `title:      2023-11-14T22:13:20.000000Z  two\x0alines` + "\n1 row\n"},
		{"scan|t|--keys-only|--reverse|--limit|1", 0, `{"row_key":"b","cells":[{"column_key":"n:i","type":"string","value":null`},
		{"scan|t|--key-regex|b|--value-regex|.*5|-o|csv", 0, "string,-5\n"},
		{"scan|t|--start|b|--end|a", 2, "behind"},
		{"scan|t|--value|5", 2, "compares nothing"},
		{"scan|t|--output|xml", 2, "table, json, ndjson, csv"},
		{"count|t|--start|b", 0, `{"rows":1,"cells":2}`},
		{"incr|t|b|n:c|5|-o|csv", 0, "i64,5\n"},
		{"incr|t|b|n:c|-o|csv", 0, "i64,6\n"},
		{"incr|t|b|title:", 1, "i64"},
		{"addtocell|t|b|n:c=-2|-o|csv", 0, "i64,4\n"},
		{"cas|t|b|n:c|i64:4|i64:9", 0, ""},
		{"cas|t|b|n:c|i64:4|i64:9", 1, "does not hold what is expected: nothing was changed"},
		{"cas|t|b|title:|two\nlines|", 0, ""},
		{"cas|t|b|title:||again", 0, ""},
		{"cas|t|b|title:x|--absent|first", 0, ""},
		{"cas|t|b|title:x|--absent|second", 1, "nothing was changed"},
		{"cas|t|b|title:x|first", 2, "takes"},
		{"set|t|c|title:=a=b|n:=i64:1", 0, ""},
		{"get|t|c|title:", 0, `"value":"a=b"`},
		{"stats", 0, `{"table":"t","partitions":`},
		{"stats|t|-o|table", 0, "_dat_t"},
		{"advise|t|-o|table", 0, ""},
		{"delete|t|b|title:x", 0, ""},
		{"delete|t|--prefix|b|--dry-run", 0, `{"rows":1,`},
		{"delete|t|b|--all", 2, "excludes"},
		{"delete|t", 2, "--all"},
		{"deleteall|t|b", 0, ""},
		{"get|t|b", 1, "no row"},
		{"truncate|t", 0, ""},
		{"count|t", 0, `{"rows":0,"cells":0}`},
		{"drop|t", 1, "protected"},
		{"createtable|u", 0, ""},
		{"createfamily|u|f", 0, ""},
		{"ls|u|-o|csv", 0, "f,none,default,\n"},
		{"disable|u", 0, ""},
		{"drop|u|-o|table", 0, "dropped u"},
	} {
		words := strings.Split(e.line, "|")
		words = append(words[:1:1], append([]string{"--url=" + s.url}, words[1:]...)...)
		got := runLine("", words...)
		if got.code != e.code || !strings.Contains(got.stdout+got.stderr, e.want) || e.want == "" && got.stdout != "" && words[0] != "advise" {
			t.Errorf("%s: %+v, want code %d and %s", e.line, got, e.code, e.want)
		}
	}
	if got := runLine("", "tables", "--url", "http://127.0.0.1:1"); got.code != exitFailed || !strings.Contains(got.stderr, "no server answers at http://127.0.0.1:1: start it, or name another with --url") {
		t.Errorf("without a server: %+v", got)
	}
}

// TestScanToImport: what scan prints for a pipe, import takes.
func TestScanToImport(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	rows := runLine("", "generate", "--rows", "200")
	if got := runLine(rows.stdout, "import", "--table", "t", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	got := runLine("", "scan", "t", "--url", s.url)
	if got := runLine(got.stdout, "import", "--table", "u", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	if s.content("t") != s.content("u") {
		t.Error("the tables differ")
	}
}
