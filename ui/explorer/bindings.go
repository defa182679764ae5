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
		{Action: "search", Keys: []string{"enter"}, In: InBox, Short: "search", Group: group,
			Long: "Run the whole search and move to the results", Run: (*Model).submit},
		{Action: "follow-up", Keys: []string{"ctrl+j", "alt+enter"}, In: InBox, Group: group, Disabled: noTrail,
			Long: "Search for the query as a question that goes on with the one before", Run: (*Model).followUp},
		{Action: "query", Keys: []string{"/"}, In: InList | InReader, Short: "query", Group: group,
			Long: "Back to the query", Run: (*Model).focusBox},
		{Action: "search-again", Keys: []string{"r", "ctrl+r"}, In: InPanes, Group: group, Disabled: noQuery,
			Long: "Ask anew, past what is remembered", Run: (*Model).searchAgain},
		{Action: "back", Keys: []string{"esc"}, In: InPanes, Group: group,
			Long: "One step back: stop the search, close the reader, leave the list, empty the query", Run: (*Model).back},
		{Action: "undo-query", Keys: []string{"u"}, In: InList | InReader, Group: group, Disabled: noUndo,
			Long: "Bring back the query and the filters as they were before the last change", Run: (*Model).undoQuery},
		{Action: "complete", Keys: []string{"tab"}, In: InBox, Group: group, Disabled: cannotComplete,
			Long: "Complete a filter or its value; on an empty query, ask an example question", Run: (*Model).complete},
	}
}

func listBindings() []Binding {
	const group = "Results"
	return []Binding{
		{Action: "open", Keys: []string{"enter", "l", "right"}, In: InList, Short: "open", Group: group, Disabled: noResult,
			Long: "Read the passage", Run: (*Model).focusReader},
		{Action: "next", Keys: []string{"down", "j", "ctrl+n"}, In: InBox | InList, Group: group, Disabled: noResult,
			Long: "Next passage; from the query without leaving it", Run: (*Model).selectNext},
		{Action: "previous", Keys: []string{"up", "k", "ctrl+p"}, In: InBox | InList, Group: group, Disabled: noResult,
			Long: "Previous passage; from the query without leaving it", Run: (*Model).selectPrevious},
		{Action: "first", Keys: []string{"g", "home"}, In: InList, Group: group, Disabled: noResult,
			Long: "First passage", Run: (*Model).selectFirst},
		{Action: "last", Keys: []string{"G", "end"}, In: InList, Group: group, Disabled: noResult,
			Long: "Last passage", Run: (*Model).selectLast},
		{Action: "half-page-down", Keys: []string{"ctrl+d", "pgdown"}, In: InList, Group: group, Disabled: noResult,
			Long: "Half a page down", Run: (*Model).listDown},
		{Action: "half-page-up", Keys: []string{"ctrl+u", "pgup"}, In: InList, Group: group, Disabled: noResult,
			Long: "Half a page up", Run: (*Model).listUp},
		{Action: "jump", Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, In: InList | InReader, Group: group,
			Disabled: noResult, Long: "Go to the citation of that number", Numbered: (*Model).jump},
	}
}

