// Package config reads and checks the configuration file and the environment, with errors that name key, file and fix.
// It also handles secrets: tokens are read only when a request needs them, and never printed.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
)

// Config is the whole configuration with its defaults filled in. It is read once and not changed afterwards; the
// methods that save write to the file only. Fields with a mapstructure tag are keys of the file.
type Config struct {
	File   string `mapstructure:"-"` // the configuration file, whether it exists or not
	Loaded bool   `mapstructure:"-"` // the file exists and was read

	Active   string             `mapstructure:"active"` // profile that searches go to; "" if none was chosen
	Profiles map[string]Profile `mapstructure:"profiles"`

	Instant bool `mapstructure:"instant"` // search while typing against a remote server too
	Fast    bool `mapstructure:"fast"`    // first show what a remote server finds without expansion
	// Keep no history, no state, no copies of output, and no queries in server logs.
	Private bool `mapstructure:"private"`

	ReadSeconds int `mapstructure:"read_seconds"` // for reading a document, without what its size adds
	AgeWarning  int `mapstructure:"age_warning"`  // years from which on the age of a document is a warning; 0 is never

	Links string              `mapstructure:"links"` // LinksFile or LinksPermalink
	Theme string              `mapstructure:"theme"` // one of Themes or the name of a user's theme
	Keys  map[string][]string `mapstructure:"keys"`  // action → keys
	Rate  Rate                `mapstructure:"rate"`  // limit of a served library; zero is none

	LLM        LLM        `mapstructure:"llm"`
	Embeddings Embeddings `mapstructure:"embeddings"`
	HTTP       HTTP       `mapstructure:"http"`
	SSH        SSH        `mapstructure:"ssh"`
	Index      Index      `mapstructure:"index"`
	Directory  Directory  `mapstructure:"directory"`

	Warnings []Warning `mapstructure:"-"` // to be printed on stderr

	from map[string]string // where a key was set: the file or a variable

	exposed  bool // others than the owner may write the file: its commands are not run
	sandbox  bool // the file was not read, see Load
	readOnly bool
}

// Profile names one place to search: a server, Slack, or a library on this machine.
type Profile struct {
	Name         string     `mapstructure:"-"`
	Kind         string     `mapstructure:"kind"`          // of server: KindSlack, or KindOnyx, which "" means too
	ServerURL    string     `mapstructure:"server_url"`    // as ServerURL returns it; "" for a library
	APIPrefix    *string    `mapstructure:"api_prefix"`    // nil: the default "/api"
	Token        Secret     `mapstructure:"token"`         // from the file
	TokenCommand string     `mapstructure:"token_command"` // command line that prints the token
	Agent        wire.Agent `mapstructure:"agent"`         // agent that searches go through
	Library      string     `mapstructure:"library"`       // folder of a library, absolute; "" for a server
	// Further profiles, or "local", to search together with this one.
	SearchAlso []string `mapstructure:"search_also"`
}

// The kinds of server.
const (
	KindOnyx  = "onyx"  // Onyx's API, which quarry serves too
	KindSlack = "slack" // Slack's own search
)

// SlackURL is where Slack's API is, unless a profile's server_url says otherwise.
const SlackURL = "https://slack.com/api"

// LLM says which models a library of this machine asks.
type LLM struct {
	Default   string              `mapstructure:"default"` // "provider" or "provider/model"
	Budget    int                 `mapstructure:"budget"`  // tokens per tenant and day; 0 is no limit
	Providers map[string]Provider `mapstructure:"providers"`
}

// Provider is one OpenAI-compatible endpoint.
type Provider struct {
	BaseURL string   `mapstructure:"base_url"`
	Models  []string `mapstructure:"models"`
	Key     Secret   `mapstructure:"key"`
}

// Embeddings is what turns text into vectors: an endpoint, a model in a folder, or without both the one in the program.
type Embeddings struct {
	Mode string `mapstructure:"mode"` // one of Meaning…

	Path    string `mapstructure:"path"`
	BaseURL string `mapstructure:"base_url"`
	Model   string `mapstructure:"model"`
	Key     Secret `mapstructure:"key"`

	// The prefixes are put before each text. Changing the latter embeds all documents again.
	QueryPrefix    string `mapstructure:"query_prefix"`
	DocumentPrefix string `mapstructure:"document_prefix"`

	Weight float64 `mapstructure:"weight"` // how far the model is trusted in the ranking; 1 is the default

	OnBattery bool `mapstructure:"on_battery"` // vectors are made in the background also without mains power
}

