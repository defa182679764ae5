package target

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"quarry/config"

	"quarry/client/wire"
)

// Sources are Decide's inputs besides the flags.
type Sources struct {
	Config      *config.Config
	Environment config.Environment
	Paths       config.Paths
	Keyring     config.Keyring // nil: none
	Dir         string         // working folder; empty: that of the process

	// The functions below inspect this machine. Each is called only when its rule is reached.

	HasDocuments func(dir string) (bool, error) // reports whether the library in a data folder has documents
	OnyxCLI      func(file string) (config.OnyxCLI, *config.Warning)
}

// Labels of targets without a profile.
const (
	labelServer      = "server"
	labelEnvironment = "environment"
	labelOnyxCLI     = "onyx-cli"
	labelSample      = "sample"
)

const remedyNoTarget = "set ONYX_SERVER_URL and ONYX_PAT, or run quarry configure, or add files with quarry add " +
	"PATH; --sample searches the sample library"

// Decide returns the target of a run. The first rule that applies supplies all values: a URL of one rule is never used
// with a token of another. (Exception: --server uses the token that is stored for that server.) Decide reads no secret
// and sends nothing.
func Decide(request Request, from Sources) (Choice, error) {
	d := decision{request: request, Sources: from}
	for _, rule := range [...]func() (*Choice, error){
		d.byFlag, d.byEnvironment, d.byProfile, d.byOnyxCLI, d.byLibrary, d.bySample,
	} {
		choice, err := rule()
		if err == nil && choice == nil {
			continue
		}
		if err == nil {
			err = d.addOthers(choice)
		}
		if err != nil {
			return Choice{}, err
		}
		choice.Warnings = append(choice.Warnings, d.warnings...)
		return *choice, nil
	}
	return Choice{}, fail(config.ExitNotConfigured, "no server or library is configured", remedyNoTarget)
}

// fail makes an error without a cause.
func fail(exit int, problem, fix string) *config.Error { return failBy(nil, exit, problem, fix) }

// failBy makes an error with a cause.
func failBy(cause error, exit int, problem, fix string) *config.Error {
	return &config.Error{Exit: exit, Problem: problem, Fix: fix, Err: cause}
}

type decision struct {
	Sources
	request  Request
	warnings []config.Warning
}

func (d *decision) byFlag() (*Choice, error) {
	switch {
	case d.request.Server != "":
		return d.byServer()
	case d.request.Library != "":
		dir, err := filepath.Abs(config.PathIn(d.Dir, d.request.Library))
		if err != nil {
			return nil, failBy(err, config.ExitUsage, "cannot resolve --library", "use an absolute path")
		}
		return localChoice(RuleFlag, "--library selects the library in "+dir, config.LocalProfile, dir,
			"--library"), nil
	case d.request.Profile != "":
		return d.byNamedProfile(d.request.Profile)
	case d.request.Sample:
		return sampleChoice(RuleFlag, "--sample selects the sample library"), nil
	}
	return nil, nil
}

func (d *decision) byNamedProfile(name string) (*Choice, error) {
	profile, exists := d.Config.Lookup(name)
	if exists {
		return d.ofProfile(RuleFlag, fmt.Sprintf("--profile selects the profile %s", name), profile)
	}
	return nil, d.unknownProfile("--profile", name)
}

// unknownProfile returns the error of a flag with an unknown profile.
func (d *decision) unknownProfile(flag, name string) error {
	e := fail(config.ExitUsage, fmt.Sprintf("unknown profile %q", name), "")
	known := d.Config.ProfileNames()
	switch nearest := wire.Nearest(name, append(known, config.LocalProfile)); {
	case d.Config.Sandbox():
		e.Problem += ": the configuration file is not read with QUARRY_READONLY and a server in the environment"
		e.Fix = "omit " + flag + ", or unset QUARRY_READONLY"
	case nearest != "":
		e.Problem += "; did you mean " + nearest + "?"
		e.Fix = "use " + flag + " " + nearest
	case len(known) > 0:
		e.Fix = "use one of " + strings.Join(known, ", ") + ", or add the profile with quarry configure"
	default:
		e.Fix = "add a profile with quarry configure; " + d.Config.File + " has none"
	}
	return e
}

