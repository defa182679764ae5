package explorer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestCitationIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"handbook/people/leave.md:112":                       "handbook/people/leave.md:112",
		"  hb/my file.md:7 ":                                 "hb/my file.md:7",
		"hb/rules.pdf#page=3":                                "hb/rules.pdf#page=3",
		"file:/srv/hb/a.md#2":                                "file:/srv/hb/a.md#2",
		"https://github.com/a/b/blob/1f/x.md#L3-L9":          "https://github.com/a/b/blob/1f/x.md#L3-L9",
		"Leave › Who (hb/leave.md:112, 2026-03-12)":          "hb/leave.md:112",
		"Leave (hb/leave.md:112)":                            "hb/leave.md:112",
		"[2] [Leave › Who](https://w/1) (Wiki, 2026-03-12)":  "https://w/1",
		"Budget (mbox/one.eml, 2024-03-01)":                  "mbox/one.eml",
		"mbox/team.mbox!m0@acme.com":                         "mbox/team.mbox!m0@acme.com",
		"handbook/people/leave.md":                           "handbook/people/leave.md",
		"mid:m0@acme.com":                                    "mid:m0@acme.com",
		"<m0@acme.com>":                                      "<m0@acme.com>",
		"mail of ana@acme.com":                               "",
		"ana@acme.com":                                       "",
		"in:handbook/people":                                 "",
		"how do we roll back":                                "",
		"expenses (travel)":                                  "",
		"FLEET-497":                                          "",
		"":                                                   "",
		strings.Repeat("a", longestCitation) + "/leave.md:3": "",
	} {
		if got := citationIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A pasted citation opens its passage; what cites nothing here is searched for as ever.
func TestAPastedCitationOpensThePassage(t *testing.T) {
	t.Parallel()
	for cited, want := range map[string]string{
		"acme/people/leave.md:7":                            "Everyone in the team",
		"Leave › Who (other/people/leave.md:3, 2026-03-12)": "The rule of other/people/leave.md",
		"acme/people/pay.md#0":                              "The rule of acme/people/pay.md",
	} {
		screen := start(t, 120, 36, Options{Target: libraryTarget(t, handbooks(t)...)})
		screen.WaitText("All 4")
		screen.Type(cited)
		screen.WaitText(cited[:12])
		screen.Press("enter")
		screen.WaitText("1 passage from a citation")
		screen.WaitText("h results") // the reader has the keys
		screen.WaitGone("matches")   // of the words of a path
		screen.WaitGone("All 0")
		screen.WaitText(want)
		place, _, _ := strings.Cut(strings.TrimPrefix(cited, "Leave › Who ("), "/")
		if !strings.HasSuffix(cited, "#0") {
			screen.WaitText(place + " › people")
		}
	}
	screen := start(t, 120, 36, Options{Target: libraryTarget(t, handbooks(t)...)})
	screen.WaitText("All 4")
	screen.Type("rule/team:7")
	screen.WaitText("rule/team:7")
	screen.Press("enter")
	screen.WaitText("no document has “7”")
	screen.WaitGone("from a citation")
}

// The line that a citation names is marked, and in sight also where it is far down in its passage.
func TestACitedLineIsInSight(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "acme")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# Leave\n"
	for n := 2; n <= 60; n++ {
		text += fmt.Sprintf("- step %d of **the plan**\n", n)
	}
	if err := os.WriteFile(filepath.Join(folder, "leave.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{120, 36}, {60, 20}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: libraryTarget(t, folder)})
		screen.Type("acme/leave.md:45")
		screen.WaitText("acme/leave.md:45")
		screen.Press("enter")
		screen.WaitText("step 45 of the plan")
		if size[0] > 40 { // where how many marks there are is said
			screen.WaitText("1 match ")
		}
	}
}

// A server without documents is not asked for them.
func TestABareServerSearchesForACitation(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 36, Options{Target: titled(new(atomic.Int32)).remote(t)})
	screen.WaitText("type a question, then")
	screen.Type("https://wiki.acme.com/1")
	screen.Press("enter")
	screen.WaitText("About https://wiki.acme.com/1")
}
