package explorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exmaps"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
	"quarry/ui/state"
)

// collecting is the panel of the passages that were marked across searches, and that of their export.
type collecting struct {
	panel.Collection
	exports  panel.Actions
	known    []state.Passage    // as the list and the panel show them
	marked   exmaps.Set[string] // by reference
	checking *request           // whether they changed since
}

func collectionBindings() []Binding {
	return group("Collection",
		action("open-collected", "enter", InCollection, "open", "Open the passage", (*Model).openCollected,
			noCollected),
		action("ask-marked", "a", InCollection, "ask", "Ask a model to answer from the marked passages only",
			(*Model).askCollection, cannotAskCollection),
		action("note", "n", InCollection, "note", "Write a note about the passage", (*Model).noteCollected,
			noCollected),
		action("export", "x", InCollection, "export", "Export the collection as Markdown, JSON or CSV",
			(*Model).openExports, noCollected),
		action("remove-collected", "d delete", InCollection, "remove", "Remove the passage from the collection",
			(*Model).dropCollected, noCollected),
		action("move-down", "J shift+down", InCollection, "move down", "Move the passage down",
			func(m *Model) tea.Cmd { return m.moveCollected(1) }, noCollected),
		action("move-up", "K shift+up", InCollection, "move up", "Move the passage up",
			func(m *Model) tea.Cmd { return m.moveCollected(-1) }, noCollected),
		action("export-collection", "X", InList|InReader|InHome, "", "Export the collection as Markdown, JSON or CSV",
			(*Model).openExports, noCollection),
		action("run-export", "enter", InExports, "export", "Copy or save the collection in this format",
			(*Model).runExport),
	)
}

// followCollection shows a changed collection in the list and in its panel.
func (m *Model) followCollection() {
	now, known := m.marks(), m.collection.known
	if len(now) == len(known) && (len(now) == 0 || &now[0] == &known[0]) {
		return
	}
	m.collection.known = now
	marked := exmaps.NewSetWithItems(exslices.CastFunc(now, markedRef))
	m.collection.Set(now, m.look.by, m.now())
	if !maps.Equal(marked, m.collection.marked) {
		m.collection.marked = marked
		m.list.SetMarked(marked)
	}
}

func cannotMark(m *Model) string {
	result, _ := m.result()
	return cmp.Or(noResult(m),
		unless(passage.RefOf(result) != "", "this passage has neither a reference nor a link to collect it by"))
}

func noCollection(m *Model) string {
	return unless(len(m.marks()) > 0 || m.overlay() == InCollection,
		"no passages are marked; "+m.keys.keyOf("mark", InList)+" in the results marks one")
}

func noCollected(m *Model) string {
	return unless(len(m.marks()) > 0, "the collection is empty")
}

// toggleMark puts the selected passage into the collection or removes it. In the list the next passage is selected.
func (m *Model) toggleMark() tea.Cmd {
	result, _ := m.result()
	query := m.reader.query // a pinned passage may be of an earlier search
	if !m.onPinned() {
		query = m.search.shown.text
	}
	passage := state.PassageOf(result, strings.TrimSpace(query), m.now())
	if m.focus == InList {
		m.list.Move(1)
	}
	if m.pick != nil {
		m.pick.results[passage.Ref] = result
	}
	return m.changeMarks(func(s *state.State) error {
		if s.Collected(passage.Ref) >= 0 {
			s.Drop(passage.Ref)
			return nil
		}
		return s.Collect(passage)
	})
}

// openCollection shows the collection, or closes it.
func (m *Model) openCollection() tea.Cmd {
	if m.overlay() == InCollection {
		return m.closePanel()
	}
	m.pushPanel(InCollection, &m.collection)
	return m.checkCollected()
}

// collected is the passage that is chosen in the collection.
func (m *Model) collected() state.Passage {
	at, _ := m.collection.Chosen()
	marks := m.marks()
	return marks[min(at, len(marks)-1)]
}

