package picker

import (
	"slices"
	"strings"
	"testing"

	"quarry/client"
	"quarry/ui/explorer/line"
)

func onTime(query string) *Picker {
	p := opened(query)
	p.Turn(1)
	return p
}

func raw(p *Picker) string { return strings.Join(p.Result().Raw, " ") }

func TestARangeIsDrawnOnTheHistogram(t *testing.T) {
	t.Parallel()
	p := onTime("")
	screen(p, 60, 24)
	p.Sideways(-1, false)
	p.Toggle()
	if raw(p) != "since:2026-09-01 until:2026-09-30" {
		t.Errorf("begun: %q", raw(p))
	}
	for range 4 {
		p.Sideways(-1, false)
	}
	if raw(p) != "since:2026-05-01 until:2026-09-30" || !strings.Contains(screen(p, 60, 24), "range not finished") {
		t.Errorf("drawn: %q\n%s", raw(p), screen(p, 60, 24))
	}
	p.Toggle()
	p.Sideways(-1, false)
	got := screen(p, 60, 24)
	if raw(p) != "since:2026-05-01 until:2026-09-30" || !strings.Contains(got, "May – Sep 2026 · 21 of 34 documents") {
		t.Errorf("ended: %q\n%s", raw(p), got)
	}
	if !strings.Contains(got, "[━") || !strings.Contains(got, "━]") {
		t.Errorf("the range is not bracketed:\n%s", got)
	}
	if changes := p.Result(); !slices.Equal(changes.Fields, []string{"since", "until", "within"}) {
		t.Errorf("%v", changes)
	}
}

func TestShiftDrawsTheRangeAtOnce(t *testing.T) {
	t.Parallel()
	p := onTime("within:30d")
	p.Sideways(-1, true)
	p.Sideways(-1, true)
	p.Sideways(1, true)
	if raw(p) != "since:2026-09-01 until:2026-10-31" {
		t.Errorf("%q", raw(p))
	}
	if !p.Back() || !p.Result().Empty() || p.Back() {
		t.Errorf("a step back gives up the range: %q", raw(p))
	}
	p.Sideways(-1, true)
	p.Toggle()
	kept := raw(p)
	p.Sideways(1, true)
	if p.Back(); raw(p) != kept {
		t.Errorf("the range before is %q, not %q", raw(p), kept)
	}
}

func TestOneMonthChosenTwiceIsDropped(t *testing.T) {
	t.Parallel()
	p := onTime("")
	p.Toggle()
	p.Toggle()
	if raw(p) != "since:2026-10-01 until:2026-10-31" {
		t.Fatalf("%q", raw(p))
	}
	p.Toggle()
	if !p.Result().Empty() {
		t.Errorf("%q", raw(p))
	}
}

func TestGapsAreDrawnAndTheAxisNamesYears(t *testing.T) {
	t.Parallel()
	var p Picker
	p.Open(Input{Facets: facetsOf(nil, "2024-11=8", "2025-02=4", "2025-12=8"), Exact: true, Now: clock()})
	p.Turn(1)
	got := screen(&p, 34, 24)
	if !strings.Contains(got, " 2025") || !strings.Contains(got, "December 2025: 8 documents") {
		t.Errorf("\n%s", got)
	}
	bottom := ""
	for _, line := range strings.Split(got, "\n") {
		if strings.Contains(line, "█") {
			bottom = strings.Trim(line, "│┃ ")
		}
	}
	if bottom != "█     █                   █" {
		t.Errorf("bars and gaps %q", bottom)
	}
	if p.Sideways(-1, false); !strings.Contains(screen(&p, 34, 24), "November 2025: 0 documents") {
		t.Errorf("no cursor in a gap:\n%s", screen(&p, 34, 24))
	}
}

