// Package answer is the panel in which a model answers: what it searches for, the answer as it comes, the documents that
// it cites, and the thread of questions so far. It draws and keeps state; asking is its owner's.
package answer

import (
	"fmt"
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/reader"
)

// State is how far an answer is.
type State int

const (
	Searching State = iota
	Writing
	Done
	Stopped
	Failed
)

// Source is a document that an answer cites.
type Source struct {
	Number     int // that stands in the answer: [1]
	Title      string
	SourceType string
	DocumentID string
	Link       string
}

// turn is one question with its answer.
type turn struct {
	question  string
	queries   []string
	filters   string
	documents int
	text      string // Markdown
	sources   []Source
	found     []wire.SearchDoc // that the answer rests on
	state     State
	problem   string
	remedy    string
	notes     []string

	rendered     []string // lines of renderedText
	renderedText string
	renderedFor  look
}

// look is what a rendering depends on besides the text.
type look struct {
	width int
	theme string
}

// Panel is the panel. Its zero value is empty.
type Panel struct {
	turns   []turn
	secret  bool // the thread is kept nowhere
	input   line.Editor
	typing  bool
	top     int
	held    bool // the person scrolled up: new text does not move what is read
	version uint64
	body    int // lines of the body when it was last drawn
	total   int
	look    look
	cache   paint.Cache[key]
	cursorX int
}

type key struct {
	version, typed uint64
	width, height  int
	theme, hints   string
}

// Begin adds a question to the thread.
func (p *Panel) Begin(question string) {
	p.turns = append(p.turns, turn{question: question})
	p.held, p.typing = false, false
	p.input.SetText("")
	p.version++
}

// Reset forgets the thread.
func (p *Panel) Reset() { *p = Panel{version: p.version + 1} }

// Empty tells that nothing was asked yet.
func (p *Panel) Empty() bool { return len(p.turns) == 0 }

// change changes the last turn; before the first there is none.
func (p *Panel) change(do func(*turn)) {
	if p.Empty() {
		return
	}
	do(&p.turns[len(p.turns)-1])
	p.version++
}

// Queries tells what is searched for.
func (p *Panel) Queries(queries []string) { p.change(func(t *turn) { t.queries = queries }) }

// Filters tells which filters were inferred.
func (p *Panel) Filters(text string) { p.change(func(t *turn) { t.filters = text }) }

// Documents tells how many documents the answer rests on.
func (p *Panel) Documents(n int) { p.change(func(t *turn) { t.documents = n }) }

// Append goes on with the answer.
func (p *Panel) Append(text string) {
	p.change(func(t *turn) { t.text, t.state = t.text+text, Writing })
}

// Note tells something about the last question that is neither an answer nor a failure.
func (p *Panel) Note(text string) { p.change(func(t *turn) { t.notes = append(t.notes, text) }) }

// Incognito tells that the thread is kept nowhere.
func (p *Panel) Incognito() {
	p.secret = true
	p.version++
}

// Finish ends the answer, with what it cites and all that it rests on. The whole text replaces what came in pieces,
// unless it is empty.
func (p *Panel) Finish(text string, sources []Source, found []wire.SearchDoc) {
	p.change(func(t *turn) {
		t.state, t.sources, t.found = Done, sources, found
		if text != "" {
			t.text = text
		}
	})
}

// Stop ends the answer where it is.
func (p *Panel) Stop() { p.change(func(t *turn) { t.state = Stopped }) }

// Fail ends the answer with what went wrong, and what to do about it.
func (p *Panel) Fail(problem, remedy string) {
	p.change(func(t *turn) { t.state, t.problem, t.remedy = Failed, problem, remedy })
}

// Type opens the line in which a further question is typed.
func (p *Panel) Type() {
	p.typing = true
	p.version++
}

// Typing tells that a question is being typed.
func (p *Panel) Typing() bool { return p.typing }

// Typed is the question that is being typed.
func (p *Panel) Typed() string { return p.input.Text() }

// StopTyping closes the line; what was typed stays in it.
func (p *Panel) StopTyping() {
	p.typing = false
	p.version++
}

// Edit changes what is typed.
func (p *Panel) Edit(change func(*line.Editor) bool) bool { return p.typing && change(&p.input) }

// Move scrolls by lines, up when negative.
func (p *Panel) Move(lines int) {
	p.top = max(0, min(p.top+lines, p.total-p.body))
	p.held = p.top < p.total-p.body
	p.version++
}

// Page scrolls by a page down (1) or up (-1).
func (p *Panel) Page(direction int) { p.Move(direction * max(1, p.body-1)) }

// Job is an answer to be rendered elsewhere.
type Job struct {
	turn  int
	text  string
	look  look
	theme theme.Theme
}

// Rendered is a Job that was done.
type Rendered struct {
	Job
	lines []string
}

// Render renders. It is slow, and safe beside the event loop.
func (j Job) Render() Rendered { return Rendered{j, reader.Lines(j.text, j.look.width, j.theme)} }

// RenderJob gives the next answer to render for the size that was drawn last; ok is false when none is needed.
func (p *Panel) RenderJob(th theme.Theme) (job Job, ok bool) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		t := &p.turns[i]
		if t.text != "" && p.look.width > 0 && (t.renderedText != t.text || t.renderedFor != p.look) {
			return Job{turn: i, text: t.text, look: p.look, theme: th}, true
		}
	}
	return Job{}, false
}

