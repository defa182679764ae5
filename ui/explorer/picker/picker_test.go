package picker

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

func bare(s string) string { return ansi.Strip(s) }

// asked is what the tabs of a picker hold, read from their state.
func asked(p *Picker) (sources []string, chosen span) {
	for _, v := range p.tabs[0].(*values).all {
		if v.chosen {
			sources = append(sources, v.value)
		}
	}
	slices.Sort(sources)
	return sources, p.tabs[1].(*times).chosen()
}

// merged puts changes into a query as the explorer does.
func merged(q client.Query, changes Changes) string {
	parts := []string{q.Text}
	for _, chip := range q.Chips {
		if !slices.Contains(changes.Fields, chip.Field) {
			parts = append(parts, chip.Raw)
		}
	}
	return strings.Join(append(parts, changes.Raw...), " ")
}

func TestAnyChoiceComesBackFromTheQuery(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
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
		sources, chosen := asked(&p)
		query := merged(in.Query, p.Result())
		got := client.ParseQuery(query, in.Now)
		read := slices.Compact(slices.Sorted(slices.Values(got.Sources)))
		if !slices.Equal(read, sources) {
			t.Fatalf("seed %d: %q asks for the sources %q, chosen were %q", seed, query, read, sources)
		}
		since, until := chosen.bounds(in.Now)
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
		sources2, chosen2 := asked(&q)
		if !slices.Equal(sources, sources2) || !chosen.equal(chosen2) {
			t.Fatalf("seed %d: %q opens as %q %v, chosen were %q %v", seed, query, sources2, chosen2, sources, chosen)
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
	for seed := range uint64(15) {
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

func TestPickerBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	r := random(1)
	var p Picker
	for range 200 {
		press(&p, r)
		if len(p.tabs) > 0 {
			t.Fatal("a key opened it")
		}
	}
	if lines := panel.Draw(&p, 10, 3, themes()[0], "").Lines; len(lines) != 3 || !p.Result().Empty() {
		t.Errorf("%q %v", lines, p.Result())
	}
}

func TestTabs(t *testing.T) {
	t.Parallel()
	p := opened("")
	for _, step := range []struct{ by, tab int }{{1, 1}, {1, 0}, {-1, 1}, {-1, 0}} {
		if p.Turn(step.by); p.Tab() != step.tab {
			t.Errorf("on tab %d, not %d", p.Tab(), step.tab)
		}
	}
}

// The word for esc is what esc does.
func TestEscapeNamesWhatBackDoes(t *testing.T) {
	t.Parallel()
	p := opened("")
	insert(p, "sla")
	for _, want := range []struct {
		word string
		back bool
	}{{"clear", true}, {"close", false}} {
		if word := p.Escape(); word != want.word || p.Back() != want.back {
			t.Errorf("esc is %q, want %q", word, want.word)
		}
	}
	p.Turn(1)
	p.Sideways(-1, true)
	if word := p.Escape(); word != panel.Cancel || !p.Back() || p.Escape() != panel.Close {
		t.Errorf("esc is %q while a range is drawn", word)
	}
}

func TestTheTitleTellsTheChoice(t *testing.T) {
	t.Parallel()
	p := opened("source:slack,github within:30d")
	top, _, _ := strings.Cut(screen(p, 70, 12), "\n")
	for _, want := range []string{"[Sources 2]", " Time ● ", "2 of 4 sources · last 30 days"} {
		if !strings.Contains(top, want) {
			t.Errorf("no %q in %q", want, top)
		}
	}
	p.Turn(1)
	if top, _, _ = strings.Cut(screen(p, 20, 4), "\n"); !strings.Contains(top, "[Time ●]") {
		t.Errorf("a narrow title is without the tab that is shown: %q", top)
	}
	if p.summary() != "2 of 4 sources · last 30 days" || opened("").summary() != "all sources · any time" {
		t.Errorf("%q, %q", p.summary(), opened("").summary())
	}
}

func BenchmarkView(b *testing.B) {
	r := random(3)
	in := randomInput(r)
	in.Exact = true
	th := themes()[0]
	for tab, name := range []string{"sources", "time"} {
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
