package explorer

import (
	"quarry/ui/explorer/panel"
)

// Bindings is the table of all actions, in the order in which they are listed: last those that everybody knows. Where two places hold the same key, the
// action fits the place.
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
		action("search", "enter", InBox, "search", "Run the whole search and move to the results", (*Model).submit),
		action("follow-up", "ctrl+j alt+enter", InBox, "", "Search for the query as a question that goes on with the one before",
			(*Model).followUp, noTrail),
		action("query", "/", InList|InReader, "query", "Back to the query", do(func(m *Model) { m.focus = InBox })),
		action("search-again", "r ctrl+r", InPanes, "", "Ask anew, past what is remembered", (*Model).searchAgain, noQuery),
		action("back", "esc", InPanes, "", "One step back: stop the search, close the reader, leave the list, empty the query",
			(*Model).back),
		action("undo-query", "u", InList|InReader, "", "Bring back the query and the filters as they were before the last change",
			(*Model).undoQuery, noUndo),
		action("complete", "tab", InBox, "", "Complete a filter or its value; on an empty query, ask an example question",
			(*Model).complete, cannotComplete),
	)
}

func listBindings() []Binding {
	return group("Results",
		action("open", "enter l right", InList, "open", "Read the passage", do(func(m *Model) { m.focus = InReader }), noResult),
		action("next", "down j ctrl+n", InBox|InList, "", "Next passage; from the query without leaving it",
			do(func(m *Model) { m.list.Move(1) }), noResult),
		action("previous", "up k ctrl+p", InBox|InList, "", "Previous passage; from the query without leaving it",
			do(func(m *Model) { m.list.Move(-1) }), noResult),
		action("first", "g home", InList, "", "First passage", do(func(m *Model) { m.list.First() }), noResult),
		action("last", "G end", InList, "", "Last passage", do(func(m *Model) { m.list.Last() }), noResult),
		action("half-page-down", "ctrl+d pgdown", InList, "", "Half a page down", do(func(m *Model) { m.list.HalfPage(1) }), noResult),
		action("half-page-up", "ctrl+u pgup", InList, "", "Half a page up", do(func(m *Model) { m.list.HalfPage(-1) }), noResult),
		digits("jump", InList|InReader, "Go to the citation of that number", (*Model).jump, noResult),
	)
}

func readerBindings() []Binding {
	return group("Reader",
		action("expand", "e", InList|InReader, "expand", "Bring in the passages around this one", (*Model).expand, cannotExpand),
		action("whole", "E", InList|InReader, "", "Bring in the whole document", (*Model).expandWhole, cannotExpand),
		action("next-match", "n", InList|InReader, "next match", "Next place where the query's words stand",
			do(func(m *Model) { m.toMatch(m.reader.NextMatch) }), noResult),
		action("previous-match", "N", InList|InReader, "", "Previous place where the query's words stand",
			do(func(m *Model) { m.toMatch(m.reader.PrevMatch) }), noResult),
		action("next-of-document", "]", InList|InReader, "", "Next passage found in the same document",
			do(func(m *Model) { m.ofDocument(1) }), noResult),
		action("previous-of-document", "[", InList|InReader, "", "Previous passage found in the same document",
			do(func(m *Model) { m.ofDocument(-1) }), noResult),
		action("close-reader", "h left", InReader, "results", "Back to the results", do(func(m *Model) { m.focus = InList })),
		action("line-down", "j down ctrl+n", InReader, "", "One line down", do(func(m *Model) { m.reader.Down(1) })),
		action("line-up", "k up ctrl+p", InReader, "", "One line up", do(func(m *Model) { m.reader.Up(1) })),
		action("reader-half-page-down", "ctrl+d", InReader, "", "Half a page down", do(func(m *Model) { m.reader.HalfPage(1) })),
		action("reader-half-page-up", "ctrl+u", InReader, "", "Half a page up", do(func(m *Model) { m.reader.HalfPage(-1) })),
		action("page-down", "pgdown space", InReader, "", "A page down", do(func(m *Model) { m.reader.Page(1) })),
		action("page-up", "pgup b", InReader, "", "A page up", do(func(m *Model) { m.reader.Page(-1) })),
		action("top", "g home", InReader, "", "To the beginning", do(func(m *Model) { m.reader.Top() })),
		action("bottom", "G end", InReader, "", "To the end", do(func(m *Model) { m.reader.Bottom() })),
		action("scroll-down", "shift+down J", InList, "", "Scroll the reader down from the list",
			do(func(m *Model) { m.reader.HalfPage(1) }), noReaderBeside),
		action("scroll-up", "shift+up K", InList, "", "Scroll the reader up from the list",
			do(func(m *Model) { m.reader.HalfPage(-1) }), noReaderBeside),
		action("answer", "a", InList|InReader, "ask", "A model's answer to the query, with citations",
			(*Model).openAnswer, cannotAnswer),
		action("why", "w", InList|InReader|InAnswer, "", "Why these results: queries, filters, stages, ranks",
			(*Model).openWhy, notOfAnswer),
		action("raw", "v", InList|InReader, "", "Show the text as it was written, or rendered", (*Model).toggleRaw, noResult),
	)
}

func takeBindings() []Binding {
	return group("Take away",
		action("open-source", "o", InList|InReader, "source", "Open the document where it lives", (*Model).openSource, cannotOpen),
		action("cite", "y", InList|InReader, "cite", "Copy the citation", (*Model).copyCitation, noResult),
		action("copy-passage", "Y", InList|InReader, "", "Copy the passage with its citation", (*Model).copyPassage, noResult),
	)
}

