package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/server"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/pipeline"
	"quarry/server/slack"
)

// labelLibrary is the label of --library's library if another one is searched with it as local.
const labelLibrary = "library"

// mainPatience is the time limit of the target itself when others are searched with it: a server with a model is slow,
// and its results matter most.
const mainPatience = time.Minute

// addOthers adds the profiles of --also and search_also. One that cannot be searched is an error for the flag, but only
// a warning for the configuration.
func (d *decision) addOthers(c *Choice) error {
	if !d.request.Together {
		return nil
	}
	for _, name := range d.request.Also {
		other, err := d.other(name, "--also")
		if err == nil && c.isSearched(other) && !slices.ContainsFunc(c.Also, other.samePlace) {
			err = fail(config.ExitUsage, fmt.Sprintf("--also %s is already searched", name),
				"omit it, or use another profile")
		}
		if err != nil {
			return err
		}
		c.addOther(other)
	}
	for _, name := range c.searchAlso {
		other, err := d.other(name, "search_also")
		if err != nil {
			fix := "correct " + d.Config.File
			if reason, ok := errors.AsType[*config.Error](err); ok {
				fix = reason.Fix
			}
			d.warnings = append(d.warnings,
				config.Warning{Text: name + " is not searched: " + err.Error(), Remedy: fix})
			continue
		}
		c.addOther(other)
	}
	return nil
}

// other returns the choice of a profile that is searched together with another target.
func (d *decision) other(name, named string) (*Choice, error) {
	profile, exists := d.Config.Lookup(name)
	if !exists {
		return nil, d.unknownProfile(named, name)
	}
	rule := RuleProfile
	if named == "--also" {
		rule = RuleFlag
	}
	return d.ofProfile(rule, named+" selects the profile "+name, profile)
}

func (c *Choice) addOther(other *Choice) {
	if c.isSearched(other) {
		return
	}
	if c.Profile == other.Profile {
		c.Profile = labelLibrary
	}
	c.Also = append(c.Also, *other)
}

// isSearched reports whether a choice is already searched.
func (c *Choice) isSearched(other *Choice) bool {
	return other.samePlace(*c) || slices.ContainsFunc(c.Also, other.samePlace)
}

// samePlace compares libraries by folder but servers by name: two profiles of one server may have different tokens.
func (c *Choice) samePlace(other Choice) bool {
	if c.Kind == KindLibrary && other.Kind == KindLibrary {
		return filepath.Clean(c.LibraryDir) == filepath.Clean(other.LibraryDir)
	}
	return c.Kind == other.Kind && c.Profile == other.Profile
}

// split returns the library that a server in this process opens, the target itself or the first one beside it, and the
// others, which that server asks. base is nil if there is no library.
func (c Choice) split() (base *Choice, asked []Choice) {
	all := append([]Choice{c}, c.Also...)
	for _, one := range all {
		if base == nil && one.Kind != KindRemote && one.Kind != KindSlack {
			base = &one
			continue
		}
		asked = append(asked, one)
	}
	return base, asked
}

// isTogether reports whether a choice is searched through a server in this process: several targets, or Slack.
func (c Choice) isTogether() bool { return len(c.Also) > 0 || c.Kind == KindSlack }

// Beside returns the profiles that a server in this process asks; empty for a single target.
func (c Choice) Beside() []string {
	if !c.isTogether() {
		return nil
	}
	_, asked := c.split()
	return exslices.CastFunc(asked, func(one Choice) string { return one.Profile })
}

// Elsewhere reports whether a server in this process only asks others.
func (c Choice) Elsewhere() bool {
	base, _ := c.split()
	return c.isTogether() && base == nil
}

// HasFiles reports whether documents of the target can be files of this machine: those of a library here.
func (c Choice) HasFiles() bool {
	base, _ := c.split()
	return base != nil && base.Kind == KindLibrary
}

// IsFileHere reports whether documents of an origin can be files of this machine.
func (c Choice) IsFileHere(origin string) bool {
	return c.HasFiles() && !slices.Contains(c.Beside(), origin)
}

