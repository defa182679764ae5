package explorer

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
)

// toTab walks from the first tab to the one with a title.
func toTab(screen *screentest.Screen, title string) {
	tabs := []string{"[Sources", "[Time", "[Agent", "[Sets", "[Tags", "[Authors", "[Types"}
	for _, tab := range tabs {
		screen.Wait(tab, func(text string) bool {
			return strings.Contains(text, tab) || tab == "[Sets" && strings.Contains(text, "[Document sets")
		})
		if tab == "["+title {
			return
		}
		screen.Press("tab")
	}
}

// offered is the count of a value in the picker; empty while it has none.
func offered(screen *screentest.Screen, label string) string {
	row := regexp.MustCompile(regexp.QuoteMeta("] "+label) + ` +▄* *(\d+) `)
	if found := row.FindStringSubmatch(screen.Text()); found != nil {
		return found[1]
	}
	return ""
}

// Each field has a tab with exact counts, and what a value offers is what one gets.
func TestEveryFieldIsChosenFromThePicker(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tab, label, typed, chip string }{
		{"Sets", "People & policies", "policies", "set: People & policies ✕"},
		{"Tags", "severity=SEV-1", "sev-1", "tag: severity=SEV-1 ✕"},
		{"Authors", "Tomasz Wieczorek", "tomasz", "author: Tomasz Wieczorek ✕"},
		{"Types", "thread", "thread", "type: thread ✕"},
	} {
		screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back"})
		screen.WaitText(" 8 documents")
		screen.Press("ctrl+f")
		toTab(screen, test.tab)
		screen.Type(test.typed)
		screen.WaitText("enter selects " + test.label)
		count := offered(screen, test.label)
		if count == "" || count == "0" {
			t.Errorf("%s: no count\n%s", test.tab, screen.Text())
		}
		screen.Press("space")
		screen.WaitText("▌[x] " + test.label)
		screen.Press("enter")
		screen.WaitText(test.chip)
		screen.WaitText("All " + count + " ")
	}
}

// An agent says what it is, has no count, and what it is limited to is what the other tabs count.
func TestAnAgentIsChosenFromThePicker(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back"})
	screen.WaitText(" 8 documents")
	screen.Press("ctrl+f")
	toTab(screen, "Agent")
	screen.WaitText("[ ] Support      What customers reported")
	screen.WaitText(" no agent")
	screen.Press("!")
	screen.WaitText("cannot exclude an agent")
	screen.Press("down", "down", "space")
	screen.WaitText("▌[x] Support")
	screen.Press("shift+tab", "shift+tab")
	screen.WaitText("[Sources]")
	screen.Wait("the counts of what the agent searches", func(string) bool { return offered(screen, "△ Google Drive") == "0" })
	count := offered(screen, "# Slack")
	screen.Press("enter")
	screen.WaitText("agent: Support ✕")
	screen.WaitText("# Slack " + count)
}

// What ! excludes leaves the results, is a chip that reads as such, and is counted as one gets it.
func TestAnAuthorIsExcludedFromThePicker(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back"})
	screen.WaitText(" 8 documents")
	screen.WaitText("Tomasz Wieczorek")
	screen.Press("ctrl+f")
	toTab(screen, "Authors")
	screen.Type("wiecz")
	screen.WaitText("enter selects Tomasz Wieczorek")
	screen.Press("!")
	screen.WaitText("▌[-] Tomasz Wieczorek")
	screen.WaitText("excluded")
	screen.Press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
	screen.WaitText("[Time]")
	screen.WaitText("any time · 6 documents")
	screen.Press("enter")
	screen.WaitText("not author: Tomasz Wieczorek ✕")
	screen.WaitText(" 6 documents")
	screen.WaitGone("   Tomasz Wieczorek")
	screen.Press("ctrl+f")
	toTab(screen, "Authors")
	screen.WaitText("[Authors -1]")
	screen.WaitText("[-] Tomasz Wieczorek")
	screen.Press("esc", "u")
	screen.WaitGone("not author")
	screen.WaitText(" 8 documents")
}

// One esc closes the picker and leaves the query as it was, whatever was typed or selected; ctrl+u clears what was typed.
func TestOneEscClosesThePicker(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back source:slack"})
	screen.WaitText("1 document ") // the library is open
	screen.Press("ctrl+f")
	screen.WaitText("[Sources 1]")
	screen.Type("hubs")
	screen.WaitText("enter selects HubSpot")
	screen.Press("!")
	screen.WaitText("[Sources 1 -1]")
	screen.WaitText("› hubs")
	screen.WaitText("esc close")
	screen.Press("ctrl+u")
	screen.WaitText("› type to narrow")
	screen.Type("lin")
	screen.WaitText("› lin")
	screen.Press("esc")
	screen.WaitGone("[Sources")
	screen.WaitText("  source: slack ✕")
	screen.WaitGone("not source")
}

