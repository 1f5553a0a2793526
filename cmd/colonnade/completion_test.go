package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bashCompletes completes the words "$@" in bash. The stand-in is for where bash-completion is not installed.
const bashCompletes = `
set -eu
if [ -r /usr/share/bash-completion/bash_completion ]; then
	set +eu; . /usr/share/bash-completion/bash_completion; set -eu
else
	_get_comp_words_by_ref() {
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	}
fi
. ./colonnade.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9
COMP_POINT=${#COMP_LINE}
compopt() { :; } # works within readline alone
set +eu # completions run in the user's shell
__start_colonnade
printf '%s\n' "${COMPREPLY[@]}"
`

// TestCompletions: real shells load what the program prints for them, and complete commands and flags.
func TestCompletions(t *testing.T) {
	dir := t.TempDir()
	path := programInPath(t, dir)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := runLine("", "completion", shell)
		if got.code != 0 {
			t.Fatalf("completion %s: %+v", shell, got)
		}
		if err := os.WriteFile(filepath.Join(dir, "colonnade."+shell), []byte(got.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), path, "HOME="+dir)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, output)
		}
		return string(output)
	}
	for words, want := range map[string]string{
		"colonnade exp":                  "export",
		"colonnade token cre":            "create",
		"colonnade serve --memtable":     "--memtable-mib",
		"colonnade import --create-fami": "--create-families",
	} {
		t.Run("bash", func(t *testing.T) {
			got := run(t, "bash", append([]string{"-c", bashCompletes, "bash"}, strings.Fields(words)...)...)
			if first := strings.Fields(got); len(first) == 0 || first[0] != want {
				t.Errorf("%q is completed to %q, want %q", words, got, want)
			}
		})
		t.Run("fish", func(t *testing.T) {
			got := run(t, "fish", "--no-config", "-c", `source colonnade.fish; complete -C "$argv"`, words)
			if first := strings.Fields(got); len(first) == 0 || first[0] != want {
				t.Errorf("%q is completed to %q, want %q", words, got, want)
			}
		})
	}
	t.Run("zsh", func(t *testing.T) {
		got := run(t, "zsh", "-f", "-c", `autoload -U compinit && compinit -D -u && source ./colonnade.zsh && print -- $_comps[colonnade]`)
		if strings.TrimSpace(got) != "_colonnade" {
			t.Errorf("zsh completes colonnade with %q", got)
		}
	})
}
