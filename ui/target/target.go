// Package target decides where a run searches and opens it: a server over HTTPS, Slack, the library on this machine, or
// the sample library. It is the one place that knows both the client and the server, and so also the door to serving a
// library and to administering its files.
package target

import (
	"slices"

	"quarry/config"
)

// Kind says what a choice leads to.
type Kind string

// The kinds of target.
const (
	KindRemote  Kind = "remote"
	KindSlack   Kind = "slack" // searched by a server in this process, which asks Slack
	KindLibrary Kind = "library"
	KindSample  Kind = "sample"
)

// Request is what the command line says about where to search, and whether a person is there to read a banner.
type Request struct {
	Server   string // --server
	Library  string // --library
	Profile  string // --profile
	Sample   bool   // --sample
	Terminal bool   // stdin and stdout are terminals

	Together bool     // others are searched in one go with the target: those of Also, and the search_also of its profile
	Also     []string // --also

	// Visitors tells that others will search there, with tokens of their own: none of this user is looked for.
	Visitors bool
}

// Explicit reports whether a flag names the target.
func (r Request) Explicit() bool {
	return r.Server != "" || r.Library != "" || r.Profile != "" || r.Sample
}

// The rules that decide, in their order.
const (
	RuleFlag        = 1 // a flag of this run
	RuleEnvironment = 2 // QUARRY_* or ONYX_*
	RuleProfile     = 3 // the active profile of the configuration file
	RuleOnyxCLI     = 4 // the configuration of Onyx's own CLI
	RuleLibrary     = 5 // the library of this machine
	RuleSample      = 6 // the sample library, for a person only
)

// Choice is a target, taken whole from the rule that won. It holds no secret that prints.
type Choice struct {
	Rule   int
	Kind   Kind
	Reason string   // which rule won, one sentence
	Origin []Origin // where each value came from, for status
	File   string   // configuration file that the values came from; "" if from none

	Profile    string       // label of the answers: a profile's name, or server, environment, onyx-cli, local, sample
	ServerURL  string       // of a remote, and of Slack's API
	APIPrefix  string       // of a remote: "/api" or what replaces it
	Agent      config.Agent // agent that searches go through, if one was chosen
	LibraryDir string       // of a library: its data folder

	// Also are searched in one go with it, each with its own token.
	Also []Choice

	Warnings []config.Warning // to be printed on stderr

	token      config.TokenSource // of a remote and of Slack; reads nothing until it is called
	searchAlso []string           // of the profile
}

// ConfigFrom names the file or the environment that the choice was read from.
func (c Choice) ConfigFrom() string {
	switch {
	case c.File != "":
		return c.File
	case c.Rule == RuleEnvironment:
		return "environment variables"
	}
	return "none: " + c.Reason
}

// SearchAgent returns the agent that searches name. A server that is searched through this process applies the agent of
// its own profile, which the others do not know.
func (c Choice) SearchAgent() config.Agent {
	if c.Kind == KindRemote && len(c.Also) > 0 {
		return config.Agent{}
	}
	return c.Agent
}

// Describe names the target for a person.
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

// IsNamed reports whether the choice carries a name that a person gave it: that of a profile.
func (c Choice) IsNamed() bool {
	return (c.Kind == KindRemote || c.Kind == KindSlack) && c.Profile != "" && !slices.Contains(unnamed(), c.Profile)
}

func unnamed() []string { return []string{labelServer, labelEnvironment, labelOnyxCLI} }

// Origin says where one value of a choice came from. A secret's Value is empty.
type Origin struct {
	Field string `json:"field"` // server_url, api_prefix, token, agent, library
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

// setPersona takes an agent by number; 0 is Onyx's default, which needs no naming.
func (c *Choice) setPersona(id int, source string) {
	if id != 0 {
		c.setAgent(config.Agent{ID: &id}, source)
	}
}

func (c *Choice) setAgent(agent config.Agent, source string) {
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
