package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"go.mau.fi/util/exstrings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
	"quarry/ui/cli"
	"quarry/ui/explorer/setup"
	"quarry/ui/target"
)

const (
	testTime     = 30 * time.Second // of a whole test of a connection
	usualProfile = "default"
	mostListed   = 4096 // entries of a folder that a path is completed from
)

// settings set an explorer up on this machine, and remember what was set up last.
type settings struct {
	run    *run
	tested atomic.Pointer[config.NewProfile] // what the last test that passed tested
	last   atomic.Pointer[target.Choice]     // what was set up last
	model  atomic.Pointer[config.NewModel]   // what the last test of a model that passed tested
	llm    atomic.Pointer[config.LLM]        // as configured last
}

// settingsFor returns the settings of an explorer that searches a target.
func settingsFor(r *run, host *target.Host, searched target.Choice) *settings {
	s := &settings{run: r}
	s.last.Store(&searched)
	s.llm.Store(&host.Config.LLM)
	return s
}

// backend returns what the wizard of the explorer calls.
func (s *settings) backend() setup.Backend {
	refused := ""
	if config.ReadOnly(s.run.lookup) {
		refused = "changes on this machine are disabled by QUARRY_READONLY"
	}
	return setup.Backend{Test: s.test, Save: s.save, TestModel: s.testModel, SaveModel: s.saveModel,
		Model: s.configuredModel, AddFolder: s.addFolder, Path: s.path, Complete: s.complete, ReadOnly: refused}
}

// test tries a connection as configure and validate-config do.
func (s *settings) test(ctx context.Context, typed setup.Connection) (setup.Tested, error) {
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	host, err := s.run.host()
	if err != nil {
		return setup.Tested{}, err
	}
	profile := config.NewProfile{Profile: config.Profile{Name: usualProfile, ServerURL: strings.TrimSpace(typed.URL)},
		Typed: config.NewSecret(strings.TrimSpace(typed.Token)), Activate: true}
	if typed.Prefix != "" {
		profile.Profile.APIPrefix = &typed.Prefix
	}
	profile, steps, err := cli.TryConnection(limited, host, profile)
	if ctx.Err() != nil {
		return setup.Tested{}, ctx.Err()
	}
	found := setup.Tested{Connection: formConnection(profile)}
	blamed, explained := explainInForm(err, profile.Profile.ServerURL)
	found.Steps = formSteps(steps, blamed)
	if failure := cli.Explain(explained, started); failure != nil {
		found.Problem, found.Remedy = failure.What, failure.Do
		return found, nil
	}
	s.tested.Store(&profile)
	return found, nil
}

// formSteps are the steps of a test as the form shows them. Where a step is to blame that is not the one that failed,
// the others count as not tried.
func formSteps(steps []cli.ConnectionStep, blamed string) []setup.Step {
	var shown []setup.Step
	for _, tried := range steps {
		step := setup.Step{Name: tried.Name, Mark: setup.Skipped, Detail: "not tried"}
		switch {
		case tried.Name == blamed || blamed == "" && tried.Err != nil:
			step.Mark, step.Detail = setup.Failed, "failed"
		case blamed == "" && !tried.Skipped:
			step.Mark, step.Detail = setup.Passed, tried.Detail
		}
		shown = append(shown, step)
	}
	return shown
}

// explainInForm explains a failed connection in the terms of the form, which has an address and a token where
// others speak of routes, flags and settings of a profile. The server's own reason stays. blamed is the step that is to
// blame, where it is not the one that failed.
func explainInForm(err error, address string) (blamed string, explained error) {
	failure, isFailure := errors.AsType[*cli.Failure](err)
	reply, answered := errors.AsType[*client.Error](err)
	what, do := "", ""
	switch {
	case answered && reply.Kind == client.Auth && reply.Status == 0: // it was never sent
		blamed = setup.StepToken
		what = "the token is not valid: it is too long or contains a character that tokens do not have"
		do = "Paste only the token, as the server showed it"
	case isFailure:
		what, do = failureInForm(failure, reply)
	case client.KindOf(err) == client.Timeout:
		what, do = hostOf(address)+" did not answer in time", checkAddress
	case answered:
		blamed, what, do = replyInForm(err, reply, hostOf(address))
	default:
		return "", err
	}
	return blamed, &cli.Failure{Code: cli.ExitGeneral, What: what, Do: do, Err: err}
}

