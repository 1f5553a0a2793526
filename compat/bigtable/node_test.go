package bigtable

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNode runs testdata/node/client.js with the Node client of testdata/node/package.json, which is installed into bin/
// once.
func TestNode(t *testing.T) {
	long(t)
	t.Parallel()
	dir := prepared(t, "node", func(dir string) {
		for _, file := range []string{"package.json", "package-lock.json"} {
			text, err := os.ReadFile("testdata/node/" + file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), text, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		run(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	succeeds(t, "BIGTABLE_EMULATOR_HOST", []string{"node", "testdata/node/client.js"}, "NODE_PATH="+filepath.Join(dir, "node_modules"), "METADATA_SERVER_DETECTION=none", "NODE_NO_WARNINGS=1")
}
