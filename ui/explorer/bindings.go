package explorer

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"quarry/ui/explorer/panel"
)

// Bindings returns all actions in the order in which they are listed: last those that everybody knows. A key may run
// different actions in different places.
func Bindings() []Binding {
	return slices.Concat(searchBindings(), homeBindings(), listBindings(), compareBindings(), readerBindings(),
		takeBindings(),
		filterBindings(), documentBindings(), screenBindings(), overlayBindings(), collectionBindings(),
		conversationBindings(), pickBindings(), editingBindings())
}

func searchBindings() []Binding {
	return group("Search",
		action("search", "enter", InBox, "search", "Search and move to the results", (*Model).submit),
		action("follow-up", "ctrl+j alt+enter", InBox, "", "Search for the query as a follow-up to the previous one",
			(*Model).followUp, noTrail),
		action("query", "/ i", InList|InReader|InHome|InStrip, "edit query", "Edit the query",
			do(func(m *Model) { m.focus = InBox })),
		action("search-again", "r f5", InPanes, "", "Search again, ignoring the cache", (*Model).searchAgain, noQuery),
		action("back", "esc", InPanes, "",
			"Close what is open: stop the search, leave the reader; in the query, clear it", (*Model).back),
		action("searches", "ctrl+r", InPanes, "", "Open the history: recent and saved searches", (*Model).openSearches,
			noSearches),
		action("save-search", "ctrl+s", InPanes, "", "Save the query under a name, to see later what is new",
			(*Model).nameSearch, noQueryToSave),
		action("walk-back", "alt+left", InList|InReader, "", "Previous search in the history",
			func(m *Model) tea.Cmd { return m.walk(-1) }, noPageBefore),
		action("walk-forward", "alt+right", InList|InReader, "", "Next search in the history",
			func(m *Model) tea.Cmd { return m.walk(1) }, noPageAfter),
		action("undo-query", "u", InList|InReader, "", "Undo the last change of query and filters",
			(*Model).undoQuery, noUndo),
		action("complete", "tab", InBox, "", "Complete a filter or its value; on an empty query, try an example",
			(*Model).complete, cannotComplete),
	)
}

func homeBindings() []Binding {
	return group("Home",
		action("open-entry", "enter l right", InHome, "open", "Open the entry",
			func(m *Model) tea.Cmd { return m.openEntry(m.past.chosen + 1) }),
		action("next-entry", "down j ctrl+n", InHome, "", "Next entry",
			func(m *Model) tea.Cmd { return m.moveHome(1) }),
		action("previous-entry", "up k ctrl+p", InHome, "", "Previous entry",
			func(m *Model) tea.Cmd { return m.moveHome(-1) }),
		digits("open-number", InHome, "Open the entry with that number", (*Model).openEntry),
	)
}

func listBindings() []Binding {
	return group("Results",
		action("open", "enter l right", InList, "open", "Open the passage in the reader",
			do(func(m *Model) { m.focus = InReader }), noResult),
		action("next", "down j ctrl+n", InBox|InList, "entries", "Next passage",
			(*Model).next, nothingAfter),
		action("previous", "up k ctrl+p", InBox|InList, "", "Previous passage",
			(*Model).previous, nothingBefore),
		action("first", "g home", InList, "", "First passage", do(func(m *Model) { m.list.First() }), noResult),
		action("last", "G end", InList, "", "Last passage", do(func(m *Model) { m.list.Last() }), noResult),
		action("half-page-down", "ctrl+d pgdown", InList, "", "Half a page down",
			do(func(m *Model) { m.list.HalfPage(1) }), noResult),
		action("half-page-up", "ctrl+u pgup", InList, "", "Half a page up", do(func(m *Model) { m.list.HalfPage(-1) }),
			noResult),
		action("sort", "s", InList|InReader, "", "Sort by relevance, newest first or oldest first", (*Model).nextOrder,
			cannotSort),
		action("group", "B", InList|InReader, "", "Group the results by document, source or place, or month",
			(*Model).nextGrouping, noResult),
		digits("jump", InList|InReader, "Go to the citation with that number", (*Model).jump, noResult),
		action("similar", "~", InList|InReader, "", "Search for passages like this one", (*Model).searchSimilar,
			cannotFindSimilar),
	)
}

