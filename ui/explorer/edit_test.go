package explorer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// libraryTarget is a library of this machine with folders in it.
func libraryTarget(t *testing.T, folders ...string) Target {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home}
	host, err := target.NewHost(func(key string) (string, bool) { value, ok := env[key]; return value, ok }, "test")
	if err != nil {
		t.Fatal(err)
	}
	return Target{Kind: Library, Where: "the library", Open: func(ctx context.Context) (*client.Session, error) {
		opened, err := host.OpenLibrary(ctx, home+"/library", true)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = opened.Close() })
		_, err = opened.Client.ChangeLibrary(ctx, wire.AddRequest{Paths: folders}, nil)
		return &client.Session{Client: opened.Client}, err
	}}
}

// fakeEditor is an editor that replaces a text in the files that it opens.
type fakeEditor struct {
	opened   []string // "path:line"
	old, new string
	failure  error
}

func (e *fakeEditor) edit(path string, line int, done tea.ExecCallback) tea.Cmd {
	return func() tea.Msg {
		e.opened = append(e.opened, fmt.Sprintf("%s:%d", path, line))
		text, err := os.ReadFile(path)
		if changed := strings.ReplaceAll(string(text), e.old, e.new); err == nil && changed != string(text) {
			err = os.WriteFile(path, []byte(changed), 0o600)
		}
		return done(errors.Join(err, e.failure))
	}
}

// The editor opens the file at the passage's line, and what it changed is found at once, with the list as it was.
func TestEditingAFileOfTheLibrary(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, rule := range map[string]string{"a.md": "Expenses need a receipt.", "b.md": "Expenses above 50 need a manager."} {
		text := "# Rules\n\n" + strings.Repeat("Nothing about money here.\n\n", 3) + "## " + name + "\n\n" + rule + "\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	editor := &fakeEditor{old: "above 50", new: "above 75"}
	screen := start(t, 140, 40, Options{Target: libraryTarget(t, folder), Query: "expenses manager", Caps: Capabilities{Edit: editor.edit}})
	screen.WaitText("need a manager")
	screen.Press("ctrl+e")
	screen.WaitText("b.md changed; the library is up to date")
	screen.Wait("the new text in list and reader", func(text string) bool {
		return strings.Count(text, "75 need a manager") >= 1 && !strings.Contains(text, "above 50")
	})
	screen.Press("enter", "ctrl+e")
	screen.WaitText("b.md is unchanged")
	editor.failure = errors.New("exit status 1")
	screen.Press("ctrl+e")
	screen.WaitText("editor: exit status 1")
	screen.Press("q")
	screen.Model()
	want := filepath.Join(folder, "b.md") + ":"
	if len(editor.opened) != 3 || !strings.HasPrefix(editor.opened[0], want) || strings.HasSuffix(editor.opened[0], ":0") {
		t.Errorf("opened %q", editor.opened)
	}
}

func TestLineOfAPassage(t *testing.T) {
	t.Parallel()
	const content = "one\n\ntwo\n\nthree"
	for _, test := range []struct {
		lines []int
		best  wire.Span
		want  int
	}{
		{nil, wire.Span{5, 8}, 0}, {[]int{7}, wire.Span{}, 0}, {[]int{7, 20}, wire.Span{}, 7}, {[]int{7, 20}, wire.Span{10, 15}, 11},
		{[]int{7, 8}, wire.Span{10, 15}, 8}, {[]int{7, 20}, wire.Span{-3, 1 << 40}, 7}, {[]int{7, 20}, wire.Span{1 << 40, 0}, 7},
	} {
		if got := lineOf(wire.SearchResult{Content: content, Lines: test.lines, BestPassage: test.best}); got != test.want {
			t.Errorf("%+v: line %d", test, got)
		}
	}
}

func TestEditingIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	edits := func(string, int, tea.ExecCallback) tea.Cmd { return nil }
	results := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		result := sixFields(1, "Rules", "x")
		result["document_id"], result["ref"] = "posted", "posted#0"
		answer200(w, map[string]any{"results": []any{result}})
	}, routes: map[string]http.HandlerFunc{"GET /library/file": refusing(http.StatusNotFound,
		`{"error_code":"NOT_FOUND","detail":"the document is not a file of the library"}`)}}
	for name, test := range map[string]struct {
		target Target
		caps   Capabilities
		want   string
	}{
		"sample":     {sampleTarget(t), Capabilities{Edit: edits}, "the sample library has no files to edit"},
		"server":     {results.remote(t), Capabilities{Edit: edits}, "only files of a library on this machine can be edited"},
		"over SSH":   {results.remote(t), Capabilities{EditReason: "over SSH no files can be edited"}, "over SSH no files can be edited"},
		"no editor":  {results.library(t), Capabilities{EditReason: "set $EDITOR"}, "set $EDITOR"},
		"not a file": {results.library(t), Capabilities{Edit: edits}, "cannot edit this document: the document is not a file of the library"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := start(t, 140, 40, Options{Target: test.target, Query: "expense rules", Caps: test.caps})
			screen.WaitText(" 1  ")
			screen.Press("ctrl+e")
			screen.WaitText(test.want)
		})
	}
}
