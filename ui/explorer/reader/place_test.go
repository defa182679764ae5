package reader

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

// longText is Markdown of many kinds in which every word of running text occurs once.
func longText(words int) string {
	var text strings.Builder
	for i := 0; i < words; {
		switch i / 20 % 6 {
		case 0:
			fmt.Fprintf(&text, "## Heading w%d\n\n", i)
			i++
		case 1:
			text.WriteString("- item ")
		case 2:
			text.WriteString("> ")
		case 3:
			fmt.Fprintf(&text, "**bold w%d** and [link w%d](https://example.com/a/long/path/that/is/hidden) ", i, i+1)
			i += 2
		case 4:
			text.WriteString("1. ")
		}
		for range 20 {
			fmt.Fprintf(&text, "w%d ", i)
			i++
		}
		text.WriteString("\n\n")
	}
	return text.String()
}

// topWord is the first numbered word of the first body line that has one, and the row where it stands.
func topWord(r *Reader, width, height int) (word string, row int) {
	for i, line := range plainView(r, width, height)[len(r.header(height)):] {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !isLetter(r) }) {
			if len(word) > 1 && word[0] == 'w' && word[1] >= '0' && word[1] <= '9' {
				return word, i
			}
		}
	}
	return "", -1
}

// rowOf is the row of the body where a word stands, -1 when it is not visible.
func rowOf(r *Reader, word string, width, height int) int {
	for i, line := range plainView(r, width, height)[len(r.header(height)):] {
		for _, other := range strings.FieldsFunc(line, func(r rune) bool { return !isLetter(r) }) {
			if other == word {
				return i
			}
		}
	}
	return -1
}

func TestRenderingKeepsThePlace(t *testing.T) {
	t.Parallel()
	const width, height = 60, 24
	for down := 1; down < 90; down += 3 {
		var r Reader
		d := runbook()
		d.Content = longText(600)
		r.Show(d)
		r.View(width, height, darkTheme())
		r.Down(down)
		word, row := topWord(&r, width, height)
		render(&r)
		if got := rowOf(&r, word, width, height); got != row {
			t.Fatalf("down %d: %q stood on row %d, after rendering on %d\n%s", down, word, row, got, strings.Join(plainView(&r, width, height), "\n"))
		}
		r.SetRaw(true)
		if got := rowOf(&r, word, width, height); got != row {
			t.Fatalf("down %d: %q stood on row %d, raw on %d", down, word, row, got)
		}
	}
}

func TestWidthKeepsThePlace(t *testing.T) {
	t.Parallel()
	const height = 24
	for down := 1; down < 60; down += longtest.Rounds(9, 1) {
		var r Reader
		d := runbook()
		d.Content = longText(600)
		r.Show(d)
		r.View(60, height, darkTheme())
		render(&r)
		r.Down(down)
		word, row := topWord(&r, 60, height)
		for _, width := range []int{44, 97, 30, 130, 61, 60} {
			r.View(width, height, darkTheme())
			render(&r)
			if got := rowOf(&r, word, width, height); got < 0 || got > row {
				t.Fatalf("down %d: %q stood on row %d, at width %d on %d", down, word, row, width, got)
			}
		}
		if got := rowOf(&r, word, 60, height); got != row {
			t.Fatalf("down %d: %q stood on row %d, back at the first width on %d", down, word, row, got)
		}
	}
}

func TestExpansionKeepsThePlace(t *testing.T) {
	t.Parallel()
	const width, height = 60, 24
	for down := range 30 {
		for _, rendered := range []bool{false, true} {
			var r Reader
			d := runbook()
			d.Content = longText(300)
			r.Show(d)
			r.View(width, height, darkTheme())
			if rendered {
				render(&r)
			}
			r.Down(down)
			word, row := topWord(&r, width, height)
			check := func(what string) {
				t.Helper()
				if rendered {
					render(&r)
				}
				if got := rowOf(&r, word, width, height); got != row {
					t.Fatalf("down %d: %q stood on row %d, after %s on %d\n%s", down, word, row, what, got,
						strings.Join(plainView(&r, width, height), "\n"))
				}
			}
			from, to, ok := r.Want()
			if !ok || from != 0 || to != 4 {
				t.Fatalf("Want = %d, %d, %t", from, to, ok)
			}
			r.Add(from, to, chunks(from, to))
			check("Add")
			r.SetWhole(wire.DocumentInfo{ChunkCount: 11}, chunks(0, 10))
			check("SetWhole")
			if _, _, ok := r.Want(); ok {
				t.Fatal("a whole document has nothing left to fetch")
			}
		}
	}
}