// Values of embeddings.mode.
const (
	MeaningAuto = "auto" // the default: in the background where that takes at most an hour
	MeaningOn   = "on"   // in the background, however long that takes
	MeaningOff  = "off"  // no vectors are made or used
)

// HTTP configures the served API.
type HTTP struct {
	Hosts   []string `mapstructure:"hosts"`   // accepted Host headers, beside loopback names on a loopback listener
	Metrics string   `mapstructure:"metrics"` // MetricsToken or MetricsOpen
}

// Values of links.
const (
	LinksFile      = "file" // first, where there is one
	LinksPermalink = "permalink"
)

// Values of http.metrics.
const (
	MetricsToken = "token" // requires an administrator's token
	MetricsOpen  = "open"
)

// SSH configures the served explorer.
type SSH struct {
	AuthorizedKeys string `mapstructure:"authorized_keys"` // path of an authorized_keys file
	Token          bool   `mapstructure:"token"`           // tokens are accepted
	Open           bool   `mapstructure:"open"`            // visitors need neither key nor token
}

// Index configures where a library is indexed.
type Index struct {
	Engine   string   `mapstructure:"engine"` // EngineEmbedded, EnginePostgres or the address of a Weaviate cluster
	Weaviate Weaviate `mapstructure:"weaviate"`
}

// Weaviate configures the access to a Weaviate cluster.
type Weaviate struct {
	Key Secret `mapstructure:"key"` // API key
	CA  string `mapstructure:"ca"`  // path of the certificates to trust; empty: those of the system
}

// Directory configures where people and tokens are stored.
type Directory struct {
	URL Secret `mapstructure:"url"` // of a database; empty: a file beside the library
}

// Rate is a number of requests per period. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// Values of index.engine beside the addresses of Weaviate clusters.
const (
	EngineEmbedded = "embedded" // the default
	EnginePostgres = "postgres" // documents in the database of directory.url, indexed by each server
)

// LocalProfile is the name of the library on this machine, which needs no entry in the file.
const LocalProfile = "local"

// Warning describes something that works but should be changed.
type Warning struct {
	Text   string // what is wrong, with the file
	Remedy string // how to fix it
}

// ProfileNames lists the profiles of the file in order.
func (c *Config) ProfileNames() []string { return sortedKeys(c.Profiles) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ActiveProfile returns the profile of active, or else the only profile of the file.
func (c *Config) ActiveProfile() (Profile, bool) {
	if c.Active != "" {
		return c.Lookup(c.Active)
	}
	if len(c.Profiles) == 1 {
		return c.Profiles[c.ProfileNames()[0]], true
	}
	return Profile{}, false
}

// Lookup returns a profile by name; LocalProfile always exists.
func (c *Config) Lookup(name string) (Profile, bool) {
	if profile, ok := c.Profiles[name]; ok {
		return profile, true
	}
	return Profile{Name: LocalProfile}, name == LocalProfile
}

// Sandbox reports whether the file was not read because only the environment configures this run.
func (c *Config) Sandbox() bool { return c.sandbox }

// Exit codes of an Error.
const (
	ExitGeneral       = 1
	ExitUsage         = 2 // conflicting or invalid flags
	ExitNotConfigured = 3 // no target, no token, or an invalid configuration
	ExitAuth          = 4
	ExitUnreachable   = 5
	ExitRateLimited   = 6
	ExitNotAvailable  = 9 // it does not exist here, or QUARRY_READONLY forbids it
)

// Error is a mistake in the configuration, or about where to search. It never contains a secret.
type Error struct {
	File    string // "" for the environment and flags
	Line    int    // 1-based; 0 if unknown
	Key     string // key or environment variable; "" for the whole file
	Problem string
	Fix     string // what to do, one line
	Err     error  // cause, if any
	Exit    int    // exit code; 0 means ExitNotConfigured
}

// ErrReadOnly is in the chain of errors about saving with QUARRY_READONLY.
var ErrReadOnly = errors.New("QUARRY_READONLY is set")

// Error returns the place and the problem.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Err != nil && !strings.HasPrefix(e.Problem, e.Err.Error()) { // which says it already
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy returns the fix in one line.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode returns the exit code.
func (e *Error) ExitCode() int { return cmp.Or(e.Exit, ExitNotConfigured) }

// UnwrapPath drops the path from an error of the file system: the message names the file already.
func UnwrapPath(err error) error {
	if detail, ok := errors.AsType[*fs.PathError](err); ok {
		return detail.Err
	}
	return err
}
