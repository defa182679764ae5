// Package setup is the wizard that leads from nothing to something to search: a server that is connected, a folder that
// is read, or the sample library as it is. The wizard draws and decides; network and disk are used through Backend,
// which the owner of the wizard calls.
package setup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// IntentKind is what the wizard wants to happen.
type IntentKind int

// The intents. All but None and Leave are for the function of Backend with that name, whose result goes back to the
// wizard.
const (
	None IntentKind = iota
	Test            // Backend.Test with Connection, or TestModel with Model; then Tested or Stopped
	Save            // Backend.Save with Connection, or SaveModel with Model; then Saved or Failed
	// Backend.Path with Path, then Refused, or Adding and Backend.AddFolder; then Added, Failed or Stopped
	Folder
	Complete // Backend.Complete with Path; then Completed
	Stop     // what runs is to be cancelled; then Stopped
	Leave    // the wizard is done
)

// Intent is what the wizard wants to happen, and with what.
type Intent struct {
	Kind       IntentKind
	Connection Connection
	Model      *Model
	Path       string // as it was typed
}

// Input is what the wizard must know when it opens.
type Input struct {
	Sample bool // the sample library is searched, and may stay
	// Current names what is searched now.
	Current string
	// Refused says why nothing can be set up, and ModelRefused why no language model; empty: it can.
	Refused, ModelRefused string
	// Model is the configured language model.
	Model Model
}

// page is what the wizard shows.
type page int

const (
	choosing page = iota
	connecting
	naming // the folder
	modelling
	adding
	over // the result
)

const (
	longestAddress = 2000
	longestToken   = 4000
	longestPath    = 4000
	skipsKept      = 50
)

// The items of the page that connects.
const (
	addressField = iota
	tokenField
	connectButton
)

// item is a line that can have the focus: one to type in, or one that Enter takes.
type item struct {
	title   string
	about   string // below it, or in an empty line to type in
	refused string // why it cannot be taken; empty: it can
	enter   func() Intent

	// Of a line to type in:
	editor          *line.Editor
	masked          bool
	asked           bool   // Enter in a line above it goes here while it is empty
	missing, remedy string // what is said where it must not be empty
}

// Wizard leads through the set-up. It does nothing itself: Enter and Next return intents, whose results are passed to
// its methods. Its zero value shows the choices; Open sets which there are.
type Wizard struct {
	input   Input
	page    page
	focus   int // item
	address line.Editor
	token   line.Editor
	path    line.Editor
	model   modelForm
	report  panel.Text // the last page

	busy    IntentKind // what runs: Test, Save or Folder; None
	tested  *Tested    // of the connection in the form
	problem string
	remedy  string

	folder folder
	result []string // on the last page
	skips  []string // on it, below: what was left out
	unread bool     // nothing of the folder was read; its skips say why
}

// folder is how reading a folder goes.
type folder struct {
	path     string
	progress wire.LibraryEvent // the latest of that type
	indexing wire.LibraryEvent // likewise
	rate     float64           // files per second; 0: not known
	skips    []wire.LibraryEvent
	skipped  int
	kinds    map[string]int // files of each kind that is not read at all
}

// Open shows the choices; while a folder is being read, how that goes.
func (w *Wizard) Open(input Input) {
	w.input = input
	w.address.Limit, w.token.Limit, w.path.Limit = longestAddress, longestToken, longestPath
	if w.busy != Folder {
		w.show(choosing)
	}
	w.model.open(input.Model)
}

func (w *Wizard) show(next page) {
	w.page, w.focus, w.report = next, 0, panel.Text{}
	w.problem, w.remedy, w.unread, w.tested = "", "", false, nil
}

func leave() Intent { return Intent{Kind: Leave} }

