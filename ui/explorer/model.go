package explorer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"charm.land/bubbles/v2/stopwatch"
	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/querybox"
	"quarry/ui/explorer/results"
	"quarry/ui/explorer/strip"
	"quarry/ui/state"
)

// Model is the explorer of one session. All of its state changes in Update; what belongs to one topic is a struct in
// the file that handles its messages.
type Model struct {
	ctx     context.Context
	options Options
	keys    keymap
	width   int
	height  int
	rects   Rects
	theme   theme.Theme

	focus   Place // InBox, InHome, InStrip, InList or InReader
	panels  []overlay
	panelAt Rect // of the shown panel, as drawn last
	message message

	box     querybox.Box
	strip   strip.Strip
	list    results.List
	reader  *reading // that keys act on
	actions panel.Actions
	prompt  prompt
	why     panel.Why

	look       look
	target     Target
	conn       connection
	search     searching
	completion completing
	follow     followUps
	filters    filtering
	compare    comparing
	outline    outlining
	links      panel.Actions // of the text that is read
	answer     answering
	chats      conversations
	past       history
	collection collecting
	pick       *picking // nil: the explorer only shows
	setUp      settingUp
	editing    *request // what surrounds the editing of a file
	themes     choosingTheme
}

// message is one line for the person, until the next key.
type message struct {
	text  string
	level level
	link  string // that the text is about: a terminal can open it
}

type level int

const (
	info level = iota
	done
	warned
	failed
)

// handleStopwatch follows the stopwatches of what somebody waits for; those of anything else end with their next tick.
func (m *Model) handleStopwatch(msg tea.Msg) tea.Cmd {
	var search, answer tea.Cmd
	if s := m.search.running; s != nil {
		s.watch, search = s.watch.Update(msg)
	}
	if r := m.answer.asking; r.running() {
		r.watch, answer = r.watch.Update(msg)
		m.answer.Waited(r.watch.Elapsed())
	}
	return tea.Batch(search, answer)
}

// New makes an explorer. Nothing is opened or asked before Init. When ctx ends, so does all background work.
func New(ctx context.Context, options Options) *Model {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	keys, problems := keysFor(options)
	m := &Model{ctx: ctx, options: options, keys: keys, focus: InBox, look: look{mode: options.Theme, dark: true},
		target: painted(options.Target), width: options.Width, height: options.Height}
	m.search.memory, m.search.order = newMemory(options.CacheBytes), wire.SortRelevance
	m.reader = new(reading)
	m.compare.following = m.reader
	m.reader.KeepAtMost(options.CacheBytes)
	if options.Pick != nil {
		m.pick = &picking{marks: state.InMemory(0), results: map[string]wire.SearchResult{}}
		m.target.Command = "" // prints the collection, not these marks
	}
	m.conn.noModel = options.Target.NoModel
	if len(problems) > 0 {
		m.warn(problems[0] + more(len(problems)-1))
	}
	m.list.OldAge = options.AgeWarning
	m.themes.own = options.Own
	m.warnOfTheme()
	m.restyle()
	m.reader.ExpandKey, m.reader.WholeKey = keys.keyOf("expand", InReader), keys.keyOf("whole", InReader)
	m.list.WholeKey = keys.keyOf("whole", InList)
	m.box.Placeholder = "Search " + m.target.Where
	m.box.Now = options.Now
	m.box.SetQuery(options.Query)
	m.conn.arrival = m.box.Query()
	m.arrangeScreen()
	return m
}

// Init asks what the terminal can do and opens the target; neither is waited for before the first paint.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.open(), m.loadState())
}

// Update is a table: one message, one handler.
func (m *Model) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case noticeMsg:
		m.warn(paint.Line(msg.text))
	case tea.BackgroundColorMsg:
		m.handleBackground(msg)
	case tea.ColorProfileMsg:
		m.handleColorProfile(msg)
	case tea.KeyPressMsg:
		cmd = m.handleKey(msg)
	case tea.PasteMsg:
		cmd = m.handlePaste(msg)
	case tea.MouseWheelMsg:
		m.handleWheel(msg)
	case tea.MouseClickMsg:
		cmd = m.handleClick(msg)
	case stopwatch.StartStopMsg, stopwatch.TickMsg:
		cmd = m.handleStopwatch(msg)
	case resultMsg:
		cmd = m.handleResult(msg)
	case tickMsg:
		cmd = m.handleResult(resultMsg(msg))
	}
	return m, m.sync(cmd)
}

