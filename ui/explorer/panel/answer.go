package panel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/reader"
	"quarry/ui/passage"
)

// stage is how far an answer is.
type stage int

const (
	searching stage = iota
	writing
	done
	stopped
	failed
)

// Turn is one question with its answer, as far as it is.
type Turn struct {
	Question string
	wire.ChatAnswer
	Problem string // why the answer is not complete; empty: it is, or the reason is not known

	queries   []string
	filters   string
	documents int
	stage     stage
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

// Answer is the panel in which a model answers: what it searches for, the answer as it comes, the documents that it
// cites, and the thread of questions so far. Asking is its owner's. The zero value is empty.
type Answer struct {
	Text
	turns   []Turn
	secret  bool // the thread is kept nowhere
	input   line.Editor
	typing  bool
	waited  time.Duration // for the last answer
	version uint64
	look    look // as drawn last
}

// Begin adds a question to the thread.
func (p *Answer) Begin(question string) {
	p.turns = append(p.turns, Turn{Question: question, ChatAnswer: wire.ChatAnswer{Citations: map[int]string{}}})
	p.typing, p.waited = false, 0
	p.view.GotoBottom()
	p.input.SetText("")
	p.version++
}

// Reset forgets the thread.
func (p *Answer) Reset() { *p = Answer{version: p.version + 1} }

// DropLast removes the last turn and returns its question.
func (p *Answer) DropLast() (question string) {
	last := len(p.turns) - 1
	question, p.turns = p.turns[last].Question, p.turns[:last]
	p.version++
	return question
}

// Empty reports whether nothing was asked yet.
func (p *Answer) Empty() bool { return len(p.turns) == 0 }

// change changes the last turn; before the first there is none.
func (p *Answer) change(do func(*Turn)) {
	if p.Empty() {
		return
	}
	do(&p.turns[len(p.turns)-1])
	p.version++
}

// Queries sets what is searched for.
func (p *Answer) Queries(queries []string) { p.change(func(t *Turn) { t.queries = queries }) }

// Filters sets the inferred filters.
func (p *Answer) Filters(text string) { p.change(func(t *Turn) { t.filters = text }) }

// Documents sets how many documents the answer rests on.
func (p *Answer) Documents(n int) { p.change(func(t *Turn) { t.documents = n }) }

// Append adds text to the answer.
func (p *Answer) Append(text string) {
	p.change(func(t *Turn) { t.Text, t.stage = t.Text+text, writing })
}

// Note adds a note to the last question.
func (p *Answer) Note(text string) { p.change(func(t *Turn) { t.notes = append(t.notes, text) }) }

// Incognito marks the thread as kept nowhere.
func (p *Answer) Incognito() { p.secret = true }

// Finish ends the answer. The whole text replaces what came in pieces, unless it is empty.
func (p *Answer) Finish(whole wire.ChatAnswer) {
	p.change(func(t *Turn) {
		whole.Text = cmp.Or(whole.Text, t.Text)
		t.stage, t.ChatAnswer = done, whole
	})
}

// Cites adds what an answer that is being written rests on and cites, for one that is stopped.
func (p *Answer) Cites(packet wire.ChatPacket) {
	p.change(func(t *Turn) {
		t.AddDocuments(packet.Documents)
		t.AddDocuments(packet.FinalDocuments)
		if packet.Type == wire.ChatCitation {
			t.Citations[packet.CitationNumber] = packet.DocumentID
		}
	})
}

// Stop ends the answer where it is.
func (p *Answer) Stop() { p.change(func(t *Turn) { t.stage = stopped }) }

// Fail ends the answer with what went wrong, and what to do about it.
func (p *Answer) Fail(problem, remedy string) {
	p.change(func(t *Turn) { t.stage, t.Problem, t.remedy = failed, problem, remedy })
}

// Type opens the line in which a further question is typed.
func (p *Answer) Type() { p.typing = true }

// Typing reports whether a question is being typed.
func (p *Answer) Typing() bool { return p.typing }

// Typed is the question that is being typed.
func (p *Answer) Typed() string { return p.input.Text() }

// Edit implements Panel. What is typed over an answer begins a further question.
func (p *Answer) Edit(change func(*line.Editor)) {
	before := p.input.Version()
	change(&p.input)
	p.typing = p.typing || p.input.Version() != before
}

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

func (p *Answer) answering() bool { return !p.Empty() && p.turns[len(p.turns)-1].stage < done }

// RenderJob returns the slow part of rendering the answers at the size that was drawn last, which is safe beside the
// event loop; nil if nothing is to be rendered. It returns a function for the event loop that shows the result, unless
// the thread or the size is another one by then.
func (p *Answer) RenderJob(th theme.Theme) func() (show func()) {
	i := len(p.turns) - 1
	for i >= 0 && (p.turns[i].Text == "" ||
		p.turns[i].renderedText == p.turns[i].Text && p.turns[i].renderedFor == p.look) {
		i--
	}
	if i < 0 || p.look.width == 0 {
		return nil
	}
	text, look := p.turns[i].Text, p.look
	return func() func() {
		lines := reader.Lines(text, look.width, th)
		return func() {
			if i < len(p.turns) && look == p.look && strings.HasPrefix(p.turns[i].Text, text) {
				t := &p.turns[i]
				t.rendered, t.renderedText, t.renderedFor = coloured(lines, th), text, look
				p.version++
			}
		}
	}
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
	p.Set(width, rows, [2]any{p.version, p.look}, func() []string { return p.all(th) })
	if followed {
		p.view.GotoBottom()
	}
	body := p.Body()
	if p.typing {
		typed, x := Input(&p.input, width, th, "follow-up question")
		body.Lines = append(body.Lines, typed)
		body.X, body.Y, body.Cursor = x, len(body.Lines)-1, true
	}
	return body
}

// Waited sets for how long the last answer has been running.
func (p *Answer) Waited(d time.Duration) { p.waited = d }

// Seconds is how long something takes already, behind what it is; nothing in its first second.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return fmt.Sprintf(" · %d s", int(d.Seconds()))
}