// A last word that is no word of the library is a prefix, for the counts of the picker as for the search.
func TestThePickerCountsAnUnfinishedWordAsTheSearchDoes(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents in")
	screen.Type("expense lap")
	screen.Press("enter")
	screen.WaitText("matched as a prefix")
	found := regexp.MustCompile(`All (\d+)`).FindStringSubmatch(screen.Text())
	if found == nil {
		t.Fatalf("no count\n%s", screen.Text())
	}
	screen.Press("ctrl+f")
	screen.WaitText("[Sources]")
	screen.Press("tab")
	screen.WaitText("any time · " + found[1] + " document")
	screen.Wait("exact counts of the spans", func(text string) bool { return strings.Contains(text, "(●) any time      "+found[1]) })
}

// The row of tabs shows the tab that one is on at every size.
func TestTheTabsOfThePickerFitEverySize(t *testing.T) {
	t.Parallel()
	screen := start(t, 160, 45, Options{Target: sampleTarget(t), Query: "roll back"})
	screen.WaitText(" 8 documents")
	screen.Press("ctrl+f")
	for _, size := range [][2]int{{160, 45}, {120, 40}, {80, 24}, {60, 20}, {40, 12}, {20, 4}} {
		screen.Resize(size[0], size[1])
		toTab(screen, "Types")
		if size[1] > 4 { // else there is no room for values
			screen.WaitText("[ ] thread")
		}
		screen.Press("tab", "tab", "tab") // past the languages and the places
		screen.WaitText("[Sources")
	}
}

func TestThePickerFollowsTheMouse(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 44}, {80, 24}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t), Query: "roll back"})
		screen.WaitText("documents")
		screen.Press("ctrl+o")
		screen.WaitText("mouse on")
		screen.Press("ctrl+f")
		screen.WaitText("[Sources]")
		click := func(text string) {
			x, y := -1, -1
			for row := range size[1] {
				if before, _, found := strings.Cut(screen.Line(row), text); found {
					x, y = len([]rune(before))+1, row
				}
			}
			screen.Message(tea.MouseClickMsg{Button: tea.MouseLeft, X: x, Y: y})
		}
		click(" Agent ")
		screen.WaitText("[Agent]")
		screen.WaitText("] Support")
		click("] Support")
		screen.WaitText("▌[x] Support")
		click("[ ] People")
		screen.WaitText("▌[x] People")
		screen.WaitText("[ ] Support")
	}
}

// onyx is a bare Onyx that lists what it has, and answers six fields.
func onyx(refused bool) *script {
	list := func(body any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if refused {
				refusing(http.StatusForbidden, outOfScope)(w, r)
				return
			}
			answer200(w, body)
		}
	}
	tag := func(key, value string) map[string]any {
		return map[string]any{"tag_key": key, "tag_value": value, "source": "slack"}
	}
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}, routes: map[string]http.HandlerFunc{
		"GET /version":                 func(w http.ResponseWriter, _ *http.Request) { answer200(w, map[string]any{"backend_version": "4.5.6"}) },
		"GET /manage/indexed-sources":  list(map[string]any{"sources": []string{"slack", "confluence", "github"}}),
		"GET /manage/connector-status": list([]any{map[string]any{"source": "slack"}, map[string]any{"source": "confluence"}, map[string]any{"source": "github"}}),
		"GET /federated":               list([]any{}),
		"GET /persona": list([]any{map[string]any{"id": 0, "name": "Assistant", "description": "Searches everything", "is_listed": true},
			map[string]any{"id": 4, "name": "Eng team", "description": "Runbooks", "is_listed": true},
			map[string]any{"id": 5, "name": "Hidden", "description": "Not listed"}}),
		"GET /manage/document-set": list([]any{map[string]any{"id": 1, "name": "Handbook", "description": "How we work"}}),
		"GET /query/valid-tags":    list(map[string]any{"tags": []any{tag("team", "ops"), tag("team", "infra")}}),
	}}
}

