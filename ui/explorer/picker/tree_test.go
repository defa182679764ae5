package picker

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
)

// counted are the counts of places, in that order.
func counted(places string) (level []wire.FacetValue) {
	for i, place := range strings.Fields(places) {
		level = append(level, wire.FacetValue{Value: place, Count: 90 - i})
	}
	return level
}

// atPlaces is a picker at the tab of places: those of the library, and the inner ones of hb.
func atPlaces(query string) (*Picker, Input) {
	known := func(f Field) Listing {
		if f.Name != "in" {
			return Listing{}
		}
		return Listing{Values: []Value{{Name: "hb"}, {Name: "wiki"}}, Complete: true}
	}
	in := Input{Query: client.ParseQuery(query, clock()), Facets: wire.Facets{Places: counted("hb wiki")}, Exact: true, Now: clock(),
		Known: known, Levels: map[string][]wire.FacetValue{"/": counted("hb wiki"), "/hb": counted("hb/people hb/teams"), "/hb/people": {}}}
	p := new(Picker)
	p.Open(in)
	show(p, "in")
	return p, in
}

// drawnTree is what is drawn of the places, with their boxes.
func drawnTree(p *Picker) []string {
	var lines []string
	for line := range strings.Lines(screen(p, 60, 20)) {
		if row := regexp.MustCompile(`\[[ x-]\].[^▄\d]*[a-z/]`).FindString(line); row != "" {
			lines = append(lines, strings.TrimRight(strings.TrimSuffix(row, "excluded"), " "))
		}
	}
	return lines
}

// Right opens a place, left closes it or the one around it; a place without others in it stays closed.
func TestPlacesOpen(t *testing.T) {
	t.Parallel()
	p, in := atPlaces("-in:wiki")
	steps := []struct {
		do     func()
		levels string
		want   []string
	}{
		{func() {}, "/", []string{"[ ] + hb", "[-] + wiki"}},
		{func() { p.Sideways(1, false) }, "/ /hb", []string{"[ ] - hb", "[ ]   + people", "[ ]   + teams", "[-] + wiki"}},
		{func() { p.Move(1); p.Toggle() }, "/ /hb", []string{"[ ] - hb", "[x]   + people", "[ ]   + teams", "[-] + wiki"}},
		{func() { p.Sideways(1, false) }, "/ /hb /hb/people", []string{"[ ] - hb", "[x]     people", "[ ]   + teams", "[-] + wiki"}},
		{func() { p.Sideways(-1, false); p.Sideways(-1, false) }, "/", []string{"[ ] + hb", "[-] + wiki"}},
		{func() { p.Expand() }, "/ /hb", []string{"[ ] - hb", "[x]     people", "[ ]   + teams", "[-] + wiki"}},
		{func() { insert(p, "tea") }, "/ /hb", []string{"[ ] hb/teams"}},
	}
	for i, step := range steps {
		step.do()
		p.Update(in)
		if got := strings.Join(p.Levels(), " "); got != step.levels {
			t.Errorf("step %d counts %q, want %q", i, got, step.levels)
		}
		if got := drawnTree(p); !slices.Equal(got, step.want) {
			t.Fatalf("step %d: %q, want %q\n%s", i, got, step.want, screen(p, 60, 20))
		}
	}
	if got := p.Result().Raw; !slices.Equal(got, []string{"in:hb/people"}) {
		t.Errorf("%q", got)
	}
}

// Where the matches divide further below, the outermost places have the sums until they are counted by themselves.
func TestOutermostPlacesAreSummedUp(t *testing.T) {
	t.Parallel()
	p, in := atPlaces("")
	in.Levels, in.Facets.Places = nil, counted("hb/people hb/teams")
	p.Update(in)
	if text := screen(p, 60, 20); !strings.Contains(text, "179") || !slices.Equal(drawnTree(p), []string{"[ ] + hb", "[ ] + wiki"}) {
		t.Error(text)
	}
}
