package picker

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/line"
)

// rows are the names in the order in which they are drawn, with their boxes.
func rows(p *Picker, width, height int) []string {
	row := regexp.MustCompile(`\[[ x]\] . [^ ]+`)
	var found []string
	for _, line := range strings.Split(screen(p, width, height), "\n") {
		if match := row.FindString(line); match != "" {
			box, name := match[:3], match[strings.LastIndexByte(match, ' ')+1:]
			found = append(found, box+" "+name)
		}
	}
	return found
}

func TestSourcesStandByCountThenName(t *testing.T) {
	t.Parallel()
	want := []string{"[ ] GitHub", "[ ] Jira", "[x] Slack", "[ ] Confluence"}
	if got := rows(opened("source:slack"), 60, 20); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestASourceOfTheQueryIsShownThoughNobodyKnowsIt(t *testing.T) {
	t.Parallel()
	p := opened(`source:"my thing"`)
	if got := rows(p, 60, 20); !slices.Contains(got, "[x] My") {
		t.Errorf("%q", got)
	}
	if toEnd(p); !p.Toggle() {
		t.Fatal("it cannot be reached")
	}
	for steps := 0; steps < 5 && !slices.Contains(rows(p, 60, 20), "[ ] My"); steps++ {
		p.Toggle()
		p.Move(-1)
		p.Toggle()
	}
	if got := rows(p, 60, 20); !slices.Contains(got, "[ ] My") {
		t.Errorf("%q", got)
	}
}

func TestToggledRowsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	p := opened("")
	p.Move(1)
	p.Toggle()
	p.Update(Input{Facets: facetsOf(map[string]int{"confluence": 99, "web": 3}), Exact: true, Now: clock()})
	want := []string{"[ ] GitHub", "[x] Jira", "[ ] Slack", "[ ] Confluence", "[ ] Web"}
	if got := rows(p, 60, 20); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := p.Result().Raw; !slices.Equal(got, []string{"source:jira"}) {
		t.Errorf("%q", got)
	}
}

func TestUpdateSortsAndKeepsTheCursorOnItsValue(t *testing.T) {
	t.Parallel()
	p := opened("")
	toEnd(p)
	p.Update(Input{Facets: facetsOf(map[string]int{"confluence": 99}), Exact: true, Now: clock()})
	if got := rows(p, 60, 20); got[0] != "[ ] Confluence" {
		t.Fatalf("%q", got)
	}
	p.Toggle()
	if got := p.Result().Raw; !slices.Equal(got, []string{"source:confluence"}) {
		t.Errorf("the cursor went to %q", got)
	}
}

func TestResultReplacesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	p := opened("source:slack within:30d deploy")
	p.Toggle() // github
	if got := p.Result(); !slices.Equal(got.Fields, []string{"source"}) || !slices.Equal(got.Raw, []string{"source:github,slack"}) {
		t.Errorf("%v", got)
	}
	p.Toggle()
	if got := p.Result(); !got.Empty() {
		t.Errorf("back at the beginning, still %v", got)
	}
	p.Move(1)
	p.Move(1)
	p.Toggle() // slack
	if got := p.Result(); !slices.Equal(got.Fields, []string{"source"}) || len(got.Raw) != 0 {
		t.Errorf("without a source: %v", got)
	}
}

func TestInvert(t *testing.T) {
	t.Parallel()
	p := opened("")
	if p.Invert() || !strings.Contains(screen(p, 60, 20), "no selection") {
		t.Errorf("nothing to invert:\n%s", screen(p, 60, 20))
	}
	if !strings.Contains(screen(p, 60, 6), "no selection") {
		t.Errorf("a small panel does not say so:\n%s", screen(p, 60, 6))
	}
	p.Toggle()
	if strings.Contains(screen(p, 60, 20), "no selection") {
		t.Error("the answer outlives the next key")
	}
	if !strings.Contains(screen(p, 60, 20), "! selects the other 3") {
		t.Errorf("it is not said what inverting would do:\n%s", screen(p, 60, 20))
	}
	insert(p, "git") // what is narrowed away is inverted all the same
	if !p.Invert() || !slices.Equal(p.Result().Raw, []string{"source:jira,slack,confluence"}) {
		t.Errorf("%v", p.Result())
	}
	p.Toggle()
	if p.Invert() || !strings.Contains(screen(p, 60, 20), "all selected: nothing would be left") {
		t.Errorf("all are chosen:\n%s", screen(p, 60, 20))
	}
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][]string{
		"SLA":       {"[ ] Slack"},
		"conflu":    {"[ ] Confluence"},
		"g b":       {"[ ] GitHub"},
		"nothing":   nil,
		"i":         {"[ ] GitHub", "[ ] Jira"},
		"   ":       {"[ ] GitHub", "[ ] Jira", "[ ] Slack", "[ ] Confluence"},
		"slack jir": nil,
	} {
		p := opened("")
		insert(p, typed)
		if got := rows(p, 60, 20); !slices.Equal(got, want) {
			t.Errorf("%q leaves %q, want %q", typed, got, want)
		}
	}
	var p Picker
	p.Open(Input{Known: []string{"google_drive", "gmail"}, Now: clock()})
	insert(&p, "google_d")
	if got := rows(&p, 60, 20); len(got) != 1 {
		t.Errorf("by its value: %q", got)
	}
	insert(&p, "x")
	if p.Toggle() || !strings.Contains(screen(&p, 60, 20), "no source matches") {
		t.Errorf("nothing is left:\n%s", screen(&p, 60, 20))
	}
	if !p.Back() || typed(&p) != "" || len(rows(&p, 60, 20)) != 2 || p.Back() {
		t.Error("the first step back drops the typed text")
	}
}