func (m *Model) openCollected() tea.Cmd { return m.openPassage(m.collected()) }

// openPassage reads a marked passage: among the results if it is there, else the collection takes their place.
func (m *Model) openPassage(chosen state.Passage) tea.Cmd {
	m.panels, m.focus, m.reader = nil, InReader, m.compare.following
	if s := m.search.shown; s != nil {
		if at := slices.Index(refsOf(s.response.Results), chosen.Ref); at >= 0 {
			m.list.SelectIndex(at)
			return nil
		}
	}
	results := make([]wire.SearchResult, 0, len(m.collection.known))
	for i, p := range m.collection.known {
		results = append(results, p.Result(i+1))
	}
	m.leavePage()
	m.showFound(results, "the collection")
	for _, result := range results { // they are shown as they were marked
		m.answer.completed[result.Ref] = true
	}
	m.list.SelectIndex(slices.Index(refsOf(results), chosen.Ref))
	return nil
}

// noteCollected asks for the note of the chosen passage.
func (m *Model) noteCollected() tea.Cmd {
	chosen := m.collected()
	return m.openPrompt("Note", "an empty line removes the note", chosen.Note, func(note string) tea.Cmd {
		return m.changeMarks(func(s *state.State) error { s.Annotate(chosen.Ref, note); return nil })
	})
}

func (m *Model) dropCollected() tea.Cmd {
	chosen := m.collected()
	return m.changeMarks(func(s *state.State) error { s.Drop(chosen.Ref); return nil })
}

// moveCollected moves the chosen passage, and the choice with it.
func (m *Model) moveCollected(steps int) tea.Cmd {
	chosen := m.collected()
	m.collection.Move(steps)
	return m.changeMarks(func(s *state.State) error { s.Move(chosen.Ref, steps); return nil })
}

// export is a way to export the collection, and the format.
type export struct {
	way    exportWay
	format string
}

type exportWay int

const (
	toClipboard exportWay = iota
	toFile
	asCommand
)

// openExports lists the formats of the collection, and where it can go.
func (m *Model) openExports() tea.Cmd {
	noFile := unless(m.options.Caps.Save != nil, "files cannot be written over SSH")
	noCommand := unless(m.target.Command != "", "this collection is not stored: it ends with the session")
	var entries []panel.Entry
	for way, about := range [...]struct{ group, reason string }{toClipboard: {"To the clipboard", ""},
		toFile:    {"To a file", noFile},
		asCommand: {"The command that prints the same", noCommand}} {
		for _, format := range state.Formats() {
			name := map[string]string{state.Markdown: "Markdown, numbered", state.JSON: "JSON",
				state.CSV: "CSV"}[format]
			if exportWay(way) == asCommand && noCommand == "" {
				name = m.exportCommand(format)
			}
			entries = append(entries, panel.Entry{Value: export{exportWay(way), format}, Group: about.group, Text: name,
				Reason: about.reason})
		}
	}
	m.collection.exports.Open("Export "+text.Count(len(m.collection.known), "passage"), "no format matches", entries)
	m.pushPanel(InExports, &m.collection.exports)
	return m.checkCollected()
}

// exportCommand is the command line that prints the collection in a format.
func (m *Model) exportCommand(format string) string { return m.target.Command + " --format " + format }

// runExport exports the collection in the chosen way.
func (m *Model) runExport() tea.Cmd {
	entry, ok := m.collection.exports.Chosen()
	if !ok {
		return nil
	}
	if entry.Reason != "" {
		m.warn(entry.Reason)
		return nil
	}
	chosen := entry.Value.(export)
	if chosen.way == asCommand {
		m.popPanel()
		return m.copy(m.exportCommand(chosen.format), "command")
	}
	exported, err := state.Export(m.collection.known, chosen.format)
	if err != nil {
		m.fail("could not export: " + paint.Line(err.Error()))
		return nil
	}
	m.popPanel()
	askForFile := func() tea.Cmd {
		if m.options.Caps.Save == nil {
			return nil
		}
		return m.openPrompt("Save the collection as", "path of a file", "collection."+chosen.format,
			func(path string) tea.Cmd { return m.saveExport(path, exported, false) })
	}
	if chosen.way == toFile {
		return askForFile()
	}
	return m.copyElse(exported, text.Count(len(m.collection.known), "passage"), askForFile)
}

