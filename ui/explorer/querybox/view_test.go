package querybox_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/internal/testkit/longtest"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/querybox"
)

func screenTheme() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

func TestView(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	b.Placeholder = "search"
	drawn, x := b.View(30, screenTheme(), true, "acme")
	if got := ansi.Strip(drawn); got != "› search                 acme " || x != 2 {
		t.Errorf("%q with the cursor in column %d", got, x)
	}
	typed(&b, "how do we roll")
	drawn, x = b.View(40, screenTheme(), false, "acme · host")
	if got := ansi.Strip(drawn); got != "› how do we roll            acme · host " || x != 16 {
		t.Errorf("%q with the cursor in column %d", got, x)
	}
	typed(&b, " back a deploy")
	drawn, x = b.View(40, screenTheme(), false, "acme · host")
	if got := ansi.Strip(drawn); got != "› how do we roll back a deploy          " || x != 30 {
		t.Errorf("%q with the cursor in column %d", got, x)
	}
	for focused, want := range map[bool]string{true: "› … roll back a deploy ", false: "› how do we roll back …"} {
		drawn, _ = b.View(23, screenTheme(), focused, "")
		if got := ansi.Strip(drawn); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChipsView(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack within:90d author:bob ")
	b.SetIgnored([]string{"author"})
	for _, test := range []struct {
		width int
		want  string
	}{
		{75, "  source: slack ✕  last 90 days ✕  author: bob (ignored) ✕   ctrl+f filters"},
		{60, "  source: slack ✕  last 90 days ✕  author: bob (ignored) ✕  "},
		{40, "  source: slack ✕  last 90 days ✕  +1   "},
		{20, "  source: sla… ✕  +2"},
		{16, "  source: s…  +2"},
		{8, "  +3    "},
		{3, "  …"},
	} {
		got := ansi.Strip(b.ChipsView(test.width, screenTheme(), "ctrl+f filters"))
		if got != test.want {
			t.Errorf("%d columns: %q, not %q", test.width, got, test.want)
		}
	}
	long := querybox.Box{Now: now}
	typed(&long, "source:github,gong,google_drive,linear,slack ")
	for width, want := range map[int]string{
		60: "  source: github, gong, google_drive, linear, slack ✕       ",
		50: "  source: github, gong, google_drive, linear, … ✕ ",
		40: "  source: github, gong, google_drive… ✕ ",
		20: "  source: github… ✕ ",
		12: "  source: … ",
	} {
		if got := ansi.Strip(long.ChipsView(width, screenTheme(), "")); got != want {
			t.Errorf("%d columns: %q, not %q", width, got, want)
		}
	}
	b.Left()
	if got := ansi.Strip(b.ChipsView(40, screenTheme(), "")); !strings.Contains(got, "[author: bob") {
		t.Errorf("the selected chip is not seen: %q", got)
	}
}

// A chip is cut only where there is no room for all of it, and a place at its front: its last names tell it from others.
func TestChipsOfPlaces(t *testing.T) {
	t.Parallel()
	const place = "in:sourcegraph-handbook/content/departments/engineering "
	for _, test := range []struct {
		query string
		width int
		want  string
	}{
		{place, 80, "  in: sourcegraph-handbook/content/departments/engineering ✕"},
		{place, 62, "  in: sourcegraph-handbook/content/departments/engineering ✕"},
		{place, 61, "  in: sourcegraph-handbook/content/departments/engineering ✕"},
		{place, 60, "  in: …/content/departments/engineering ✕"},
		{place, 40, "  in: …/departments/engineering ✕"},
		{place, 30, "  in: …/engineering ✕"},
		{place, 18, "  in: …/engine… ✕"},
		{"-in:/handbook/content/dev ", 26, "  not in: …/content/dev ✕"},
		{`in:handbook/people,"handbook/Plans, old/2026" `, 46, "  in: handbook/people, …/Plans, old/2026 ✕"},
		{`in:handbook/people,"handbook/Plans, old/2026" `, 30, "  in: …/people, …/2026 ✕"},
		{place + "source:slack ", 66, "  in: …/content/departments/engineering ✕  source: slack ✕"},
		{place + "source:slack within:90d ", 60, "  in: …/departments/engineering ✕  source: slack ✕  +1"},
	} {
		b := querybox.Box{Now: now}
		typed(&b, test.query)
		if got := strings.TrimRight(ansi.Strip(b.ChipsView(test.width, screenTheme(), "")), " "); got != test.want {
			t.Errorf("%s in %d columns:\n%q, want\n%q", test.query, test.width, got, test.want)
		}
	}
}

// Styles are written around a text, not between its characters: two that make a flag would come apart.
func TestChipsStayWholeInEveryLook(t *testing.T) {
	t.Parallel()
	mono := theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
	b := querybox.Box{Now: now}
	typed(&b, "author:🇳🇱 ")
	if line := b.ChipsView(40, mono, ""); ansi.StringWidthWc(line) != 40 || paint.Width(line) != 40 {
		t.Errorf("%q", line)
	}
}

func TestRoomBesideTheChips(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack within:90d ")
	for width := range 80 {
		if shown := strings.Contains(ansi.Strip(b.ChipsView(width, screenTheme(), "no such")), "no such"); shown != b.HasRoomBeside(width, "no such") {
			t.Errorf("%d columns: shown %v", width, shown)
		}
	}
}

func TestHitChip(t *testing.T) {
	t.Parallel()
	b := querybox.Box{Now: now}
	typed(&b, "source:slack within:90d ")
	line := ansi.Strip(b.ChipsView(60, screenTheme(), ""))
	for i, label := range []string{"source: slack", "last 90 days"} {
		x := paint.Width(line[:strings.Index(line, label)])
		if hit, ok := b.HitChip(x); hit != i || !ok {
			t.Errorf("column %d is chip %d (%v)", x, hit, ok)
		}
	}
	if _, ok := b.HitChip(50); ok {
		t.Error("there is no chip")
	}
	if _, ok := b.HitChip(0); ok {
		t.Error("the mark is no chip")
	}
}

func checkLines(t *testing.T, b *querybox.Box, width int, right string) {
	t.Helper()
	line, x := b.View(width, screenTheme(), true, right)
	chips := b.ChipsView(width, screenTheme(), right)
	for _, drawn := range []string{line, chips} {
		if got := paint.Width(drawn); got != width || strings.Contains(drawn, "\n") || !utf8.ValidString(drawn) {
			t.Fatalf("%s in %d columns takes %d: %q", show(b), width, got, drawn)
		}
	}
	if width > 0 && (x < 0 || x >= width) {
		t.Fatalf("%s in %d columns: the cursor is in column %d", show(b), width, x)
	}
}

func TestLinesAreAsWideAsTheyMustBe(t *testing.T) {
	t.Parallel()
	extra := []string{`author:"漢字 한글 👩‍👩‍👧"`, `set:"اَلْعَرَبِيَّةُ"`, "tag:a=" + strings.Repeat("長", 60), "e\u0301\u0301", "🇩🇪"}
	for seed := range uint64(longtest.Rounds(40, 400)) {
		random := rand.New(rand.NewPCG(seed, 5))
		b := querybox.Box{Now: now}
		b.Paste(anyQuery(random) + " " + extra[random.IntN(len(extra))] + " " + anyQuery(random))
		b.FinishFilters()
		b.SetIgnored([]string{"author"})
		moveTo(&b, random.IntN(len(b.Text())+1))
		if random.IntN(2) == 0 {
			b.Home()
			for range random.IntN(4) {
				b.Left()
			}
		}
		for width := range 70 {
			checkLines(t, &b, width, []string{"", "acme · 漢字", strings.Repeat("x", 80)}[random.IntN(3)])
		}
	}
}

func TestLinesThatDidNotChangeCostNothing(t *testing.T) {
	b := querybox.Box{Now: now}
	typed(&b, "source:slack within:90d how do we")
	th := screenTheme()
	n := testing.AllocsPerRun(100, func() {
		b.View(80, th, true, "acme")
		b.ChipsView(80, th, "filters")
		b.Chips()
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzBox(f *testing.F) {
	f.Add(`roll source:slack agent:"Eng team" "open`, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, uint8(20))
	f.Add("since:\"a type:pdf source:\"x\" y", []byte{200, 201, 3, 3, 3, 9, 10}, uint8(9))
	f.Fuzz(func(t *testing.T, text string, keys []byte, width uint8) {
		b := querybox.Box{Now: now}
		b.SetQuery(text)
		edits := []func(){b.Left, b.Right, b.Home, b.DeleteBack, b.DeleteForward, b.DeleteWordBack, b.DeleteWordBackAlt,
			b.Clear, b.KillToEnd, b.Undo, b.Redo, func() { b.FinishFilters() }, b.Yank, b.WordLeft, b.Transpose,
			func() { b.Complete("source:") }}
		for _, key := range keys[:min(len(keys), 100)] {
			if int(key) < len(edits) {
				edits[key]()
			} else {
				from := min(int(key), len(text))
				b.Insert(text[from:min(len(text), from+4)])
			}
			checkLines(t, &b, int(width)%60, "acme")
			if instant := b.InstantQuery(); !utf8.ValidString(instant) {
				t.Fatalf("%q is not UTF-8", instant)
			}
			before := b.Text()
			if b.FinishFilters(); b.Text() != before {
				if chips := client.ParseQuery(b.Text(), now()).Chips; len(chips) > 0 {
					t.Fatalf("%q leaves %v in %q", before, chips, b.Text())
				}
				b.Undo()
			}
		}
	})
}

func BenchmarkTypeAndView(b *testing.B) {
	box := querybox.Box{Now: now}
	box.SetQuery("how do we roll back a deploy source:slack within:90d agent:Eng")
	th := screenTheme()
	for b.Loop() {
		box.Insert("x")
		box.InstantQuery()
		box.View(120, th, true, "acme · onyx.acme.com")
		box.ChipsView(120, th, "ctrl+f filters")
		box.DeleteBack()
	}
}
