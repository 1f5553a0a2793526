// Package console has the web pages by which people look at a server and change what it holds. Their source is in src;
// what is embedded was built of it by `make console`.
package console

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files returns index.html, and the files that it loads from /console/.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
