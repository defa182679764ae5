package explorer

import (
	"quarry/ui/explorer/panel"
)

// Bindings returns all actions in the order in which they are listed: last those that everybody knows. A key may run
// different actions in different places.
func Bindings() []Binding {
	var all []Binding
	for _, group := range [][]Binding{
		searchBindings(), listBindings(), readerBindings(), takeBindings(), filterBindings(), screenBindings(),
		overlayBindings(), conversationBindings(), editingBindings(),
	} {
		all = append(all, group...)
	}
	return all
}

func searchBindings() []Binding {
	return group("Search",
		action("search", "enter", InBox, "search", "Search and move to the results", (*Model).submit),
		action("follow-up", "ctrl+j alt+enter", InBox, "", "Search for the query as a follow-up to the previous one",
			(*Model).followUp, noTrail),
		action("query", "/", InList|InReader, "query", "Go to the query", do(func(m *Model) { m.focus = InBox })),
		action("search-again", "r ctrl+r", InPanes, "", "Search again, ignoring the cache", (*Model).searchAgain, noQuery),
		action("back", "esc", InPanes, "", "Go back: stop the search, close the reader, leave the list, clear the query",
			(*Model).back),
		action("undo-query", "u", InList|InReader, "", "Undo the last change of query and filters",
			(*Model).undoQuery, noUndo),
		action("complete", "tab", InBox, "", "Complete a filter or its value; on an empty query, try an example",
			(*Model).complete, cannotComplete),
	)
}

func listBindings() []Binding {
	return group("Results",
		action("open", "enter l right", InList, "open", "Open the passage in the reader", do(func(m *Model) { m.focus = InReader }), noResult),
		action("next", "down j ctrl+n", InBox|InList, "", "Next passage",
			do(func(m *Model) { m.list.Move(1) }), noResult),
		action("previous", "up k ctrl+p", InBox|InList, "", "Previous passage",
			do(func(m *Model) { m.list.Move(-1) }), noResult),
		action("first", "g home", InList, "", "First passage", do(func(m *Model) { m.list.First() }), noResult),
		action("last", "G end", InList, "", "Last passage", do(func(m *Model) { m.list.Last() }), noResult),
		action("half-page-down", "ctrl+d pgdown", InList, "", "Half a page down", do(func(m *Model) { m.list.HalfPage(1) }), noResult),
		action("half-page-up", "ctrl+u pgup", InList, "", "Half a page up", do(func(m *Model) { m.list.HalfPage(-1) }), noResult),
		digits("jump", InList|InReader, "Go to the citation with that number", (*Model).jump, noResult),
	)
}

func readerBindings() []Binding {
	return group("Reader",
		action("expand", "e", InList|InReader, "expand", "Show the passages around this one", (*Model).expand, cannotExpand),
		action("whole", "E", InList|InReader, "", "Show the whole document", (*Model).expandWhole, cannotExpand),
		action("next-match", "n", InList|InReader, "next match", "Next match",
			do(func(m *Model) { m.toMatch(m.reader.NextMatch) }), noResult),
		action("previous-match", "N", InList|InReader, "", "Previous match",
			do(func(m *Model) { m.toMatch(m.reader.PrevMatch) }), noResult),
		action("next-of-document", "]", InList|InReader, "", "Next passage of the same document",
			do(func(m *Model) { m.ofDocument(1) }), noResult),
		action("previous-of-document", "[", InList|InReader, "", "Previous passage of the same document",
			do(func(m *Model) { m.ofDocument(-1) }), noResult),
		action("close-reader", "h left", InReader, "results", "Back to the results", do(func(m *Model) { m.focus = InList })),
		action("line-down", "j down ctrl+n", InReader, "", "Scroll down one line", do(func(m *Model) { m.reader.Down(1) })),
		action("line-up", "k up ctrl+p", InReader, "", "Scroll up one line", do(func(m *Model) { m.reader.Up(1) })),
		action("reader-half-page-down", "ctrl+d", InReader, "", "Half a page down", do(func(m *Model) { m.reader.HalfPage(1) })),
		action("reader-half-page-up", "ctrl+u", InReader, "", "Half a page up", do(func(m *Model) { m.reader.HalfPage(-1) })),
		action("page-down", "pgdown space", InReader, "", "A page down", do(func(m *Model) { m.reader.Page(1) })),
		action("page-up", "pgup b", InReader, "", "A page up", do(func(m *Model) { m.reader.Page(-1) })),
		action("top", "g home", InReader, "", "Go to the beginning", do(func(m *Model) { m.reader.Top() })),
		action("bottom", "G end", InReader, "", "Go to the end", do(func(m *Model) { m.reader.Bottom() })),
		action("scroll-down", "shift+down J", InList, "", "Scroll the reader down from the list",
			do(func(m *Model) { m.reader.HalfPage(1) }), noReaderBeside),
		action("scroll-up", "shift+up K", InList, "", "Scroll the reader up from the list",
			do(func(m *Model) { m.reader.HalfPage(-1) }), noReaderBeside),
		action("answer", "a", InList|InReader, "ask", "Ask a model to answer the query, with citations",
			(*Model).openAnswer, cannotAnswer),
		action("why", "w", InList|InReader|InAnswer, "", "Explain these results: queries, filters, stages, ranks",
			(*Model).openWhy, notOfAnswer),
		action("raw", "v", InList|InReader, "", "Switch between raw and rendered text", (*Model).toggleRaw, noResult),
	)
}

