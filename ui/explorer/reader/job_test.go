package reader

import (
	"fmt"
	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"runtime"
	"strings"
	"testing"
	"time"

	"quarry/ui/passage"
)

func TestRenderingIsKept(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Show(runbook())
	if _, ok := r.RenderJob(); ok {
		t.Fatal("nothing is known about the size yet")
	}
	r.View(60, 20, darkTheme())
	job, ok := r.RenderJob()
	if !ok {
		t.Fatal("there is something to render")
	}
	if _, ok := r.RenderJob(); ok {
		t.Error("a job is handed out once")
	}
	other := runbook()
	other.Content = "other"
	r.Show(other)
	version := r.version
	if r.Apply(job.Render()); r.version != version {
		t.Error("an answer for another document changes nothing")
	}
	r.Show(runbook())
	if view := strings.Join(plainView(&r, 60, 20), "\n"); !strings.Contains(view, "• first") {
		t.Errorf("shown again, a passage is rendered at once:\n%s", view)
	}
	if _, ok := r.RenderJob(); ok {
		t.Error("nothing is left to render")
	}
	r.View(70, 20, darkTheme())
	if _, ok := r.RenderJob(); !ok {
		t.Error("another width is rendered anew")
	}
	r.View(61, 20, darkTheme())
	if _, ok := r.RenderJob(); ok {
		t.Error("a column more is the same rendering")
	}
}