const checkAddress = "Check the address and your network, and the VPN if the name is internal"

// failureInForm is a failure that the test of the connection put into words itself. reply is its cause, if any.
func failureInForm(failure *cli.Failure, reply *client.Error) (what, do string) {
	what, do = failure.What, failure.Do
	if reply != nil {
		what = strings.Replace(what, reply.Error(), reply.Reason, 1)
	}
	switch {
	case failure.Code == cli.ExitAuth && reply == nil: // an anonymous visitor
		do = "Create a new token in the server's settings and paste it here"
	case failure.Code == cli.ExitNotAvailable:
		do = "Check the address. Onyx before 3.0 has no search API"
	}
	return what, do
}

// replyInForm is what a server, or the way to it, answered.
func replyInForm(err error, reply *client.Error, host string) (blamed, what, do string) {
	what, do = reply.Reason, strings.NewReplacer("server_url and api_prefix", "the address", "server_url",
		"the address", "store it", "paste it here").Replace(reply.Remedy())
	missing, _ := errors.AsType[*net.DNSError](err)
	switch {
	case reply.Kind == client.Unreachable && missing != nil && missing.IsNotFound:
		what, do = "the address cannot be found: "+what, checkAddress
	case reply.Kind == client.Unreachable && strings.Contains(what, host):
		what = "the address cannot be reached: " + what
	case reply.Kind == client.Unreachable:
		what = host + " cannot be reached: " + what
	case reply.Kind == client.Auth:
		what = "the server refuses the token: " + what
	case reply.Kind == client.NotAvailable:
		what, do, blamed = "no Onyx answers at "+host+": "+what, "Use the address that opens Onyx in your browser",
			setup.StepServer
	case reply.Kind == client.Server && reply.Status < http.StatusBadRequest: // an answer, and of something else
		what, do, blamed = "no Onyx answers at "+host+": "+what,
			"Check the address: a proxy or a sign-in page may answer instead of the server", setup.StepServer
	case reply.Kind == client.Server:
		what = fmt.Sprintf("the server failed with HTTP %d: %s", reply.Status, what)
	case reply.Kind == client.RateLimited:
		what = "the server limits requests: " + what
	case reply.Kind == client.BadRequest:
		what, do = "the server refuses the request: "+what, "Check the address and the token"
	}
	return blamed, what, do
}

// hostOf is the host of an address, with its port if it names one.
func hostOf(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return address
}

// save stores the connection that was tested last as the active profile.
func (s *settings) save(ctx context.Context, connection setup.Connection) (string, error) {
	tested := s.tested.Load()
	if tested == nil || connection != formConnection(*tested) {
		return "", errors.New("this connection was not tested")
	}
	host, err := s.run.fresh()
	if err != nil {
		return "", err
	}
	profile, name := *tested, profileName(host.Config, tested.Profile.ServerURL)
	profile.Profile.Name = name
	saved, err := host.SaveProfile(ctx, profile)
	if err != nil {
		return "", err
	}
	choice, err := host.Trial(profile.Profile, profile.Typed)
	if err != nil {
		return "", err
	}
	s.last.Store(&choice)
	said := "Saved as profile " + name + ": " + saved.Describe() + "."
	return said + s.nextStart(func(choice target.Choice) bool { return choice.Profile == name }), nil
}

// formConnection returns what the form shows of a profile.
func formConnection(profile config.NewProfile) setup.Connection {
	prefix := config.DefaultAPIPrefix
	if profile.Profile.APIPrefix != nil {
		prefix = *profile.Profile.APIPrefix
	}
	return setup.Connection{URL: profile.Profile.ServerURL, Prefix: prefix, Token: profile.Typed.Reveal()}
}

// profileName finds a name for a server that takes none from another: the usual one, that of a profile of the same
// server, or one made of the server's own.
func profileName(read *config.Config, address string) string {
	free := func(name string) bool {
		known, exists := read.Profiles[name]
		return !exists || known.ServerURL == address
	}
	if free(usualProfile) {
		return usualProfile
	}
	base := "server"
	if parsed, err := url.Parse(address); err == nil && parsed.Hostname() != "" {
		base = nameOf(parsed.Hostname())
	}
	return freeName(base, func(name string) bool { return free(name) && name != config.LocalProfile })
}

