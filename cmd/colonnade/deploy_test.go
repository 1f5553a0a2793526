package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOptionsOfDeployments: the files of options that packages and the Kubernetes manifests bring have no mistakes, and
// have none either as they are changed for other machines.
func TestOptionsOfDeployments(t *testing.T) {
	packages, err := os.ReadFile("../../deploy/packages/colonnade.toml")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("../../deploy/kubernetes/config.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, inManifest, found := strings.Cut(string(manifest), "colonnade.toml: |\n")
	if !found {
		t.Fatal("the manifest has no file of options")
	}
	commented := regexp.MustCompile(`(?m)^(\s*)# (\S+ = .*)$`)
	for name, text := range map[string]string{"packages": string(packages), "kubernetes": inManifest} {
		path := filepath.Join(t.TempDir(), "colonnade.toml")
		secured := strings.ReplaceAll(commented.ReplaceAllString(text, "$1$2"), "insecure = true", "")
		secured = strings.ReplaceAll(secured, "127.0.0.1", "0.0.0.0")
		for what, options := range map[string]string{"as it is": text, "for other machines": secured} {
			if err := os.WriteFile(path, []byte(options), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := runLine("", "config", "--config", path); got.code != 0 {
				t.Errorf("%s, %s: %+v\n%s", name, what, got, options)
			}
		}
	}
}
