package explorer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quarry/internal/testkit/screentest"
)

// handbooks are two folders with a file of one name in each.
func handbooks(t *testing.T) (folders []string) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"acme/people/leave.md", "acme/people/pay.md", "acme/teams/infra/about.md", "other/people/leave.md"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "# Leave\n\nThe rule of " + name + ": ask.\n\n## Who is entitled\n\nEveryone in the team.\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{filepath.Join(folder, "acme"), filepath.Join(folder, "other")}
}

// Places at every depth complete a filter, and are named instead of one that is mistyped.
func TestPlacesBelowTheFirstLevelAreKnown(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 36, Options{Target: libraryTarget(t, handbooks(t)...)})
	screen.WaitText("All 4")
	screen.Type("in:inf")
	screen.WaitText("acme/teams/infra")
	screen.Type("ar")
	screen.WaitText("no place “infar”; did you mean infra?")
	screen.Press("enter")
	screen.WaitText("in: infar ✕")
	screen.WaitText("did you mean infra?")
}

// A library of files is divided by its places everywhere, and P divides it by source.
func TestALibraryOfFilesIsDividedByPlace(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		screen := start(t, size[0], size[1], Options{Target: libraryTarget(t, handbooks(t)...)})
		screen.WaitText("4 documents in 2 places")
		screen.WaitText("All 4")
		screen.WaitText("acme 3")
		screen.Press("ctrl+f")
		screen.WaitText("[Places]│ Time │ Sources")
		screen.Press("esc")
		screen.Type("rule ask")
		screen.WaitText(" leave.md  The rule")
		screen.WaitText("other › people")
		screen.Press("enter")
		screen.WaitGone("File")
		screen.Press("B")
		screen.WaitText("grouped by place")
		screen.WaitText("acme · 3 documents")
		screen.WaitText("other · 1 document")
		screen.Press("f", "right", "right", "space")
		screen.WaitText("in: other ✕")
		screen.WaitText("[other 1]")
		screen.WaitText("acme 3")
		screen.WaitGone("acme · 3 documents")
		screen.Press("space", "left", "!")
		screen.WaitText("not acme")
		screen.WaitGone("acme ›")
		screen.Press("!", "P")
		screen.WaitText("All 4")
		screen.WaitText("▬ File 4")
		screen.WaitText("File · 4 documents")
		screen.Press("P")
		screen.WaitText("acme 3")
	}
}

// A place of the home opens its documents.
func TestTheHomeOpensAPlace(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 36, Options{Target: libraryTarget(t, handbooks(t)...)})
	screen.WaitText("Places")
	screen.WaitText(" acme › infra ") // others have its title
	screen.WaitText(" acme │")
	openEntry(t, screen, "other")
	screen.WaitText("in: other")
	screen.WaitText("1 document, newest first")
}

// openEntry opens an entry of the home.
func openEntry(t *testing.T, screen *screentest.Screen, entry string) {
	t.Helper()
	for steps := 0; !strings.Contains(screen.Text(), "▌"+entry); steps++ {
		if steps > 20 {
			t.Fatalf("%s is not reached:\n%s", entry, screen.Text())
		}
		before := screen.Text()
		screen.Press("down")
		screen.Wait("a step", func(text string) bool { return text != before })
	}
	screen.Press("enter")
}

// The tab of places is a tree: a level is opened, and what is chosen in it is a filter.
func TestPlacesAreChosenInTheirTree(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 36, Options{Target: libraryTarget(t, handbooks(t)...), Query: "rule ask"})
	screen.WaitText("acme 3   other 1") // by place, as is known a little later than the results
	screen.Press("enter", "f", "f")     // the line of places leads to their tab
	screen.WaitText("[Places]")
	screen.WaitText("→ opens it")
	screen.Press("right")
	screen.WaitText("- acme")
	screen.WaitText("+ people")
	screen.Press("down", "enter") // nothing is chosen to apply
	screen.WaitText("[ ]     people")
	screen.Press("space", "down", "!", "enter")
	screen.WaitText("in: acme/people")
	screen.WaitText("not in: acme/teams")
	screen.WaitText("2 documents")
}