// freeName returns a name, with a number behind it if it is taken.
func freeName(base string, free func(name string) bool) string {
	name := base
	for i := 2; !free(name); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name
}

// nameOf makes a name of a host's.
func nameOf(host string) string {
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ToLower(text.Clip(host, 40)), "-")
}

// fresh reads the configuration as it is now, which may be newer than when this run began.
func (r *run) fresh() (*target.Host, error) {
	host, err := target.NewHost(r.lookup, r.process.Version)
	if err == nil {
		host.Now, host.Executable, host.Dir, host.Readers = r.process.Now, r.process.Executable,
			r.process.Dir, &r.readers
		host.Model = r.process.Model
	}
	return host, err
}

// nextStart says where the next start of the program goes, if not to what was set up.
func (s *settings) nextStart(there func(target.Choice) bool) string {
	host, err := s.run.fresh()
	if err != nil {
		return ""
	}
	choice, err := host.Decide(target.Request{Terminal: true})
	if err != nil || there(choice) {
		return ""
	}
	return fmt.Sprintf(" This explorer uses it now; other commands still use %s.", choice.Reason)
}

// addFolder reads a file or folder into the library of this machine, which can be searched from its first document on.
func (s *settings) addFolder(ctx context.Context, path string,
	report func(wire.LibraryEvent)) (wire.LibraryEvent, string,
	error) {
	host, err := s.run.host()
	if err != nil {
		return wire.LibraryEvent{}, "", err
	}
	opened, err := host.OpenLibrary(ctx, "", true)
	if err != nil {
		return wire.LibraryEvent{}, "", err
	}
	defer opened.Close()
	library := host.LibraryChoice()
	s.last.Store(&library)
	done, err := opened.Client.ChangeLibrary(ctx, wire.AddRequest{Paths: []string{path}}, report)
	if err != nil || done.Added+done.Updated+done.Unchanged == 0 {
		return done, "", err // nothing was read: searches go where they went
	}
	return done, strings.TrimSpace("Searches now use this library." + s.nextStart(func(choice target.Choice) bool {
		return choice.Kind == target.KindLibrary &&
			filepath.Clean(choice.LibraryDir) == filepath.Clean(library.LibraryDir)
	})), nil
}

// path reads a typed path. Quotes and backslashes around it come from terminals into which a folder was dropped.
func (s *settings) path(typed string) (string, error) {
	path := s.expanded(typed)
	if path == "" {
		return "", errors.New("enter the path of a folder or a file")
	}
	absolute, err := filepath.Abs(config.PathIn(s.run.process.Dir, path))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	if _, err := os.Stat(absolute); err != nil {
		if detail, ok := errors.AsType[*fs.PathError](err); ok {
			err = detail.Err
		}
		return "", fmt.Errorf("cannot open %s: %w", absolute, err)
	}
	return absolute, nil
}

func (s *settings) expanded(typed string) string {
	path := strings.TrimSpace(typed)
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	if os.PathSeparator == '/' {
		path = strings.ReplaceAll(path, `\ `, " ")
	}
	return s.run.inHome(path)
}

// complete completes a path as far as it is unambiguous. A folder gets a trailing separator.
func (s *settings) complete(typed string) string {
	path := s.expanded(typed)
	folder, begun := filepath.Split(path)
	// Of nothing, the folder that we are in.
	list, err := os.Open(config.PathIn(s.run.process.Dir, filepath.Clean(folder)))
	if err != nil {
		return typed
	}
	defer list.Close()
	entries, _ := list.ReadDir(mostListed)
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, begun) && (begun != "" || !strings.HasPrefix(name, ".")) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return typed
	}
	common := text.Clip(names[0], len(exstrings.LongestCommonPrefix(names))) // in whole characters
	if info, err := os.Stat(config.PathIn(s.run.process.Dir, filepath.Join(folder, common))); len(names) == 1 &&
		err == nil && info.IsDir() {
		common += string(os.PathSeparator)
	}
	return folder + common
}
