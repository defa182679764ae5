// Package config reads what the user decided: the configuration file, the environment and the flags, checked, with
// errors that name the key, the file and the remedy. It also keeps secrets: where a token comes from, that it is read
// only when a request needs it, and that it is never printed.
package config

import (
	"strconv"
	"time"
)

// Config is the whole configuration with its defaults filled in. It is read once and not changed afterwards; the
// methods that save write to the file only.
type Config struct {
	File   string // the configuration file, whether it exists or not
	Loaded bool   // the file was there and was read

	Active   string             // name of the profile that searches go to; "" if none was chosen
	Profiles map[string]Profile // by name

	Instant bool // search as one types against a remote server too
	Fast    bool // ask a remote server without expansion as well, and paint that first
	Private bool // keep no history, no state, no copies of output, and no queries in the log of what is served

	Theme string              // auto, dark, light, high-contrast, ansi16, mono, or the name of a user's theme
	Keys  map[string][]string // action → keys
	Rate  Rate                // limit of a served library; zero is none

	LLM        LLM
	Embeddings Embeddings
	HTTP       HTTP
	SSH        SSH

	IndexEngine  string // "embedded" or the URL of a distributed engine
	DirectoryURL Secret // database of people and tokens; empty is the file beside the library

	Warnings []Warning // what the caller should print on stderr

	exposed  bool // others than the owner may write the file: its commands are not run
	sandbox  bool // the file was left alone on purpose
	readOnly bool
}

// Profile names one place to search: a server, Slack, or a library on this machine.
type Profile struct {
	Name         string
	Kind         string   // of server: KindSlack, or KindOnyx, which is meant by "" too
	ServerURL    string   // http or https, without a trailing slash; "" for a library
	APIPrefix    *string  // nil: the default "/api"
	Token        Secret   // from the file
	TokenCommand string   // command line that prints the token
	Agent        Agent    // agent that searches go through
	Library      string   // folder of a library, absolute; "" for a server
	SearchAlso   []string // further profiles, or "local", to be searched in one go
}

// The kinds of server.
const (
	KindOnyx  = "onyx"  // Onyx's API, which quarry serves too
	KindSlack = "slack" // Slack's own search
)

// SlackURL is where Slack's API is, unless a profile's server_url says otherwise.
const SlackURL = "https://slack.com/api"

// Agent refers to an agent by number or by name. The zero value is none.
type Agent struct {
	ID   *int
	Name string
}

// IsZero reports whether no agent is named.
func (a Agent) IsZero() bool { return a.ID == nil && a.Name == "" }

// String is the agent's name or number; "" for none.
func (a Agent) String() string {
	if a.ID != nil {
		return strconv.Itoa(*a.ID)
	}
	return a.Name
}

// LLM says which models a library of this machine asks.
type LLM struct {
	Default   string // "provider" or "provider/model"
	Budget    int    // tokens per tenant and day; 0 is no limit
	Providers map[string]Provider
}

// Provider is one OpenAI-compatible endpoint.
type Provider struct {
	BaseURL string
	Models  []string
	Key     Secret
}

// Embeddings is the endpoint that turns text into vectors; empty without one.
type Embeddings struct {
	BaseURL string
	Model   string
	Key     Secret

	QueryPrefix, DocumentPrefix string // what the model wants before each text; all is embedded anew for the latter
}

// HTTP configures the served API.
type HTTP struct {
	Hosts   []string // accepted values of the Host header, beside loopback names on a loopback listener
	Metrics string   // MetricsToken or MetricsOpen
}

// Values of http.metrics.
const (
	MetricsToken = "token" // an administrator's token is asked
	MetricsOpen  = "open"
)

// SSH configures the served explorer.
type SSH struct {
	AuthorizedKeys string // path of an authorized_keys file
	Token          bool   // a token is accepted
	Open           bool   // anyone may enter
}

// Rate is a number of requests per period. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// EngineEmbedded is the default of index.engine.
const EngineEmbedded = "embedded"

// LocalProfile is the name of the library on this machine, which needs no entry in the file.
const LocalProfile = "local"

// Warning is something that works but should be changed.
type Warning struct {
	Text   string // what is wrong, with the file
	Remedy string // what to do
}
