package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheLibraryIsNotAddedToItself adds folders around a library, one of them under a second name.
func TestTheLibraryIsNotAddedToItself(t *testing.T) {
	for name, homeOf := range map[string]string{"in a folder of its own": "library", "among the documents": "."} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			folder, link := filepath.Join(parent, "notes"), filepath.Join(parent, "link")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(folder, link); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			write := func(path string) {
				if err := os.WriteFile(path, []byte("# Quokka\n\nIt smiles."), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(folder, "quokka.md"))
			home := filepath.Join(folder, homeOf)
			s := open(t, Options{Home: home})
			call := func(route, body string, want ...string) {
				t.Helper()
				_, answer := ask(t, s, "POST", "/library/"+route, body)
				if strings.Contains(answer, `"skipped","path"`) || strings.Contains(answer, "error") {
					t.Errorf("%s %s: %s", route, body, answer)
				}
				for _, part := range want {
					if !strings.Contains(answer, part) {
						t.Errorf("%s %s: %s, want %s", route, body, answer, part)
					}
				}
			}
			call("add", `{"paths":["`+folder+`"],"set":"Animals"}`, `"added":1,`)
			write(filepath.Join(home, "tenants", "readable"))
			call("add", `{"paths":["`+folder+`"]}`, `"added":0,`, `"unchanged":1,`)
			call("sync", `{}`, `"added":0,`, `"unchanged":1,`)
			call("sync", `{"paths":["`+filepath.Join(home, "tenants", "readable")+`"]}`, `"added":0,`)
			call("add", `{"paths":["`+link+`"]}`, `"added":0,`, `"unchanged":1,`) // the same folder
		})
	}
}
