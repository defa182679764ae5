package explorer

import (
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/picker"
)

// Bindings is the table of all actions, in the order in which they are listed. Where two places hold the same key, the
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
	const group = "Search"
	return []Binding{
		{Action: "search", Binding: bind("search", "enter"), In: InBox, Group: group,
			Long: "Run the whole search and move to the results", Run: (*Model).submit},
		{Action: "follow-up", Binding: bind("", "ctrl+j", "alt+enter"), In: InBox, Group: group, Disabled: noTrail,
			Long: "Search for the query as a question that goes on with the one before", Run: (*Model).followUp},
		{Action: "query", Binding: bind("query", "/"), In: InList | InReader, Group: group,
			Long: "Back to the query", Run: (*Model).focusBox},
		{Action: "search-again", Binding: bind("", "r", "ctrl+r"), In: InPanes, Group: group, Disabled: noQuery,
			Long: "Ask anew, past what is remembered", Run: (*Model).searchAgain},
		{Action: "back", Binding: bind("", "esc"), In: InPanes, Group: group,
			Long: "One step back: stop the search, close the reader, leave the list, empty the query", Run: (*Model).back},
		{Action: "undo-query", Binding: bind("", "u"), In: InList | InReader, Group: group, Disabled: noUndo,
			Long: "Bring back the query and the filters as they were before the last change", Run: (*Model).undoQuery},
		{Action: "complete", Binding: bind("", "tab"), In: InBox, Group: group, Disabled: cannotComplete,
			Long: "Complete a filter or its value; on an empty query, ask an example question", Run: (*Model).complete},
	}
}

func listBindings() []Binding {
	const group = "Results"
	return []Binding{
		{Action: "open", Binding: bind("open", "enter", "l", "right"), In: InList, Group: group, Disabled: noResult,
			Long: "Read the passage", Run: (*Model).focusReader},
		{Action: "next", Binding: bind("", "down", "j", "ctrl+n"), In: InBox | InList, Group: group, Disabled: noResult,
			Long: "Next passage; from the query without leaving it", Run: (*Model).selectNext},
		{Action: "previous", Binding: bind("", "up", "k", "ctrl+p"), In: InBox | InList, Group: group, Disabled: noResult,
			Long: "Previous passage; from the query without leaving it", Run: (*Model).selectPrevious},
		{Action: "first", Binding: bind("", "g", "home"), In: InList, Group: group, Disabled: noResult,
			Long: "First passage", Run: (*Model).selectFirst},
		{Action: "last", Binding: bind("", "G", "end"), In: InList, Group: group, Disabled: noResult,
			Long: "Last passage", Run: (*Model).selectLast},
		{Action: "half-page-down", Binding: bind("", "ctrl+d", "pgdown"), In: InList, Group: group, Disabled: noResult,
			Long: "Half a page down", Run: (*Model).listDown},
		{Action: "half-page-up", Binding: bind("", "ctrl+u", "pgup"), In: InList, Group: group, Disabled: noResult,
			Long: "Half a page up", Run: (*Model).listUp},
		{Action: "jump", Binding: bind("", "1", "2", "3", "4", "5", "6", "7", "8", "9"), In: InList | InReader, Group: group,
			Disabled: noResult, Long: "Go to the citation of that number", Numbered: (*Model).jump},
	}
}

