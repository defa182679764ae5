package picker

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/ui/explorer/line"
)

// rows are the names in the order in which they are drawn, with their boxes.
func rows(p *Picker, width, height int) []string {
	row := regexp.MustCompile(`\[[ x-]\] . [^ ]+`)
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
	toEnd(p)
	p.Toggle()
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

func TestExclude(t *testing.T) {
	t.Parallel()
	p := opened("")
	if !strings.Contains(screen(p, 70, 20), "all sources · space only this · ! without this") {
		t.Errorf("it is not said what ! does:\n%s", screen(p, 70, 20))
	}
	p.Exclude()
	if got := p.Result(); !slices.Equal(got.Fields, []string{"-source"}) || !slices.Equal(got.Raw, []string{"-source:github"}) {
		t.Errorf("%v", got)
	}
	if got := rows(p, 60, 20); got[0] != "[-] GitHub" || !strings.Contains(screen(p, 60, 20), "excluded  │") {
		t.Errorf("%q\n%s", got, screen(p, 60, 20))
	}
	p.Exclude() // no longer
	if got := p.Result(); !got.Empty() {
		t.Errorf("%v", got)
	}
	p.Toggle()
	p.Move(1)
	p.Toggle()
	if !strings.Contains(screen(p, 60, 20), "! without the 2 selected") {
		t.Errorf("it is not said what ! does:\n%s", screen(p, 60, 20))
	}
	p.Exclude()
	if got := p.Result().Raw; !slices.Equal(got, []string{"-source:github,jira"}) {
		t.Errorf("the selected ones: %q", got)
	}
	p.Toggle() // an excluded value is wanted again
	if got := p.Result().Raw; !slices.Equal(got, []string{"source:jira", "-source:github"}) {
		t.Errorf("%q", got)
	}
	p.Move(1)
	p.Exclude() // which is not selected
	if got := p.Result().Raw; !slices.Equal(got, []string{"source:jira", "-source:github,slack"}) {
		t.Errorf("%q", got)
	}
}

func TestAnExclusionOfTheQueryIsShownAndTakenBack(t *testing.T) {
	t.Parallel()
	p := opened("deploy -source:jira source:slack")
	if got := rows(p, 60, 20); !slices.Contains(got, "[-] Jira") || !slices.Contains(got, "[x] Slack") {
		t.Fatalf("%q", got)
	}
	p.Move(1) // jira
	p.Exclude()
	if got := p.Result(); !slices.Equal(got.Fields, []string{"-source"}) || len(got.Raw) != 0 {
		t.Errorf("%v", got)
	}
}

func TestAgentsAreChosenOneByOne(t *testing.T) {
	t.Parallel()
	in := Input{Query: client.ParseQuery("deploy", clock()), Exact: true, Now: clock(), Known: func(f Field) (known Listing) {
		if f.Name == "agent" {
			known.Values = []Value{{Name: "Search", About: "Searches everything"}, {Name: "Eng team", About: "Runbooks and\ncode"}}
		}
		return known
	}}
	p := onTab("agent", in)
	for _, want := range []string{"[ ] Search", "Searches everything", "Runbooks and code", "no agent"} {
		if got := screen(p, 70, 20); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := screen(p, 70, 20); strings.Contains(got, "counted") || strings.Contains(got, "▄") {
		t.Errorf("agents have no counts:\n%s", got)
	}
	p.Toggle()
	p.Move(1)
	p.Toggle()
	p.Exclude()
	if got := p.Result(); !slices.Equal(got.Raw, []string{`agent:"Eng team"`}) {
		t.Errorf("%v", got)
	}
	if got := screen(p, 70, 20); !strings.Contains(got, "cannot exclude an agent") {
		t.Errorf("no reason in\n%s", got)
	}
	p.Toggle()
	if !p.Result().Empty() {
		t.Errorf("%v", p.Result())
	}
}

func TestEveryFieldIsCountedAndWrittenAsItsFilter(t *testing.T) {
	t.Parallel()
	one := func(value string) []wire.FacetValue { return []wire.FacetValue{{Value: value, Count: 7}} }
	facets := wire.Facets{Sources: one("slack"), DocumentSets: one("Legal texts"), Authors: one("Jo Ortiz"), Types: one("pdf"),
		Tags: []wire.FacetTag{{Key: "team", Value: "site reliability", Count: 7}}}
	results := []wire.SearchResult{{SourceType: "slack", Authors: []string{"Jo Ortiz"}, DocumentType: "pdf",
		Metadata: map[string]wire.Metadata{"team": {Values: []string{"site reliability"}}}}, {SourceType: "web"}}
	for filter, want := range map[string]struct{ raw, inHand string }{
		"source": {"source:slack", "1 of 2 shown"}, "set": {`set:"Legal texts"`, ""}, "author": {`author:"Jo Ortiz"`, "1 of 2 shown"},
		"type": {"type:pdf", "1 of 2 shown"}, "tag": {`tag:"team=site reliability"`, "1 of 2 shown"},
	} {
		p := onTab(filter, Input{Exact: true, Facets: facets, Now: clock()})
		if got := screen(p, 70, 20); !strings.Contains(got, "▄ 7 ") {
			t.Errorf("%s is not counted:\n%s", filter, got)
		}
		p.Toggle()
		if got := p.Result(); !slices.Equal(got.Raw, []string{want.raw}) || !slices.Equal(got.Fields, []string{filter}) {
			t.Errorf("%s: %v", filter, got)
		}
		p.Exclude()
		if got := p.Result(); !slices.Equal(got.Raw, []string{"-" + want.raw}) || !slices.Equal(got.Fields, []string{"-" + filter}) {
			t.Errorf("-%s: %v", filter, got)
		}
		p = onTab(filter, Input{Results: results, Now: clock()})
		if got := screen(p, 70, 20); !strings.Contains(got, want.inHand) {
			t.Errorf("%s of the results:\n%s", filter, got)
		}
	}
}

func TestATabSaysWhyItIsEmpty(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		filter string
		known  Listing
		in     Input
		want   string
	}{
		{"agent", Listing{Pending: true}, Input{}, "listing agents…"},
		{"set", Listing{Problem: "no\trights"}, Input{Bare: true}, "could not list document sets: no rights"},
		{"set", Listing{Values: named("x"), Problem: "timeout"}, Input{}, "could not list document sets: timeout"},
		{"tag", Listing{}, Input{}, "no tags known"},
		{"tag", Listing{Values: named("a=b")}, Input{Bare: true}, "this server does not count tags"},
		{"author", Listing{}, Input{Bare: true}, "this server ignores filters by author"},
		{"type", Listing{}, Input{Bare: true}, "this server ignores filters by document type"},
		{"author", Listing{}, Input{Exact: true}, "│ no authors  "},
		{"set", Listing{Complete: true}, Input{}, "│ no document sets  "},
	} {
		test.in.Known, test.in.Now = func(Field) Listing { return test.known }, clock()
		if got := screen(onTab(test.filter, test.in), 70, 20); !strings.Contains(got, test.want) {
			t.Errorf("no %q in\n%s", test.want, got)
		}
	}
}

// Only what was counted has a number: what the server left out, and what only the query names, has none.
func TestWhatWasNotCountedHasNoNumber(t *testing.T) {
	t.Parallel()
	p := onTab("author", Input{Query: client.ParseQuery("author:ortiz", clock()), Exact: true, Now: clock(),
		Facets: wire.Facets{Authors: []wire.FacetValue{{Value: "Jo Ortiz", Count: 7}}}})
	if got := screen(p, 70, 20); !strings.Contains(got, "[x] ortiz") || strings.Count(got, "not counted") != 1 {
		t.Errorf("a part of a name is not known to have none:\n%s", got)
	}
	var tags []wire.FacetTag
	for i := range wire.MaxFacetValues {
		tags = append(tags, wire.FacetTag{Key: "n", Value: strconv.Itoa(i), Count: 9})
	}
	p = onTab("tag", Input{Exact: true, Facets: wire.Facets{Tags: tags}, Now: clock(), Known: func(Field) Listing {
		return Listing{Values: named("team=ops")}
	}})
	insert(p, "team")
	if got := screen(p, 70, 20); !strings.Contains(got, "not counted") {
		t.Errorf("a rare value is not known to have none:\n%s", got)
	}
	p.Edit((*line.Editor).Clear)
	if got := screen(p, 70, 20); !strings.Contains(got, "the 1,000 most frequent tags") {
		t.Errorf("not all tags are here:\n%s", got)
	}
}

// Another spelling is the value that a filter reads, of the fields where several spellings mean one.
func TestCanonical(t *testing.T) {
	t.Parallel()
	type spelling struct {
		written string
		known   bool
	}
	spellings := [field.N]spelling{field.Source: {"Google-Drive", true}, field.Set: {"a  b", false}, field.Tag: {"team =x", false},
		field.Author: {"Kim  Lee", true}, field.Type: {".PDF", false}, field.Lang: {"De", true}, field.Place: {"/a/", false}}
	for id, test := range spellings {
		of := Field{Field: field.Of(field.ID(id))}
		if got, ok := of.Canonical(test.written); ok != test.known || test.written == "" {
			t.Errorf("%s: %q is %q, %v", of.Name, test.written, got, ok)
		}
	}
}

// A value that no filter can mean as it is cannot be chosen: the filter would find other documents.
func TestValuesThatNoFilterCanMeanAreLeftOut(t *testing.T) {
	t.Parallel()
	p := onTab("tag", Input{Exact: true, Now: clock(), Facets: wire.Facets{Tags: []wire.FacetTag{{Key: "a=b", Value: "c", Count: 1},
		{Key: "team", Value: "two  spaces", Count: 1}, {Key: "team", Value: "a=b", Count: 1}, {Key: "", Value: "x", Count: 1}}}})
	values := p.tabs[p.active].(*values)
	if len(values.all) != 1 || values.all[0].Name != "team=a=b" {
		t.Errorf("%+v", values.all)
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
	p.Open(Input{Known: listing("google_drive", "gmail"), Now: clock()})
	insert(&p, "google_d")
	if got := rows(&p, 60, 20); len(got) != 1 {
		t.Errorf("by its value: %q", got)
	}
	insert(&p, "x")
	if p.Toggle(); !strings.Contains(screen(&p, 60, 20), "no source matches") {
		t.Errorf("nothing is left:\n%s", screen(&p, 60, 20))
	}
	if p.Edit((*line.Editor).KillToStart); len(rows(&p, 60, 20)) != 2 {
		t.Error("not all rows are back without the text")
	}
}

func TestEnterTakesWhatWasTypedFor(t *testing.T) {
	t.Parallel()
	p := opened("")
	if p.Confirm(); !p.Result().Empty() {
		t.Error("the row that the cursor happens to be on was taken")
	}
	insert(p, "sla")
	if !strings.Contains(screen(p, 60, 20), "enter selects Slack") {
		t.Errorf("not announced:\n%s", screen(p, 60, 20))
	}
	if p.Confirm(); !slices.Equal(p.Result().Raw, []string{"source:slack"}) {
		t.Errorf("%v", p.Result())
	}
	p = opened("source:slack")
	insert(p, "sla")
	if p.Confirm(); len(p.Result().Raw) > 0 || strings.Contains(screen(p, 60, 20), "applying") {
		t.Error("enter took a choice away")
	}
	p.Toggle()
	if p.Confirm(); len(p.Result().Raw) != 0 {
		t.Errorf("enter took back what was just dropped: %v", p.Result())
	}
}

func TestCountsOfResultsInHandSaySo(t *testing.T) {
	t.Parallel()
	in := Input{Query: client.ParseQuery("", clock()), Now: clock(), Known: listing("jira", "web")}
	for i := range 10 {
		in.Results = append(in.Results, wire.SearchResult{SourceType: []string{"jira", "slack"}[min(1, i/3)]})
	}
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
	var sources []string
	for _, source := range wire.Sources() {
		sources = append(sources, source.Value)
	}
	in.Known = listing(sources...)
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
		if last != len(sources)-1 {
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
	if p.Edit((*line.Editor).DeleteBack); typed(p) != "ji rx" {
		t.Errorf("%q", typed(p))
	}
	p.Sideways(1, false)
	if insert(p, "y"); typed(p) != "ji rxy" {
		t.Errorf("%q", typed(p))
	}
	if p.Edit((*line.Editor).DeleteWordBack); typed(p) != "ji " {
		t.Errorf("%q", typed(p))
	}
	for _, key := range []func(*line.Editor){(*line.Editor).Undo, (*line.Editor).Clear, (*line.Editor).DeleteBack} {
		p.Edit(key)
	}
	if insert(p, ""); typed(p) != "" {
		t.Errorf("%q", typed(p))
	}
}
