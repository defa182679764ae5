// Package target decides where a run searches and opens it: a server over HTTPS, Slack, the library on this machine, or
// the sample library. Only this package imports both client and server, so it also serves and administers libraries.
package target

import (
	"slices"

	"quarry/client/wire"
	"quarry/config"
)

// Kind is the kind of a target.
type Kind string

// The kinds of target.
const (
	KindRemote  Kind = "remote"
	KindSlack   Kind = "slack" // searched through a server in this process
	KindLibrary Kind = "library"
	KindSample  Kind = "sample"
)

// Request has the command line's flags about where to search.
type Request struct {
	Server   string // --server
	Library  string // --library
	Profile  string // --profile
	Sample   bool   // --sample
	Terminal bool   // stdin and stdout are terminals

	Together bool     // also search the profiles of Also and of the target's search_also
	Also     []string // --also

	// Visitors is set if others will search with tokens of their own: no token of this user is used.
	Visitors bool
}

// Explicit reports whether a flag names the target.
func (r Request) Explicit() bool {
	return r.Server != "" || r.Library != "" || r.Profile != "" || r.Sample
}

// The rules, in their order.
const (
	RuleFlag        = 1 // a flag of this run
	RuleEnvironment = 2 // QUARRY_* or ONYX_*
	RuleProfile     = 3 // the active profile of the configuration file
	RuleOnyxCLI     = 4 // the configuration of Onyx's own CLI
	RuleLibrary     = 5 // the library of this machine
	RuleSample      = 6 // the sample library, for a person only
)

// Choice is a target; all its values come from one rule. It prints no secret.
type Choice struct {
	Rule   int
	Kind   Kind
	Reason string   // why the rule applies, one sentence
	Origin []Origin // of each value, for status
	File   string   // configuration file of the values; "": none

	Profile    string     // label of the answers: a profile's name, or server, environment, onyx-cli, local, sample
	ServerURL  string     // of a remote, and of Slack's API
	APIPrefix  string     // of a remote: "/api" or what replaces it
	Agent      wire.Agent // zero: none
	LibraryDir string     // of a library: its data folder

	// NoServerIn is the variable of the environment that lacks the server of the environment's token, which then goes
	// to that of Onyx's CLI; "" otherwise.
	NoServerIn string

	// Also are searched together with it, each with its own token.
	Also []Choice

	Warnings []config.Warning // to be printed on stderr

	token      config.TokenSource // of a remote and of Slack
	searchAlso []string           // of the profile
}

// ConfigFrom returns the file, or a description of the environment, that configures the choice.
func (c Choice) ConfigFrom() string {
	switch {
	case c.File != "":
		return c.File
	case c.Rule == RuleEnvironment:
		return "environment variables"
	}
	return "none: " + c.Reason
}

// SearchAgent returns the agent for search requests. A server that is searched together with others uses the agent of
// its own profile, which the others do not have.
func (c Choice) SearchAgent() wire.Agent {
	if c.Kind == KindRemote && len(c.Also) > 0 {
		return wire.Agent{}
	}
	return c.Agent
}

// Describe returns a display name.
func (c Choice) Describe() string {
	switch {
	case c.Kind == KindRemote:
		return c.ServerURL
	case c.Kind == KindSlack:
		return "Slack (" + c.ServerURL + ")"
	case c.Kind == KindSample:
		return "the sample library"
	case c.LibraryDir == "":
		return "the local library"
	}
	return "the library in " + c.LibraryDir
}

// Name identifies the target among those of this user: by its profile, or by where it is.
func (c Choice) Name() string {
	if c.IsNamed() {
		return c.Profile
	}
	return c.Describe()
}

// IsNamed reports whether the choice has the name of a profile that the user chose.
func (c Choice) IsNamed() bool {
	return (c.Kind == KindRemote || c.Kind == KindSlack) && c.Profile != "" && !slices.Contains(unnamed(), c.Profile)
}

func unnamed() []string { return []string{labelServer, labelEnvironment, labelOnyxCLI} }

// Origin is the source of one value of a choice. A secret's Value is empty.
type Origin struct {
	Field string `json:"field" jsonschema:"server_url, api_prefix, token, agent or library"`
	Value string `json:"value,omitempty"`
	From  string `json:"from"`
}

func (c *Choice) from(field, value, source string) {
	c.Origin = append(c.Origin, Origin{Field: field, Value: value, From: source})
}

func (c *Choice) setToken(d *decision, profile config.Profile) {
	c.token = d.Config.Token(profile, d.Keyring)
	source := "profile " + profile.Name
	switch {
	case !profile.Token.IsZero():
	case profile.TokenCommand != "":
		source = "token_command of " + source
	default:
		source = "system keyring, for " + source
	}
	c.from("token", "", source)
}

func (c *Choice) setPrefix(prefix *string, source string) {
	c.APIPrefix = config.DefaultAPIPrefix
	if prefix == nil {
		source = "default"
	} else {
		c.APIPrefix = *prefix
	}
	c.from("api_prefix", c.APIPrefix, source)
}

// setPersona sets the agent by number; 0 is Onyx's default.
func (c *Choice) setPersona(id int, source string) {
	if id != 0 {
		c.setAgent(wire.Agent{ID: &id}, source)
	}
}

func (c *Choice) setAgent(agent wire.Agent, source string) {
	if agent.IsZero() {
		return
	}
	c.Agent = agent
	c.from("agent", agent.String(), source)
}

func localChoice(rule int, reason, label, dir, source string) *Choice {
	c := &Choice{Rule: rule, Kind: KindLibrary, Reason: reason, Profile: label, LibraryDir: dir}
	c.from("library", dir, source)
	return c
}

func sampleChoice(rule int, reason string) *Choice {
	return &Choice{Rule: rule, Kind: KindSample, Reason: reason, Profile: labelSample}
}