// progress returns the state of an answer in a few words.
func (p *Answer) progress(t Turn) string {
	switch t.stage {
	case searching:
		if t.documents > 0 {
			return "reading " + text.Count(t.documents, "document") + Seconds(p.waited)
		}
		return "searching" + Seconds(p.waited)
	case writing:
		return "writing"
	case stopped:
		return "stopped"
	case failed:
		return "failed"
	}
	return text.Count(t.documents, "document")
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

func (p *Answer) turn(t *Turn, th theme.Theme) []string {
	var lines []string
	add := func(text string, style theme.Style) { lines = append(lines, Wrapped(text, 0, p.look.width, style)...) }
	for _, part := range paint.Wrap(paint.Line(t.Question), max(1, p.look.width-2)) {
		lines = append(lines, th.BorderFocused.Render("▌")+" "+th.Title.Render(part))
	}
	if len(t.queries) > 0 {
		queries := exslices.CastFunc(t.queries, func(query string) string { return "“" + query + "”" })
		add("searched for "+strings.Join(queries, ", "), th.Muted)
	}
	if t.filters != "" {
		add("filters: "+t.filters, th.Muted)
	}
	for _, note := range t.notes {
		add("! "+note, th.Warning)
	}
	lines = append(lines, "")
	lines = append(lines, p.text(t, th)...)
	if t.Problem != "" {
		add(t.Problem, th.Error)
		add(t.remedy, th.Muted)
	}
	sources := t.Cited(false)
	if len(sources) > 0 {
		lines = append(lines, "", th.Muted.Render("Sources"))
	}
	for _, source := range sources {
		row := th.Number.Render("["+passage.Citation(source)+"] ") + th.Text.Render(paint.Line(source.Title)) +
			th.Muted.Render(" · "+wire.SourceName(source.SourceType))
		lines = append(lines, paint.Fit(row, p.look.width))
	}
	return lines
}

// text is the answer: rendered as far as it is, and what came since as plain text.
func (p *Answer) text(t *Turn, th theme.Theme) []string {
	lines, rest := []string(nil), t.Text
	if t.renderedFor == p.look && strings.HasPrefix(t.Text, t.renderedText) {
		lines, rest = t.rendered, t.Text[len(t.renderedText):]
	}
	if rest = strings.TrimLeft(rest, "\n"); rest == "" {
		return lines
	}
	lines = slices.Clone(lines)
	for _, part := range paint.Wrap(paint.Text(rest), p.look.width) {
		lines = append(lines, th.Text.Render(part))
	}
	return lines
}

// coloured returns lines with their citations, such as [1], in the colour of citation numbers. The text behind one gets
// its styles back.
func coloured(lines []string, th theme.Theme) []string {
	citation, styles := regexp.MustCompile(`\[\d{1,3}\]`), regexp.MustCompile("\x1b\\[[0-9;:]+m")
	return exslices.CastFunc(lines, func(line string) string {
		var out strings.Builder
		at := 0
		for _, found := range citation.FindAllStringIndex(line, -1) {
			before := line[:found[0]]
			open := before[max(0, strings.LastIndex(before, "\x1b[m")):]
			out.WriteString(line[at:found[0]] + th.Number.Render(line[found[0]:found[1]]) +
				strings.Join(styles.FindAllString(open, -1), ""))
			at = found[1]
		}
		return out.String() + line[at:]
	})
}

// Restore shows an earlier thread in place of the one that is shown.
func (p *Answer) Restore(turns []Turn) {
	p.Reset()
	p.turns = turns
	for i := range p.turns {
		t := &p.turns[i]
		t.documents, t.stage = len(t.Documents), done
		switch {
		case t.Problem != "":
			t.stage = failed
		case t.Text == "":
			t.stage = stopped
		}
	}
}

// Last returns the last turn with a text.
func (p *Answer) Last() (turn Turn, ok bool) {
	for _, t := range slices.Backward(p.turns) {
		if strings.TrimSpace(t.Text) != "" {
			return t, true
		}
	}
	return Turn{}, false
}

// Cited finds the document with a citation number in the last answer that has it, and returns that turn.
func (p *Answer) Cited(number int) (document wire.SearchDoc, turn Turn, ok bool) {
	for _, t := range slices.Backward(p.turns) {
		if document, ok = t.Document(number); ok {
			return document, t, true
		}
	}
	return document, Turn{}, false
}

// Found is the last turn whose answer rests on documents.
func (p *Answer) Found() (turn Turn, ok bool) {
	for _, t := range slices.Backward(p.turns) {
		if len(t.Documents) > 0 {
			return t, true
		}
	}
	return Turn{}, false
}

// The bounds of a conversation.
const (
	mostMessages   = 40      // the last ones
	longestMessage = 8 << 10 // bytes
)

// Conversation is what was said so far, as a search takes it: without the citations, whose numbers mean nothing there.
func (p *Answer) Conversation() []wire.Message {
	citation := regexp.MustCompile(` *\[\[\d{1,3}\]\]\([^)\s]*\)`)
	var said []wire.Message
	add := func(kind, message string) {
		if strings.TrimSpace(message) != "" {
			said = append(said, wire.Message{Type: kind, Message: text.Clip(message, longestMessage)})
		}
	}
	for _, t := range p.turns {
		add("user", t.Question)
		add("assistant", citation.ReplaceAllString(t.Text, ""))
	}
	return said[max(0, len(said)-mostMessages):]
}