// saveExport writes an export into a file. One that exists is replaced only after another question.
func (m *Model) saveExport(path, exported string, replace bool) tea.Cmd {
	if path == "" {
		m.warn("not saved: the path is empty")
		return nil
	}
	save := m.options.Caps.Save
	write := func() (string, error) { return save(path, []byte(exported), replace) }
	return detached(nil, write, func(saved string, err error) tea.Cmd {
		switch {
		case errors.Is(err, fs.ErrExist):
			return m.openPrompt("Replace the existing file?", "path of a file", path, func(again string) tea.Cmd {
				return m.saveExport(again, exported, again == path)
			})
		case err != nil:
			m.fail(paint.Line(fmt.Sprintf("could not save: %v", err)))
		default:
			m.say("saved in " + saved)
		}
		return nil
	})
}

// checkCollected finds which marked passages changed or are gone since, as far as the server has their documents, and
// notes it in the collection, from where every export has it.
func (m *Model) checkCollected() tea.Cmd {
	c := m.client()
	if c == nil || len(m.marks()) == 0 {
		return nil
	}
	marks, beside := m.marks(), m.target.Beside
	return background(m, &m.collection.checking, func(ctx context.Context) (map[string]string, error) {
		return state.Check(ctx, c, marks, beside)
	}, func(found map[string]string, _ error) tea.Cmd {
		if len(found) == 0 {
			return nil
		}
		return m.changeMarks(func(s *state.State) error { s.SetStale(found); return nil })
	})
}

// picking is the choice of passages for somebody who waits for them. Its marks end with it: those of the collection,
// which may be months old, are not chosen with what is picked today.
type picking struct {
	marks   *state.Store
	results map[string]wire.SearchResult // the marked ones by reference, as they were found
}

func pickBindings() []Binding {
	choose := action("choose", "enter", InList|InReader, "choose",
		"With --pick: choose the passage, or the marked ones, and quit", (*Model).choose, noResult)
	choose.Picks = true
	return group("Pick", choose)
}

// choose hands over the marked passages, or else the selected one, and quits. One that is unfit is named, and nothing
// is handed over.
func (m *Model) choose() tea.Cmd {
	chosen := m.candidates()
	for _, result := range chosen {
		if reason := m.options.Pick.Unfit(result); reason != "" {
			m.warn(reason + ": " + paint.Line(result.Title))
			return nil
		}
	}
	m.options.Pick.Chosen(chosen)
	return m.quit()
}

// candidates are the marked passages, numbered in their order, or else the selected one.
func (m *Model) candidates() []wire.SearchResult {
	marked := m.marks()
	if len(marked) == 0 {
		selected, _ := m.result()
		return []wire.SearchResult{selected}
	}
	chosen := make([]wire.SearchResult, 0, len(marked))
	for i, mark := range marked {
		result, number := m.pick.results[mark.Ref], i+1
		result.CitationID = &number
		chosen = append(chosen, result)
	}
	return chosen
}

// marks are the marked passages: those of the collection, or of what is being picked.
func (m *Model) marks() []state.Passage {
	if m.pick != nil {
		return m.pick.marks.State().Collection
	}
	return m.past.state.Collection
}

// changeMarks changes the marked passages, and saves them if they are those of the collection.
func (m *Model) changeMarks(change func(*state.State) error) tea.Cmd {
	if m.pick == nil {
		return m.change(change)
	}
	if _, err := m.pick.marks.Change(change); err != nil {
		m.warnOf(err)
	}
	return nil
}