func TestEnterTakesWhatWasTypedFor(t *testing.T) {
	t.Parallel()
	p := opened("")
	if p.Confirm() || !p.Result().Empty() {
		t.Error("the row that the cursor happens to be on was taken")
	}
	insert(p, "sla")
	if !strings.Contains(screen(p, 60, 20), "enter selects Slack") {
		t.Errorf("not announced:\n%s", screen(p, 60, 20))
	}
	if !p.Confirm() || !slices.Equal(p.Result().Raw, []string{"source:slack"}) {
		t.Errorf("%v", p.Result())
	}
	p = opened("source:slack")
	insert(p, "sla")
	if p.Confirm() || strings.Contains(screen(p, 60, 20), "applying") {
		t.Error("enter took a choice away")
	}
	p.Toggle()
	if p.Confirm() || len(p.Result().Raw) != 0 {
		t.Errorf("enter took back what was just dropped: %v", p.Result())
	}
}

func TestCountsOfResultsInHandSaySo(t *testing.T) {
	t.Parallel()
	in := Input{Query: client.ParseQuery("", clock()), InHand: 10, Now: clock(), Known: []string{"jira", "web"},
		Facets: wire.Facets{Sources: []wire.FacetValue{{Value: "slack", Count: 7}, {Value: "jira", Count: 3}}}}
	var p Picker
	p.Open(in)
	for _, want := range []string{"counts of the 10 results shown", "7 of 10 shown", "0 of 10 shown"} {
		if got := screen(&p, 70, 20); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := screen(&p, 30, 8); !strings.Contains(got, "3/10") {
		t.Errorf("narrow:\n%s", got)
	}
	in.Query = client.ParseQuery("source:slack", clock())
	p.Open(in)
	if got := screen(&p, 70, 20); strings.Count(got, "not counted") != 1 {
		t.Errorf("what was not searched is unknown, not none:\n%s", got)
	}
	p.Turn(1)
	if got := screen(&p, 70, 20); !strings.Contains(got, "does not count by month") {
		t.Errorf("no word about the missing histogram:\n%s", got)
	}
}

func TestLongListsScrollWithTheCursor(t *testing.T) {
	t.Parallel()
	var p Picker
	in := Input{Exact: true, Now: clock()}
	for _, source := range wire.Sources() {
		in.Known = append(in.Known, source.Value)
	}
	p.Open(in)
	cursor := regexp.MustCompile(`▌\[`)
	for _, size := range [][2]int{{60, 20}, {20, 4}, {40, 9}} {
		p.Move(-1 << 10)
		values, last := p.tabs[0].(*values), -1
		for steps := 0; values.cursor.At > last; steps++ {
			last = values.cursor.At
			if !cursor.MatchString(screen(&p, size[0], size[1])) {
				t.Fatalf("at %v after %d steps the cursor is out of sight:\n%s", size, steps, screen(&p, size[0], size[1]))
			}
			p.Page(1)
		}
		if last != len(in.Known)-1 {
			t.Errorf("the end was not reached: %d", last)
		}
	}
	if !strings.Contains(screen(&p, 60, 20), "┃") {
		t.Error("nothing shows that there is more")
	}
}

func TestEditingKeysWorkInTheNarrowingField(t *testing.T) {
	t.Parallel()
	p := opened("")
	insert(p, "ji rax")
	p.Sideways(-1, false)
	if !p.Edit((*line.Editor).DeleteBack) || typed(p) != "ji rx" {
		t.Errorf("%q", typed(p))
	}
	p.Sideways(1, false)
	if insert(p, "y"); typed(p) != "ji rxy" {
		t.Errorf("%q", typed(p))
	}
	if !p.Edit((*line.Editor).DeleteWordBack) || typed(p) != "ji " || !p.Edit((*line.Editor).Undo) || !p.Edit((*line.Editor).Clear) || typed(p) != "" {
		t.Errorf("%q", typed(p))
	}
	if p.Edit((*line.Editor).Clear) || p.Edit((*line.Editor).DeleteBack) || insert(p, "") {
		t.Error("nothing changed, and it is told as a change")
	}
}
