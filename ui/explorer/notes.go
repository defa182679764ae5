package explorer

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
)

// notes are what the server said about the search, in one line: first what failed, as briefly as there is room for.
func (m *Model) notes() string {
	if m.search.shown == nil {
		return ""
	}
	var said []string
	if failed := m.failedParts(); len(failed) > 0 {
		said = append(said, m.failedText(failed, m.rects.Summary.W-len(" ! ")))
	}
	for _, filter := range m.search.shown.query.Unread {
		said = append(said, "`"+paint.Line(filter)+"` is not a valid filter; searched as text")
	}
	for _, note := range m.search.shown.response.Notes {
		if note.Code != wire.NoteNoModel && ignoredField(note) == "" && !isFailure(note) { // normal for a library; shown by the chip
			said = append(said, brief(note))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return m.theme.Warning.Render(" ! " + strings.Join(said, " · "))
}

// brief is as much of a note as one line may need.
func brief(note wire.Note) string { return paint.Line(text.Clip(note.Text, 400)) }

// isFailure reports whether a part of the search failed, which the rest continued without.
func isFailure(note wire.Note) bool {
	return slices.Contains([]string{wire.NoteStageFailed, wire.NoteStageTimeout, wire.NoteSourceFailed, wire.NoteDamaged}, note.Code)
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
			sources = append(sources, gist(brief(note)))
		case isFailure(note):
			failed = append(failed, gist(brief(note)))
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
func counting(texts []string) []string {
	often := map[string]int{}
	for _, t := range texts {
		often[t]++
	}
	var counted []string
	for _, t := range texts {
		switch n := often[t]; {
		case n == 1:
			counted = append(counted, t)
		case n > 1:
			counted = append(counted, fmt.Sprintf("%s (%d times)", t, n))
		}
		delete(often, t)
	}
	return counted
}

// gist is a note without its consequences, which follow a colon, and without its particulars, in parentheses; what quarry's
// own server says is said in fewer words.
func gist(note string) string {
	end := len(note)
	for _, mark := range []string{": ", " (", "; "} {
		if at := strings.Index(note, mark); at > 0 {
			end = min(end, at)
		}
	}
	return strings.NewReplacer("the language model", "the model", "could not be searched", "failed",
		"did not answer in time", "was too late").Replace(note[:end])
}

// failedText names as many of the parts that failed as there is room for, and the key that explains the rest.
func (m *Model) failedText(failed []string, room int) string {
	why := ""
	if key := m.keys.keyOf("why", m.focus); key != "" {
		why = " · " + key + " why"
	}
	for n := len(failed); n > 0; n-- {
		named := strings.Join(failed[:n], " · ")
		if n < len(failed) {
			named += fmt.Sprintf(" · %d more", len(failed)-n)
		}
		if named += why; paint.Width(named) <= room {
			return named
		}
	}
	if len(failed) == 1 {
		return "a part failed" + why
	}
	return text.Count(len(failed), "part") + " failed" + why
}
