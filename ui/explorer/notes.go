package explorer

import (
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/ui/explorer/paint"
)

// notes are what the server said about the search, in one line: first what failed, as briefly as the line asks for.
func (m *Model) notes() string {
	if m.search.shown == nil {
		return ""
	}
	var told []string
	for _, filter := range m.search.shown.query.Unread {
		told = append(told, paint.Line(filter)+" is no filter; taken as words")
	}
	for _, note := range m.search.shown.response.Notes {
		if note.Code != wire.NoteNoModel && ignoredField(note) == "" && !isFailure(note) { // normal for a library; told by the chip
			told = append(told, brief(note.Text))
		}
	}
	rest := strings.Join(told, " · ")
	if failed := m.failedParts(); len(failed) > 0 {
		text := m.failedText(failed, m.rects.Summary.W-len(" ! "))
		if rest != "" {
			rest = " · " + rest
		}
		return m.theme.Warning.Render(" ! " + text + rest)
	}
	if rest == "" {
		return ""
	}
	return m.theme.Warning.Render(" ! " + rest)
}

// isFailure tells that a part of the search failed, which the rest went on without.
func isFailure(note wire.Note) bool {
	switch note.Code {
	case wire.NoteStageFailed, wire.NoteStageTimeout, wire.NoteSourceFailed, wire.NoteDamaged:
		return true
	}
	return false
}

// failedParts name what the search went on without, each in a few words.
func (m *Model) failedParts() []string {
	if m.search.shown == nil {
		return nil
	}
	var failed, sources []string
	for _, note := range m.search.shown.response.Notes {
		switch {
		case note.Code == wire.NoteSourceFailed:
			sources = append(sources, gist(brief(note.Text)))
		case isFailure(note):
			failed = append(failed, gist(brief(note.Text)))
		}
	}
	if failed = append(sources, failed...); len(failed) > 0 { // first whose results are missing
		return counting(failed)
	}
	for _, stage := range m.search.shown.response.Stages { // of a server that says no more about it
		if stage.Outcome == wire.OutcomeFailed || stage.Outcome == wire.OutcomeTimeout {
			failed = append(failed, paint.Line(stage.Name)+" failed")
		}
	}
	return failed
}

// counting says the same only once, and how often it is so.
func counting(texts []string) (told []string) {
	often := map[string]int{}
	for _, text := range texts {
		often[text]++
	}
	for _, text := range texts {
		switch n := often[text]; {
		case n == 1:
			told = append(told, text)
		case n > 1:
			told = append(told, fmt.Sprintf("%s (%d times)", text, n))
		}
		delete(often, text)
	}
	return told
}

// gist is a note without its consequences, which follow a colon, and without its particulars, in parentheses; what quarry's
// own server says is said in fewer words.
func gist(text string) string {
	end := len(text)
	for _, mark := range []string{": ", " (", "; "} {
		if at := strings.Index(text, mark); at > 0 {
			end = min(end, at)
		}
	}
	return strings.NewReplacer("the language model", "the model", "could not be searched", "failed",
		"did not answer in time", "was too late", "gave no answer that could be used", "gave nothing usable").Replace(text[:end])
}

// failedText names as many of the parts that failed as there is room for, and the key that tells the rest.
func (m *Model) failedText(failed []string, room int) string {
	why := ""
	if key := m.keys.keyOf("why", m.focus); key != "" {
		why = " · " + key + " why"
	}
	for n := len(failed); n > 0; n-- {
		text := strings.Join(failed[:n], " · ")
		if n < len(failed) {
			text += fmt.Sprintf(" · %d more", len(failed)-n)
		}
		if text += why; paint.Width(text) <= room {
			return text
		}
	}
	if len(failed) == 1 {
		return "a part failed" + why
	}
	return counted(len(failed), "part") + " failed" + why
}
