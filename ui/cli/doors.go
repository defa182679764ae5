// Package cli is the command line: every command reads its flags, asks the client and prints. Results go to standard
// output and nothing else does; progress, notes and errors go to standard error. What the commands need from the rest
// of the program comes in through Doors, so that they run in a test as they run in a terminal.
package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

// IO is where a command reads and writes, and what is known about it.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	Width   int      // columns of the terminal; 0: unknown
	Env     []string // "KEY=value"
	TempDir string   // for complete copies of output that was cut; empty: none are written

	// ReadSecret reads a line from the terminal without showing it; nil where that is impossible.
	ReadSecret func() (string, error)
	// Now tells the time; nil means the system's clock.
	Now func() time.Time
}

func (s IO) getenv(key string) string {
	for _, entry := range s.Env {
		if value, found := strings.CutPrefix(entry, key+"="); found {
			return value
		}
	}
	return ""
}

// dumb tells that the terminal can do no more than print lines.
func (s IO) dumb() bool { return s.getenv("TERM") == "dumb" }

// interactive tells that a person sits at both ends.
func (s IO) interactive() bool { return s.InTTY && s.OutTTY && !s.dumb() }

// columns is the width to lay text out for.
func (s IO) columns() int {
	const fallback = 80
	if s.Width <= 0 {
		return fallback
	}
	return s.Width
}

// Where holds the flags that say where a command works.
type Where struct {
	Server   string
	Library  string
	Profile  string
	Sample   bool
	Terminal bool // a person is there to see a banner: the sample library may stand in

	Together bool     // others are searched in one go: those of Also, and what the profile says
	Also     []string // names of profiles
}

// explicit tells that a flag named the target.
func (w Where) explicit() bool {
	return w.Server != "" || w.Library != "" || w.Profile != "" || w.Sample
}

// The kinds of targets.
const (
	KindRemote  = "remote"
	KindSlack   = "slack"
	KindLibrary = "library"
	KindSample  = "sample"
)

// Target is where searches go, and why.
type Target struct {
	Kind       string
	Rule       int    // which of the rules decided, 1 to 6
	Reason     string // the same for a person: "--server", "the profile work of …"
	Profile    string // the name that answers carry in "searched"
	ServerURL  string // of a remote target, and of Slack's API
	Library    string // folder of a library
	ConfigFrom string // file or environment that the target was read from
	Agent      *int   // the agent that the profile searches with, nil: none
	AgentName  string // the same by name
	Private    bool   // no copies of what was printed
	// Beside names the profiles that are searched in one go by a server in this process; empty where the target is
	// searched by itself. Their documents can be read under their own profiles only.
	Beside []string
	// Elsewhere tells that such a server holds nothing itself.
	Elsewhere bool
	Origins   []Origin
	Warnings  []string // about the configuration, each with what to do

	// Open connects. Nothing is read or sent before it is called.
	Open func(ctx context.Context) (*Session, error)
	// Check asks Slack whose token it is, which it tells also with an error, and whether it may search; nil for what is no
	// Slack.
	Check func(ctx context.Context) (who string, err error)
}

// Origin says where one value of a target came from. A secret has no value.
type Origin struct {
	Field string `json:"field"`
	Value string `json:"value,omitempty"`
	From  string `json:"from"`
}

// describe names the target for a person.
func (t Target) describe() string {
	switch t.Kind {
	case KindRemote:
		return t.ServerURL
	case KindSlack:
		return "Slack (" + t.ServerURL + ")"
	case KindSample:
		return "the sample library"
	}
	if t.Library == "" {
		return "the local library"
	}
	return "the library in " + t.Library
}

// Named tells that a person gave the target its name, and not we to a server that stands in no configuration.
func (t Target) Named() bool {
	return (t.Kind == KindRemote || t.Kind == KindSlack) && t.Profile != "" && !slices.Contains(unnamedTargets(), t.Profile)
}

// Session is an open target.
type Session struct {
	Client *client.Client
	Close  func() error
}

// TokenRequest asks for a new token.
type TokenRequest struct {
	Name   string
	User   string // email; empty: the owner
	Scopes []string
	Days   *int // until it expires; nil: never
}