// choices lists what can be searched.
func (w *Wizard) choices() []item {
	to := func(next page) func() Intent {
		return func() Intent {
			w.show(next)
			return Intent{}
		}
	}
	list := []item{
		{title: "Connect to an Onyx server", about: "or to a quarry server, with its address and an access token",
			refused: w.input.Refused, enter: to(connecting)},
		{title: "Open a folder of files", about: "add it to the library on this machine, searched as you type",
			refused: w.input.Refused, enter: to(naming)},
		{title: "Set up a language model", about: w.aboutModel(),
			refused: cmp.Or(w.input.Refused, w.input.ModelRefused), enter: to(modelling)},
	}
	switch {
	case w.input.Sample:
		list = append(list, item{title: "Stay with the sample library", about: "you can change this at any time",
			enter: leave})
	case w.input.Current != "":
		list = append(list,
			item{title: "Stay with " + paint.Line(w.input.Current), about: "nothing changes", enter: leave})
	}
	return list
}

// items lists what the page has to choose, to type in and to press.
func (w *Wizard) items() []item {
	switch w.page {
	case choosing:
		return w.choices()
	case connecting:
		return []item{
			{title: "Address", about: "onyx.acme.com; https is assumed", editor: &w.address, enter: w.advance,
				missing: "missing address", remedy: "Type it as in your browser, such as onyx.acme.com"},
			{title: "Token", about: "paste it (hidden)", editor: &w.token, masked: true, enter: w.advance, asked: true,
				missing: "missing token", remedy: "Create one in the server's settings and paste it here"},
			{title: w.connectLabel("Test the connection", "Testing the connection…"), enter: w.advance},
		}
	case modelling:
		return w.modelItems()
	case naming:
		return []item{{title: "Folder", about: "~/notes", editor: &w.path, enter: w.advance,
			missing: "missing path", remedy: "Type the path of a folder or a file, such as ~/notes"}}
	case adding:
		return []item{{title: "Search now", enter: leave},
			{title: "Stop reading", enter: func() Intent { return Intent{Kind: Stop} }}}
	}
	return []item{{title: "Search now", enter: leave}}
}

func (w *Wizard) connectLabel(test, testing string) string {
	switch {
	case w.busy == Test:
		return testing
	case w.busy == Save:
		return "Saving…"
	case w.tested != nil && w.tested.OK():
		return "Save and use"
	}
	return test
}

// Move goes to another item, or scrolls the last page.
func (w *Wizard) Move(by int) {
	w.focus = max(0, min(w.focus+by, len(w.items())-1))
	if w.page == over {
		w.report.Move(by)
	}
}

// Page implements panel.Panel.
func (w *Wizard) Page(pages int) { w.Move(pages * len(w.choices())) }

// Next goes to the next item, around; in a path it asks for its completion.
func (w *Wizard) Next() Intent {
	if w.page == naming && w.busy == None {
		return Intent{Kind: Complete, Path: w.path.Text()}
	}
	w.focus = (w.focus + 1) % len(w.items())
	return Intent{}
}

// Previous goes to the item before, around.
func (w *Wizard) Previous() {
	n := len(w.items())
	w.focus = (w.focus - 1 + n) % n
}

// Edit changes the line that is typed into, if there is one.
func (w *Wizard) Edit(change func(*line.Editor)) {
	editor := w.items()[w.focus].editor
	if editor == nil || w.busy != None {
		return
	}
	before := editor.Text()
	if change(editor); editor.Text() != before {
		w.tested, w.problem, w.remedy, w.unread = nil, "", "", false
	}
}

// Escape implements panel.Panel.
func (w *Wizard) Escape() string {
	switch {
	case w.busy == Test || w.busy == Save:
		return panel.Cancel
	case w.page == connecting || w.page == naming || w.page == modelling:
		return "back"
	}
	return panel.Close
}

// Back goes one level back. The reading of a folder continues; the caller cancels a test.
func (w *Wizard) Back() bool {
	switch w.Escape() {
	case panel.Cancel:
		w.busy = None
	case panel.Close:
		return false
	default:
		w.show(choosing)
	}
	return true
}

// Enter takes the item that has the focus.
func (w *Wizard) Enter() Intent {
	if item := w.items()[w.focus]; item.refused == "" {
		return item.enter()
	}
	return Intent{}
}