func TestLargeDocumentsAreRenderedWhereTheyAreLookedAt(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = strings.Repeat(longText(200), 200)
	var r Reader
	r.Show(d)
	r.View(60, 30, darkTheme())
	job, _ := r.RenderJob()
	size := 0
	for _, u := range job.units {
		size += len(u.text)
	}
	if size > 2*maxUnit {
		t.Errorf("a job of %d bytes", size)
	}
	r.Apply(job.Render())
	r.Bottom()
	if job, ok := r.RenderJob(); !ok || job.units[0].text != r.found[len(r.found)-1].text {
		t.Error("at the end, the end is rendered")
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	fenced := "```\n" + strings.Repeat("code\n\n", 20) + "```\n"
	text := strings.Repeat("line\nline\n\n", 10) + fenced + "\n" + strings.Repeat("x", 300) + "\nend\n"
	parts := pieces(text, 150)
	at := 0
	for _, part := range parts {
		if part.Start != at || part.End <= part.Start {
			t.Fatalf("parts %v", parts)
		}
		at = part.End
		if piece := text[part.Start:part.End]; strings.Contains(piece, "code") && !strings.Contains(piece, fenced) {
			t.Errorf("a fence is cut: %q", piece)
		}
	}
	if at != len(text) {
		t.Errorf("%d of %d bytes", at, len(text))
	}
}

// Readers beside each other keep what they rendered within one bound.
func TestReadersShareTheBoundOfTheirCache(t *testing.T) {
	t.Parallel()
	var first Reader
	first.ExpandKey = "e"
	first.KeepAtMost(1000)
	second := first.Beside()
	for i := range 40 {
		r := []*Reader{&first, &second}[i%2]
		r.Apply(Rendered{keys: []jobKey{{width: i}}, firstLinks: []int{0}, layouts: []*layout{{size: 100}}})
	}
	kept := 0
	for i := range 40 {
		if _, ok := second.cache.Get(jobKey{width: i}); ok {
			kept++
		}
	}
	if first.cache != second.cache || kept != 10 {
		t.Errorf("%d renderings of 100 bytes are kept in 1000", kept)
	}
	if second.ExpandKey != "e" || second.shown {
		t.Errorf("the second reader is not empty, or has other keys: %+v", second)
	}
}

// What layouts count is what they take: a budget for memory rests on it. Not parallel, since it watches the whole heap.
func TestLayoutsTakeWhatTheyCount(t *testing.T) {
	live := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	th := darkTheme()
	var all []*layout
	counted := 0
	render := func(i int) {
		text := strings.Repeat(fmt.Sprintf("## Step %d\n\nTo **roll back** a `deploy` look [here](https://x.example/%d) first, and roll on.\n\n", i, i), 40)
		rendered, _ := renderUnit(unit{text: text, spans: passage.FindWords(text, []string{"roll", "deploy"})}, 64, th, 1)
		all, counted = append(all, rendered), counted+rendered.size
	}
	render(0) // what is made once
	before, atFirst := live(), counted
	for i := range longtest.Rounds(20, 200) {
		render(i + 1)
	}
	grown := live() - before
	if counted -= atFirst; grown > counted*5/4 {
		t.Errorf("%d bytes are held, %d counted", grown, counted)
	}
	runtime.KeepAlive(all)
}

// A date in the future stands there once.
func TestADateInTheFutureIsShownOnce(t *testing.T) {
	t.Parallel()
	var r Reader
	document, updated := runbook(), "2026-11-22T09:00:00Z"
	document.UpdatedAt = &updated
	r.SetNow(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	r.Show(document)
	about := plainView(&r, 100, 20)[1]
	if !strings.Contains(about, "22 Nov 2026 · ") || strings.Contains(about, "2026-11-22") {
		t.Errorf("%q", about)
	}
	r.SetNow(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	if about := plainView(&r, 100, 20)[1]; !strings.Contains(about, "22 Nov 2026 · 4 d · ") {
		t.Errorf("%q", about)
	}
}

// Where the line about a document is too long for its date and age, the date and the matches stay.
func TestMatchesStayInANarrowHeader(t *testing.T) {
	t.Parallel()
	var r Reader
	document, updated := runbook(), "2026-09-21T09:00:00Z"
	document.UpdatedAt, document.Authors = &updated, []string{"Tomasz Wieczorek", "Jo Ortiz"}
	r.SetNow(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	r.Show(document)
	for width, want := range map[int]string{
		60: "Tomasz Wieczorek, Jo Ortiz · 21 Sep 2026 · 2 mo · 2 matches",
		54: "Tomasz Wieczorek, Jo Ortiz · 21 Sep 2026 · 2 matches",
		48: "Tomasz Wieczorek +1 · 21 Sep 2026 · 2 matches",
	} {
		if about := strings.TrimSpace(plainView(&r, width, 20)[1]); about != want {
			t.Errorf("%d columns: %q", width, about)
		}
	}
}

func TestHeaderShrinks(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Show(runbook())
	for height, want := range map[int]int{20: 3, 10: 3, 9: 1, 4: 1, 3: 0} {
		if got := len(r.header(height)); got != want {
			t.Errorf("height %d: %d lines of header, want %d", height, got, want)
		}
		if view := plainView(&r, 60, height); want > 0 && !strings.Contains(view[0], "Confluence") {
			t.Errorf("height %d: %q", height, view[0])
		}
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Show(runbook())
	r.View(60, 8, darkTheme())
	r.SetWhole(infoOf(11), chunks(0, 10))
	r.Top()
	if got := r.Position(); got != "part 1 of 11" {
		t.Errorf("at the top: %q", got)
	}
	r.Bottom()
	if got := r.Position(); got != "part 10 of 11" && got != "part 11 of 11" || r.percent() != 100 {
		t.Errorf("at the end: %q, %d %%", got, r.percent())
	}
	for want, of := range map[string][3]int{"part 1 of 1": {0, 0, 1}, "part 1–5 of 5": {0, 4, 5}, "part 2–3 of 5": {1, 2, 5}, "0 %": {0, 0, 0}} {
		document := runbook()
		document.ChunkStart, document.ChunkEnd, document.ChunkCount = of[0], of[1], of[2]
		r.Show(document)
		if got := r.Position(); got != want {
			t.Errorf("parts %d to %d of %d: %q, want %q", of[0], of[1], of[2], got, want)
		}
	}
}

func TestResolved(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a \* b \" c \x \\`: `a * b " c \x \`, "&amp;&lt;&copy;": "&<©", "&amp &x; & &#0;a": "&amp &x; & \ufffda",
		"a&nbsp;b": "a\u00a0b", "&#27;[31m": "[31m", "&#x2063;&#10;x": " x", `\&amp;`: "&amp;", "&;": "&;",
	} {
		got := ""
		for _, run := range unescaped(text, true) {
			got += run
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestHeaderNamesRelatedDocuments(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Newer = &wire.NewerDocument{DocumentID: "n", Title: "Runbook\x1b[31m 2"}
	d.AlsoIn = []wire.DocumentCopy{{DocumentID: "c", Title: "Wiki"}}
	var r Reader
	r.Show(d)
	if line := strings.TrimSpace(plainView(&r, 100, 20)[2]); line != "newer version: Runbook 2 · also in Wiki" {
		t.Errorf("%q", line)
	}
}