// A bare Onyx counts nothing: the tabs show what it lists, and say what it cannot do.
func TestThePickerOfAServerWithoutCounts(t *testing.T) {
	t.Parallel()
	server := onyx(false)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("ctrl+f")
	screen.WaitText("counts of the 1 results shown")
	screen.WaitText("1 of 1 shown")
	toTab(screen, "Agent")
	screen.WaitText("[ ] Eng team   Runbooks")
	screen.WaitGone("Hidden")
	screen.Press("tab")
	screen.WaitText("[ ] Handbook  How we work")
	screen.WaitText("this server does not count document sets")
	screen.Press("tab")
	screen.WaitText("[ ] team=ops")
	screen.Press("tab")
	screen.WaitText("this server ignores filters by author")
	screen.Press("tab")
	screen.WaitText("this server ignores filters by document type")
	if screen.Press("esc"); len(server.asked()) != 1 {
		t.Errorf("the picker searched: %+v", server.asked())
	}
}

// A server without exclude_filters is asked for the other sources; what it ignores is said on the chip.
func TestExcludingOnAServerThatCannot(t *testing.T) {
	t.Parallel()
	server := onyx(false)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("ctrl+f")
	screen.WaitText("[ ] # Slack")
	screen.Type("slack")
	screen.WaitText("enter selects Slack")
	screen.Press("!")
	screen.WaitText("▌[-] # Slack")
	screen.Press("tab", "tab", "tab", "tab")
	screen.WaitText("[ ] team=infra")
	screen.Press("!", "enter")
	screen.WaitText("not source: slack ✕  not tag: team=infra (ignored) ✕")
	asked := server.asked()
	if last := asked[len(asked)-1]; fmt.Sprint(last.Sources) != "[confluence github]" || len(last.Tags) > 0 {
		t.Errorf("asked for %+v", last)
	}
}

// A tab whose values are refused says why, and is asked for again when the picker is opened again.
func TestATabSaysWhyItsValuesAreMissing(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: onyx(true).remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	for range 2 {
		screen.Press("ctrl+f")
		toTab(screen, "Agent")
		screen.WaitText("could not list agents: This token's scopes do not permit this endpoint.")
		screen.Press("tab")
		screen.WaitText("could not list document sets: This token's scopes")
		screen.Press("tab")
		screen.WaitText("could not list tags: This token's scopes")
		screen.Press("esc")
		screen.WaitGone("[Tags]")
	}
}

// Listings are asked for when their tab is shown, not before, and once.
func TestListingsAreFetchedWhenTheyAreShown(t *testing.T) {
	t.Parallel()
	server := onyx(false)
	var mutex sync.Mutex
	asked := map[string]int{}
	for _, route := range []string{"GET /persona", "GET /manage/document-set", "GET /query/valid-tags"} {
		list := server.routes[route]
		server.routes[route] = func(w http.ResponseWriter, r *http.Request) {
			mutex.Lock()
			asked[route]++
			mutex.Unlock()
			list(w, r)
		}
	}
	counts := func() string {
		mutex.Lock()
		defer mutex.Unlock()
		return fmt.Sprint(asked)
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("ctrl+f")
	screen.WaitText("[Sources]")
	if got := counts(); got != "map[]" {
		t.Errorf("before a tab is shown: %s", got)
	}
	toTab(screen, "Agent")
	screen.WaitText("Eng team")
	screen.Press("shift+tab", "tab", "tab")
	screen.WaitText("Handbook")
	if got := counts(); got != "map[GET /manage/document-set:1 GET /persona:1]" {
		t.Errorf("after two tabs: %s", got)
	}
	screen.Press("esc")
	screen.WaitGone("[Sets]")
	screen.Press("/")
	screen.Type(" agent:en")
	screen.WaitText("│ Eng team  tab │")
	if got := counts(); got != "map[GET /manage/document-set:1 GET /persona:1]" {
		t.Errorf("after completion: %s", got)
	}
}

// Values of every filter are completed, with counts where there are some, by any of their words.
func TestValuesOfEveryFilterAreCompleted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ typed, offered, chip string }{
		{"author:wiecz", "│ Tomasz Wieczorek 7  tab │", "author: Tomasz Wieczorek ✕"},
		{"tag:pol", "│ kind=policy ", "tag: kind=policy ✕"},
		{"-set:peop", "│ People & policies ", "not set: People & policies ✕"},
		{"type:thr", "│ thread ", "type: thread ✕"},
		{"agent:sup", "│ Support  tab │", "agent: Support ✕"},
	} {
		screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
		screen.WaitText("66 documents in")
		screen.Type(test.typed)
		screen.WaitText(test.offered)
		screen.Press("tab")
		screen.WaitText(test.chip)
		screen.WaitGone("› " + test.typed)
	}
}

