package explorer

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/answer"
	"quarry/ui/explorer/chats"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/palette"
	"quarry/ui/explorer/picker"
	"quarry/ui/explorer/querybox"
	"quarry/ui/explorer/reader"
	"quarry/ui/explorer/results"
	"quarry/ui/explorer/setup"
	"quarry/ui/explorer/why"
)

// Model is the explorer of one session. All of its state changes in Update.
type Model struct {
	ctx     context.Context
	options Options
	keys    keymap
	width   int
	height  int
	rects   Rects

	theme     theme.Theme
	themeMode string
	dark      bool
	mouse     bool
	zoomed    bool
	dividerX  int   // columns that the divider beside was moved by
	dividerY  int   // rows that the divider below was moved by
	focus     Place // InBox, InList or InReader
	overlay   Place // InPicker, InActions, InSetUp, InWhy, InAnswer or InChats; 0: none
	beneath   Place // the overlay that the one which is shown goes back to; 0: the panes
	message   message

	box     querybox.Box
	list    results.List
	reader  reader.Reader
	picker  picker.Picker
	actions palette.Palette
	wizard  setup.Wizard
	reasons why.Panel
	answer  answer.Panel
	chats   chats.Panel

	target    Target
	session   *Session
	opening   *request // the target is being opened
	welcome   welcome
	version   string   // of the library, as last told
	settingUp *request // a connection is being tested or saved
	saving    bool     // what is under way writes a profile
	folder    *folder  // being read

	thread          thread
	follow          following       // the question that goes on with others, if it is the query
	trail           []wire.Message  // what a question that is asked next can go on with
	completed       map[string]bool // refs of the passages of an answer that were asked for in whole
	chatting        *request        // earlier conversations are being fetched
	noChats         string          // why there are none here; empty: there may be
	asking          *asking         // a model answers now; nil: none does
	renderingAnswer bool

	searching *search // in flight; nil: none
	shown     *shown  // what the list shows; nil: nothing was found yet
	failure   *failure
	memory    memory
	undo      []querybox.State
	offered   offered
	cut       *blame // which filter cut the most; nil: not known, or there are results

	rendering  bool               // a rendering of the reader is under way
	expanding  *request           // chunks are being fetched
	whole      *chunksMsg         // the document that was fetched whole last, for its other passages
	reading    *wire.SearchResult // what the reader shows
	readingFor string             // the query whose words are marked in it
	counting   *request           // facets for the picker
	blaming    *request           // counts without each filter

	again   bool   // the query is to be asked anew where the target is now
	arrival string // the query that the person came with
	example int    // number of the example question to ask next
	pending bool   // the query is to be run as soon as the target is open
	lastID  int    // of requests; every asynchronous result carries one
}

// message is one line for the person, until the next key.
type message struct {
	text  string
	level level
}

type level int

const (
	told level = iota
	done
	warned
	failed
)

// request is something asynchronous under way.
type request struct {
	id     int
	cancel context.CancelFunc
}

// stop gives up what is under way; a nil request is none.
func (r *request) stop() {
	if r != nil && r.cancel != nil {
		r.cancel()
	}
}

// is tells that a result is of this request.
func (r *request) is(id int) bool { return r != nil && r.id == id }

// begin makes a request whose context ends when it is stopped, or with the session.
func (m *Model) begin() (context.Context, *request) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.lastID++
	return ctx, &request{id: m.lastID, cancel: cancel}
}

// New makes an explorer. Nothing is opened or asked before Init. When ctx ends, so does all that is under way.
func New(ctx context.Context, options Options) *Model {
	if options.Now == nil {
		options.Now = time.Now
	}
	keys, problems := usualKeys(), []string(nil)
	if len(options.Keys) > 0 {
		keys, problems = newKeymap(Bindings(), options.Keys)
	}
	m := &Model{ctx: ctx, options: options, keys: keys, focus: InBox, dark: true, themeMode: options.Theme,
		target: painted(options.Target), width: options.Width, height: options.Height, memory: newMemory(options.CacheBytes)}
	m.reader.KeepAtMost(options.CacheBytes)
	if len(problems) > 0 {
		m.warn(problems[0] + more(len(problems)-1))
	}
	m.restyle()
	m.reader.ExpandKey = keys.keyOf("expand", InReader)
	m.box.Placeholder = "Search " + m.target.Where
	m.box.SetQuery(options.Query, options.Now())
	m.arrival = m.box.Query()
	m.arrangeScreen()
	return m
}

// Init asks what the terminal can do and opens the target; neither is waited for before the first paint.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.open())
}

