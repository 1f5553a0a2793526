package console

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestFiles: the page loads what is there, all of it from this server, and has nothing that the policy of the server
// forbids: no script or style of its own.
func TestFiles(t *testing.T) {
	files := Files()
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllSubmatch(page, -1)
	if len(names) < 3 {
		t.Errorf("the page loads only %d files", len(names))
	}
	for _, name := range names {
		file, ok := strings.CutPrefix(string(name[1]), "/console/")
		if _, err := fs.Stat(files, file); !ok || err != nil {
			t.Errorf("the page loads %s: %v", name[1], err)
		}
	}
	if bad := regexp.MustCompile(`(?i)<style|style=|<script[^>]*>[^<]|\son\w+=`).Find(page); bad != nil {
		t.Errorf("the page has %q", bad)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "index.html" && !regexp.MustCompile(`^\w+-[A-Z0-9]{8}\.(js|css|svg|txt)$`).MatchString(name) {
			t.Errorf("%s has no sum of its content in its name, and is kept for ever", name)
		}
		text, err := fs.ReadFile(files, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".txt") {
			continue
		}
		for _, url := range regexp.MustCompile(`https?://[^"'\x60\s)]*`).FindAll(text, -1) {
			if u := string(url); !strings.HasPrefix(u, "http://www.w3.org/") { // the names of XML
				t.Errorf("%s names another host: %s", e.Name(), u)
			}
		}
	}
}
