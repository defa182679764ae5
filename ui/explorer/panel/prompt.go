package panel

import (
	"quarry/theme"
	"quarry/ui/explorer/line"
)

// Prompt asks for one line of text.
type Prompt struct {
	Static
	name   string
	hint   string
	editor line.Editor
}

// Open asks again, with a text to change and what to show while there is none.
func (p *Prompt) Open(name, hint, text string) {
	p.name, p.hint = name, hint
	p.editor = line.Editor{}
	p.editor.SetText(text)
}

// Text returns what is typed.
func (p *Prompt) Text() string { return p.editor.Text() }

// Edit implements Panel.
func (p *Prompt) Edit(change func(*line.Editor) bool) bool { return change(&p.editor) }

// Move implements Panel; there is nothing to move.
func (p *Prompt) Move(int) {}

// Page implements Panel.
func (p *Prompt) Page(int) {}

// Title implements Panel.
func (p *Prompt) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render(p.name), ""
}

// View implements Panel.
func (p *Prompt) View(width, _ int, th theme.Theme) Body {
	typed, x := Input(&p.editor, width, th, p.hint)
	return Body{Lines: []string{typed}, X: x, Cursor: true}
}