// Update is a table: one message, one handler.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case noticeMsg:
		m.warn(paint.Line(msg.text))
	case tea.BackgroundColorMsg:
		m.backgroundTold(msg)
	case tea.ColorProfileMsg:
		m.profileTold(msg)
	case tea.KeyPressMsg:
		cmd = m.keyPressed(msg)
	case tea.PasteMsg:
		cmd = m.pasted(msg)
	case tea.MouseWheelMsg:
		cmd = m.wheelTurned(msg)
	case tea.MouseClickMsg:
		cmd = m.clicked(msg)
	case openedMsg:
		cmd = m.opened(msg)
	case welcomeMsg:
		m.welcomed(msg)
	case versionTickMsg:
		cmd = m.askVersion(msg)
	case versionMsg:
		cmd = m.versionTold(msg)
	case searchMsg:
		cmd = m.searchTold(msg)
	case slowMsg:
		cmd = m.searchIsSlow(msg)
	case instantMsg:
		cmd = m.pauseOver(msg)
	case blameMsg:
		m.blamed(msg)
	case facetsMsg:
		m.facetsTold(msg)
	case renderedMsg:
		m.rendered(msg)
	case packetsMsg:
		cmd = m.packetsTold(msg)
	case answeredMsg:
		m.answered(msg)
	case answerRenderedMsg:
		m.answerRendered(msg)
	case ignoredMsg:
		m.ignoredTold(msg)
	case noChatsMsg:
		m.noChatsTold(msg)
	case chatsMsg:
		m.chatsTold(msg)
	case chatMsg:
		m.chatTold(msg)
	case passageMsg:
		m.passageCompleted(msg)
	case chunksMsg:
		m.chunksTold(msg)
	case expandSlowMsg:
		m.expandIsSlow(msg)
	case actedMsg:
		m.acted(msg)
	case setUpMsg:
		cmd = m.setUpTold(msg)
	case completedMsg:
		m.wizard.Completed(msg.typed, msg.completed)
	case pathMsg:
		cmd = m.pathTold(msg)
	case folderMsg:
		cmd = m.folderTold(msg)
	case arrivedMsg:
		cmd = m.arrived(msg)
	}
	return m, m.settle(cmd)
}

// settle brings what follows from a change into line: the rectangles, the reader with the selection, its rendering.
func (m *Model) settle(cmd tea.Cmd) tea.Cmd {
	if m.focus == InReader && m.list.Len() == 0 {
		m.focus = InList // there is nothing to read
	}
	m.arrangeScreen()
	m.offerCompletions()
	m.followSelection()
	return tea.Batch(cmd, m.render(), m.renderAnswer(), m.completePassage())
}

// arrangeScreen lays the screen out anew.
func (m *Model) arrangeScreen() {
	shape := Shape{Chips: len(m.box.Chips()) > 0, Banner: m.bannerText() != "", Reading: m.focus == InReader,
		Zoomed: m.zoomed && m.focus != InBox, Empty: m.list.Len() == 0, Panel: m.overlay != 0,
		Failed: m.failing() && m.list.Len() > 0, Wide: m.dividerX}
	if arrange(m.width, m.height) == Stacked {
		shape.Wide = m.dividerY
	}
	m.rects = Layout(m.width, m.height, shape)
}

// place is where keys go now.
func (m *Model) place() Place {
	if m.overlay == InAnswer && m.answer.Typing() {
		return InAsking
	}
	if m.overlay != 0 {
		return m.overlay
	}
	return m.focus
}

// keyPressed runs the binding of a key, or types it.
func (m *Model) keyPressed(key tea.KeyPressMsg) tea.Cmd {
	m.message = message{}
	if b, ok := m.keys.find(m.place(), key.String()); ok {
		return m.run(b, key)
	}
	if text := key.Key().Text; text != "" {
		return m.typed(text)
	}
	return nil
}

// run runs an action, or says why it cannot run.
func (m *Model) run(b Binding, key tea.KeyPressMsg) tea.Cmd {
	if reason := b.reason(m); reason != "" {
		m.warn(reason)
		return nil
	}
	if b.Numbered != nil {
		return b.Numbered(m, int(key.Key().Code-'0'))
	}
	return b.Run(m)
}

func (m *Model) say(text string)  { m.message = message{text, done} }
func (m *Model) warn(text string) { m.message = message{text, warned} }
func (m *Model) fail(text string) { m.message = message{text, failed} }

// now is the time by the session's clock.
func (m *Model) now() time.Time { return m.options.Now() }

// client is the way to the target; nil until it is open.
func (m *Model) client() *client.Client {
	if m.session == nil {
		return nil
	}
	return m.session.Client
}

// result is the selected passage.
func (m *Model) result() (wire.SearchResult, bool) { return m.list.Selected() }

// more says that n further ones are not told.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