// sync updates what depends on a change: the rectangles, the reader with the selection, its rendering.
func (m *Model) sync(cmd tea.Cmd) tea.Cmd {
	if m.focus == InReader && m.list.Len() == 0 && (m.atHome() || !m.onPinned()) {
		m.focus = InList // there is nothing to read
	}
	if m.focus != InReader {
		m.reader = m.compare.following
	}
	if m.focus == InHome && !m.atHome() {
		m.focus = InBox
	}
	if m.focus != InReader && m.reader.Selecting() {
		m.reader.Select(false)
	}
	m.answer.reading = m.answer.reading && m.focus == InReader && m.overlay()&^(InOutline|InLinks) == 0
	m.previewTheme()
	m.followQuery()
	m.followCollection()
	m.arrangeScreen()
	count := m.countPlaces()
	m.updateStrip()
	m.followSelection()
	return tea.Batch(cmd, m.render(), m.renderAnswer(), m.completePassage(),
		m.moreChats(), m.recount(), m.listValues(), m.moreResults(), count)
}

// mostNotes is how many lines about the results there are above them.
const mostNotes = 5

// arrangeScreen computes the rectangles.
func (m *Model) arrangeScreen() {
	shape := Shape{Chips: len(m.box.Chips()) > 0 || m.unknownValue() != "", Reading: m.focus == InReader,
		Zoomed: m.look.zoomed && m.focus != InBox, Empty: m.list.Len() == 0, Panel: m.overlay() != 0,
		Pinned: m.compare.pinned != nil, OnPinned: m.onPinned(), Wide: m.look.dividerX}
	if arrange(m.width, m.height) == Stacked {
		shape.Wide = m.look.dividerY
	}
	m.rects = Layout(m.width, m.height, shape)
	if notes := len(m.noteLines()); notes > 0 { // which are wrapped for the list
		shape.Notes = min(mostNotes, notes)
		m.rects = Layout(m.width, m.height, shape)
	}
	m.list.Density = m.rects.Density
}

// place is where keys go now.
func (m *Model) place() Place {
	switch overlay := m.overlay(); {
	case overlay == InAnswer && m.answer.Typing():
		return InAsking
	case overlay != 0:
		return overlay
	case m.focus == InReader && m.reader.Selecting():
		return InParagraph
	}
	return m.focus
}

// overlay is a panel over the panes, with the place of its keys.
type overlay struct {
	place Place
	panel.Panel
}

// pushPanel shows a panel above the panes or the panel before it.
func (m *Model) pushPanel(place Place, p panel.Panel) { m.panels = append(m.panels, overlay{place, p}) }

// popPanel closes the shown panel.
func (m *Model) popPanel() { m.panels = m.panels[:len(m.panels)-1] }

// top returns the shown panel, or the zero value.
func (m *Model) top() overlay {
	if len(m.panels) == 0 {
		return overlay{}
	}
	return m.panels[len(m.panels)-1]
}

// overlay returns the place of the shown panel, or 0.
func (m *Model) overlay() Place { return m.top().place }

// handleKey runs the binding of a key, or types it.
func (m *Model) handleKey(key tea.KeyPressMsg) tea.Cmd {
	m.message = message{}
	if b, ok := m.keys.find(m.place(), key.String()); ok {
		return m.run(b, key)
	}
	if text := key.Key().Text; text != "" {
		if m.place() == InHome {
			m.warn(m.keys.keyOf("query", InHome) + " edits the query, " + m.keys.keyOf("quit", InHome) + " quits")
		}
		return m.typed(text)
	}
	return nil
}

// run runs an action, or warns why it cannot run.
func (m *Model) run(b Binding, key tea.KeyPressMsg) tea.Cmd {
	if reason := b.Disabled(m); reason != "" {
		m.warn(reason)
		return nil
	}
	if b.Numbered != nil {
		return b.Numbered(m, int(key.Key().Code-'0'))
	}
	return b.Run(m)
}

func (m *Model) say(text string)    { m.message = message{text: text, level: done} }
func (m *Model) warn(text string)   { m.message = message{text: text, level: warned} }
func (m *Model) warnOf(err error)   { m.warn(text.Sentence(err.Error())) }
func (m *Model) inform(text string) { m.message = message{text: text} }
func (m *Model) fail(text string)   { m.message = message{text: text, level: failed} }

// now is the time by the session's clock.
func (m *Model) now() time.Time { return m.options.Now() }

// query is what the box asks for.
func (m *Model) query() client.Query { return m.parse(m.box.Query()) }

func (m *Model) parse(query string) client.Query { return client.ParseQuery(query, m.now()) }

// client is the way to the target; nil until it is open.
func (m *Model) client() *client.Client {
	if m.conn.session == nil {
		return nil
	}
	return m.conn.session.Client
}

// isLocal reports whether the target is open, and a library of this machine.
func (m *Model) isLocal() bool { return m.client() != nil && m.client().Local() }

// result is the passage that keys act on: the pinned one while it is read, else the selected one.
func (m *Model) result() (wire.SearchResult, bool) {
	if m.onPinned() {
		return *m.compare.pinned.result, true
	}
	return m.list.Selected()
}

// more counts the remaining problems: " (and 2 more)".
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