// Apply shows what was rendered, unless the thread or the size is another one by now.
func (p *Panel) Apply(r Rendered) {
	if r.turn >= len(p.turns) || r.look != p.look || !strings.HasPrefix(p.turns[r.turn].text, r.text) {
		return
	}
	t := &p.turns[r.turn]
	t.rendered, t.renderedText, t.renderedFor = r.lines, r.text, r.look
	p.version++
}

// View draws the panel and tells where the cursor stands, if something is typed.
func (p *Panel) View(width, height int, th theme.Theme, hints string) (lines []string, x, y int, cursor bool) {
	if wanted := (look{max(1, width-2), th.Name}); wanted != p.look {
		p.look = wanted
		p.version++
	}
	lines = p.cache.Lines(key{p.version, p.input.Version(), width, height, th.Name, hints}, func() []string {
		return p.draw(width, height, th, hints)
	})
	if !p.typing || height < 2 || width < 4 {
		return lines, 0, 0, false
	}
	below := 1
	if hints != "" && height >= 5 {
		below = 2
	}
	return lines, p.cursorX, height - below, true
}

func (p *Panel) draw(width, height int, th theme.Theme, hints string) []string {
	if height <= 0 {
		return nil
	}
	head := " " + th.Title.Render("Answer")
	if p.secret {
		head += th.Muted.Render(" · incognito")
	}
	if !p.Empty() {
		head += th.Muted.Render(" · " + p.progress(p.turns[len(p.turns)-1]))
	}
	var below []string
	if p.typing {
		typed, x := p.input.View(max(0, width-3), th, "ask further", false)
		p.cursorX = min(x+3, max(0, width-1))
		below = append(below, " "+th.Prompt.Render("┃")+" "+typed)
	}
	if hints != "" && height >= 5 {
		below = append(below, " "+th.Muted.Render(hints))
	}
	below = below[:min(len(below), height-1)]
	all := p.all(th)
	p.total, p.body = len(all), max(0, height-1-len(below))
	if !p.held {
		p.top = p.total - p.body
	}
	p.top = max(0, min(p.top, p.total-p.body))
	lines := []string{paint.Fit(head, width)}
	for i := range p.body {
		text := ""
		if p.top+i < len(all) {
			text = " " + all[p.top+i]
		}
		lines = append(lines, paint.Fit(text, width))
	}
	for _, text := range below {
		lines = append(lines, paint.Fit(text, width))
	}
	return lines
}

// progress says in a few words how far an answer is.
func (p *Panel) progress(t turn) string {
	switch t.state {
	case Searching:
		if t.documents > 0 {
			return "reading " + counted(t.documents)
		}
		return "searching"
	case Writing:
		return "writing"
	case Stopped:
		return "stopped"
	case Failed:
		return "failed"
	}
	return counted(t.documents)
}

func counted(documents int) string {
	if documents == 1 {
		return "1 document"
	}
	return paint.Number(documents) + " documents"
}

// all are the lines of the thread.
func (p *Panel) all(th theme.Theme) []string {
	var lines []string
	for i := range p.turns {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, p.turn(&p.turns[i], th)...)
	}
	return lines
}

func (p *Panel) turn(t *turn, th theme.Theme) []string {
	var lines []string
	for _, part := range paint.Wrap(paint.Line(t.question), max(1, p.look.width-2)) {
		lines = append(lines, th.BorderFocused.Render("▌")+" "+th.Title.Render(part))
	}
	if len(t.queries) > 0 {
		queries := make([]string, len(t.queries))
		for i, query := range t.queries {
			queries[i] = "“" + paint.Line(query) + "”"
		}
		lines = append(lines, p.wrapped("searched for "+strings.Join(queries, ", "), th.Muted.Render)...)
	}
	if t.filters != "" {
		lines = append(lines, p.wrapped("narrowed to "+paint.Line(t.filters), th.Muted.Render)...)
	}
	for _, note := range t.notes {
		lines = append(lines, p.wrapped("! "+paint.Line(note), th.Warning.Render)...)
	}
	lines = append(lines, "")
	lines = append(lines, p.text(t, th)...)
	if t.problem != "" {
		lines = append(lines, p.wrapped(paint.Line(t.problem), th.Error.Render)...)
		lines = append(lines, p.wrapped(paint.Line(t.remedy), th.Muted.Render)...)
	}
	if len(t.sources) > 0 {
		lines = append(lines, "", th.Muted.Render("Sources"))
	}
	for _, source := range t.sources {
		text := th.Number.Render(fmt.Sprintf("[%d] ", source.Number)) + th.Text.Render(paint.Line(source.Title)) +
			th.Muted.Render(" · "+client.SourceName(source.SourceType))
		lines = append(lines, paint.Fit(text, p.look.width))
	}
	return lines
}

// text is the answer: rendered as far as it is, and what came since as plain text.
func (p *Panel) text(t *turn, th theme.Theme) []string {
	lines, rest := []string(nil), t.text
	if t.renderedFor == p.look && strings.HasPrefix(t.text, t.renderedText) {
		lines, rest = t.rendered, t.text[len(t.renderedText):]
	}
	if rest = strings.TrimLeft(rest, "\n"); rest == "" {
		return lines
	}
	lines = append([]string(nil), lines...)
	for _, part := range paint.Wrap(paint.Text(rest), p.look.width) {
		lines = append(lines, th.Text.Render(part))
	}
	return lines
}

func (p *Panel) wrapped(text string, style func(...string) string) []string {
	if text == "" {
		return nil
	}
	lines := paint.Wrap(text, p.look.width)
	for i := range lines {
		lines[i] = style(lines[i])
	}
	return lines
}