func readerBindings() []Binding {
	return group("Reader",
		action("close-reader", "h left", InReader, "results", "Back to the results",
			do(func(m *Model) { m.focus = InList })),
		action("expand", "e", InList|InReader, "expand", "Show the passages around this one", (*Model).expand,
			cannotExpand),
		action("whole", "E", InList|InReader, "", "Show the whole document", (*Model).expandWhole, cannotExpand),
		action("next-match", "n", InList|InReader, "next match", "Next match",
			do(func(m *Model) { m.toMatch(1) }), noResult),
		action("previous-match", "N", InList|InReader, "", "Previous match",
			do(func(m *Model) { m.toMatch(-1) }), noResult),
		action("next-of-document", "]", InList|InReader, "", "Next passage of the same document",
			do(func(m *Model) { m.ofDocument(1) }), noResult),
		action("previous-of-document", "[", InList|InReader, "", "Previous passage of the same document",
			do(func(m *Model) { m.ofDocument(-1) }), noResult),
		action("line-down", "j down ctrl+n", InReader, "", "Scroll down one line",
			do(func(m *Model) { m.reader.Down(1) })),
		action("line-up", "k up ctrl+p", InReader, "", "Scroll up one line", do(func(m *Model) { m.reader.Down(-1) })),
		action("reader-half-page-down", "ctrl+d", InReader, "", "Half a page down",
			do(func(m *Model) { m.reader.HalfPage(1) })),
		action("reader-half-page-up", "ctrl+u", InReader, "", "Half a page up",
			do(func(m *Model) { m.reader.HalfPage(-1) })),
		action("page-down", "pgdown space", InReader, "", "A page down", do(func(m *Model) { m.reader.Page(1) })),
		action("page-up", "pgup b", InReader, "", "A page up", do(func(m *Model) { m.reader.Page(-1) })),
		action("table-right", "shift+right .", InReader, "table", "Scroll a wide table to the right",
			do(func(m *Model) { m.reader.Sideways(1) }), noWideTable),
		action("table-left", "shift+left ,", InReader, "", "Scroll a wide table to the left",
			do(func(m *Model) { m.reader.Sideways(-1) }), noWideTable),
		action("top", "g home", InReader, "", "Go to the beginning", do(func(m *Model) { m.reader.Top() })),
		action("bottom", "G end", InReader, "", "Go to the end", do(func(m *Model) { m.reader.Bottom() })),
		action("scroll-down", "shift+down J", InList, "", "Scroll the reader down from the list",
			do(func(m *Model) { m.reader.HalfPage(1) }), noReaderBeside),
		action("scroll-up", "shift+up K", InList, "", "Scroll the reader up from the list",
			do(func(m *Model) { m.reader.HalfPage(-1) }), noReaderBeside),
		action("answer", "a", InList|InReader, "ask", "Ask a model to answer the query, with citations",
			(*Model).openAnswer, cannotAnswer),
		action("why", "w", InList|InReader, "", "Explain these results: queries, filters, stages, ranks",
			(*Model).openWhy, notOfAnswer),
		action("raw", "v", InList|InReader, "", "Switch between raw and rendered text", (*Model).toggleRaw, noResult),
	)
}

func takeBindings() []Binding {
	return group("Copy and open",
		action("collection", "m", InList|InReader|InHome|InCollection, "",
			"Open or close the collection: the marked passages", (*Model).openCollection, noCollection),
		action("open-source", "o", InList|InReader, "source",
			"Open the original document, or copy its link where there is no browser", (*Model).openSource, cannotOpen),
		action("cite", "y", InList|InReader, "cite", "Copy the citation", (*Model).copyCitation, noResult),
		action("mark", "tab", InList|InReader, "mark", "Add the passage to the collection, or remove it",
			(*Model).toggleMark, cannotMark),
		action("copy-passage", "Y", InList|InReader, "", "Copy the paragraphs in sight (in the list: the best ones) "+
			"with the citation", (*Model).copyPassage, noResult),
		action("edit", "ctrl+e", InList|InReader, "", "Edit the file at the passage in $VISUAL or $EDITOR",
			(*Model).editFile, cannotEdit),
	)
}

func filterBindings() []Binding {
	return group("Filters",
		action("strip", "f", InList|InReader|InHome, "filter", "Choose among the sources or places of the matches",
			(*Model).enterStrip, notOpen),
		action("toggle-source", "space enter", InStrip, "select",
			"Limit the search to a source or place too, or no longer", (*Model).toggleValue, notOpen),
		action("exclude-source", "!", InStrip, "exclude", "Exclude a source or place from the search, or no longer",
			(*Model).excludeValue, cannotExcludeValue),
		action("source-before", "left h", InStrip, "", "Previous source or place",
			do(func(m *Model) { m.strip.Move(-1) })),
		action("source-after", "right l", InStrip, "", "Next source or place", do(func(m *Model) { m.strip.Move(1) })),
		action("by-place", "P", InList|InReader|InHome|InStrip, "", "Divide the documents by place or by source",
			(*Model).flip, noPlaces),
		action("all-filters", "down j f", InStrip, "all filters", "Open all filters", (*Model).openPicker, notOpen),
		action("filters", "ctrl+f f2", InPanes, "", "Filter by source, time, agent, document set, tag, author or type",
			(*Model).openPicker, notOpen),
		action("drop-filter", "x ctrl+x", InBox|InList, "",
			"Remove the last filter (with no results: the most restrictive one)", (*Model).dropFilter, noChip),
	)
}

