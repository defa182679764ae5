package setup

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/progress"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

const (
	widestForm = 72 // columns of a text that is read
	labelWidth = 9  // of the fields
	shownSkips = 5  // while a folder is read
)

// row is one line of the panel's inside.
type row struct {
	text   string
	focus  bool // must be seen
	spare  bool // goes first where room is short
	cursor int  // column of the cursor, from 1; 0: it is not here
}

// Title implements panel.Panel.
func (w *Wizard) Title(_ int, th theme.Theme) (title, beside string) {
	titles := [...]string{choosing: "What do you want to search?", connecting: "Connect to an Onyx server",
		naming: "Open a folder of files", modelling: "Set up a language model", adding: "Reading", over: "Done"}
	return th.Title.Render(titles[w.page]), ""
}

// View draws the rows of the page, those around the focus where there is no room for all.
func (w *Wizard) View(width, height int, th theme.Theme) panel.Body {
	rows := fitted(w.rows(width, th), height)
	if w.page == over {
		w.report.Set(width, height, fmt.Sprint(width, height, th.Name), func() []string {
			return exslices.CastFunc(rows, func(r row) string { return r.text })
		})
		return w.report.Body()
	}
	focus := panel.Choice{At: max(0, slices.IndexFunc(rows, func(r row) bool { return r.focus }))}
	focus.Of(len(rows))
	from, to := focus.Window(height)
	var body panel.Body
	for i, r := range rows[from:to] {
		body.Lines = append(body.Lines, r.text)
		if r.cursor > 0 && r.cursor <= width {
			body.X, body.Y, body.Cursor = r.cursor-1, i, true
		}
	}
	body.ThumbFrom, body.ThumbTo = panel.Thumb(0, height, from, len(rows))
	return body
}

// fitted takes rows out that can be missed, as many as are too many, from the end.
func fitted(rows []row, height int) []row {
	excess := len(rows) - height
	for i := len(rows) - 1; i >= 0 && excess > 0; i-- {
		if rows[i].spare {
			rows = slices.Delete(rows, i, i+1)
			excess--
		}
	}
	return rows
}

func (w *Wizard) rows(width int, th theme.Theme) []row {
	b := &builder{width: width, th: th, items: w.items(), focus: w.focus}
	switch w.page {
	case choosing:
		for i := range b.items {
			b.item(i)
			b.blank()
		}
	case connecting:
		w.formRows(b, "The token is stored in the system keyring, or in a file that only you can read.")
	case naming:
		w.folderRows(b)
	case modelling:
		w.formRows(b, w.modelUse(),
			"Searches send the question and passages to this address. The key is stored in the "+
				"configuration file, which only you can read.")
	case adding:
		w.progressRows(b)
	case over:
		for _, text := range w.result {
			b.text(text, th.Text, false)
		}
		b.blank()
		b.item(0)
		b.blank()
		for _, text := range w.skips {
			b.text(text, th.Muted, false)
		}
	}
	return b.rows
}

// builder collects rows.
type builder struct {
	width int
	th    theme.Theme
	items []item
	focus int // item
	rows  []row
}

func (b *builder) add(r row) { b.rows = append(b.rows, r) }

func (b *builder) blank() { b.add(row{spare: true}) }

// text is a text that may come from anywhere, wrapped.
func (b *builder) text(foreign string, style theme.Style, spare bool) {
	const most = 20 // lines: more is not read
	for i, part := range paint.Wrap(oneLine(foreign), min(b.width, widestForm)) {
		if i == most {
			return
		}
		b.add(row{text: style.Render(part), spare: spare})
	}
}

// oneLine is foreign text for one line, as much of it as anybody reads.
func oneLine(foreign string) string {
	const most = 4000 // bytes
	return paint.Line(text.Clip(foreign, most))
}

// item draws an item of the page.
func (b *builder) item(i int) {
	it, focus := b.items[i], i == b.focus
	title := oneLine(it.title)
	switch {
	case it.editor != nil:
		b.field(it, focus)
		return
	case focus:
		b.add(row{text: b.th.Prompt.Render("▌") + " " + b.th.Selected.Render(title), focus: true})
	case it.refused != "":
		b.add(row{text: "  " + b.th.Disabled.Render(title)})
	default:
		b.add(row{text: "  " + b.th.Text.Render(title)})
	}
	about := it.about
	if it.refused != "" {
		about = "unavailable: " + it.refused
	}
	if about == "" {
		return
	}
	for _, part := range paint.Wrap(oneLine(about), max(1, min(b.width-2, widestForm))) {
		b.add(row{text: "  " + b.th.Muted.Render(part), spare: !focus || it.refused == ""})
	}
}

// field draws a line to type in.
func (b *builder) field(it item, focus bool) {
	bar := "│"
	if focus {
		bar = "┃"
	}
	label := paint.Fit(it.title, min(labelWidth, b.width/3)) + " "
	prefix := b.th.Muted.Render(label) + b.th.Prompt.Render(bar) + " "
	shown, at := it.editor.View(max(1, b.width-paint.Width(label)-2), b.th, it.about, it.masked)
	r := row{text: prefix + shown, focus: focus}
	if focus {
		r.cursor = paint.Width(label) + 3 + at
	}
	b.add(r)
}

// problem draws what went wrong and what to do.
func (b *builder) problem(problem, remedy string) {
	if problem == "" {
		return
	}
	b.blank()
	b.text("✕ "+problem, b.th.Error, false)
	if remedy != "" {
		b.text(remedy, b.th.Text, false)
	}
}

// formRows draws the lines of a form, and its button, how its test went, and what becomes of what is typed.
func (w *Wizard) formRows(b *builder, notes ...string) {
	button := len(b.items) - 1
	for i := range button {
		b.item(i)
	}
	b.blank()
	b.item(button)
	w.outcome(b)
	b.blank()
	for _, note := range notes {
		b.text(note, b.th.Muted, true)
	}
}