// byServer uses the environment's token unless the environment names another server, else the token of a profile with
// the same origin.
func (d *decision) byServer() (*Choice, error) {
	address, err := wire.ServerURL(d.request.Server)
	if err != nil {
		return nil, fail(config.ExitUsage, "--server: "+err.Error(),
			"use an address such as --server https://onyx.example.com")
	}
	c := &Choice{Rule: RuleFlag, Kind: KindRemote, ServerURL: address, Profile: labelServer}
	c.from("server_url", address, "--server")
	if d.request.Visitors {
		c.Reason = "--server is " + address
		return c, d.completeForVisitors(c)
	}
	if env := d.Environment; !env.Token.IsZero() && (env.ServerURL == "" || wire.SameOrigin(env.ServerURL, address)) {
		c.Reason = fmt.Sprintf("--server is %s; the token is %s", address, env.Variable("PAT"))
		if own, err := wire.ServerURL(env.ServerURL); err == nil && own != address {
			env.APIPrefix, env.Persona = nil, "" // as below
		}
		return c, c.completeFromEnvironment(env)
	}
	for _, profile := range d.profilesOf(address) {
		if d.lacksToken(profile) {
			continue
		}
		c.Reason = fmt.Sprintf("--server is %s; the token is from the profile %s, which has the same server",
			address, profile.Name)
		c.Profile, c.File = profile.Name, d.Config.File
		c.setToken(d, profile)
		// Prefix and agent belong to an address, not to a host.
		if profile.ServerURL != address {
			profile.APIPrefix, profile.Agent = nil, wire.Agent{}
		}
		c.setPrefix(profile.APIPrefix, "profile "+profile.Name)
		c.setAgent(profile.Agent, "profile "+profile.Name)
		return c, nil
	}
	return nil, d.noTokenFor(address)
}

// completeForVisitors adds the prefix and the agent that a profile or the environment has for exactly this address.
func (d *decision) completeForVisitors(c *Choice) error {
	for _, profile := range d.profilesOf(c.ServerURL) {
		if profile.ServerURL == c.ServerURL {
			c.Profile = profile.Name
			c.setPrefix(profile.APIPrefix, "profile "+profile.Name)
			c.setAgent(profile.Agent, "profile "+profile.Name)
			return nil
		}
	}
	env := d.Environment
	if own, err := wire.ServerURL(env.ServerURL); err != nil || own != c.ServerURL {
		env = config.Environment{}
	}
	return c.completeFromEnvironment(env)
}

func (d *decision) noTokenFor(address string) error {
	e := fail(config.ExitNotConfigured, "no token for "+address,
		"set ONYX_PAT to a token of that server, or add a profile for it with quarry configure")
	if env := d.Environment; !env.Token.IsZero() {
		e.Problem += fmt.Sprintf(": %s is for the server in %s", env.Variable("PAT"), env.Variable("SERVER_URL"))
		e.Fix = fmt.Sprintf("unset %s if the token is for %s, or add a profile for it with quarry configure",
			env.Variable("SERVER_URL"), address)
	}
	return e
}

// profilesOf lists the profiles of a server, the active one first.
func (d *decision) profilesOf(address string) []config.Profile {
	var matching []config.Profile
	active, _ := d.Config.ActiveProfile()
	for _, name := range d.Config.ProfileNames() {
		profile := d.Config.Profiles[name]
		switch {
		case profile.ServerURL == "" || profile.Kind == config.KindSlack ||
			!wire.SameOrigin(profile.ServerURL, address):
		case name == active.Name:
			matching = append([]config.Profile{profile}, matching...)
		default:
			matching = append(matching, profile)
		}
	}
	return matching
}

func (d *decision) byEnvironment() (*Choice, error) {
	env := d.Environment
	if !env.NamesTarget() {
		return nil, nil
	}
	url, pat := env.Variable("SERVER_URL"), env.Variable("PAT")
	c := &Choice{Rule: RuleEnvironment, Kind: KindRemote, Profile: labelEnvironment}
	if env.ServerURL == "" {
		onyx := d.onyxCLI()
		c.ServerURL, c.NoServerIn = onyx.ServerURL, url
		c.Reason = fmt.Sprintf("%s is set; without %s, the server is that of Onyx's CLI", pat, url)
		source := "the default of Onyx's CLI"
		if onyx.ServerURL != config.OnyxDefaultURL {
			source = onyx.File
		}
		c.from("server_url", c.ServerURL, source)
		return c, c.completeFromEnvironment(env)
	}
	address, err := wire.ServerURL(env.ServerURL)
	if err != nil {
		return nil, fail(config.ExitNotConfigured, url+": "+err.Error(),
			"set "+url+" to an address such as https://onyx.example.com")
	}
	if env.Token.IsZero() && !d.request.Visitors {
		return nil, fail(config.ExitNotConfigured, fmt.Sprintf("%s is set, but %s is not", url, pat),
			fmt.Sprintf("set %s, or unset %s to use the configuration file", pat, url))
	}
	c.ServerURL = address
	c.Reason = fmt.Sprintf("the environment: %s and %s are set", url, pat)
	c.from("server_url", address, url)
	return c, c.completeFromEnvironment(env)
}

