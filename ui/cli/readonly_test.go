package cli

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"quarry/ui/state"
	"quarry/ui/target"
)

// commandClass is what a command changes, with a line that runs it. One that changes a library, directory, token or profile
// is refused by QUARRY_READONLY; the others leave the files of a person as they are.
type commandClass struct {
	changes bool
	line    string
	exit    int // of a command that changes nothing
}

// commandClasses classes every command. A new one has to be added here.
func commandClasses() map[string]commandClass {
	changing := []string{"add notes", "remove notes", "sync", "migrate --to postgres", "configure", "config set theme dark", "config edit",
		"admin user add jo@acme.example", "admin user deactivate jo@acme.example", "admin user activate jo@acme.example",
		"admin user remove jo@acme.example", "admin group add Eng --user jo@acme.example", "admin group remove Eng",
		"admin token add --name ci", "admin token ensure --sandbox --user jo@acme.example", "admin token remove 1",
		"admin connector add Wiki --source confluence", "admin connector remove Wiki", "admin agent add Eng", "admin agent remove Eng",
		"admin document-set add Handbook", "admin document-set remove Handbook", "admin tenant add acme", "admin tenant remove acme --force"}
	reading := map[string]int{"": 0, "search rollback": 0, "read notes/deploy.md": 0, "ask rollback": ExitNotConfigured, "collection": 0,
		"sources": 0, "agents": 0, "document-sets": 0, "tags": 0, "status --check": 0, "validate-config --json": 0, "version": 0, "man": 0,
		"completion bash": 0, "schema search": 0, "help search": 0, "mcp": 0, "serve --http 127.0.0.1:0": 0, "config": 0, "config path": 0, "config list": 0,
		"config get theme": 0, "install-skill": 0, "skill": 0, "skill render": 0, "admin": 0, "admin user": 0, "admin group": 0, "admin token": 0,
		"admin connector": 0, "admin agent": 0, "admin document-set": 0, "admin tenant": 0, "admin user list": 0, "admin group list": 0,
		"admin token list": 0, "admin connector list": 0, "admin agent list": 0, "admin document-set list": 0, "admin tenant list": 0}
	classes := map[string]commandClass{}
	root := (&app{out: &gate{}, err: &gate{}}).root()
	add := func(class commandClass) {
		command, _, err := root.Find(strings.Fields(class.line))
		if err != nil {
			panic(err)
		}
		classes[command.CommandPath()] = class
	}
	for _, line := range changing {
		add(commandClass{changes: true, line: line})
	}
	for line, exit := range reading {
		add(commandClass{line: line, exit: exit})
	}
	return classes
}

func TestEveryCommandIsClassed(t *testing.T) {
	classes := commandClasses()
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		if _, known := classes[command.CommandPath()]; !known {
			t.Errorf("%s is not classed: does it change a library, directory, token or profile?", command.CommandPath())
		}
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit((&app{out: &gate{}, err: &gate{}}).root())
}

// onMachine returns commands that work on the real files of a person with a library of one document.
func onMachine(t *testing.T, home string, environment ...string) (testMachine, terminal) {
	t.Helper()
	env := append([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_STATE_HOME=" + home + "/state",
		"XDG_CACHE_HOME=" + home + "/cache", "QUARRY_HOME=" + home + "/library"}, environment...)
	lookup := func(key string) (string, bool) {
		value := IO{Env: env}.getenv(key)
		return value, value != ""
	}
	host, err := target.NewHost(lookup, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return testMachine{Program: Program{Version: "1.2.3", ReadOnly: target.ReadOnly(lookup),
		Host:  func() (Host, error) { return host, nil },
		Serve: func(context.Context, target.ServeOptions) error { return nil },
		State: func(target.Choice) *state.Store { return state.InFolder(home+"/state", "library") },
	}}, terminal{env: env, dir: t.TempDir()}
}

// filesBelow returns the digests of the files below a folder, without those that hold a lock of an open database.
func filesBelow(t *testing.T, folder string) map[string][32]byte {
	t.Helper()
	found := map[string][32]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// With QUARRY_READONLY every command that changes something is refused, and no other changes a file.
func TestReadOnlyCommands(t *testing.T) {
	home := t.TempDir()
	notes := filepath.Join(home, "notes")
	if err := os.MkdirAll(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(notes, "deploy.md"), []byte("# Deploy\n\nThe rollback takes a minute.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	machine, screen := onMachine(t, home)
	run(t, machine, screen, "add", notes).check(t, ExitSuccess)
	run(t, machine, screen, "admin", "token", "add", "--name", "laptop").check(t, ExitSuccess)
	before := filesBelow(t, home)
	work := t.TempDir()
	for path, class := range commandClasses() {
		t.Run(path, func(t *testing.T) {
			t.Chdir(home)
			if strings.Contains(path, "skill") {
				t.Chdir(work) // where they write
			}
			machine, screen := onMachine(t, home, "QUARRY_READONLY=1")
			screen.tty = path == "quarry configure" || path == "quarry config edit"
			got := run(t, machine, screen, strings.Fields(class.line)...)
			switch {
			case class.changes:
				got.check(t, ExitNotAvailable).twoLines(t, "is disabled by QUARRY_READONLY")
			default:
				got.check(t, class.exit)
			}
			if after := filesBelow(t, home); !maps.Equal(before, after) {
				t.Errorf("files before %v, after %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
			}
		})
	}
}