func TestLongTimesAreDrawnInLongerUnits(t *testing.T) {
	t.Parallel()
	var p Picker
	p.Open(Input{Facets: facetsOf(nil, "1998-02=8", "2026-11=4"), Exact: true, Now: clock()})
	p.Turn(1)
	for width, want := range map[int]string{400: "by month", 130: "by quarter", 60: "by year", 20: "5 years"} {
		if got := screen(&p, width, 24); !strings.Contains(strings.ReplaceAll(got, "…", ""), want) && width > 20 {
			t.Errorf("at %d columns no %q:\n%s", width, want, got)
		}
	}
	screen(&p, 60, 24)
	p.Toggle()
	if raw(&p) != "since:2026-01-01 until:2026-12-31" {
		t.Errorf("a bar of a year means %q", raw(&p))
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	p := onTime("")
	for range 3 {
		p.Move(1)
	}
	if !strings.Contains(screen(p, 60, 24), "enter selects last 30 days") {
		t.Errorf("\n%s", screen(p, 60, 24))
	}
	if p.Confirm(); raw(p) != "within:30d" {
		t.Errorf("%q", raw(p))
	}
	p.Move(1)
	p.Toggle()
	if raw(p) != "within:90d" || !strings.Contains(screen(p, 60, 24), "▌(●) last 90 days") {
		t.Errorf("%q\n%s", raw(p), screen(p, 60, 24))
	}
	got := screen(onTime("within:7d"), 60, 24)
	if !strings.Contains(got, "(●) last 7 days") || !strings.Contains(got, "(●)") || strings.Count(got, "(●)") != 1 {
		t.Errorf("\n%s", got)
	}
}

func TestCountsOfPresetsTellWhatMonthsCan(t *testing.T) {
	t.Parallel()
	var p Picker
	p.Open(Input{Facets: facetsOf(nil, "2026-08=7", "2026-09=2", "2026-11=4"), Exact: true, Now: clock()})
	p.Turn(1)
	for _, want := range []string{"any time      13", "last 7 days   0 to 4", "last 90 days  6 to 13", "past year     13"} {
		if got := screen(&p, 60, 24); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTypedDates(t *testing.T) {
	t.Parallel()
	p := onTime("")
	insert(p, "2026-0")
	if p.Problem() == "" || !p.Result().Empty() {
		t.Errorf("half typed: %q %v", p.Problem(), p.Result())
	}
	insert(p, "5..2026-06")
	if p.Problem() != "" || raw(p) != "since:2026-05-01 until:2026-06-30" {
		t.Errorf("%q %q", p.Problem(), raw(p))
	}
	if got := screen(p, 60, 24); !strings.Contains(got, "May – Jun 2026 · 21 of 34 documents") {
		t.Errorf("\n%s", got)
	}
	insert(p, "-99")
	if got := screen(p, 60, 24); p.Problem() == "" || !strings.Contains(got, "✕ June 2026 has 30 days") {
		t.Errorf("\n%s", got)
	}
	if p.Edit((*line.Editor).KillToStart); !p.Result().Empty() || p.Problem() != "" {
		t.Errorf("without the text: %v", p.Result())
	}
	insert(p, "since:2026")
	p.Toggle()
	insert(p, "until:2026-05")
	if raw(p) != "since:2026-01-01 until:2026-05-31" {
		t.Errorf("a space is a space here: %q, %q", typed(p), raw(p))
	}
	p.Move(1)
	p.Toggle()
	if typed(p) != "" || raw(p) != "since:2026-10-01 until:2026-10-31" {
		t.Errorf("what is drawn takes the place of what was typed: %q, %q", typed(p), raw(p))
	}
}

func TestTimeWorksWithoutMonths(t *testing.T) {
	t.Parallel()
	var p Picker
	p.Open(Input{Query: client.ParseQuery("within:30d", clock()), Now: clock()})
	p.Turn(1)
	if got := screen(&p, 60, 20); !strings.Contains(got, "▌(●) last 30 days") || strings.Contains(got, "most") {
		t.Errorf("\n%s", got)
	}
	p.Sideways(-1, false)
	p.Sideways(1, true)
	if !p.Result().Empty() {
		t.Error("there are no bars to move over")
	}
	p.Move(1)
	p.Toggle()
	p.Update(Input{Facets: facetsOf(nil, "2026-08=7"), Exact: true, Now: clock()})
	if got := screen(&p, 60, 20); raw(&p) != "within:90d" || !strings.Contains(got, "by month") {
		t.Errorf("%q\n%s", raw(&p), got)
	}
}

func TestTimeCannotBeExcluded(t *testing.T) {
	t.Parallel()
	p := onTime("within:30d")
	if p.Exclude(); !strings.Contains(screen(p, 60, 20), "cannot exclude a time range") || !p.Result().Empty() {
		t.Errorf("\n%s", screen(p, 60, 20))
	}
}

func TestUndatedDocumentsAreTold(t *testing.T) {
	t.Parallel()
	facets := facetsOf(nil, "2026-08=7")
	facets.Undated = 1200
	var p Picker
	p.Open(Input{Facets: facets, Exact: true, Now: clock()})
	p.Turn(1)
	if got := screen(&p, 80, 20); !strings.Contains(got, "1,200 undated") || !strings.Contains(got, "any time · 1,207 documents") {
		t.Errorf("\n%s", got)
	}
}

func TestSmallPanelsStayUsable(t *testing.T) {
	t.Parallel()
	p := onTime("")
	if got := screen(p, 20, 4); !strings.Contains(got, "Oct") || !strings.Contains(got, "█") {
		t.Errorf("bars:\n%s", got)
	}
	p.Move(1)
	p.Move(1)
	if got := screen(p, 20, 4); !strings.Contains(got, "▌( ) last 7 days") {
		t.Errorf("list:\n%s", got)
	}
	insert(p, "30d")
	if got := screen(p, 20, 4); !strings.Contains(got, "› 30d") || !strings.Contains(got, "last 30 days") {
		t.Errorf("field:\n%s", got)
	}
}