// A value that does not exist is named as it is typed, with the nearest; one that may exist is not.
func TestUnknownValuesOfEveryFilterAreNamed(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"author:wieczorec":     "no author “wieczorec”; did you mean Wieczorek?",
		"-author:wieczorec ":   "no author “wieczorec”; did you mean Wieczorek?",
		"tag:kind=polici":      "no tag “kind=polici”; did you mean kind=policy?",
		"-set:incidence":       "no document set “incidence”; did you mean Incidents?",
		"type:thraed":          "no document type “thraed”; did you mean thread?",
		"type:application/pdf": "",
		"in:#deplys ":          "no place “#deplys”; did you mean #deploys?",
		"agent:suport":         "no agent “suport”; did you mean Support?",
		"agent:77":             "",
		`author:"jo ortiz" `:   "",
		"author:ortiz ":        "",
	} {
		screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
		screen.WaitText("66 documents in")
		screen.Type("roll " + typed)
		if want != "" {
			screen.WaitText(want)
			continue
		}
		screen.Type(` source:slak`) // by then what is typed before was looked at
		screen.WaitText("no source “slak”")
		screen.Press("ctrl+w")
		screen.WaitGone("no source “slak”")
		if strings.Contains(screen.Text(), "no author") || strings.Contains(screen.Text(), "no document") || strings.Contains(screen.Text(), "no agent") {
			t.Errorf("%q is called unknown:\n%s", typed, screen.Text())
		}
	}
}

// Where there is no room beside the chips, an unknown value is named above the results.
func TestAnUnknownValueIsNamedOnSmallScreens(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {60, 20}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t)})
		screen.WaitText("type to search")
		screen.Type("roll source:slack within:90d author:wieczorec ")
		screen.WaitText("no author “wieczorec”; did you me")
		screen.Press("ctrl+x") // removes the last filter
		screen.WaitGone("no author")
	}
}

// Nothing is called unknown where not all values are known: without a list, or beside other profiles.
func TestNothingIsUnknownWithoutAWholeList(t *testing.T) {
	t.Parallel()
	beside := sampleTarget(t)
	beside.Beside = []string{"acme"}
	for name, target := range map[string]Target{"refused": onyx(true).remote(t), "bare": onyx(false).remote(t), "beside": beside} {
		screen := start(t, 140, 40, Options{Target: target})
		screen.WaitText("ctrl+f filters")
		screen.Type("roll author:nobody type:xyz tag:no=thing ")
		screen.WaitText("tag: no=thing")
		screen.Type("agent:nobod")
		if name == "bare" { // which lists its agents, and hides one
			screen.WaitText("no agent “nobod”")
			screen.Press("ctrl+w")
			screen.Type("agent:hidden")
			screen.WaitGone("no agent")
			continue
		}
		screen.WaitText("› roll agent:nobod")
		screen.Type("y ")
		screen.WaitText("agent: nobody ✕")
		for _, noun := range []string{"author", "document type", "tag", "source"} {
			if strings.Contains(screen.Text(), "no "+noun+" “") {
				t.Errorf("%s: a %s is called unknown:\n%s", name, noun, screen.Text())
			}
		}
	}
}

// A negated chip says so in words, in colour and without.
func TestNegatedChipsSayNot(t *testing.T) {
	t.Parallel()
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ASCII} {
		screen := startIn(t, Options{Target: sampleTarget(t), Query: "roll -source:slack,github within:90d"},
			screentest.Options{Width: 120, Height: 40, Profile: profile, Dark: true})
		screen.WaitText("not source: slack, github ✕  last 90 days ✕")
		screen.WaitGone("     # ")
	}
}

// The counts offered beside a selected source are those that one gets by selecting another one, too.
func TestOtherSourcesAreCountedWithoutTheFilter(t *testing.T) {
	t.Parallel()
	notion := regexp.MustCompile(`Notion +(▄*) +(\d+)  │`)
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "how do we roll back a deploy"})
	screen.WaitText(" 4 documents")
	screen.Press("ctrl+f")
	screen.Wait("the sources with their counts", notion.MatchString)
	before := notion.FindStringSubmatch(screen.Text())[2]
	screen.Press("space", "down", "space") // Confluence and Google Sites
	screen.WaitText("[Sources 2]")
	screen.Press("tab") // whose counts are those of the selection
	screen.WaitText("any time      3")
	screen.Press("shift+tab")
	screen.Wait("the sources again", notion.MatchString)
	if after := notion.FindStringSubmatch(screen.Text())[2]; after != before || before != "1" {
		t.Errorf("%s documents of Notion, and %s beside the selected sources", before, after)
	}
}