// advance moves on in a form: to a line that is empty, or to what is done with it, which is a test before it is saved.
func (w *Wizard) advance() Intent {
	switch {
	case w.busy != None:
		return Intent{}
	case w.tested != nil && w.tested.OK():
		return w.run(Save, w.tested.Connection, w.tested.Model)
	}
	for i, it := range w.items() {
		switch {
		case it.editor == nil || strings.TrimSpace(it.editor.Text()) != "":
		case it.asked && i > w.focus:
			w.focus = i
			return Intent{}
		case it.missing != "":
			w.focus, w.problem, w.remedy = i, it.missing, it.remedy
			return Intent{}
		}
	}
	if w.page == naming {
		return Intent{Kind: Folder, Path: strings.TrimSpace(w.path.Text())}
	}
	w.tested = nil
	return w.run(Test, Connection{URL: strings.TrimSpace(w.address.Text()), Token: strings.TrimSpace(w.token.Text())},
		w.model.typed())
}

// run begins to test or save what the page is about.
func (w *Wizard) run(kind IntentKind, connection Connection, model Model) Intent {
	w.busy, w.problem, w.remedy = kind, "", ""
	if w.page == modelling {
		return Intent{Kind: kind, Model: &model}
	}
	return Intent{Kind: kind, Connection: connection}
}

// Tested shows what a test found, unless the test was cancelled.
func (w *Wizard) Tested(found Tested) {
	if w.busy != Test {
		return
	}
	w.busy, w.tested = None, &found
	w.focus = len(w.items()) - 1
	if !found.OK() {
		w.problem, w.remedy = found.Problem, found.Remedy
		w.focus = blamedField(found.Steps)
		if w.page == modelling {
			w.focus = blamedModelField(found.ModelProblem)
			if w.model.typed().Name == "" { // the only one of the endpoint, if it lists one
				w.model.name.SetText(found.Model.Name)
			}
		}
	}
}

// blamedField is the field to correct after a failed test: what else than the server failed depends on the token.
func blamedField(steps []Step) int {
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Mark == Failed && s.Name != StepServer }) {
		return tokenField
	}
	return addressField
}

// Saved shows where the connection or the model was stored. The form forgets the token and the key.
func (w *Wizard) Saved(where string) {
	said := "Connected to " + w.tested.Connection.URL + "."
	if w.page == modelling {
		said = "Questions and searches now use " + w.tested.Model.Name + "."
	}
	w.busy, w.tested = None, nil
	w.address, w.token = line.Editor{Limit: longestAddress}, line.Editor{Limit: longestToken}
	w.model.key.SetText("")
	w.show(over)
	w.result, w.skips = []string{said, where}, nil
}

// Failed reports whether saving or reading failed, and what to do.
func (w *Wizard) Failed(problem, remedy string) {
	if w.busy == Folder {
		w.show(naming)
	}
	w.busy, w.problem, w.remedy = None, problem, remedy
}

// Stopped reports whether what ran was cancelled. Of a folder, what was read until then stays.
func (w *Wizard) Stopped() {
	was := w.busy
	w.busy = None
	if was == Folder {
		w.show(over)
		w.result, w.skips = []string{stoppedText(w.folder.progress)}, w.skipLines(0)
	}
}

// Completed completes a path, unless something else was typed meanwhile.
func (w *Wizard) Completed(typed, completed string) {
	if w.page == naming && w.path.Text() == typed && completed != typed {
		w.path.SetText(completed)
		w.problem, w.remedy, w.unread = "", "", false
	}
}

// Refused shows why a typed path cannot be opened.
func (w *Wizard) Refused(problem string) {
	if w.page == naming {
		w.problem, w.remedy, w.unread = problem, "Correct the path; tab completes it", false
	}
}