func screenBindings() []Binding {
	return group("Screen",
		action("actions", "f1 ?", Everywhere, "all keys", "List all actions with their keys, and run one",
			(*Model).openActions),
		action("set-up", "f3", InPanes|InAnswer, "open",
			"Connect to an Onyx server, open a folder, or set up a language model", (*Model).openSetUp, noSetUp),
		action("zoom", "z", InList|InReader, "", "Zoom the pane to the whole screen, or back",
			do(func(m *Model) { m.look.zoomed = !m.look.zoomed }), noPanes),
		action("widen", "ctrl+right >", InList|InReader, "", "Move the divider to the right, or down",
			func(m *Model) tea.Cmd { return m.moveDivider(1) }, noPanes),
		action("narrow", "ctrl+left <", InList|InReader, "", "Move the divider to the left, or up",
			func(m *Model) tea.Cmd { return m.moveDivider(-1) }, noPanes),
		action("theme", "T", InList|InReader|InHome, "", "Choose a theme", (*Model).openThemes, noColour),
		action("mouse", "ctrl+o", InPanes, "", "Turn the mouse on or off (when on, select text with shift held)",
			(*Model).toggleMouse),
		action("redraw", "ctrl+l", Everywhere, "", "Redraw the screen", (*Model).redraw),
		action("suspend", "ctrl+z", Everywhere, "", "Suspend to the shell (fg returns)", (*Model).suspend,
			cannotSuspend),
		action("leave", "q", InList|InReader, "", "Quit", (*Model).quit),
		action("quit", "ctrl+c", Everywhere, "", "Quit", (*Model).quit),
	)
}

func overlayBindings() []Binding {
	return group("Panels",
		action("close", "esc q", InOverlays, panel.Close,
			"Close the panel without changes; an answer under way stops first", (*Model).closePanel, cannotClose),
		action("apply", "enter", InPicker, "apply", "Search with the selected filters", (*Model).applyPicker),
		typed(action("toggle", "space", InPicker, "select", "Select or deselect a value; in Time, start and end a "+
			"range", do(func(m *Model) { m.filters.picker.Toggle() }))),
		typed(action("exclude", "!", InPicker, "exclude", "Exclude a value, or the selected ones",
			do(func(m *Model) { m.filters.picker.Exclude() }), cannotExclude)),
		action("ask-further", "enter", InAnswer, "follow up", "Ask a follow-up question; typing begins one, too",
			do(func(m *Model) { m.answer.Type() }), cannotFollowUp),
		typed(action("answer-again", "r", InAnswer, "again", "Answer the last question again", (*Model).answerAgain,
			cannotAnswerAgain)),
		typed(action("copy-answer", "y", InAnswer, "copy", "Copy the answer with its citations", (*Model).copyAnswer,
			noAnswer)),
		action("send", "enter", InAsking, "ask", "Send the question", (*Model).sendFurther),
		typed(digits("cited", InAnswer, "Open the cited document with that number; esc there returns to the answer",
			(*Model).openCited)),
		action("next-tab", "tab", InPicker, "next tab", "Next tab", do(func(m *Model) { m.filters.picker.Turn(1) })),
		action("previous-tab", "shift+tab", InPicker, "", "Previous tab",
			do(func(m *Model) { m.filters.picker.Turn(-1) })),
		action("month-before", "left", InPicker, "",
			"In Time: previous month; in Places: close the place; otherwise move the cursor left",
			do(func(m *Model) { m.filters.picker.Sideways(-1, false) })),
		action("month-after", "right", InPicker, "",
			"In Time: next month; in Places: open the place; otherwise move the cursor right",
			do(func(m *Model) { m.filters.picker.Sideways(1, false) })),
		action("extend-before", "shift+left", InPicker, "", "In Time: extend the range to the previous month",
			do(func(m *Model) { m.filters.picker.Sideways(-1, true) })),
		action("extend-after", "shift+right", InPicker, "", "In Time: extend the range to the next month",
			do(func(m *Model) { m.filters.picker.Sideways(1, true) })),
		action("why-details", "d", InWhy, "details", "Show or hide what each stage reports",
			do(func(m *Model) { m.why.ToggleDetails() })),
		action("open-search", "enter", InSearches, "search", "Search again", (*Model).openSearch),
		action("forget-search", "ctrl+x", InSearches, "forget", "Remove the search from the list",
			(*Model).forgetSearch),
		action("use-theme", "enter", InThemes, "use", "Use the theme, and remember it", (*Model).useTheme),
		action("accept", "enter", InPrompt, "save", "Save what is typed", (*Model).acceptPrompt),
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
		action("conversations", "A f4", InPanes|InAnswer, "chats", "Open an earlier conversation",
			(*Model).openChats, cannotListChats),
		action("open-conversation", "enter", InChats, "open", "Open the conversation", (*Model).openChat),
		action("rename-conversation", "r", InChats, "rename", "Rename the conversation", (*Model).renameChat),
		action("delete-conversation", "d delete", InChats, "delete", "Delete the conversation; press twice",
			(*Model).deleteChat),
	)
}