func filterBindings() []Binding {
	return group("Filters",
		action("filters", "f ctrl+f f2", InPanes, "filters", "Choose sources and time", (*Model).openPicker, notOpen),
		action("drop-filter", "x ctrl+x", InBox|InList, "", "Drop a filter: without results the one that cut the most, else the last",
			(*Model).dropFilter, noChip),
	)
}

func screenBindings() []Binding {
	return group("Screen",
		action("actions", "? f1", InPanes, "all keys", "All actions with their keys; runs them, too", (*Model).openActions),
		action("set-up", "f3", InPanes, "", "Connect to an Onyx server, open a folder, or stay with what is open",
			(*Model).openSetUp, noSetUp),
		action("zoom", "z", InList|InReader, "", "Give the whole screen to the pane, or share it again",
			do(func(m *Model) { m.look.zoomed = !m.look.zoomed }), noPanes),
		action("widen", "ctrl+right >", InList|InReader, "", "Move the divider to the right, or down",
			do(func(m *Model) { m.moveDivider(1) }), noPanes),
		action("narrow", "ctrl+left <", InList|InReader, "", "Move the divider to the left, or up",
			do(func(m *Model) { m.moveDivider(-1) }), noPanes),
		action("theme", "T", InList|InReader, "", "Next theme: automatic, dark, light, 16 colours, mono", (*Model).nextTheme, noColour),
		action("mouse", "ctrl+o", InPanes, "", "Mouse on or off; while it is on, the terminal selects text only with shift",
			(*Model).toggleMouse),
		action("redraw", "ctrl+l", Everywhere, "", "Draw the screen anew", (*Model).redraw),
		action("suspend", "ctrl+z", Everywhere, "", "Back to the shell for a while; fg returns", (*Model).suspend, cannotSuspend),
		action("leave", "q", InList|InReader, "", "Quit", (*Model).quit),
		action("quit", "ctrl+c", Everywhere, "", "Quit", (*Model).quit),
	)
}

func overlayBindings() []Binding {
	return group("Panels",
		action("close", "esc q", InOverlays, panel.Close, "Close the panel; nothing changes", (*Model).closePanel, cannotClose),
		action("apply", "enter", InPicker, "apply", "Search with the chosen filters", (*Model).applyPicker),
		typed(action("toggle", "space", InPicker, "choose", "Choose a value or leave it out; in Time, begin and end a range", do(func(m *Model) { m.filters.picker.Toggle() }))),
		typed(action("invert", "!", InPicker, "invert", "Choose all but the chosen values", do(func(m *Model) { m.filters.picker.Invert() }), cannotInvert)),
		action("ask-further", "a enter", InAnswer, "ask further", "A further question of the same thread",
			do(func(m *Model) { m.answer.Type() })),
		action("send", "enter", InAsking, "ask", "Ask what was typed", (*Model).sendFurther),
		digits("cited", InAnswer, "Read the document that the answer cites by that number", (*Model).openCited),
		action("next-tab", "tab", InPicker, "next tab", "Sources, Time", do(func(m *Model) { m.filters.picker.Turn(1) })),
		action("previous-tab", "shift+tab", InPicker, "", "The tab before", do(func(m *Model) { m.filters.picker.Turn(-1) })),
		action("month-before", "left", InPicker, "", "In Time: the month before; else the cursor to the left",
			do(func(m *Model) { m.filters.picker.Sideways(-1, false) })),
		action("month-after", "right", InPicker, "", "In Time: the month after; else the cursor to the right",
			do(func(m *Model) { m.filters.picker.Sideways(1, false) })),
		action("extend-before", "shift+left", InPicker, "", "In Time: stretch the range to the month before",
			do(func(m *Model) { m.filters.picker.Sideways(-1, true) })),
		action("extend-after", "shift+right", InPicker, "", "In Time: stretch the range to the month after",
			do(func(m *Model) { m.filters.picker.Sideways(1, true) })),
		action("run", "enter", InActions, "run", "Run the action", (*Model).runAction),
		action("continue", "enter", InSetUp, "go on", "Choose, test, or save", (*Model).setUpEnter),
		action("field-after", "tab", InSetUp, "next, complete", "Next field; a path is completed", (*Model).setUpNext),
		action("field-before", "shift+tab", InSetUp, "", "The field before", do(func(m *Model) { m.setUp.Previous() })),
		action("down", "down ctrl+n j", InOverlays, "", "Next line", do(func(m *Model) { m.panel().Move(1) })),
		action("up", "up ctrl+p k", InOverlays, "", "Line before", do(func(m *Model) { m.panel().Move(-1) })),
		action("panel-page-down", "pgdown", InOverlays, "", "A page down", do(func(m *Model) { m.panel().Page(1) })),
		action("panel-page-up", "pgup", InOverlays, "", "A page up", do(func(m *Model) { m.panel().Page(-1) })),
	)
}

func conversationBindings() []Binding {
	return group("Conversations",
		action("conversations", "A f4", InPanes|InAnswer, "earlier", "Earlier conversations: open one and go on with it",
			(*Model).openChats, cannotListChats),
		action("open-conversation", "enter", InChats, "open", "Show the conversation, to go on with it", (*Model).openChat),
	)
}
