package picker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/panel"
)

func clock() time.Time { return time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC) }

func themes() []theme.Theme {
	return []theme.Theme{
		theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor}),
		theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII}),
	}
}

// facetsOf counts sources, and months from "2026-03=12".
func facetsOf(sources map[string]int, months ...string) wire.Facets {
	var facets wire.Facets
	for source, count := range sources {
		facets.Sources = append(facets.Sources, wire.FacetValue{Value: source, Count: count})
	}
	for _, month := range months {
		name, number, _ := strings.Cut(month, "=")
		var count int
		fmt.Sscan(number, &count)
		facets.Months = append(facets.Months, wire.FacetMonth{Month: name, Count: count})
	}
	return facets
}

// opened is a picker over four sources and half a year.
func opened(query string) *Picker {
	var p Picker
	p.Open(Input{
		Query: client.ParseQuery(query, clock()),
		Facets: facetsOf(map[string]int{"slack": 12, "github": 40, "jira": 12},
			"2026-03=5", "2026-05=20", "2026-06=1", "2026-10=8"),
		Exact: true, Known: listing("confluence", "slack"), Now: clock(),
	})
	return &p
}

// listing knows sources only.
func listing(sources ...string) func(Field) Listing {
	return func(f Field) (known Listing) {
		if f.Name == "source" {
			known.Values = named(sources...)
		}
		return known
	}
}

func named(names ...string) (values []Value) {
	for _, name := range names {
		values = append(values, Value{Name: name})
	}
	return values
}

// onTab opens a picker on the tab of a filter.
func onTab(filter string, in Input) *Picker {
	var p Picker
	for p.Open(in); p.Filter() != filter; {
		p.Turn(1)
	}
	return &p
}

// screen is a drawn panel as text.
func screen(p *Picker, width, height int) string {
	return bare(strings.Join(panel.Draw(p, width, height, themes()[1], "keys").Lines, "\n"))
}

// randomValue makes the name of a source as a server might call it.
func randomValue(r *rand.Rand) string {
	known := wire.Sources()
	odd := []string{"日本語 の ソース", "Ünïcode", "with space", "a,b", `quo"te`, "x:y", "UPPER", "«fr»", "google drive", "-x", "",
		"🚀 rockets 👩‍👩‍👧", "עברית", strings.Repeat("long ", 30), "é", "tab\tbed", "a\\b", "slack:github", "federated_slack"}
	if r.IntN(3) > 0 {
		return known[r.IntN(len(known))].Value
	}
	return odd[r.IntN(len(odd))]
}

func randomInput(r *rand.Rand) Input {
	in := Input{Exact: r.IntN(4) > 0, Now: clock().AddDate(0, 0, -r.IntN(5000))}
	known := map[string]Listing{}
	for _, field := range Fields() {
		var l Listing
		for range r.IntN(30) {
			l.Values = append(l.Values, Value{Name: randomValue(r), About: randomValue(r)})
		}
		if l.Pending = r.IntN(4) == 0; r.IntN(4) == 0 {
			l.Problem = randomValue(r)
		}
		known[field.Name] = l
	}
	in.Known = func(f Field) Listing { return known[f.Name] }
	counts := func() (counts []wire.FacetValue) {
		for range r.IntN(12) {
			counts = append(counts, wire.FacetValue{Value: randomValue(r), Count: r.IntN(5000) - 5})
		}
		return counts
	}
	in.Facets.Sources, in.Facets.DocumentSets, in.Facets.Authors, in.Facets.Types = counts(), counts(), counts(), counts()
	for _, counted := range counts() {
		in.Facets.Tags = append(in.Facets.Tags, wire.FacetTag{Key: randomValue(r), Value: counted.Value, Count: counted.Count})
	}
	for range r.IntN(9) {
		in.Results = append(in.Results, wire.SearchResult{SourceType: randomValue(r), Authors: []string{randomValue(r)},
			Metadata: map[string]wire.Metadata{randomValue(r): {Values: []string{randomValue(r)}}}})
	}
	in.Bare = r.IntN(5) == 0
	start, reach := r.IntN(9999*12), 1+r.IntN([...]int{12, 60, 3000, 120_000}[r.IntN(4)])
	for range r.IntN(60) {
		month := monthStart(min(start+r.IntN(reach), 9999*12+11)).Format("2006-01")
		in.Facets.Months = append(in.Facets.Months, wire.FacetMonth{Month: month, Count: r.IntN(900)})
	}
	in.Facets.Undated = r.IntN(3)
	in.Query = client.ParseQuery(randomQuery(r), in.Now)
	return in
}

func randomQuery(r *rand.Rand) string {
	parts := []string{"deploy", "source:slack,github", `source:"日本語 の ソース"`, "since:2024-03-05", "until:2026-01-31", "within:30d",
		"within:12W", "until:2025-07-01T10:30", "since:2020-01-01T00:00:01.5", "within:7d", "source:jira",
		"-source:slack,web", `-author:"Jo Ortiz"`, "author:sam,jo", "tag:team=ops", "-tag:team=ops,state=draft", "set:handbook", "-set:x",
		"type:pdf", "-type:.MD", "agent:4", `agent:"Eng team"`}
	var query []string
	for range r.IntN(7) {
		query = append(query, parts[r.IntN(len(parts))])
	}
	return strings.Join(query, " ")
}

// insert types a text.
func insert(p *Picker, text string) {
	p.Edit(func(e *line.Editor) { e.Insert(text) })
}

// show shows the tab of a filter.
func show(p *Picker, filter string) {
	for p.Filter() != filter {
		p.Turn(1)
	}
}

// typed is what was typed into the tab that is shown.
func typed(p *Picker) string { return p.tabs[p.active].editor().Text() }

// toEnd goes to the last row.
func toEnd(p *Picker) {
	p.Move(1 << 10)
}

// press does something that a person may do.
func press(p *Picker, r *rand.Rand) {
	texts := []string{"2026", "-0", "1", "..", "30d", "s", "since:", " ", "日", "until:2025-03", "x", "2024-02..", "within:2w", "o", "march"}
	keys := []func(){
		func() { p.Move(-1) }, func() { p.Move(1) }, func() { p.Page(-1) }, func() { p.Page(1) }, func() { p.Sideways(-1, false) },
		func() { p.Sideways(1, false) }, func() { p.Sideways(-1, true) }, func() { p.Sideways(1, true) },
		func() { p.Toggle() }, func() { p.Toggle() }, func() { p.Toggle() }, func() { p.Exclude() }, func() { p.HitTitle(r.IntN(80)) }, func() { p.HitLine(r.IntN(30)) }, func() { p.Turn(1) },
		func() { p.Turn(-1) }, func() { p.Edit((*line.Editor).DeleteBack) }, func() { p.Back() }, func() { p.Confirm() },
		func() { insert(p, texts[r.IntN(len(texts))]) }, func() { p.Edit((*line.Editor).DeleteWordBack) },
		func() {
			if r.IntN(3) == 0 {
				p.Edit((*line.Editor).Clear)
			}
		},
		func() {
			if r.IntN(6) == 0 {
				p.Update(randomInput(r))
			}
		},
	}
	keys[r.IntN(len(keys))]()
}

// random is a source of chance for one case of a property.
func random(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 26))
}