// openTogether opens a server in this process that asks the others, each with its own token.
func (h *Host) openTogether(ctx context.Context, choice Choice) (_ *client.Session, err error) {
	base, asked := choice.split()
	options := server.Options{Settings: api.Settings{Empty: true}}
	if base != nil {
		options = server.Options{Home: base.LibraryDir, Sample: base.Kind == KindSample}
		if base.Kind == KindLibrary && (base.Profile == choice.Profile || base.Rule == RuleFlag) {
			if err := h.needLibrary(base.LibraryDir); err != nil {
				return nil, err
			}
		}
	} else {
		base = &Choice{}
	}
	var open []*client.Session
	closeAll := func() error {
		var failed []error
		for _, o := range slices.Backward(open) {
			failed = append(failed, o.Close())
		}
		return errors.Join(failed...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	for _, one := range asked {
		patience := time.Duration(0)
		if one.Profile == choice.Profile {
			patience = mainPatience
		}
		source, opened, err := h.openFederated(ctx, one, patience)
		if err != nil {
			return nil, err
		}
		if opened != nil {
			open = append(open, opened)
		}
		options.Federated = append(options.Federated, source)
	}
	whole, err := h.openServer(ctx, *base, options, directory.DefaultTenant)
	if err != nil {
		return nil, err
	}
	open = append(open, whole)
	return &client.Session{Client: whole.Client, Close: closeAll}, nil
}

// openFederated returns a choice as a federated source, and its session to close, if any. A library of a flag must
// exist.
func (h *Host) openFederated(ctx context.Context, choice Choice,
	patience time.Duration) (pipeline.Federated, *client.Session, error) {
	f := &federated{choice: choice, patience: patience, check: func() error { return nil }}
	var err error
	switch choice.Kind {
	case KindSlack:
		source, err := h.slack(choice, patience)
		return source, nil, err
	case KindRemote:
		f.opened, err = h.openRemote(choice)
		return f, f.opened, err
	}
	f.check = func() error { return h.needLibrary(choice.LibraryDir) }
	if choice.Rule == RuleFlag {
		if err := f.check(); err != nil {
			return nil, nil, err
		}
	}
	f.opened, err = h.openServer(ctx, choice, server.Options{Home: choice.LibraryDir}, directory.DefaultTenant)
	return f, f.opened, err
}

// federated is a target that a server in this process asks.
type federated struct {
	choice   Choice
	opened   *client.Session
	patience time.Duration
	check    func() error             // returns why it cannot be asked yet
	sources  atomic.Pointer[[]string] // nil: not fetched yet
}

// Name returns the profile.
func (f *federated) Name() string { return f.choice.Profile }

// Timeout returns its time limit.
func (f *federated) Timeout() time.Duration { return f.patience }

// Sources lists the server's connected sources and caches the list; nil if not all are known.
func (f *federated) Sources(ctx context.Context) []string {
	if f.choice.Kind != KindRemote {
		return nil
	}
	if known := f.sources.Load(); known != nil {
		return *known
	}
	indexed, err := f.opened.Client.IndexedSources(ctx)
	if err != nil {
		return nil
	}
	live, err := f.opened.Client.Federated(ctx)
	if err != nil {
		return nil
	}
	for _, connection := range live {
		indexed = append(indexed, strings.TrimPrefix(connection.Source, "federated_"))
	}
	for _, source := range wire.Sources() { // which no server lists
		if source.Internal {
			indexed = append(indexed, source.Value)
		}
	}
	f.sources.Store(&indexed)
	return indexed
}

// Search searches through the profile's agent, if it has one.
func (f *federated) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var err error
	if request.PersonaID, err = f.opened.Client.ResolveAgent(ctx, "", f.choice.Agent); err != nil {
		return nil, err
	}
	return f.opened.Client.Search(ctx, request)
}

// slack returns Slack as a federated source for the owner of a profile's token, which the first search reads.
func (h *Host) slack(choice Choice, patience time.Duration) (*slack.Source, error) {
	transport, err := client.NewTransport()
	if err != nil {
		return nil, failBy(err, config.ExitNotConfigured, "cannot search "+choice.ServerURL, bundleFix)
	}
	return slack.New(slack.Options{Name: choice.Profile, BaseURL: choice.ServerURL, Token: choice.token,
		Transport: transport, Timeout: patience, UserAgent: h.userAgent()}), nil
}

// CheckSlack returns the user of a choice's Slack token and checks that they may search. It can return both a user and
// an error about searching.
func (h *Host) CheckSlack(ctx context.Context, choice Choice) (who string, err error) {
	source, err := h.slack(choice, 0)
	if err != nil {
		return "", err
	}
	identity, err := source.Check(ctx)
	if identity.User != "" {
		who = identity.User + " in " + identity.Team
	}
	if known, ok := errors.AsType[*slack.Error](err); ok {
		exits := map[slack.Kind]int{slack.Auth: config.ExitAuth, slack.RateLimited: config.ExitRateLimited,
			slack.Unreachable: config.ExitUnreachable, slack.Unusable: config.ExitUnreachable,
			slack.Refused: config.ExitGeneral}
		return who, fail(exits[known.Kind], known.Problem, known.Fix)
	}
	return who, err
}
