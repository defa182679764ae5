package panel

import (
	"fmt"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/reader"
)

// state is how far an answer is.
type state int

const (
	searching state = iota
	writing
	done
	stopped
	failed
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
	state     state
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

// Answer is the panel in which a model answers: what it searches for, the answer as it comes, the documents that it cites,
// and the thread of questions so far. Asking is its owner's. The zero value is empty.
type Answer struct {
	Text
	turns   []turn
	secret  bool // the thread is kept nowhere
	input   line.Editor
	typing  bool
	waited  time.Duration // for the last answer
	version uint64
	look    look // as drawn last
}

// Begin adds a question to the thread.
func (p *Answer) Begin(question string) {
	p.turns = append(p.turns, turn{question: question})
	p.typing, p.waited = false, 0
	p.toEnd()
	p.input.SetText("")
	p.version++
}

// Reset forgets the thread.
func (p *Answer) Reset() { *p = Answer{version: p.version + 1} }

// Empty tells that nothing was asked yet.
func (p *Answer) Empty() bool { return len(p.turns) == 0 }

// change changes the last turn; before the first there is none.
func (p *Answer) change(do func(*turn)) {
	if p.Empty() {
		return
	}
	do(&p.turns[len(p.turns)-1])
	p.version++
}

// Queries tells what is searched for.
func (p *Answer) Queries(queries []string) { p.change(func(t *turn) { t.queries = queries }) }

// Filters tells which filters were inferred.
func (p *Answer) Filters(text string) { p.change(func(t *turn) { t.filters = text }) }

// Documents tells how many documents the answer rests on.
func (p *Answer) Documents(n int) { p.change(func(t *turn) { t.documents = n }) }

// Append goes on with the answer.
func (p *Answer) Append(text string) {
	p.change(func(t *turn) { t.text, t.state = t.text+text, writing })
}

// Note tells something about the last question that is neither an answer nor a failure.
func (p *Answer) Note(text string) { p.change(func(t *turn) { t.notes = append(t.notes, text) }) }

// Incognito marks the thread as kept nowhere.
func (p *Answer) Incognito() { p.secret = true }

// Finish ends the answer, with what it cites and all that it rests on. The whole text replaces what came in pieces,
// unless it is empty.
func (p *Answer) Finish(text string, sources []Source, found []wire.SearchDoc) {
	p.change(func(t *turn) {
		t.state, t.sources, t.found = done, sources, found
		if text != "" {
			t.text = text
		}
	})
}

// Stop ends the answer where it is.
func (p *Answer) Stop() { p.change(func(t *turn) { t.state = stopped }) }

// Fail ends the answer with what went wrong, and what to do about it.
func (p *Answer) Fail(problem, remedy string) {
	p.change(func(t *turn) { t.state, t.problem, t.remedy = failed, problem, remedy })
}

// Type opens the line in which a further question is typed.
func (p *Answer) Type() { p.typing = true }

// Typing tells that a question is being typed.
func (p *Answer) Typing() bool { return p.typing }

// Typed is the question that is being typed.
func (p *Answer) Typed() string { return p.input.Text() }

// Edit implements Panel.
func (p *Answer) Edit(change func(*line.Editor) bool) bool { return p.typing && change(&p.input) }

// Escape implements Panel.
func (p *Answer) Escape() string {
	if !p.typing && p.answering() {
		return Cancel
	}
	return Close
}

// Back leaves the line, or else stops the answer.
func (p *Answer) Back() bool {
	switch {
	case p.typing:
		p.typing = false // what was typed stays in the line
	case p.answering():
		p.Stop()
	default:
		return false
	}
	return true
}

func (p *Answer) answering() bool { return !p.Empty() && p.turns[len(p.turns)-1].state < done }

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
func (p *Answer) RenderJob(th theme.Theme) (job Job, ok bool) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		t := &p.turns[i]
		if t.text != "" && p.look.width > 0 && (t.renderedText != t.text || t.renderedFor != p.look) {
			return Job{turn: i, text: t.text, look: p.look, theme: th}, true
		}
	}
	return Job{}, false
}

// Apply shows what was rendered, unless the thread or the size is another one by now.
func (p *Answer) Apply(r Rendered) {
	if r.turn >= len(p.turns) || r.look != p.look || !strings.HasPrefix(p.turns[r.turn].text, r.text) {
		return
	}
	t := &p.turns[r.turn]
	t.rendered, t.renderedText, t.renderedFor = r.lines, r.text, r.look
	p.version++
}

// Title implements Panel.
func (p *Answer) Title(_ int, th theme.Theme) (title, beside string) {
	if p.Empty() {
		return th.Title.Render("Answer"), ""
	}
	beside = p.progress(p.turns[len(p.turns)-1])
	if p.secret {
		beside = "incognito · " + beside
	}
	return th.Title.Render("Answer"), th.Muted.Render(beside)
}

// View implements Panel.
func (p *Answer) View(width, height int, th theme.Theme) Body {
	rows := height
	if p.typing {
		rows--
	}
	p.look = look{max(1, width), th.Name}
	followed := p.view.AtBottom() // new text moves what is read only for somebody who reads the end
	p.Set(width, rows, versioned{p.version, p.look}, func() []string { return p.all(th) })
	if followed {
		p.toEnd()
	}
	body := p.Body()
	if p.typing {
		typed, x := p.input.View(max(0, width-2), th, "ask further", false)
		body.Lines = append(body.Lines, th.Prompt.Render("┃")+" "+typed)
		body.X, body.Y, body.Cursor = min(x+2, max(0, width-1)), rows, true
	}
	return body
}

// versioned is a look at something that changes.
type versioned struct {
	version uint64
	look    look
}

func (p *Answer) toEnd() { p.view.GotoBottom() }

// Waited sets for how long the last answer has been under way.
func (p *Answer) Waited(d time.Duration) { p.waited = d }

// Seconds is how long something takes already, behind what it is; nothing in its first second.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return fmt.Sprintf(" · %d s", int(d.Seconds()))
}

// progress says in a few words how far an answer is.
func (p *Answer) progress(t turn) string {
	switch t.state {
	case searching:
		if t.documents > 0 {
			return "reading " + counted(t.documents) + Seconds(p.waited)
		}
		return "searching" + Seconds(p.waited)
	case writing:
		return "writing"
	case stopped:
		return "stopped"
	case failed:
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
func (p *Answer) all(th theme.Theme) []string {
	var lines []string
	for i := range p.turns {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, p.turn(&p.turns[i], th)...)
	}
	return lines
}

func (p *Answer) turn(t *turn, th theme.Theme) []string {
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
func (p *Answer) text(t *turn, th theme.Theme) []string {
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

func (p *Answer) wrapped(text string, style func(...string) string) []string {
	if text == "" {
		return nil
	}
	lines := paint.Wrap(text, p.look.width)
	for i := range lines {
		lines[i] = style(lines[i])
	}
	return lines
}