func TestSeams(t *testing.T) {
	t.Parallel()
	r := Reader{ExpandKey: "e", WholeKey: "E"}
	d := runbook()
	r.Show(d)
	r.View(60, 80, darkTheme())
	seams := func() []string {
		var found []string
		for _, line := range plainView(&r, 60, 80) {
			if strings.Contains(line, "— ") {
				found = append(found, line)
			}
		}
		return found
	}
	expect := func(want ...string) {
		t.Helper()
		if got := seams(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("seams:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	expect("— more above · e more · E all —", "— more below · e more · E all —")
	r.Add(0, 4, chunks(1, 3))
	expect("— more above · e more · E all —", "— search result —", "— end of search result —", "— more below · e more · E all —")
	r.Add(0, 5, chunks(0, 4))
	expect("— search result —", "— end of search result —", "— more below · e more · E all —")
	r.Add(5, 6, nil)
	expect("— search result —", "— end of search result —")

	d.CanExpand, d.WhyNot, d.ChunkCount, d.ChunkStart, d.ChunkEnd = false, "this server does not name documents", 0, 0, 0
	r.Show(d)
	if !strings.HasPrefix(seams()[0], "— only this passage · this server") {
		t.Errorf("the reason is missing: %q", seams())
	}
	if strings.Contains(seams()[0], "more") {
		t.Errorf("a key that does nothing is offered: %q", seams())
	}
	if _, _, ok := r.Want(); ok {
		t.Error("nothing is wanted of a server that cannot give it")
	}
}

// TestGeometry holds every line to the width, whatever happens.
func TestGeometry(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range longtest.Rounds(15, 240) {
		var r Reader
		for range 25 {
			operate(&r, random)
			width, height := random.IntN(241), random.IntN(81)
			if random.IntN(4) == 0 {
				width, height = random.IntN(12), random.IntN(12)
			}
			if random.IntN(3) == 0 {
				r.View(width, height, darkTheme())
				if job, ok := r.RenderJob(); ok {
					r.Apply(job.Render())
				}
			}
			checkView(t, r.View(width, height, darkTheme()), width, height)
		}
	}
}

func operate(r *Reader, random *rand.Rand) {
	switch random.IntN(18) {
	case 0, 1, 2:
		d := runbook()
		d.Content = randomText(random)
		link := randomText(random)
		d.Title, d.Authors, d.Link = randomText(random), []string{randomText(random)}, &link
		d.Highlights = []wire.Span{{random.IntN(50), random.IntN(50)}, {random.IntN(500), random.IntN(500)}}
		r.Show(d)
	case 3:
		r.Add(0, random.IntN(12), []wire.Chunk{{ChunkInd: random.IntN(3), Content: randomText(random)}})
	case 4:
		r.Add(0, 11, []wire.Chunk{{ChunkInd: random.IntN(12), Content: randomText(random)}})
	case 5:
		r.SetWhole(wire.DocumentInfo{ChunkCount: 11}, []wire.Chunk{{ChunkInd: 1, Content: randomText(random)}, {ChunkInd: 9}})
	case 6:
		r.SetRaw(!r.Raw())
	case 7:
		r.Down(random.IntN(100) - 50)
	case 8:
		r.HalfPage(random.IntN(5) - 2)
	case 9:
		r.Bottom()
	case 10:
		r.StepMatch(1)
	case 11:
		r.StepMatch(-1)
	case 12:
		r.Page(random.IntN(3) - 1)
	case 13:
		r.Clear()
	case 14:
		r.Sideways(2*random.IntN(2) - 1)
	case 15:
		r.Select(random.IntN(4) > 0)
	case 16:
		r.MoveSelection(2*random.IntN(2) - 1)
	case 17:
		outline := append(outlineOf(12), wire.OutlineHeading{Level: 1, Text: randomText(random), ChunkInd: random.IntN(14)})
		if headings, current := r.Headings(outline[random.IntN(13):]); len(headings) > 0 {
			r.Reach(headings[current])
			r.GoTo(headings[random.IntN(len(headings))])
		}
	}
}

func randomText(random *rand.Rand) string {
	bits := []string{"word ", "rolling ", "日本語のテキスト", "👩‍👩‍👧 ", "❤️ ", "e\u0301", "שלום ", "مرحبا ", "\n", "\n\n", "- ", "> ", "```go\n", "```\n",
		"| a | b |\n|---|---|\n| roll **x** | `y` |\n", "# ", "**", "_", "`", "[text](https://example.com/x)", "https://example.com/a/b/c?d=e&f=g",
		"<br>", "<b>", "&amp;", "&#27;[31m", "\\*", "\t", "    ", "1. ", "- [ ] ", "~~", "![i](x.png)", "\x1b[31m", "\x00", "\u2063\u2061", "\u202e",
		strings.Repeat("x", 200), ": ", "---\n", wideTable(9, 4), "| 日本語 | [a](b.md) | c |\n|---|:-:|--:|\n| 字 | " + strings.Repeat("語", 60) + " | x |\n"}
	var text strings.Builder
	for range random.IntN(60) {
		text.WriteString(bits[random.IntN(len(bits))])
	}
	return text.String()
}

func infoOf(count int) wire.DocumentInfo { return wire.DocumentInfo{ChunkCount: count} }
