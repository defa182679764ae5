package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/server"
	"quarry/server/directory"
	"quarry/server/pipeline"
)

// labelLibrary names the library of --library where another one is searched beside it as local.
const labelLibrary = "library"

// mainPatience is how long the target itself may take where it is searched through a server in this process: a company's
// server with a model takes its time, and it is what the person wants to search.
const mainPatience = time.Minute

// addOthers adds what is searched in one go with a choice: what --also names, and the search_also of its profile. What
// cannot be searched is an error of the flag, but only a warning of the configuration: the rest is searched.
func (d *decision) addOthers(c *Choice) error {
	if !d.request.Together {
		return nil
	}
	for _, name := range d.request.Also {
		other, err := d.other(name, "--also")
		if err == nil && c.isSearched(other) && !slices.ContainsFunc(c.Also, other.samePlace) {
			err = &Error{Kind: ErrUsage, Problem: fmt.Sprintf("--also %s names what is searched already", name),
				Fix: "leave it out, or name another profile"}
		}
		if err != nil {
			return err
		}
		c.addOther(other)
	}
	for _, name := range c.searchAlso {
		other, err := d.other(name, "search_also")
		if err != nil {
			var reason *Error
			fix := "correct " + d.Config.File
			if errors.As(err, &reason) {
				fix = reason.Fix
			}
			d.warnings = append(d.warnings, config.Warning{Text: name + " is not searched: " + err.Error(), Remedy: fix})
			continue
		}
		c.addOther(other)
	}
	return nil
}

// other is the choice of a profile that is searched beside another target.
func (d *decision) other(name, named string) (*Choice, error) {
	profile, exists := d.Config.Lookup(name)
	if !exists {
		return nil, d.unknownProfile(named, name)
	}
	rule := RuleProfile
	if named == "--also" {
		rule = RuleFlag
	}
	return d.ofProfile(rule, named+" names the profile "+name, profile)
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

// isSearched reports whether a choice leads where one leads that is searched anyway.
func (c *Choice) isSearched(other *Choice) bool {
	return other.samePlace(*c) || slices.ContainsFunc(c.Also, other.samePlace)
}

// samePlace compares libraries by their folders, but servers by name: two profiles of one server may show different
// tokens.
func (c *Choice) samePlace(other Choice) bool {
	if c.Kind == KindLibrary && other.Kind == KindLibrary {
		return filepath.Clean(c.LibraryDir) == filepath.Clean(other.LibraryDir)
	}
	return c.Kind == other.Kind && c.Profile == other.Profile
}

// split tells apart what a server in this process holds, which is the target itself or the first library beside it, and
// what it asks over the network or in other folders. base is nil where there is no library among them.
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

// isTogether reports whether a server in this process asks others for a choice. Slack has no server of its own that
// could be asked like one.
func (c Choice) isTogether() bool { return len(c.Also) > 0 || c.Kind == KindSlack }

// Beside names what is asked by a server in this process; empty where a target is searched by itself.
func (c Choice) Beside() []string {
	if !c.isTogether() {
		return nil
	}
	var names []string
	_, asked := c.split()
	for _, one := range asked {
		names = append(names, one.Profile)
	}
	return names
}

// Elsewhere reports whether a server in this process that asks others holds nothing itself.
func (c Choice) Elsewhere() bool {
	base, _ := c.split()
	return c.isTogether() && base == nil
}

// openTogether opens a server in this process that asks the others. Each keeps its own token, which is read when a
// search is sent there.
func (h *Host) openTogether(ctx context.Context, choice Choice) (_ *client.Session, err error) {
	base, asked := choice.split()
	options := server.Options{Empty: true}
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

// openFederated prepares a choice to be asked, and what is to be closed afterwards, if anything. A library that a flag
// names must be there.
func (h *Host) openFederated(ctx context.Context, choice Choice, patience time.Duration) (pipeline.Federated, *client.Session, error) {
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
	check    func() error // whether it can be asked by now

	mutex   sync.Mutex // not held during a request
	sources []string   // nil: not fetched yet
}

// Name is the profile.
func (f *federated) Name() string { return f.choice.Profile }

// Patience is how long it may take.
func (f *federated) Timeout() time.Duration { return f.patience }

// Sources lists what a server says that is connected to it, once; nil where it does not say, or only a part.
func (f *federated) Sources(ctx context.Context) []string {
	if f.choice.Kind != KindRemote {
		return nil
	}
	f.mutex.Lock()
	known := f.sources
	f.mutex.Unlock()
	if known != nil {
		return known
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
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.sources = indexed
	return indexed
}

// Search asks as the agent of the profile, if it has one.
func (f *federated) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	agent, err := f.agentID(ctx)
	if err != nil {
		return nil, err
	}
	request.PersonaID = agent
	return f.opened.Client.Search(ctx, request)
}

// agentID is the number of the profile's agent.
func (f *federated) agentID(ctx context.Context) (*int, error) {
	agent := f.choice.Agent
	if agent.IsZero() || agent.ID != nil {
		return agent.ID, nil
	}
	id, err := f.opened.Client.AgentID(ctx, agent.Name)
	return &id, err
}