// Adding reports whether a path is about to be read; false when it is not to be, because the person went elsewhere or
// something is being read already.
func (w *Wizard) Adding(path string) bool {
	if w.page != naming || w.busy != None {
		return false
	}
	w.show(adding)
	w.busy, w.folder = Folder, folder{path: path, kinds: map[string]int{}}
	return true
}

// Progress shows an event of the reading, with the files per second that were read lately; 0 where that is not known.
func (w *Wizard) Progress(event wire.LibraryEvent, rate float64) {
	f := &w.folder
	switch event.Type {
	case wire.LibraryProgress:
		f.progress, f.rate = event, rate
	case wire.LibraryIndexing:
		f.indexing = event
	case wire.LibrarySkipped:
		f.skipped++
		if kind, notRead := wire.KindNotRead(event.Reason); notRead {
			f.kinds[kind]++
		} else if f.skips = append(f.skips, event); len(f.skips) > skipsKept {
			f.skips = f.skips[1:]
		}
	}
}

// Added reports whether a folder was read, and where searches go from now on. Where there was nothing to read, nothing
// has changed, and another path can be typed.
func (w *Wizard) Added(done wire.LibraryEvent, where string) {
	w.busy = None
	if done.Added+done.Updated+done.Removed+done.Unchanged == 0 {
		w.show(naming)
		w.problem, w.remedy = "no readable files in "+w.folder.path, "Type another path; tab completes it"
		w.unread = true
		return
	}
	w.show(over)
	w.result, w.skips = []string{done.Outcome("added", "updated", "removed"), where}, w.skipLines(0)
}

// Connection is a server as it was typed.
type Connection struct {
	URL    string // https is meant where no scheme was typed
	Prefix string // before every route; empty: the usual one, or none, whichever answers
	Token  string
}

// Mark is the outcome of a step of a test.
type Mark int

// The marks of a step.
const (
	Passed  Mark = iota
	Failed       // nothing after it was tried
	Skipped      // not tried
)

// The steps of a test, in order.
const (
	StepServer = "server"
	StepToken  = "token"
	StepSearch = "search"
)

// Step is one thing that a test of a connection looked at.
type Step struct {
	Name   string
	Mark   Mark
	Detail string // one line: what was found, or what went wrong
}

// Tested is what a test of a connection found.
type Tested struct {
	// Connection is the one to save: with its scheme, and the prefix that answered.
	Connection Connection
	Model      Model // the same for a model
	Steps      []Step
	// Problem is what went wrong in one line, empty if the connection works, and Remedy what to do about it.
	Problem, Remedy string
	ModelProblem    string // of wire.ModelTest
}

// OK reports whether searches will work.
func (t Tested) OK() bool { return t.Problem == "" }

// Backend is what the wizard does outside the screen. Its functions check their results and rights themselves.
type Backend struct {
	// Test tries a connection. What goes wrong with it is in the answer; only the end of ctx is an error.
	Test func(ctx context.Context, connection Connection) (Tested, error)
	// Save stores a tested connection as the profile that searches go to, and returns one line about where.
	Save func(ctx context.Context, connection Connection) (where string, err error)
	// TestModel and SaveModel are Test and Save for a language model of the library on this machine.
	TestModel func(ctx context.Context, model Model) (Tested, error)
	SaveModel func(ctx context.Context, model Model) (where string, err error)
	// Model returns the configured language model.
	Model func() Model
	// AddFolder reads a file or folder into the library of this machine and reports on the way, from this goroutine;
	// the last event is returned, with a line about where searches go from now on. The library can be searched
	// meanwhile.
	AddFolder func(ctx context.Context, path string, report func(wire.LibraryEvent)) (done wire.LibraryEvent,
		where string, err error)
	// Path returns the absolute path of typed text, in which ~ is the home folder, if it exists; the error is one line.
	Path func(typed string) (path string, err error)
	// Complete extends a path as far as it is unambiguous, and returns it unchanged if nothing matches.
	Complete func(typed string) string
	// ReadOnly says why nothing can be changed here ("QUARRY_READONLY is set"); empty: it can.
	ReadOnly string
}