// The number of all documents includes those that lie beside the places of the line, whichever of these is chosen.
func TestAllOfTheLineCountsWhatLiesBesideThePlaces(t *testing.T) {
	t.Parallel()
	folder := handbooks(t)[0]
	text := "# Welcome\n\nThe rule of rules: ask.\n"
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	screen := start(t, 120, 36, Options{Target: libraryTarget(t, folder), Query: "rule ask in:people"})
	screen.WaitText("in: people ✕")
	screen.WaitText("All 4   people 2   teams 1") // asked for by the query that it came with
	screen.Press("enter", "f", "right", "space")
	screen.WaitGone("in: people")
	screen.WaitText("All 4  [people 2]")
	screen.Press("right", "space")
	screen.WaitText("in: acme/teams ✕")
	screen.WaitText("All 4   people 2  [teams 1]")
}

// The line, the home and the filters have the places of one level, that at which the library divides, whatever matched.
func TestTheLineOfPlacesKeepsTheLevelOfTheLibrary(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "acme")
	for _, name := range []string{"teams/infra/deploy.md", "teams/cloud/deploy.md", "teams/cloud/about.md",
		"people/leave.md", "people/pay.md", "welcome.md"} {
		path := filepath.Join(folder, "content", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "# About\n\nThe " + strings.NewReplacer("/", " ", ".md", "").Replace(name) + " rule.\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arrival := range []string{"", "deploy"} { // such a query is asked before the library's level is known
		screen := start(t, 120, 36, Options{Target: libraryTarget(t, folder), Query: arrival})
		if arrival == "" {
			screen.WaitText("All 6   teams 3   people 2")
			screen.WaitText("6 documents in 2 places")
			screen.Wait("what lies beside them", regexp.MustCompile(`(?m)^. +elsewhere +1 `).MatchString)
			openEntry(t, screen, "elsewhere")
			screen.WaitText("1 document, newest first")
			screen.WaitText("welcome rule")
			screen.Press("/", "ctrl+u")
			screen.WaitText("not in: ")
			screen.Press("backspace")
			screen.WaitText("6 documents in 2 places")
			screen.Type("deploy")
		}
		screen.WaitText("All 2   teams 2   people 0")
		screen.Press("enter", "f", "f")
		screen.WaitText("[Places]")
		screen.Wait("the same level", regexp.MustCompile(`\+ teams +▄* *2 `).MatchString)
		screen.Press("esc", "/", "ctrl+u")
		screen.Type("leave")
		screen.WaitText("All 1   people 1   teams 0")
		screen.Type(" in:people ")
		screen.WaitText("in: people ✕")
		screen.WaitText("All 1   people 1   teams 0")
	}
}

// The strip is never older than the list: where it has a number, it is that of the list, as soon as that changes.
func TestTheStripIsOfTheList(t *testing.T) {
	t.Parallel()
	title, strip := regexp.MustCompile(`Results ─+ (?:best \d+ documents · )?(\d+) (?:documents|match)[^╮]*`), regexp.MustCompile(`All (\d+) `)
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	last := ""
	shows := func(what, says string) {
		t.Helper()
		screen.Wait(what, func(text string) bool {
			found := title.FindStringSubmatch(text)
			if found == nil || found[0] == last || !strings.Contains(text, says) {
				return false
			}
			if all := strip.FindStringSubmatch(text); all != nil && all[1] != found[1] {
				t.Errorf("%s: the list has %s documents, and the strip %s", what, found[1], all[1])
			}
			last = found[0]
			return true
		})
	}
	screen.Type("deploy")
	shows("a word", "deploy")
	screen.Press("enter", "s")
	shows("another order", "newest first")
	screen.Press("s", "/", "end")
	screen.Type(" within:30d")
	shows("a filter", "within:30d")
	screen.Press("ctrl+u")
	screen.Type("runbok")
	shows("a correction", "showing “runbook”")
	screen.WaitText("All ")
}
