package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
)

const (
	checkingLine = `{"type":"checking","done":12,"total":12}`
	repairedLine = `{"type":"repaired","reason":"a file of the index: it is cut off"}`
	postedLine   = `{"type":"damaged","id":"wiki 1","reason":"the document cannot be read"}`
	goneLine     = `{"type":"damaged","id":"file:/nowhere/a.md","path":"/nowhere/a.md","reason":"1 passage cannot be read"}`
)

func TestDamagedLibrary(t *testing.T) {
	s := newOnyx(t)
	s.on("/library/status", body(http.StatusOK, []byte(libraryBody)))
	s.on("/library/check", stream(checkingLine, repairedLine, postedLine, goneLine,
		`{"type":"done","added":0,"updated":0,"removed":0,"unchanged":0,"skipped":0,"repaired":1,"damaged":2}`))
	s.on("/library/sync", stream(checkingLine, repairedLine, postedLine, goneLine,
		`{"type":"done","added":0,"updated":0,"removed":0,"unchanged":12,"skipped":0,"repaired":1,"damaged":2}`))
	for _, command := range []string{"status", "sync"} {
		t.Run(command, func(t *testing.T) {
			for _, test := range []struct {
				name   string
				screen terminal
				flags  []string
			}{{"text", terminal{tty: true, width: 100}, nil}, {"json", terminal{}, []string{"--json"}}} {
				t.Run(test.name, func(t *testing.T) {
					got := run(t, localDoors(s.URL), test.screen, append([]string{command, "--check"}, test.flags...)...)
					golden.RequireEqual(t, got.check(t, ExitGeneral).out)
					for _, part := range []string{"the library is damaged: 2 parts could not be restored", "quarry remove 'wiki 1'"} {
						if !strings.Contains(got.err, part) {
							t.Errorf("stderr lacks %q:\n%s", part, got.err)
						}
					}
				})
			}
		})
	}
	s.on("/library/check", stream(checkingLine, repairedLine,
		`{"type":"done","added":0,"updated":0,"removed":0,"unchanged":0,"skipped":0,"repaired":1}`))
	run(t, localDoors(s.URL), terminal{}, "status", "--check").check(t, ExitSuccess)
	s.on("/library/check", stream(checkingLine, postedLine, `{"type":"error","error_code":"INTERNAL_ERROR","detail":"disk full"}`))
	got := run(t, localDoors(s.URL), terminal{}, "status", "--check", "--json").check(t, ExitServer)
	if !strings.Contains(got.out, `"wiki 1"`) || !strings.Contains(got.err, "disk full") {
		t.Errorf("of a check that fails: %s\n%s", got.out, got.err)
	}
}

// TestDamageHints: what is to be done depends on where a document came from, and on what was tried.
func TestDamageHints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{}
	for _, test := range []struct {
		damage jsonDamage
		synced bool
		want   string
	}{
		{jsonDamage{ID: "file:" + file, Path: file}, false, "quarry sync --check"},
		{jsonDamage{ID: "file:" + file, Path: file}, true, "quarry add " + file},
		{jsonDamage{ID: "file:/nowhere/a.md", Path: "/nowhere/a.md"}, true, "Restore /nowhere/a.md"},
		{jsonDamage{ID: "posted"}, true, "quarry remove posted"},
		{jsonDamage{}, false, "quarry sync --check"},
		{jsonDamage{}, true, "permissions"},
	} {
		if hint := a.damageHint(test.damage, test.synced); !strings.Contains(hint, test.want) {
			t.Errorf("%+v: %q lacks %q", test.damage, hint, test.want)
		}
	}
}
