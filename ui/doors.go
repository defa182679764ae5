package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/ui/cli"
	"quarry/ui/target"
)

// doors lead from the command line to targets. The configuration is read when the first of them is opened, so that help
// and mistakes in flags need none.
type doors struct {
	process Process
	lookup  config.Env
	host    func() (*target.Host, error)
}

func newDoors(process Process) *doors {
	environment := map[string]string{}
	for _, entry := range process.Env {
		if key, value, found := strings.Cut(entry, "="); found {
			environment[key] = value
		}
	}
	lookup := func(key string) (string, bool) {
		value, found := environment[key]
		return value, found
	}
	return &doors{process: process, lookup: lookup, host: sync.OnceValues(func() (*target.Host, error) {
		return target.NewHost(lookup, nil, process.Version)
	})}
}

func (d *doors) cli() cli.Doors {
	return cli.Doors{
		Broke:         d.printStack,
		Version:       d.process.Version,
		Commit:        d.process.Commit,
		Date:          d.process.Date,
		Decide:        d.decide,
		Explore:       d.explore,
		OpenLibrary:   d.openLibrary,
		ReadOnly:      func() bool { return target.ReadOnly(d.lookup) },
		MayWrite:      d.mayWrite,
		LibraryFolder: d.libraryFolder,
		Tokens:        d.tokens,
		Directory:     d.directory,
		Serve:         d.serve,
		Try:           d.try,
		Save:          d.save,
		Warnings:      d.warnings,
	}
}

// printStack prints where a panic happened, for the report of it.
func (d *doors) printStack(err error) {
	var caught *guard.PanicError
	if errors.As(err, &caught) {
		fmt.Fprintln(d.process.Err, caught.Stack)
	}
}

// warnings are those about the configuration as a whole. What makes it unusable is told by who uses it.
func (d *doors) warnings() []string {
	host, err := d.host()
	if err != nil {
		return nil
	}
	return told(host.Config.Warnings)
}

func told(warnings []config.Warning) []string {
	var lines []string
	for _, warning := range warnings {
		lines = append(lines, warning.Text+"; "+warning.Remedy)
	}
	return lines
}

func (d *doors) decide(where cli.Where) (cli.Target, error) {
	host, err := d.host()
	if err != nil {
		return cli.Target{}, err
	}
	choice, err := host.Decide(target.Request{Server: where.Server, Library: where.Library, Profile: where.Profile,
		Sample: where.Sample, Terminal: where.Terminal, Together: where.Together, Also: where.Also})
	if err != nil {
		return cli.Target{}, err
	}
	return described(host, choice), nil
}

// described tells the command line about a choice.
func described(host *target.Host, choice target.Choice) cli.Target {
	from := choice.File
	switch {
	case from != "":
	case choice.Rule == target.RuleEnvironment:
		from = "environment variables"
	default:
		from = "none: " + choice.Reason
	}
	found := cli.Target{
		Kind: string(choice.Kind), Rule: choice.Rule, Reason: choice.Reason, Profile: choice.Profile,
		ServerURL: choice.ServerURL, Library: choice.LibraryDir, ConfigFrom: from, Agent: choice.Agent.ID,
		AgentName: choice.Agent.Name, Private: host.Config.Private,
		Beside: choice.Beside(), Elsewhere: choice.Elsewhere(),
		Open: func(ctx context.Context) (*cli.Session, error) { return session(host.Open(ctx, choice)) },
	}
	if choice.Kind == target.KindSlack {
		found.Check = func(ctx context.Context) (string, error) { return host.CheckSlack(ctx, choice) }
	}
	if choice.Kind == target.KindRemote && len(choice.Also) > 0 {
		found.Agent, found.AgentName = nil, "" // it is asked as that agent, which nobody else has
	}
	for _, origin := range choice.Origin {
		found.Origins = append(found.Origins, cli.Origin{Field: origin.Field, Value: origin.Value, From: origin.From})
	}
	found.Warnings = told(choice.Warnings)
	return found
}

// session hands an opened target over.
func session(opened *target.Opened, err error) (*cli.Session, error) {
	var reason *target.Error
	if errors.Is(err, target.ErrNoLibrary) && errors.As(err, &reason) {
		return nil, &cli.Failure{Code: reason.ExitCode(), What: reason.Problem, Do: reason.Fix, Err: cli.ErrNoLibrary}
	}
	if err != nil {
		return nil, err
	}
	return &cli.Session{Client: opened.Client, Close: opened.Close}, nil
}

func (d *doors) openLibrary(ctx context.Context, dir string, create bool) (*cli.Session, error) {
	host, err := d.host()
	if err != nil {
		return nil, err
	}
	return session(host.OpenLibrary(ctx, dir, create))
}

func (d *doors) mayWrite(dir string) error {
	host, err := d.host()
	if err != nil {
		return err
	}
	return host.MayWrite(dir)
}

func (d *doors) libraryFolder(dir string) string {
	host, err := d.host()
	if err != nil {
		return dir
	}
	return host.LibraryFolder(dir)
}

func (d *doors) tokens(ctx context.Context, dir, tenant string) (cli.Tokens, error) {
	host, err := d.host()
	if err != nil {
		return nil, err
	}
	tokens, err := host.Tokens(ctx, dir, tenant)
	if err != nil {
		return nil, err
	}
	return tokenFiles{tokens}, nil
}

func (d *doors) directory(ctx context.Context, dir, tenant string) (cli.Directory, error) {
	host, err := d.host()
	if err != nil {
		return nil, err
	}
	directory, err := host.Directory(ctx, dir, tenant)
	if err != nil {
		return nil, err
	}
	return directory, nil
}

// tokenFiles are the tokens in a library's files.
type tokenFiles struct{ *target.Tokens }

// Add makes a token.
func (t tokenFiles) Add(ctx context.Context, request cli.TokenRequest) (*wire.NewAccessToken, bool, error) {
	return t.Tokens.Add(ctx, target.TokenRequest(request))
}

// List lists the tokens of everybody.
func (t tokenFiles) List(ctx context.Context) ([]cli.ListedToken, error) {
	tokens, err := t.Tokens.List(ctx)
	listed := make([]cli.ListedToken, 0, len(tokens))
	for _, token := range tokens {
		listed = append(listed, cli.ListedToken(token))
	}
	return listed, err
}

// try makes a target of a profile that is not saved.
func (d *doors) try(profile cli.NewProfile) (cli.Target, error) {
	host, err := d.host()
	if err != nil {
		return cli.Target{}, err
	}
	choice, err := host.Trial(profileOf(profile), config.NewSecret(profile.Token))
	if err != nil {
		return cli.Target{}, err
	}
	return described(host, choice), nil
}

func profileOf(profile cli.NewProfile) config.Profile {
	return config.Profile{Name: profile.Name, ServerURL: profile.ServerURL, APIPrefix: &profile.APIPrefix}
}

// save stores the profile, with its token in the keyring where there is one and else in the file, and makes it the
// active one.
func (d *doors) save(ctx context.Context, profile cli.NewProfile) (string, error) {
	host, err := d.host()
	if err != nil {
		return "", err
	}
	saved, err := host.SaveProfile(ctx, config.NewProfile{Profile: profileOf(profile), Typed: config.NewSecret(profile.Token),
		Activate: true})
	if err != nil {
		return "", err
	}
	if saved.Token == config.TokenInKeyring {
		return saved.File + ", with the token in the system's keyring", nil
	}
	return saved.File + ", with the token in it because no system keyring is available; only you can read the file", nil
}
