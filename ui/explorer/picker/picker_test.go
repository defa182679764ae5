package picker

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/internal/testkit/longtest"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

func bare(s string) string { return ansi.Strip(s) }

// asked is what the tabs of a picker hold, read from their state: the values by filter, and the span.
func asked(p *Picker) (chosen map[string][]string, when span) {
	chosen = map[string][]string{}
	for _, tab := range p.tabs {
		switch tab := tab.(type) {
		case *times:
			when = tab.chosen()
		case *values:
			for _, v := range tab.all {
				switch v.choice {
				case wanted:
					chosen[tab.of.Name] = append(chosen[tab.of.Name], v.Name)
				case excluded:
					chosen["-"+tab.of.Name] = append(chosen["-"+tab.of.Name], v.Name)
				}
			}
		}
	}
	return sortedValues(chosen), when
}

// read is what a query asks for, as asked writes it. A value that is given and excluded is excluded.
func read(q client.Query) map[string][]string {
	values := map[string][]string{}
	for _, field := range Fields() {
		given, excluded := q.Values(field.Name)
		given = slices.DeleteFunc(slices.Clone(given), func(v string) bool { return slices.Contains(excluded, v) })
		values[field.Name], values["-"+field.Name] = given, excluded
	}
	return sortedValues(values)
}

func sortedValues(values map[string][]string) map[string][]string {
	sorted := map[string][]string{}
	for name, list := range values {
		if len(list) > 0 {
			sorted[name] = slices.Compact(slices.Sorted(slices.Values(list)))
		}
	}
	return sorted
}

// merged puts changes into a query as the explorer does.
func merged(q client.Query, changes Changes) string {
	parts := []string{q.Text}
	for _, chip := range q.Chips {
		name := chip.Field
		if chip.Negated {
			name = "-" + name
		}
		if !slices.Contains(changes.Fields, name) {
			parts = append(parts, chip.Raw)
		}
	}
	return strings.Join(append(parts, changes.Raw...), " ")
}

func TestAnyChoiceComesBackFromTheQuery(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Rounds(80, 2000)) {
		r := random(seed)
		in := randomInput(r)
		var p Picker
		p.Open(in)
		for range r.IntN(40) {
			press(&p, r)
			if r.IntN(5) == 0 {
				panel.Draw(&p, r.IntN(120), r.IntN(40), themes()[1], "")
			}
		}
		chosen, when := asked(&p)
		query := merged(in.Query, p.Result())
		got := client.ParseQuery(query, in.Now)
		if !maps.EqualFunc(read(got), chosen, slices.Equal) {
			t.Fatalf("seed %d: %q asks for %q, chosen were %q", seed, query, read(got), chosen)
		}
		since, until := when.bounds(in.Now)
		if !got.Since.Equal(since) || !got.Until.Equal(until) {
			t.Fatalf("seed %d: %q means %v to %v, chosen was %v to %v", seed, query, got.Since, got.Until, since, until)
		}
		if got.Text != in.Query.Text {
			t.Fatalf("seed %d: the words became %q", seed, got.Text)
		}
		again := in
		again.Query = got
		var q Picker
		q.Open(again)
		chosen2, when2 := asked(&q)
		if !maps.EqualFunc(chosen, chosen2, slices.Equal) || !when.equal(when2) {
			t.Fatalf("seed %d: %q opens as %q %v, chosen were %q %v", seed, query, chosen2, when2, chosen, when)
		}
		if !q.Result().Empty() {
			t.Fatalf("seed %d: opened and left alone, %q changes: %v", seed, query, q.Result())
		}
	}
}

func TestEveryLineIsAsWideAsThePanel(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {2, 3}, {11, 4}, {12, 4}, {20, 4}, {20, 6}, {29, 5}, {30, 8}, {40, 12}, {60, 20},
		{80, 9}, {100, 30}, {120, 40}, {240, 80}}
	for seed := range uint64(longtest.Rounds(3, 30)) {
		r := random(seed)
		var p Picker
		p.Open(randomInput(r))
		for range 12 {
			press(&p, r)
			for _, size := range sizes {
				for _, th := range themes() {
					drawn := panel.Draw(&p, size[0], size[1], th, "space choose · 日本語 \x1b[1menter\x1b[m")
					lines, x, y, cursor := drawn.Lines, drawn.X, drawn.Y, drawn.Cursor
					if len(lines) > size[1] || !panel.Framed(size[0], size[1]) && len(lines) != size[1] {
						t.Fatalf("seed %d at %v: %d lines", seed, size, len(lines))
					}
					for i, line := range lines {
						if w := paint.Width(line); w != size[0] {
							t.Fatalf("seed %d at %v: line %d is %d wide: %q", seed, size, i, w, line)
						}
					}
					if cursor && (x < 0 || y < 0 || x >= size[0] || y >= size[1]) {
						t.Fatalf("seed %d at %v: the cursor is at %d,%d", seed, size, x, y)
					}
				}
			}
		}
	}
}