func readerBindings() []Binding {
	const group = "Reader"
	return []Binding{
		{Action: "expand", Keys: []string{"e"}, In: InList | InReader, Short: "expand", Group: group, Disabled: cannotExpand,
			Long: "Bring in the passages around this one", Run: (*Model).expand},
		{Action: "whole", Keys: []string{"E"}, In: InList | InReader, Group: group, Disabled: cannotExpand,
			Long: "Bring in the whole document", Run: (*Model).expandWhole},
		{Action: "next-match", Keys: []string{"n"}, In: InList | InReader, Short: "next match", Group: group,
			Disabled: noResult, Long: "Next place where the query's words stand", Run: (*Model).nextMatch},
		{Action: "previous-match", Keys: []string{"N"}, In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Previous place where the query's words stand", Run: (*Model).previousMatch},
		{Action: "next-of-document", Keys: []string{"]"}, In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Next passage found in the same document", Run: (*Model).nextOfDocument},
		{Action: "previous-of-document", Keys: []string{"["}, In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Previous passage found in the same document", Run: (*Model).previousOfDocument},
		{Action: "close-reader", Keys: []string{"h", "left"}, In: InReader, Short: "results", Group: group,
			Long: "Back to the results", Run: (*Model).focusList},
		{Action: "line-down", Keys: []string{"j", "down", "ctrl+n"}, In: InReader, Group: group,
			Long: "One line down", Run: (*Model).readerLineDown},
		{Action: "line-up", Keys: []string{"k", "up", "ctrl+p"}, In: InReader, Group: group,
			Long: "One line up", Run: (*Model).readerLineUp},
		{Action: "reader-half-page-down", Keys: []string{"ctrl+d"}, In: InReader, Group: group,
			Long: "Half a page down", Run: (*Model).readerHalfDown},
		{Action: "reader-half-page-up", Keys: []string{"ctrl+u"}, In: InReader, Group: group,
			Long: "Half a page up", Run: (*Model).readerHalfUp},
		{Action: "page-down", Keys: []string{"pgdown", "space"}, In: InReader, Group: group,
			Long: "A page down", Run: (*Model).readerPageDown},
		{Action: "page-up", Keys: []string{"pgup", "b"}, In: InReader, Group: group,
			Long: "A page up", Run: (*Model).readerPageUp},
		{Action: "top", Keys: []string{"g", "home"}, In: InReader, Group: group,
			Long: "To the beginning", Run: (*Model).readerTop},
		{Action: "bottom", Keys: []string{"G", "end"}, In: InReader, Group: group,
			Long: "To the end", Run: (*Model).readerBottom},
		{Action: "scroll-down", Keys: []string{"shift+down", "J"}, In: InList, Group: group, Disabled: noReaderBeside,
			Long: "Scroll the reader down from the list", Run: (*Model).readerHalfDown},
		{Action: "scroll-up", Keys: []string{"shift+up", "K"}, In: InList, Group: group, Disabled: noReaderBeside,
			Long: "Scroll the reader up from the list", Run: (*Model).readerHalfUp},
		{Action: "answer", Keys: []string{"a"}, In: InList | InReader, Short: "ask", Group: group, Disabled: cannotAnswer,
			Long: "A model's answer to the query, with citations", Run: (*Model).openAnswer},
		{Action: "why", Keys: []string{"w"}, In: InList | InReader | InAnswer, Group: group, Disabled: notOfAnswer,
			Long: "Why these results: queries, filters, stages, ranks", Run: (*Model).openWhy},
		{Action: "raw", Keys: []string{"v"}, In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Show the text as it was written, or rendered", Run: (*Model).toggleRaw},
	}
}

func takeBindings() []Binding {
	const group = "Take away"
	return []Binding{
		{Action: "open-source", Keys: []string{"o"}, In: InList | InReader, Short: "source", Group: group,
			Disabled: cannotOpen, Long: "Open the document where it lives", Run: (*Model).openSource},
		{Action: "cite", Keys: []string{"y"}, In: InList | InReader, Short: "cite", Group: group, Disabled: noResult,
			Long: "Copy the citation", Run: (*Model).copyCitation},
		{Action: "copy-passage", Keys: []string{"Y"}, In: InList | InReader, Group: group, Disabled: noResult,
			Long: "Copy the passage with its citation", Run: (*Model).copyPassage},
	}
}

func filterBindings() []Binding {
	const group = "Filters"
	return []Binding{
		{Action: "filters", Keys: []string{"f", "ctrl+f", "f2"}, In: InPanes, Short: "filters", Group: group, Disabled: notOpen,
			Long: "Choose sources and time", Run: (*Model).openPicker},
		{Action: "drop-filter", Keys: []string{"x", "ctrl+x"}, In: InBox | InList, Group: group, Disabled: noChip,
			Long: "Drop a filter: without results the one that cut the most, else the last", Run: (*Model).dropFilter},
	}
}

func screenBindings() []Binding {
	const group = "Screen"
	return []Binding{
		{Action: "actions", Keys: []string{"?", "f1"}, In: InPanes, Short: "all keys", Group: group,
			Long: "All actions with their keys; runs them, too", Run: (*Model).openActions},
		{Action: "set-up", Keys: []string{"f3"}, In: InPanes, Group: group, Disabled: noSetUp,
			Long: "Connect to an Onyx server, open a folder, or stay with what is open", Run: (*Model).openSetUp},
		{Action: "zoom", Keys: []string{"z"}, In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Give the whole screen to the pane, or share it again", Run: (*Model).zoom},
		{Action: "widen", Keys: []string{"ctrl+right", ">"}, In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Move the divider to the right, or down", Run: (*Model).widen},
		{Action: "narrow", Keys: []string{"ctrl+left", "<"}, In: InList | InReader, Group: group, Disabled: noPanes,
			Long: "Move the divider to the left, or up", Run: (*Model).narrow},
		{Action: "theme", Keys: []string{"T"}, In: InList | InReader, Group: group, Disabled: noColour,
			Long: "Next theme: automatic, dark, light, 16 colours, mono", Run: (*Model).nextTheme},
		{Action: "mouse", Keys: []string{"ctrl+o"}, In: InPanes, Group: group,
			Long: "Mouse on or off; while it is on, the terminal selects text only with shift", Run: (*Model).toggleMouse},
		{Action: "redraw", Keys: []string{"ctrl+l"}, In: Everywhere, Group: group,
			Long: "Draw the screen anew", Run: (*Model).redraw},
		{Action: "suspend", Keys: []string{"ctrl+z"}, In: Everywhere, Group: group, Disabled: cannotSuspend,
			Long: "Back to the shell for a while; fg returns", Run: (*Model).suspend},
		{Action: "leave", Keys: []string{"q"}, In: InList | InReader, Group: group, Long: "Quit", Run: (*Model).quit},
		{Action: "quit", Keys: []string{"ctrl+c"}, In: Everywhere, Group: group, Long: "Quit", Run: (*Model).quit},
	}
}

func overlayBindings() []Binding {
	const group = "Panels"
	return []Binding{
		{Action: "close", Keys: []string{"esc", "q"}, In: InOverlays, Short: panel.Close, Group: group,
			Long: "Close the panel; nothing changes", Disabled: cannotClose, Run: (*Model).closePanel},
		{Action: "apply", Keys: []string{"enter"}, In: InPicker, Short: "apply", Group: group,
			Long: "Search with the chosen filters", Run: (*Model).applyPicker},
		{Action: "toggle", Keys: []string{"space"}, In: InPicker, Typed: true, Short: "choose", Group: group,
			Long: "Choose a value or leave it out; in Time, begin and end a range", Run: onPicker(func(p *picker.Picker) { p.Toggle() })},
		{Action: "invert", Keys: []string{"!"}, In: InPicker, Typed: true, Short: "invert", Group: group,
			Disabled: cannotInvert, Long: "Choose all but the chosen values", Run: onPicker(func(p *picker.Picker) { p.Invert() })},
		{Action: "ask-further", Keys: []string{"a", "enter"}, In: InAnswer, Short: "ask further", Group: group,
			Long: "A further question of the same thread", Run: (*Model).askFurther},
		{Action: "send", Keys: []string{"enter"}, In: InAsking, Short: "ask", Group: group,
			Long: "Ask what was typed", Run: (*Model).sendFurther},
		{Action: "cited", Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, In: InAnswer, Group: group,
			Long: "Read the document that the answer cites by that number", Numbered: (*Model).openCited},
		{Action: "next-tab", Keys: []string{"tab"}, In: InPicker, Short: "next tab", Group: group,
			Long: "Sources, Time", Run: onPicker(func(p *picker.Picker) { p.Turn(1) })},
		{Action: "previous-tab", Keys: []string{"shift+tab"}, In: InPicker, Group: group,
			Long: "The tab before", Run: onPicker(func(p *picker.Picker) { p.Turn(-1) })},
		{Action: "month-before", Keys: []string{"left"}, In: InPicker, Group: group,
			Long: "In Time: the month before; else the cursor to the left", Run: onPicker(func(p *picker.Picker) { p.Sideways(-1, false) })},
		{Action: "month-after", Keys: []string{"right"}, In: InPicker, Group: group,
			Long: "In Time: the month after; else the cursor to the right", Run: onPicker(func(p *picker.Picker) { p.Sideways(1, false) })},
		{Action: "extend-before", Keys: []string{"shift+left"}, In: InPicker, Group: group,
			Long: "In Time: stretch the range to the month before", Run: onPicker(func(p *picker.Picker) { p.Sideways(-1, true) })},
		{Action: "extend-after", Keys: []string{"shift+right"}, In: InPicker, Group: group,
			Long: "In Time: stretch the range to the month after", Run: onPicker(func(p *picker.Picker) { p.Sideways(1, true) })},
		{Action: "run", Keys: []string{"enter"}, In: InActions, Short: "run", Group: group,
			Long: "Run the action", Run: (*Model).runAction},
		{Action: "continue", Keys: []string{"enter"}, In: InSetUp, Short: "go on", Group: group,
			Long: "Choose, test, or save", Run: (*Model).setUpEnter},
		{Action: "field-after", Keys: []string{"tab"}, In: InSetUp, Short: "next, complete", Group: group,
			Long: "Next field; a path is completed", Run: (*Model).setUpNext},
		{Action: "field-before", Keys: []string{"shift+tab"}, In: InSetUp, Group: group,
			Long: "The field before", Run: (*Model).setUpPrevious},
		{Action: "down", Keys: []string{"down", "ctrl+n", "j"}, In: InOverlays, Group: group,
			Long: "Next line", Run: (*Model).panelDown},
		{Action: "up", Keys: []string{"up", "ctrl+p", "k"}, In: InOverlays, Group: group,
			Long: "Line before", Run: (*Model).panelUp},
		{Action: "panel-page-down", Keys: []string{"pgdown"}, In: InOverlays, Group: group,
			Long: "A page down", Run: (*Model).panelPageDown},
		{Action: "panel-page-up", Keys: []string{"pgup"}, In: InOverlays, Group: group,
			Long: "A page up", Run: (*Model).panelPageUp},
	}
}

func conversationBindings() []Binding {
	const group = "Conversations"
	return []Binding{
		{Action: "conversations", Keys: []string{"A", "f4"}, In: InPanes | InAnswer, Short: "earlier", Group: group,
			Disabled: cannotListChats, Long: "Earlier conversations: open one and go on with it", Run: (*Model).openChats},
		{Action: "open-conversation", Keys: []string{"enter"}, In: InChats, Short: "open", Group: group,
			Long: "Show the conversation, to go on with it", Run: (*Model).openChat},
	}
}