func readerBindings() []Binding {
	const group = "Reader"
	return []Binding{
		{Action: "expand", Binding: bind("expand", "e"), In: InList | InReader, Group: group, Disabled: cannotExpand,
			Long: "Bring in the passages around this one", Run: (*Model).expand},
		{Action: "whole", Binding: bind("", "E"), In: InList | InReader, Group: group, Disabled: cannotExpand,
			Long: "Bring in the whole document", Run: (*Model).expandWhole},
		{Action: "next-match", Binding: bind("next match", "n"), In: InList | InReader, Group: group,
			Disabled: noResult, Long: "Next place where the query's words stand", Run: (*Model).nextMatch},
		{Action: "previous-match", Binding: bind("", "N"), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Previous place where the query's words stand", Run: (*Model).previousMatch},
		{Action: "next-of-document", Binding: bind("", "]"), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Next passage found in the same document", Run: (*Model).nextOfDocument},
		{Action: "previous-of-document", Binding: bind("", "["), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Previous passage found in the same document", Run: (*Model).previousOfDocument},
		{Action: "close-reader", Binding: bind("results", "h", "left"), In: InReader, Group: group,
			Long: "Back to the results", Run: (*Model).focusList},
		{Action: "line-down", Binding: bind("", "j", "down", "ctrl+n"), In: InReader, Group: group,
			Long: "One line down", Run: (*Model).readerLineDown},
		{Action: "line-up", Binding: bind("", "k", "up", "ctrl+p"), In: InReader, Group: group,
			Long: "One line up", Run: (*Model).readerLineUp},
		{Action: "reader-half-page-down", Binding: bind("", "ctrl+d"), In: InReader, Group: group,
			Long: "Half a page down", Run: (*Model).readerHalfDown},
		{Action: "reader-half-page-up", Binding: bind("", "ctrl+u"), In: InReader, Group: group,
			Long: "Half a page up", Run: (*Model).readerHalfUp},
		{Action: "page-down", Binding: bind("", "pgdown", "space"), In: InReader, Group: group,
			Long: "A page down", Run: (*Model).readerPageDown},
		{Action: "page-up", Binding: bind("", "pgup", "b"), In: InReader, Group: group,
			Long: "A page up", Run: (*Model).readerPageUp},
		{Action: "top", Binding: bind("", "g", "home"), In: InReader, Group: group,
			Long: "To the beginning", Run: (*Model).readerTop},
		{Action: "bottom", Binding: bind("", "G", "end"), In: InReader, Group: group,
			Long: "To the end", Run: (*Model).readerBottom},
		{Action: "scroll-down", Binding: bind("", "shift+down", "J"), In: InList, Group: group, Disabled: noReaderBeside,
			Long: "Scroll the reader down from the list", Run: (*Model).readerHalfDown},
		{Action: "scroll-up", Binding: bind("", "shift+up", "K"), In: InList, Group: group, Disabled: noReaderBeside,
			Long: "Scroll the reader up from the list", Run: (*Model).readerHalfUp},
		{Action: "answer", Binding: bind("ask", "a"), In: InList | InReader, Group: group, Disabled: cannotAnswer,
			Long: "A model's answer to the query, with citations", Run: (*Model).openAnswer},
		{Action: "why", Binding: bind("", "w"), In: InList | InReader | InAnswer, Group: group, Disabled: notOfAnswer,
			Long: "Why these results: queries, filters, stages, ranks", Run: (*Model).openWhy},
		{Action: "raw", Binding: bind("", "v"), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Show the text as it was written, or rendered", Run: (*Model).toggleRaw},
	}
}

func takeBindings() []Binding {
	const group = "Take away"
	return []Binding{
		{Action: "open-source", Binding: bind("source", "o"), In: InList | InReader, Group: group,
			Disabled: cannotOpen, Long: "Open the document where it lives", Run: (*Model).openSource},
		{Action: "cite", Binding: bind("cite", "y"), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Copy the citation", Run: (*Model).copyCitation},
		{Action: "copy-passage", Binding: bind("", "Y"), In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Copy the passage with its citation", Run: (*Model).copyPassage},
	}
}

func filterBindings() []Binding {
	const group = "Filters"
	return []Binding{
		{Action: "filters", Binding: bind("filters", "f", "ctrl+f", "f2"), In: InPanes, Group: group, Disabled: notOpen,
			Long: "Choose sources and time", Run: (*Model).openPicker},
		{Action: "drop-filter", Binding: bind("", "x", "ctrl+x"), In: InBox | InList, Group: group, Disabled: noChip,
			Long: "Drop a filter: without results the one that cut the most, else the last", Run: (*Model).dropFilter},
	}
}

func screenBindings() []Binding {
	const group = "Screen"
	return []Binding{
		{Action: "actions", Binding: bind("all keys", "?", "f1"), In: InPanes, Group: group,
			Long: "All actions with their keys; runs them, too", Run: (*Model).openActions},
		{Action: "set-up", Binding: bind("", "f3"), In: InPanes, Group: group, Disabled: noSetUp,
			Long: "Connect to an Onyx server, open a folder, or stay with what is open", Run: (*Model).openSetUp},
		{Action: "zoom", Binding: bind("", "z"), In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Give the whole screen to the pane, or share it again", Run: (*Model).zoom},
		{Action: "widen", Binding: bind("", "ctrl+right", ">"), In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Move the divider to the right, or down", Run: (*Model).widen},
		{Action: "narrow", Binding: bind("", "ctrl+left", "<"), In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Move the divider to the left, or up", Run: (*Model).narrow},
		{Action: "theme", Binding: bind("", "T"), In: InList | InReader, Group: group, Disabled: noColour,
			Long: "Next theme: automatic, dark, light, 16 colours, mono", Run: (*Model).nextTheme},
		{Action: "mouse", Binding: bind("", "ctrl+o"), In: InPanes, Group: group,
			Long: "Mouse on or off; while it is on, the terminal selects text only with shift", Run: (*Model).toggleMouse},
		{Action: "redraw", Binding: bind("", "ctrl+l"), In: Everywhere, Group: group,
			Long: "Draw the screen anew", Run: (*Model).redraw},
		{Action: "suspend", Binding: bind("", "ctrl+z"), In: Everywhere, Group: group, Disabled: cannotSuspend,
			Long: "Back to the shell for a while; fg returns", Run: (*Model).suspend},
		{Action: "leave", Binding: bind("", "q"), In: InList | InReader, Group: group, Long: "Quit", Run: (*Model).quit},
		{Action: "quit", Binding: bind("", "ctrl+c"), In: Everywhere, Group: group, Long: "Quit", Run: (*Model).quit},
	}
}

func overlayBindings() []Binding {
	const group = "Panels"
	return []Binding{
		{Action: "close", Binding: bind(panel.Close, "esc", "q"), In: InOverlays, Group: group,
			Long: "Close the panel; nothing changes", Disabled: cannotClose, Run: (*Model).closePanel},
		{Action: "apply", Binding: bind("apply", "enter"), In: InPicker, Group: group,
			Long: "Search with the chosen filters", Run: (*Model).applyPicker},
		{Action: "toggle", Binding: bind("choose", "space"), In: InPicker, Typed: true, Group: group,
			Long: "Choose a value or leave it out; in Time, begin and end a range", Run: onPicker(func(p *picker.Picker) { p.Toggle() })},
		{Action: "invert", Binding: bind("invert", "!"), In: InPicker, Typed: true, Group: group,
			Disabled: cannotInvert, Long: "Choose all but the chosen values", Run: onPicker(func(p *picker.Picker) { p.Invert() })},
		{Action: "ask-further", Binding: bind("ask further", "a", "enter"), In: InAnswer, Group: group,
			Long: "A further question of the same thread", Run: (*Model).askFurther},
		{Action: "send", Binding: bind("ask", "enter"), In: InAsking, Group: group,
			Long: "Ask what was typed", Run: (*Model).sendFurther},
		{Action: "cited", Binding: bind("", "1", "2", "3", "4", "5", "6", "7", "8", "9"), In: InAnswer, Group: group,
			Long: "Read the document that the answer cites by that number", Numbered: (*Model).openCited},
		{Action: "next-tab", Binding: bind("next tab", "tab"), In: InPicker, Group: group,
			Long: "Sources, Time", Run: onPicker(func(p *picker.Picker) { p.Turn(1) })},
		{Action: "previous-tab", Binding: bind("", "shift+tab"), In: InPicker, Group: group,
			Long: "The tab before", Run: onPicker(func(p *picker.Picker) { p.Turn(-1) })},
		{Action: "month-before", Binding: bind("", "left"), In: InPicker, Group: group,
			Long: "In Time: the month before; else the cursor to the left", Run: onPicker(func(p *picker.Picker) { p.Sideways(-1, false) })},
		{Action: "month-after", Binding: bind("", "right"), In: InPicker, Group: group,
			Long: "In Time: the month after; else the cursor to the right", Run: onPicker(func(p *picker.Picker) { p.Sideways(1, false) })},
		{Action: "extend-before", Binding: bind("", "shift+left"), In: InPicker, Group: group,
			Long: "In Time: stretch the range to the month before", Run: onPicker(func(p *picker.Picker) { p.Sideways(-1, true) })},
		{Action: "extend-after", Binding: bind("", "shift+right"), In: InPicker, Group: group,
			Long: "In Time: stretch the range to the month after", Run: onPicker(func(p *picker.Picker) { p.Sideways(1, true) })},
		{Action: "run", Binding: bind("run", "enter"), In: InActions, Group: group,
			Long: "Run the action", Run: (*Model).runAction},
		{Action: "continue", Binding: bind("go on", "enter"), In: InSetUp, Group: group,
			Long: "Choose, test, or save", Run: (*Model).setUpEnter},
		{Action: "field-after", Binding: bind("next, complete", "tab"), In: InSetUp, Group: group,
			Long: "Next field; a path is completed", Run: (*Model).setUpNext},
		{Action: "field-before", Binding: bind("", "shift+tab"), In: InSetUp, Group: group,
			Long: "The field before", Run: (*Model).setUpPrevious},
		{Action: "down", Binding: bind("", "down", "ctrl+n", "j"), In: InOverlays, Group: group,
			Long: "Next line", Run: (*Model).panelDown},
		{Action: "up", Binding: bind("", "up", "ctrl+p", "k"), In: InOverlays, Group: group,
			Long: "Line before", Run: (*Model).panelUp},
		{Action: "panel-page-down", Binding: bind("", "pgdown"), In: InOverlays, Group: group,
			Long: "A page down", Run: (*Model).panelPageDown},
		{Action: "panel-page-up", Binding: bind("", "pgup"), In: InOverlays, Group: group,
			Long: "A page up", Run: (*Model).panelPageUp},
	}
}

func conversationBindings() []Binding {
	const group = "Conversations"
	return []Binding{
		{Action: "conversations", Binding: bind("earlier", "A", "f4"), In: InPanes | InAnswer, Group: group,
			Disabled: cannotListChats, Long: "Earlier conversations: open one and go on with it", Run: (*Model).openChats},
		{Action: "open-conversation", Binding: bind("open", "enter"), In: InChats, Group: group,
			Long: "Show the conversation, to go on with it", Run: (*Model).openChat},
	}
}
