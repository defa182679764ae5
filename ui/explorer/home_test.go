package explorer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/ui/explorer/paint"
	"quarry/ui/state"
)

// An empty query shows what can be opened: recent and saved searches by digit or with the arrows.
func TestTheHomeOpensSearches(t *testing.T) {
	t.Parallel()
	target := titled(new(atomic.Int32)).remote(t)
	target.State = state.InMemory(0)
	for _, query := range []string{"older", "newer"} {
		if _, err := target.State.Change(func(s *state.State) error {
			s.Searched(state.Search{Query: query, At: today()})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	screen := start(t, 120, 40, Options{Target: target})
	screen.WaitText("newer")
	if text := screen.Text(); strings.Contains(text, "1  newer") {
		t.Errorf("a digit is shown as a key, which would type it:\n%s", text)
	}
	screen.Press("down")
	screen.WaitText("▌1  newer")
	screen.WaitText("2  older")
	screen.Press("up")
	screen.WaitGone("▌1  newer") // the query again
	screen.Press("down", "down", "enter")
	screen.WaitText("About older")
	screen.Press("/", "ctrl+u", "down", "2")
	screen.WaitText("About newer")
}

// Whoever comes first is shown what to begin with.
func TestTheFirstHome(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents in")
	screen.WaitText("how do we roll back a deploy")
	screen.WaitText("Open a folder, or connect to Onyx")
	screen.Press("down", "enter")
	screen.WaitText("Runbook: rolling back a release")
}

// The documents changed last can be opened in the list of all, newest first.
func TestTheHomeOpensTheNewest(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("Newest")
	screen.Press("down")
	screen.WaitText("▌1  ")
	lines := strings.Split(screen.Text(), "\n")
	heading := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Newest") })
	third := regexp.MustCompile(`(\d)  \S (.{20})`).FindStringSubmatch(lines[heading+3])
	screen.Press(third[1])
	screen.WaitText("newest ")
	screen.WaitText("▌ 3  ")
	screen.WaitText("╭ " + third[2])
}

// A letter that may begin a query does not end the program, and does not get lost silently.
func TestTheHomeIsNotLeftByALetter(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("Newest")
	screen.Press("down", "q")
	screen.WaitText("/ edits the query, ctrl+c quits")
}

// The chosen entry is on the screen however small that is.
func TestTheHomeScrolls(t *testing.T) {
	t.Parallel()
	target := titled(new(atomic.Int32)).remote(t)
	target.State = state.InMemory(0)
	for _, query := range strings.Fields("a b c d e f g h") {
		if _, err := target.State.Change(func(s *state.State) error {
			s.Searched(state.Search{Query: "query " + query, At: today()})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	screen := start(t, 40, 8, Options{Target: target})
	screen.WaitText("query h")
	screen.Press("down", "down", "down", "down", "down", "down", "down", "down", "down")
	screen.WaitText("▌8  query a")
}

// What was added to the library since the last visit is counted and listed.
func TestWhatIsNewSinceTheLastVisit(t *testing.T) {
	t.Parallel()
	target := sampleTarget(t)
	target.Kind, target.State = Library, state.InMemory(0)
	if _, err := target.State.Change(func(s *state.State) error {
		s.Active = today().AddDate(-30, 0, 0) // everything is newer
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	screen := start(t, 120, 40, Options{Target: target})
	screen.WaitText("66 documents added since your last visit")
	screen.Press("down", "enter")
	screen.WaitText("1 of 66")
	screen.Press("esc")
	screen.WaitText("66 documents added since your last visit")
}

// The sample library is made anew at each start, which is nothing new.
func TestNothingIsNewInTheSample(t *testing.T) {
	t.Parallel()
	target := sampleTarget(t)
	target.State = state.InMemory(0)
	if _, err := target.State.Change(func(s *state.State) error {
		s.Active = today().AddDate(-30, 0, 0)
		return s.Save(state.Saved{Name: "laptops", Query: "laptop budget", Opened: today()})
	}); err != nil {
		t.Fatal(err)
	}
	screen := start(t, 120, 40, Options{Target: target})
	screen.Wait("the count of the saved search", func(text string) bool {
		return strings.Contains(text, "laptops") && strings.Contains(text, " new ")
	})
	if text := screen.Text(); strings.Contains(text, "since your last visit") {
		t.Errorf("the sample is called new:\n%s", text)
	}
}

// The sources and the months in which documents changed are counted, and open what they count.
func TestTheHomeOpensPlaces(t *testing.T) {
	t.Parallel()
	for _, place := range []struct{ name, query string }{{"Zendesk", "source: zendesk"}, {"August 2026", "since 2026-08"}} {
		screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
		screen.WaitText(place.name)
		row := regexp.MustCompile(place.name + ` +▄+ +(\d+)`).FindStringSubmatch(screen.Text())
		if row == nil {
			t.Fatalf("%s has no bar:\n%s", place.name, screen.Text())
		}
		for steps := 0; !strings.Contains(screen.Text(), "▌"+place.name) && !strings.Contains(screen.Text(), "▌◁ "+place.name); steps++ {
			if steps > 60 {
				t.Fatalf("%s is not reached:\n%s", place.name, screen.Text())
			}
			before := screen.Text()
			screen.Press("down")
			screen.Wait("a step", func(text string) bool { return text != before })
		}
		screen.Press("enter")
		screen.WaitText(place.query)
		screen.WaitText(row[1] + " documents, newest first")
	}
}

// Titles that are questions are offered as searches, and find their document first.
func TestTheHomeOffersQuestions(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("Answered here")
	screen.Press("down")
	var row []string
	screen.Wait("the question", func(text string) bool {
		row = regexp.MustCompile(`(\d)  (\S.*promoted on a Saturday\?)`).FindStringSubmatch(text)
		return row != nil
	})
	screen.Press(row[1])
	screen.WaitText("1 of ")
	screen.WaitText("╭ " + row[2][:20])
}

func TestIsQuestion(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"Who is on call?": true, "誰が担当ですか？": true, "من المسؤول؟": true, "¿Quién está de guardia": true, " Why? ": true,
		"": false, "How we work": false, "FAQ": false, "? marks": false,
	} {
		if got := isQuestion(title); got != want {
			t.Errorf("%q: %v", title, got)
		}
	}
}

// Bars begin in one column, whatever their numbers.
func TestBarsAreAligned(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents in")
	columns := map[int]bool{}
	for line := range strings.Lines(screen.Text()) {
		if before, _, found := strings.Cut(line, "▄"); found {
			columns[paint.Width(before)] = true
		}
	}
	if len(columns) != 1 {
		t.Errorf("bars begin in the columns %v:\n%s", columns, screen.Text())
	}
}

// What was added or changed since the last visit is listed, and so is what was collected; each opens.
func TestTheHomeListsChangesAndTheCollection(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		folders := handbooks(t)
		target := libraryTarget(t, folders...)
		target.State = state.InMemory(0)
		if _, err := target.State.Change(func(s *state.State) error {
			s.Active = today().AddDate(-30, 0, 0)
			mark := wire.SearchResult{Ref: "file:/pay.md#0", DocumentID: "file:/pay.md", Title: "Who is paid", Content: "All of us."}
			return s.Collect(state.PassageOf(mark, "pay", today()))
		}); err != nil {
			t.Fatal(err)
		}
		screen := start(t, size[0], size[1], Options{Target: target})
		screen.WaitText("4 documents added since your last visit")
		screen.Wait("a new document", regexp.MustCompile(` Leave +.*new`).MatchString)
		screen.WaitText("Who is paid")
		for steps := 0; !regexp.MustCompile(`▌\d  Who is paid`).MatchString(screen.Text()); steps++ {
			if steps > 20 {
				t.Fatalf("the passage is not reached:\n%s", screen.Text())
			}
			before := screen.Text()
			screen.Press("down")
			screen.Wait("a step", func(text string) bool { return text != before })
		}
		screen.Press("enter")
		screen.WaitText("All of us.")
	}
}

// Where all documents are of one month there is no bar of it, and where they have one date none of them is the newest.
func TestTheHomeOfOneDay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		months        string
		dates         [2]string
		want, without string
	}{
		{"2026-10", [2]string{"2026-10-01", "2026-10-01"}, "Documents", "Changed Newest"},
		{"2026-10", [2]string{"2026-10-02", "2026-10-01"}, "Newest", "Changed Documents"},
		{"2026-09 2026-10", [2]string{"2026-10-01", "2026-10-01"}, "Changed Newest", "Documents"},
	} {
		m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Width: 120, Height: 36})
		m.past.loaded = true
		m.conn.welcome = welcome{exact: true, sources: []wire.FacetValue{{Value: "file", Count: 2}}}
		for _, month := range strings.Fields(test.months) {
			m.conn.welcome.facets.Months = append(m.conn.welcome.facets.Months, wire.FacetMonth{Month: month, Count: 2})
		}
		for _, date := range test.dates {
			m.conn.welcome.newest = append(m.conn.welcome.newest, wire.SearchResult{Ref: date, DocumentID: fmt.Sprint(len(m.conn.welcome.newest)), UpdatedAt: &date})
		}
		has := func(group string) bool {
			return slices.ContainsFunc(m.homeEntries(), func(e homeEntry) bool { return e.group == group })
		}
		for _, group := range strings.Fields(test.want) {
			if !has(group) {
				t.Errorf("%s, %v: %s is missing", test.months, test.dates, group)
			}
		}
		for _, group := range strings.Fields(test.without) {
			if has(group) {
				t.Errorf("%s, %v: %s is there", test.months, test.dates, group)
			}
		}
	}
}

// TestNewestDocumentsOfOneTitle: each is told apart by its place, by source as by place.
func TestNewestDocumentsOfOneTitle(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"file", "slack"} {
		m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Width: 120, Height: 36})
		m.past.loaded = true
		m.conn.welcome = welcome{exact: true, documents: 2, facets: wire.Facets{Sources: []wire.FacetValue{{Value: "file", Count: 1}, {Value: other, Count: 1}},
			Places: []wire.FacetValue{{Value: "docs", Count: 1}, {Value: "wiki", Count: 1}}}}
		for _, place := range []string{"docs", "wiki"} {
			m.conn.welcome.newest = append(m.conn.welcome.newest, wire.SearchResult{Ref: place + "#0", DocumentID: place, Title: "Leave", SourceType: "file", Place: place})
		}
		m.divide()
		var notes []string
		for _, entry := range m.newestEntries(0) {
			notes = append(notes, entry.note)
		}
		if got := strings.Join(notes, " "); got != "docs wiki" {
			t.Errorf("beside %s: %q", other, got)
		}
	}
}

