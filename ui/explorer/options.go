// Package explorer is the full-screen explorer: one tea.Model over plain widgets. Update is a table from messages to
// handlers, keys are a table from bindings to handlers, the screen is rectangles that one function lays out. It knows
// the client and nothing behind it; whatever touches the machine goes through Capabilities.
package explorer

import (
	"context"
	"log/slog"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/setup"
	"quarry/ui/state"
)

// Kind is the kind of a target.
type Kind int

const (
	Remote  Kind = iota // a server: a search may cost model calls, so it takes Enter
	Library             // a library of this machine: searched as one types
	Sample              // the bundled library
)

// Target is where searches go.
type Target struct {
	Kind  Kind
	Where string // for a person: "acme · onyx.acme.com"
	// Agent is the agent of searches whose query names none.
	Agent wire.Agent
	// Beside names the profiles whose documents are found here, though read elsewhere: by the origin of their results.
	Beside []string
	// Elsewhere is set if nothing of it is on this machine, though a server in this process asks for it: nothing can be
	// found while one types.
	Elsewhere bool
	// OwnModel is set if the target may have a model of its own, though questions here are answered by one of this
	// machine: passages of several targets are not sent to the model of one of them.
	OwnModel bool
	// Offers is set if a server may be searched unasked, for the home and while one types: others count searches, and
	// log them.
	Offers bool
	// NoModel is set if it is known to have no language model; else its searches report it.
	NoModel bool
	// Examples are questions that this target answers well.
	Examples []string
	// Command prints the collection of this target: "quarry collection --profile acme". Empty: no command knows it.
	Command string
	// State keeps what the person does there; nil: only until the explorer ends.
	State *state.Store
	// Open connects. It is called after the first paint, and again when it failed and the person asks.
	Open func(ctx context.Context) (*client.Session, error)
}

// Capabilities is all that a session may do to the machine that it runs on. A nil function is refused with its reason.
type Capabilities struct {
	// Copy puts text into the clipboard of this machine. The terminal's clipboard is always asked as well.
	Copy func(text string) error
	// Open opens a link in the person's browser or viewer. It never goes through a shell.
	Open       func(link string) error
	OpenReason string
	// Edit opens a file at a line, 0 for none, in the person's editor, which has the terminal until done is called.
	Edit       func(path string, line int, done tea.ExecCallback) tea.Cmd
	EditReason string
	// Save writes a file for the person and returns its whole path. Without replace, a file that exists is fs.ErrExist.
	Save func(path string, content []byte, replace bool) (string, error)
	// Suspend is set if there is a shell to go back to for a while.
	Suspend bool
	// NoHyperlinks keeps clickable links from a terminal that does not know them.
	NoHyperlinks bool
	// ASCII draws lines and signs in ASCII, for a terminal whose font lacks them.
	ASCII bool
}

// NeedsASCII reports whether the fonts of terminals of a type (TERM) lack lines with round corners and most signs.
func NeedsASCII(terminal string) bool {
	return terminal == "linux" || terminal == "ansi" || terminal == "cons25" || strings.HasPrefix(terminal, "vt")
}

// SetUp leads to other targets.
type SetUp struct {
	setup.Backend
	// Refused is why nothing can be set up here; empty where it can.
	Refused string
	// Target makes a target of what was set up last.
	Target func(ctx context.Context) (Target, error)
}

// Pick is set to choose passages for somebody who waits for them.
type Pick struct {
	// Unfit returns why a passage cannot be chosen; "" if it can.
	Unfit func(wire.SearchResult) string
	// Chosen is called with the chosen passages when the explorer ends because of the choice.
	Chosen func([]wire.SearchResult)
}

// Year is a year of the ages of documents.
const Year = 365 * 24 * time.Hour

// Options make an explorer.
type Options struct {
	Target Target
	Query  string // runs at once
	Caps   Capabilities
	SetUp  SetUp
	Pick   *Pick // nil: nobody waits for a choice

	// Results is how many passages are asked for; 0: as many as usual.
	Results int

	Instant bool // search a remote server while typing, too
	Private bool // questions are asked incognito: no server keeps the conversation
	Fast    bool // ask a remote server without expansion as well, and show that first

	Theme string // one of theme.Modes, or the name of one in Own
	// Own are the themes of the person's own that are known at the start: the one in use, if it is one.
	Own []OwnTheme
	// Themes reads all themes of the person's own; nil: there are none.
	Themes  func() []OwnTheme
	Profile colorprofile.Profile
	Keys    map[string][]string // action → keys, in place of the usual ones

	// Log takes what went wrong without being shown; nil: nothing is logged. It must not write on the terminal.
	Log *slog.Logger
	// Permalinks are opened rather than files, where a document has both.
	Permalinks bool
	// AgeWarning is the age from which on the age of a document is a warning; 0 for never.
	AgeWarning time.Duration

	// CacheBytes bounds the answers that are remembered, and the rendered text; 0: 4 MB each.
	CacheBytes int

	// Width and Height are the terminal's, in cells, if they are known before it reports them; 0 otherwise.
	Width, Height int
	// Now returns the current time.
	Now func() time.Time
}

// painted is a target whose words can be put on the screen as they are, and which has a state.
func painted(target Target) Target {
	target.Where = paint.Line(target.Where)
	if target.State == nil {
		target.State = state.InMemory(0)
	}
	return target
}