func takeBindings() []Binding {
	return group("Copy and open",
		action("open-source", "o", InList|InReader, "source", "Open the original document", (*Model).openSource, cannotOpen),
		action("cite", "y", InList|InReader, "cite", "Copy the citation", (*Model).copyCitation, noResult),
		action("copy-passage", "Y", InList|InReader, "", "Copy the passage with its citation", (*Model).copyPassage, noResult),
	)
}

func filterBindings() []Binding {
	return group("Filters",
		action("filters", "f ctrl+f f2", InPanes, "filters", "Filter by source and time", (*Model).openPicker, notOpen),
		action("drop-filter", "x ctrl+x", InBox|InList, "", "Remove the last filter (with no results: the most restrictive one)",
			(*Model).dropFilter, noChip),
	)
}

func screenBindings() []Binding {
	return group("Screen",
		action("actions", "? f1", InPanes, "all keys", "List all actions with their keys, and run one", (*Model).openActions),
		action("set-up", "f3", InPanes, "", "Connect to an Onyx server, or open a folder",
			(*Model).openSetUp, noSetUp),
		action("zoom", "z", InList|InReader, "", "Zoom the pane to the whole screen, or back",
			do(func(m *Model) { m.look.zoomed = !m.look.zoomed }), noPanes),
		action("widen", "ctrl+right >", InList|InReader, "", "Move the divider to the right, or down",
			do(func(m *Model) { m.moveDivider(1) }), noPanes),
		action("narrow", "ctrl+left <", InList|InReader, "", "Move the divider to the left, or up",
			do(func(m *Model) { m.moveDivider(-1) }), noPanes),
		action("theme", "T", InList|InReader, "", "Next theme: automatic, dark, light, 16 colours, mono", (*Model).nextTheme, noColour),
		action("mouse", "ctrl+o", InPanes, "", "Turn the mouse on or off (when on, select text with shift held)",
			(*Model).toggleMouse),
		action("redraw", "ctrl+l", Everywhere, "", "Redraw the screen", (*Model).redraw),
		action("suspend", "ctrl+z", Everywhere, "", "Suspend to the shell (fg returns)", (*Model).suspend, cannotSuspend),
		action("leave", "q", InList|InReader, "", "Quit", (*Model).quit),
		action("quit", "ctrl+c", Everywhere, "", "Quit", (*Model).quit),
	)
}

func overlayBindings() []Binding {
	return group("Panels",
		action("close", "esc q", InOverlays, panel.Close, "Close the panel without changes", (*Model).closePanel, cannotClose),
		action("apply", "enter", InPicker, "apply", "Search with the selected filters", (*Model).applyPicker),
		typed(action("toggle", "space", InPicker, "select", "Select or deselect a value; in Time, start and end a range", do(func(m *Model) { m.filters.picker.Toggle() }))),
		typed(action("invert", "!", InPicker, "invert", "Invert the selection", do(func(m *Model) { m.filters.picker.Invert() }), cannotInvert)),
		action("ask-further", "a enter", InAnswer, "follow up", "Ask a follow-up question",
			do(func(m *Model) { m.answer.Type() })),
		action("send", "enter", InAsking, "ask", "Send the question", (*Model).sendFurther),
		digits("cited", InAnswer, "Open the cited document with that number", (*Model).openCited),
		action("next-tab", "tab", InPicker, "next tab", "Next tab", do(func(m *Model) { m.filters.picker.Turn(1) })),
		action("previous-tab", "shift+tab", InPicker, "", "Previous tab", do(func(m *Model) { m.filters.picker.Turn(-1) })),
		action("month-before", "left", InPicker, "", "In Time: previous month; otherwise move the cursor left",
			do(func(m *Model) { m.filters.picker.Sideways(-1, false) })),
		action("month-after", "right", InPicker, "", "In Time: next month; otherwise move the cursor right",
			do(func(m *Model) { m.filters.picker.Sideways(1, false) })),
		action("extend-before", "shift+left", InPicker, "", "In Time: extend the range to the previous month",
			do(func(m *Model) { m.filters.picker.Sideways(-1, true) })),
		action("extend-after", "shift+right", InPicker, "", "In Time: extend the range to the next month",
			do(func(m *Model) { m.filters.picker.Sideways(1, true) })),
		action("run", "enter", InActions, "run", "Run the action", (*Model).runAction),
		action("continue", "enter", InSetUp, "continue", "Choose, test or save", (*Model).setUpEnter),
		action("field-after", "tab", InSetUp, "next field", "Next field, or complete a path", (*Model).setUpNext),
		action("field-before", "shift+tab", InSetUp, "", "Previous field", do(func(m *Model) { m.setUp.Previous() })),
		action("down", "down ctrl+n j", InOverlays, "", "Next line", do(func(m *Model) { m.top().Move(1) })),
		action("up", "up ctrl+p k", InOverlays, "", "Previous line", do(func(m *Model) { m.top().Move(-1) })),
		action("panel-page-down", "pgdown", InOverlays, "", "A page down", do(func(m *Model) { m.top().Page(1) })),
		action("panel-page-up", "pgup", InOverlays, "", "A page up", do(func(m *Model) { m.top().Page(-1) })),
	)
}

func conversationBindings() []Binding {
	return group("Conversations",
		action("conversations", "A f4", InPanes|InAnswer, "earlier", "Open an earlier conversation",
			(*Model).openChats, cannotListChats),
		action("open-conversation", "enter", InChats, "open", "Open the conversation", (*Model).openChat),
	)
}