// Every entry of the home does something, at every size.
func TestEveryEntryOfTheHomeActs(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{160, 45}, {120, 36}, {80, 24}, {60, 20}, {40, 12}} {
		m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Width: size[0], Height: size[1]})
		m.past.loaded = true
		m.conn.welcome = welcome{exact: true, browses: true, documents: 60, sources: []wire.FacetValue{{Value: "file", Count: 60}},
			facets: wire.Facets{Sources: []wire.FacetValue{{Value: "file", Count: 60}},
				Months: []wire.FacetMonth{{Month: "2026-10", Count: 60}},
				Types:  []wire.FacetValue{{Value: "md", Count: 50}, {Value: "pdf", Count: 10}}}}
		for n := range 30 {
			place := wire.FacetValue{Value: fmt.Sprintf("hb/team-%d", n), Count: 2}
			m.conn.welcome.facets.Places = append(m.conn.welcome.facets.Places, place)
		}
		for n := range 40 {
			m.conn.welcome.newest = append(m.conn.welcome.newest, wire.SearchResult{Ref: fmt.Sprintf("d%d#0", n), Title: "Plan"})
		}
		m.divide()
		m.Update(nil)
		requireGeometry(t, m, "home")
		entries := m.homeEntries()
		for i, entry := range entries {
			if entry.open == nil {
				t.Errorf("%v: entry %d, %q, does nothing", size, i, entry.text)
			}
		}
		full := 0
		lines := strings.Split(ansi.Strip(m.View().Content), "\n")
		for _, line := range lines {
			full += min(1, len(strings.Trim(line, " │╭╮╰╯─")))
		}
		if 4*full < 3*len(lines) {
			t.Errorf("%v: %d of %d lines have something:\n%s", size, full, len(lines), strings.Join(lines, "\n"))
		}
		if body := m.rects.inside(m.homeRect(), 1); slices.ContainsFunc(entries, func(e homeEntry) bool {
			return strings.Trim(lines[body.Y+body.H-1], " │") == e.group
		}) {
			t.Errorf("%v: nothing is below the last heading:\n%s", size, strings.Join(lines, "\n"))
		}
		hasMore := slices.ContainsFunc(entries, func(e homeEntry) bool { return strings.HasSuffix(e.text, " more") })
		if size[1] < 40 && !hasMore {
			t.Errorf("%v: the places that there is no room for are not reached", size)
		}
	}
}