// completeFromEnvironment adds the environment's token, prefix and agent.
func (c *Choice) completeFromEnvironment(env config.Environment) error {
	pat := env.Variable("PAT")
	c.token = config.FixedToken(env.Token, pat)
	c.from("token", "", pat)
	prefix, persona := env.Variable("API_PREFIX"), env.Variable("PERSONA_ID")
	if env.APIPrefix != nil {
		checked, err := wire.APIPrefix(*env.APIPrefix)
		if err != nil {
			return fail(config.ExitNotConfigured, prefix+": "+err.Error(),
				"set "+prefix+" to a path such as /api, or to an empty value")
		}
		env.APIPrefix = &checked
	}
	c.setPrefix(env.APIPrefix, prefix)
	if env.Persona == "" {
		return nil
	}
	id, err := strconv.Atoi(env.Persona)
	if err != nil || id < 0 {
		return fail(config.ExitNotConfigured, persona+" is not an agent's number",
			"set "+persona+" to a number listed by quarry agents, or unset it")
	}
	c.setPersona(id, persona)
	return nil
}

func (d *decision) byProfile() (*Choice, error) {
	profile, chosen := d.Config.ActiveProfile()
	if !chosen {
		return nil, nil
	}
	why := "the active profile"
	if d.Config.Active == "" {
		why = "the only profile"
	}
	return d.ofProfile(RuleProfile, fmt.Sprintf("%s %s of %s", why, profile.Name, d.Config.File), profile)
}

// ofProfile returns the choice of a profile.
func (d *decision) ofProfile(rule int, reason string, profile config.Profile) (*Choice, error) {
	source := "profile " + profile.Name
	if profile.ServerURL == "" {
		dir := profile.Library
		if dir == "" {
			dir, source = d.Paths.Data, d.Paths.DataFrom
		}
		c := localChoice(rule, reason, profile.Name, dir, source)
		c.File, c.searchAlso = d.Config.File, profile.SearchAlso
		c.setAgent(profile.Agent, "profile "+profile.Name)
		return c, nil
	}
	if d.lacksToken(profile) {
		fix := "store one with quarry configure, or set the profile's token_command"
		if profile.Kind == config.KindSlack {
			fix = "set the profile's token or token_command to a Slack user token (xoxp-…) with the scope search:read"
		}
		return nil, fail(config.ExitNotConfigured,
			fmt.Sprintf("the profile %s of %s has no token for %s", profile.Name, d.Config.File, profile.ServerURL),
			fix)
	}
	c := &Choice{Rule: rule, Kind: KindRemote, Reason: reason, Profile: profile.Name, ServerURL: profile.ServerURL,
		File: d.Config.File, searchAlso: profile.SearchAlso}
	c.from("server_url", profile.ServerURL, source)
	c.setToken(d, profile)
	if profile.Kind == config.KindSlack {
		c.Kind = KindSlack
		return c, nil
	}
	c.setPrefix(profile.APIPrefix, source)
	c.setAgent(profile.Agent, source)
	return c, nil
}

// lacksToken reports whether a profile has no token, no command, and no keyring to ask at the first request.
func (d *decision) lacksToken(profile config.Profile) bool {
	return !d.request.Visitors && profile.Token.IsZero() && profile.TokenCommand == "" && d.Keyring == nil
}

func (d *decision) byOnyxCLI() (*Choice, error) {
	onyx := d.onyxCLI()
	if onyx.Token.IsZero() {
		return nil, nil
	}
	c := &Choice{Rule: RuleOnyxCLI, Kind: KindRemote, Profile: labelOnyxCLI, ServerURL: onyx.ServerURL,
		Reason: "the configuration of Onyx's CLI, " + onyx.File, File: onyx.File,
		token: config.FixedToken(onyx.Token, "api_key in "+onyx.File)}
	c.from("server_url", onyx.ServerURL, onyx.File)
	c.from("token", "", onyx.File)
	c.setPrefix(nil, "")
	c.setPersona(onyx.Persona, onyx.File)
	return c, nil
}

// onyxCLI reads the configuration of Onyx's CLI, unless only the environment configures this run.
func (d *decision) onyxCLI() config.OnyxCLI {
	if d.Config.Sandbox() {
		return config.OnyxCLI{ServerURL: config.OnyxDefaultURL}
	}
	onyx, warning := d.OnyxCLI(d.Paths.OnyxFile)
	if warning != nil {
		d.warnings = append(d.warnings, *warning)
	}
	return onyx
}

func (d *decision) byLibrary() (*Choice, error) {
	dir := d.Paths.Data
	found, err := d.HasDocuments(dir)
	if err == nil && !found {
		return nil, nil
	}
	// A library that cannot be read is chosen too: opening it returns the error, which searching elsewhere would hide.
	return localChoice(RuleLibrary, "the library of this machine, "+dir+", has documents", config.LocalProfile, dir,
		d.Paths.DataFrom), nil
}

func (d *decision) bySample() (*Choice, error) {
	if !d.request.Terminal {
		return nil, nil
	}
	return sampleChoice(RuleSample, "nothing is configured yet"), nil
}