// Place is where keys go, as a set of bits.
type Place uint32

const (
	InBox Place = 1 << iota
	InList
	InReader
	InPicker
	InActions
	InSetUp
	InWhy
	InAnswer
	InChats  // earlier conversations
	InAsking // the line of the answer in which a further question is typed
	InSearches
	InHome   // the entries below an empty query
	InPrompt // a line that is asked for
	InCollection
	InExports   // the formats of the collection
	InOutline   // the headings of the document
	InLinks     // the links of the text
	InParagraph // the reader while a paragraph is selected
	InStrip     // the line of sources
	InThemes

	// InPanes is the screen without anything laid over it.
	InPanes = InBox | InList | InReader | InHome | InStrip
	// InFields are the places where text is typed.
	InFields = InBox | InPicker | InActions | InSetUp | InAnswer | InAsking | InSearches | InPrompt | InExports |
		InOutline | InLinks | InThemes
	// InOverlays are the places that lie over the panes.
	InOverlays = InPicker | InActions | InSetUp | InWhy | InAnswer | InChats | InAsking | InSearches | InPrompt |
		InCollection | InExports | InOutline | InLinks | InThemes
	Everywhere = InPanes | InOverlays | InParagraph
)

// Binding is one action: what it is called, the keys that run it, where, and how. The bar of keys, the list of all
// actions and docs/keys.md are made from the table of them, so that to add an action is to add an entry and a handler.
type Binding struct {
	// Binding is Bubbles': the keys as Bubble Tea names them, the first of which is shown, and the label for the bar of
	// keys; without a label the action is not there.
	key.Binding
	Action string // its name in the configuration
	In     Place
	Long   string // a sentence for the list of all actions
	Group  string
	// Typed keeps keys that type a character for the action even where text is typed. Elsewhere such a key types there,
	// and an action needs another one to be reached from a field.
	Typed    bool
	Picks    bool                // only there to pick passages, where its keys win
	Disabled func(*Model) string // returns why the action cannot run now; "" means that it can
	Run      func(*Model) tea.Cmd
	// Numbered replaces Run in actions that depend on the digit pressed.
	Numbered func(m *Model, number int) tea.Cmd
}

// action returns the binding of an action, with its keys separated by spaces. disabled returns why it cannot run now;
// "" means that it can.
func action(name, keys string, in Place, label, long string, run func(*Model) tea.Cmd,
	disabled ...func(*Model) string) Binding {
	all := strings.Fields(keys)
	b := Binding{Action: name, In: in, Long: long, Run: run, Disabled: func(*Model) string { return "" },
		Binding: key.NewBinding(key.WithKeys(all...), key.WithHelp(KeyName(all[0]), label))}
	if len(disabled) > 0 {
		b.Disabled = disabled[0]
	}
	return b
}

// digits returns the binding of an action that the keys 1 to 9 run with their number.
func digits(name string, in Place, long string, run func(*Model, int) tea.Cmd,
	disabled ...func(*Model) string) Binding {
	b := action(name, "1 2 3 4 5 6 7 8 9", in, "", long, nil, disabled...)
	b.Numbered = run
	return b
}

// typed keeps keys that type a character for the action even where text is typed.
func typed(b Binding) Binding {
	b.Typed = true
	return b
}

func group(name string, bindings ...Binding) []Binding {
	for i := range bindings {
		bindings[i].Group = name
	}
	return bindings
}

// do makes a handler of what only changes the model.
func do(change func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		change(m)
		return nil
	}
}

// Places lists the single bits of a set.
func (p Place) Places() []Place {
	var single []Place
	for bit := InBox; bit <= InThemes; bit <<= 1 {
		if p&bit != 0 {
			single = append(single, bit)
		}
	}
	return single
}

// Name returns what people call a single place.
func (p Place) Name() string {
	return map[Place]string{
		InBox: "the query", InList: "the results", InReader: "the reader", InPicker: "the filters",
		InActions: "the action list", InSetUp: "the set-up", InWhy: "why these results", InAnswer: "the answer",
		InChats: "earlier conversations", InAsking: "the follow-up line",
		InSearches: "recent and saved searches", InPrompt: "the line that is asked for", InHome: "the home",
		InCollection: "the collection", InExports: "the export", InOutline: "the outline", InLinks: "the links",
		InParagraph: "a selected paragraph", InStrip: "the sources", InThemes: "the themes",
	}[p]
}