// outcome draws how a test went.
func (w *Wizard) outcome(b *builder) {
	if w.tested != nil {
		b.blank()
		for _, step := range w.tested.Steps {
			b.step(step)
		}
	}
	b.problem(w.problem, w.remedy)
}

// step is a line of a test: its mark shows how it went, without colour too.
func (b *builder) step(step Step) {
	mark := [...]string{Passed: "●", Failed: "✕", Skipped: "·"}[step.Mark]
	style := [...]theme.Style{Passed: b.th.Success, Failed: b.th.Error, Skipped: b.th.Muted}[step.Mark]
	said := paint.Fit(step.Name, labelWidth) + " " + oneLine(step.Detail)
	b.add(row{text: style.Render(mark) + " " + b.th.Text.Render(paint.Fit(said, max(1, b.width-2))),
		spare: step.Mark == Skipped})
}

func (w *Wizard) folderRows(b *builder) {
	b.item(0)
	b.problem(w.problem, w.remedy)
	if w.unread {
		b.cuts(w.skipLines(b.width))
	}
	b.blank()
	b.text("Reads Markdown, PDF, Office documents, mail, web pages, code and Slack exports. What cannot be read is "+
		"listed with the reason. The files stay where they are.", b.th.Muted, true)
	b.text("tab completes the path", b.th.Muted, true)
}

func (w *Wizard) progressRows(b *builder) {
	f := &w.folder
	b.text(f.path, b.th.Title, true)
	b.add(row{text: w.bar(b)})
	b.text(f.pace(), b.th.Text, true)
	if f.progress.Path != "" {
		b.add(row{text: b.th.Muted.Render(paint.Fit(paint.Line(tail(f.progress.Path, b.width)), b.width)), spare: true})
	}
	b.blank()
	b.item(0)
	b.item(1)
	if skips := w.skipLines(b.width); len(skips) > 0 {
		b.blank()
		b.cuts(skips)
	}
}

// cuts are the first of some texts, each on a line that it may be cut to.
func (b *builder) cuts(texts []string) {
	for _, text := range texts[:min(shownSkips, len(texts))] {
		b.add(row{text: b.th.Muted.Render(paint.Fit(oneLine(text), b.width)), spare: true})
	}
}

// bar is how far the reading is, with the counts beside it; the counts alone where the whole is not known or room is
// short.
func (w *Wizard) bar(b *builder) string {
	const widest, least = 32, 8
	event := w.folder.progress
	if w.folder.indexing.Total > 0 {
		event = w.folder.indexing
	}
	files := event.Counts()
	room := min(widest, b.width-paint.Width(files)-1)
	if event.Total <= 0 || room < least {
		return b.th.Text.Render(files)
	}
	bar := progress.New(progress.WithWidth(room), progress.WithoutPercentage(), progress.WithFillCharacters('█', '─'),
		progress.WithColors(b.th.Bar.GetForeground()))
	bar.EmptyColor = b.th.Border.GetForeground()
	return bar.ViewAs(event.Fraction()) + " " + b.th.Text.Render(files)
}

// tail is the end of a path that fits.
func tail(path string, width int) string {
	const most = 1000 // bytes that are looked at
	if len(path) > most {
		path = "…" + strings.ToValidUTF8(path[len(path)-most:], "")
	}
	if paint.Width(path) <= width {
		return path
	}
	start := strings.LastIndexByte(path, '/') + 1
	for used := paint.Width("…" + path[start:]); start > 0; {
		before := strings.LastIndexByte(path[:start-1], '/') + 1
		if used += paint.Width(path[before:start]); before == 0 || used > width {
			return "…" + path[start:]
		}
		start = before
	}
	return path
}

// pace is "40 files/s · 12 MB of 120 MB · 3 skipped".
func (f *folder) pace() string {
	rate, skipped := "", ""
	if f.rate > 0 {
		rate = fmt.Sprintf("%.0f files/s", f.rate)
	}
	if f.skipped > 0 {
		skipped = text.Number(f.skipped) + " skipped"
	}
	return text.Join(" · ", rate, f.progress.Sizes(), skipped)
}

// skipLines lists what was skipped and why: kinds of files in one line, then file by file, the latest first. Paths are
// relative to the folder and cut to their end in lines of width columns; 0 leaves them whole.
func (w *Wizard) skipLines(width int) []string {
	f := &w.folder
	var lines []string
	if total, kinds := text.Tally(f.kinds); total > 0 {
		lines = append(lines, fmt.Sprintf("%d skipped (unsupported types): %s", total, kinds))
	}
	for _, skip := range slices.Backward(f.skips) {
		path, reason := oneLine(within(f.path, skip.Path)), ": "+oneLine(skip.Reason)
		if width > 0 {
			path = tail(path, max(leastPath, width-paint.Width("skipped "+reason)))
		}
		lines = append(lines, "skipped "+path+reason)
	}
	rest := f.skipped - len(f.skips)
	for _, n := range f.kinds {
		rest -= n
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return lines
}

// leastPath is how many columns of a path are kept before a long reason.
const leastPath = 20

// within returns a path relative to a folder.
func within(folder, path string) string {
	if rest, found := strings.CutPrefix(path, strings.TrimRight(folder, `/\`)); found {
		if inner := strings.TrimLeft(rest, `/\`); inner != "" && inner != rest {
			return inner
		}
	}
	return path
}

func stoppedText(last wire.LibraryEvent) string {
	if last.Stored == 0 {
		return "Stopped before anything was stored."
	}
	return fmt.Sprintf("Stopped. %s stored so far; open the folder again to continue.",
		text.Count(last.Stored, "file"))
}
