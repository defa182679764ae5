package panel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/ui/explorer/line"
)

func render(p *Answer) {
	for {
		job := p.RenderJob(dark())
		if job == nil {
			return
		}
		job()()
	}
}

func TestAThread(t *testing.T) {
	t.Parallel()
	var p Answer
	p.Begin("how do we roll back?")
	p.Queries([]string{"roll back", "rollback 字"})
	p.Filters("source slack")
	if screen := textOf(&p, 60, 20); !strings.Contains(screen, "Answer ─") ||
		!strings.Contains(screen, "searched for “roll back”, “rollback 字”") || !strings.Contains(screen, "filters: source slack") {
		t.Error(screen)
	}
	p.Waited(4 * time.Second)
	p.Documents(3)
	if screen := textOf(&p, 60, 20); !strings.Contains(screen, "reading 3 documents · 4 s") {
		t.Error(screen)
	}
	p.Append("Use **kwctl")
	p.Append(" rollback** [[1]](https://wiki.acme.com/1).")
	render(&p)
	if screen := textOf(&p, 60, 20); !strings.Contains(screen, "Use kwctl rollback [1].") || !strings.Contains(screen, "writing") {
		t.Error(screen)
	}
	p.Append("\n\nAnd **then")
	if screen := textOf(&p, 60, 20); !strings.Contains(screen, "Use kwctl rollback [1].") || !strings.Contains(screen, "And **then") {
		t.Error("what came since the rendering stands as it came:\n" + screen)
	}
	p.Finish(wire.ChatAnswer{Text: "Use **kwctl rollback** [[1]](https://wiki.acme.com/1).", Citations: map[int]string{1: "a"},
		Documents: []wire.SearchDoc{{DocumentID: "a", Title: "Runbook", SourceType: "confluence"}}})
	render(&p)
	if screen := textOf(&p, 60, 20); !strings.Contains(screen, "[1] Runbook · Confluence") || strings.Contains(screen, "And") {
		t.Error(screen)
	}
	if source, _, ok := p.Cited(1); !ok || source.Title != "Runbook" {
		t.Errorf("%+v", source)
	}
	p.Type()
	p.Edit(func(e *line.Editor) { e.Insert("and firmware?") })
	if at := Draw(&p, 60, 20, dark(), ""); !at.Cursor || at.X != 4+len("and firmware?") || at.Y != len(at.Lines)-2 {
		t.Errorf("cursor at %d,%d: %v", at.X, at.Y, at.Cursor)
	}
	p.Begin(p.Typed())
	p.Fail("no model is configured", "Set llm.default.")
	if screen := textOf(&p, 60, 30); !strings.Contains(screen, "how do we roll back?") || !strings.Contains(screen, "and firmware?") ||
		!strings.Contains(screen, "Set llm.default.") || !strings.Contains(screen, "failed") {
		t.Error(screen)
	}
}

// New text is followed, unless somebody reads further up.
func TestNewTextIsFollowedUnlessSomebodyReads(t *testing.T) {
	t.Parallel()
	var p Answer
	p.Begin("q")
	for i := range 50 {
		p.Append(fmt.Sprintf("line %d\n\n", i))
	}
	if screen := textOf(&p, 40, 10); !strings.Contains(screen, "line 49") {
		t.Error(screen)
	}
	p.Move(-30)
	before := textOf(&p, 40, 10)
	p.Append("line 50\n\n")
	if after := textOf(&p, 40, 10); after != before {
		t.Errorf("what was read moved from\n%s\nto\n%s", before, after)
	}
	p.Move(1000)
	p.Append("line 51\n\n")
	if screen := textOf(&p, 40, 10); !strings.Contains(screen, "line 51") {
		t.Error(screen)
	}
}

func TestALateRenderingIsDropped(t *testing.T) {
	t.Parallel()
	var p Answer
	p.Begin("q")
	p.Append("one")
	textOf(&p, 40, 10)
	show := p.RenderJob(dark())()
	p.Reset()
	p.Begin("another")
	p.Append("two")
	textOf(&p, 40, 10)
	show()
	if screen := textOf(&p, 40, 10); strings.Contains(screen, "one") {
		t.Error(screen)
	}
}

func TestAnswersFillTheirRectangle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"plain words", "回滚 **发布** 的运行手册", "👩‍👩‍👧‍👦 family", "```go\nfunc main() {}\n```", strings.Repeat("x", 3000), "| a | b |\n|---|---|\n| 1 | 字 |"}
	for range longtest.Rounds(50, 300) {
		var p Answer
		for range random.IntN(3) {
			p.Begin(texts[random.IntN(len(texts))])
			p.Append(texts[random.IntN(len(texts))])
			p.Finish(wire.ChatAnswer{Citations: map[int]string{1: ""}, Documents: []wire.SearchDoc{{Title: texts[random.IntN(len(texts))]}}})
		}
		if random.IntN(2) == 0 {
			p.Type()
			p.Edit(func(e *line.Editor) { e.Insert("字字") })
		}
		requireFilled(t, &p, random)
		render(&p)
		p.Move(random.IntN(40) - 20)
		requireFilled(t, &p, random)
	}
}

// Citations have the colour of citation numbers, and the text behind them its own.
func TestCitationsAreColoured(t *testing.T) {
	t.Parallel()
	number := dark().Number.Render("[1]")
	for line, want := range map[string]string{
		"a [1], b":                   "a " + number + ", b",
		"\x1b[1mbold [1] on\x1b[m x": "\x1b[1mbold " + number + "\x1b[1m on\x1b[m x",
		"\x1b[1mbold\x1b[m [1] x":    "\x1b[1mbold\x1b[m " + number + " x",
		"[no] [12345]":               "[no] [12345]",
	} {
		if got := coloured([]string{line}, dark())[0]; got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}