// ListedToken is a token of a list, and whose it is where that is known.
type ListedToken struct {
	wire.AccessToken
	User string `json:"user,omitempty"` // email
}

// Tokens administers the tokens of a served library.
type Tokens interface {
	// Add makes a token; newUser tells that its user was not known before.
	Add(ctx context.Context, request TokenRequest) (token *wire.NewAccessToken, newUser bool, err error)
	List(ctx context.Context) ([]ListedToken, error)
	Remove(ctx context.Context, id int) error
	Close() error
}

// ServeOptions say what to serve.
type ServeOptions struct {
	Where Where    // the flags that choose what is served
	HTTP  string   // address of the API; empty: it is not served
	SSH   ServeSSH // without an address it is not served
	// Rate limits the searches and questions of each token and visitor; zero: no limit; nil: as the configuration says.
	Rate *config.Rate
	// Listening is called once for each listener when it answers.
	Listening func(Listening)
	// Log takes a line for every request and search; nil: none are written.
	Log io.Writer
	// LogJSON makes each line a JSON object.
	LogJSON bool
}

// ServeSSH says how the explorer is served over SSH. What is not said here is as the configuration says.
type ServeSSH struct {
	Address     string
	Keys        string // file of the keys that are let in
	Token, Open bool
	HostKey     string // file; empty: the usual one
	Limits      Limits
}

// Limits bound what visitors over SSH take; 0: as usual.
type Limits struct {
	Sessions, PerPerson, Arrivals int
	Idle, Total                   time.Duration
}

func (l Limits) negative() bool {
	return l.Sessions < 0 || l.PerPerson < 0 || l.Arrivals < 0 || l.Idle < 0 || l.Total < 0
}

// Listening tells where something listens.
type Listening struct {
	Address     string
	Fingerprint string // of the host key, over SSH; empty: HTTP
}

// NewProfile is what configure asks for.
type NewProfile struct {
	Name      string
	ServerURL string
	APIPrefix string
	Token     string
}

// Doors are the ways out of the command line.
type Doors struct {
	Version string // of this program
	Commit  string // of the build; may be empty
	Date    string // of the commit, RFC 3339; may be empty

	// Guest is somebody from outside: they search, and nothing of this machine can be named. Their output is never cut
	// unless they ask for it. Of the doors only Decide and Explore are opened for them.
	Guest bool
	// Broke is told of a panic, which ends the command; nil: only the person is.
	Broke func(error)

	// Decide says where searches go. It opens nothing.
	Decide func(where Where) (Target, error)
	// Explore opens the explorer and returns when the person leaves it, or when ctx ends, with the terminal as it was.
	Explore func(ctx context.Context, exploration Exploration) error
	// OpenLibrary opens the library of this machine, in dir or in its usual place. Without create, a library that
	// does not exist is ErrNoLibrary.
	OpenLibrary func(ctx context.Context, dir string, create bool) (*Session, error)
	// Warnings are about the configuration, each with what to do. A configuration that cannot be read has none: Decide
	// says what is wrong with it.
	Warnings func() []string
	// ReadOnly tells that nothing may be changed: no library, token or profile. Every door that changes something
	// refuses by itself, too; this one is asked first, so that nobody types or waits in vain.
	ReadOnly func() bool
	// MayWrite checks that the library in dir can be written, or made there.
	MayWrite func(dir string) error
	// LibraryFolder is where OpenLibrary looks.
	LibraryFolder func(dir string) string
	// Tokens opens the tokens of a tenant of the library in dir; "" is the default tenant.
	Tokens func(ctx context.Context, dir, tenant string) (Tokens, error)
	// Directory opens who may use the library in dir, and what is arranged for them, in a tenant.
	Directory func(ctx context.Context, dir, tenant string) (Directory, error)
	// Serve answers requests until ctx ends.
	Serve func(ctx context.Context, options ServeOptions) error
	// Try makes a target of a profile that is not saved.
	Try func(profile NewProfile) (Target, error)
	// Save stores the profile and makes it the active one; it returns where the profile and its secret went.
	Save func(ctx context.Context, profile NewProfile) (string, error)
}