func TestTabs(t *testing.T) {
	t.Parallel()
	p := opened("")
	names := []string{""} // time is between the sources and the others
	for _, field := range Fields()[1:] {
		names = append(names, field.Name)
	}
	for _, want := range append(names, "source") {
		if p.Turn(1); p.Filter() != want {
			t.Errorf("on the tab of %q, want %q", p.Filter(), want)
		}
	}
	if p.Turn(-1); p.Filter() != names[len(names)-1] {
		t.Errorf("back on the tab of %q", p.Filter())
	}
}

// esc closes the panel, unless a range is begun. Typed text is no reason to stay.
func TestEscapeNamesWhatBackDoes(t *testing.T) {
	t.Parallel()
	p := opened("")
	insert(p, "sla")
	if word := p.Escape(); word != panel.Close || p.Back() || typed(p) != "sla" {
		t.Errorf("esc is %q", word)
	}
	p.Turn(1)
	insert(p, "2026")
	if word := p.Escape(); word != panel.Close || p.Back() {
		t.Errorf("esc is %q", word)
	}
	p.Sideways(-1, true)
	if word := p.Escape(); word != panel.Cancel || !p.Back() || p.Escape() != panel.Close {
		t.Errorf("esc is %q while a range is drawn", word)
	}
}

func TestTheTitleNamesTheTabsAndTheChoice(t *testing.T) {
	t.Parallel()
	p := opened("source:slack,github -tag:team=ops within:30d")
	for _, test := range []struct {
		width int
		want  string
	}{
		{120, "[Sources 2]│ Time ● │ Agent │ Document sets │ Tags -1 │ Authors │ Types │ Languages │ Places  ─ 2 of 4 sources"},
		{88, "[Sources 2]│ Time ● │ Agent │ Sets │ Tags -1 │ Authors │ Types │ Lang │ Places"},
		{74, "[Sources 2]│ Time ● │ Agent │ Sets │ Tags -1 │ Authors │ Types …"},
		{60, "[Sources 2]│ Time ● │ Agent │ Sets │ Tags -1 …"},
		{40, "[Sources 2]│ Time ● │ Agent …"},
		{20, "[Sources 2]…"},
	} {
		top, _, _ := strings.Cut(screen(p, test.width, 12), "\n")
		if got := strings.TrimPrefix(top, "╭ "); !strings.HasPrefix(collapsed(got), collapsed(test.want)) {
			t.Errorf("%d columns: %q, want %q", test.width, got, test.want)
		}
	}
	for range 4 { // to the tags, and on to the last tab
		p.Turn(1)
	}
	for _, want := range []string{"[Tags -1]", "[Authors]", "[Types]"} {
		for _, width := range []int{20, 40, 60} {
			if top, _, _ := strings.Cut(screen(p, width, 12), "\n"); !strings.Contains(top, want) {
				t.Errorf("%d columns are without the shown tab %s: %q", width, want, top)
			}
		}
		p.Turn(1)
	}
	p.Turn(-1)
	if top, _, _ := strings.Cut(screen(p, 40, 12), "\n"); !strings.HasPrefix(top, "╭ …") {
		t.Errorf("nothing stands for the tabs at the left: %q", top)
	}
}

// collapsed is a line with one dash for many.
func collapsed(line string) string { return regexp.MustCompile("─+").ReplaceAllString(line, "─") }

func TestClickingATitleShowsItsTab(t *testing.T) {
	t.Parallel()
	for _, width := range []int{120, 60, 40} {
		p := opened("")
		top, _, _ := strings.Cut(screen(p, width, 12), "\n")
		x := paint.Width(top[:strings.Index(top, "Agent")]) - 2
		if p.HitTitle(x); p.Filter() != "agent" {
			t.Errorf("%d columns: on the tab of %q", width, p.Filter())
		}
		p.HitTitle(-1)
		if p.HitTitle(width); p.Filter() != "agent" {
			t.Error("a click beside the titles shows another tab")
		}
	}
}

func TestClickingARowTogglesIt(t *testing.T) {
	t.Parallel()
	p := opened("")
	for i, line := range strings.Split(screen(p, 60, 12), "\n") {
		chosen, isRow := raw(p), strings.Contains(line, "[ ]")
		if p.HitLine(i - 1); (raw(p) != chosen) != isRow {
			t.Errorf("a row: %v, %q", isRow, line)
		}
	}
	for _, row := range rows(p, 60, 12) {
		if !strings.HasPrefix(row, "[x]") {
			t.Errorf("%q is not selected by a click", row)
		}
	}
}

func BenchmarkView(b *testing.B) {
	r := random(3)
	in := randomInput(r)
	in.Exact = true
	th := themes()[0]
	for tab, name := range []string{"sources", "time", "agents", "sets", "tags"} {
		b.Run(name, func(b *testing.B) {
			var p Picker
			p.Open(in)
			p.Turn(tab)
			for b.Loop() {
				panel.Draw(&p, 120, 40, th, "space choose")
			}
		})
	}
}
