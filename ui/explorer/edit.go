package explorer

import (
	"cmp"
	"context"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

func editBindings() []Binding {
	return group("Copy and open",
		action("edit", "ctrl+e", InList|InReader, "", "Edit the file at the passage in $VISUAL or $EDITOR", (*Model).editFile, cannotEdit))
}

func cannotEdit(m *Model) string {
	result, _ := m.result()
	return cmp.Or(noResult(m), unless(m.target.Kind != Sample, "the sample library has no files to edit"),
		unless(m.options.Caps.Edit != nil, m.options.Caps.EditReason),
		unless(m.target.Kind == Library, "only files of a library on this machine can be edited"), notOpen(m), m.elsewhere(result))
}

// editFile opens the file of the passage at its line. The library says which file that is: what a document says of
// itself is not asked.
func (m *Model) editFile() tea.Cmd {
	result, _ := m.result()
	c, line := m.client(), lineOf(result)
	return background(m, &m.editing, func(ctx context.Context) (string, error) { return c.LibraryFile(ctx, result.DocumentID) },
		func(path string, err error) tea.Cmd {
			if err != nil {
				m.fail("cannot edit this document: " + reasonOf(err))
				return nil
			}
			return m.options.Caps.Edit(path, line, func(err error) tea.Msg {
				return resultMsg{handle: func() tea.Cmd { return m.readAgain(path, err) }}
			})
		})
}

// lineOf returns the line of the file at which the best passage begins. It is 0 where the server names no lines.
func lineOf(r wire.SearchResult) int {
	if len(r.Lines) != 2 {
		return 0
	}
	return passage.Best(r).Lines[0]
}

// readAgain has the library read a file that was edited, also where the editor failed in the end.
func (m *Model) readAgain(path string, edited error) tea.Cmd {
	name := paint.Line(filepath.Base(path))
	if edited != nil {
		m.fail("editor: " + paint.Line(edited.Error()))
	}
	c, skipped := m.client(), ""
	return background(m, &m.editing, func(ctx context.Context) (wire.LibraryEvent, error) {
		request := wire.SyncRequest{Paths: []string{path}, Check: wire.CheckNone}
		return c.ChangeLibrary(ctx, request, func(event wire.LibraryEvent) {
			if event.Type == wire.LibrarySkipped {
				skipped = event.Reason
			}
		})
	}, func(done wire.LibraryEvent, err error) tea.Cmd {
		switch {
		case err != nil:
			m.fail("the library could not read " + name + " again: " + reasonOf(err))
		case skipped != "":
			m.warn("the library skips " + name + " now: " + paint.Line(skipped))
		case done.Added+done.Updated+done.Removed > 0:
			m.say(name + " changed; the library is up to date")
		case edited == nil:
			m.inform(name + " is unchanged")
		}
		return nil
	})
}
