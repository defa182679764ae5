package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/atotto/clipboard"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/cli/browser"
	"golang.org/x/term"

	"quarry/client"
	"quarry/config"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/cli"
	"quarry/ui/explorer"
	"quarry/ui/plain"
	"quarry/ui/state"
	"quarry/ui/target"
)

// explorePlain talks line by line. Ctrl-C is not the end of it, as it is of a command: the first one cancels a search.
func (r *run) explorePlain(ctx context.Context, host *target.Host, e cli.Exploration) error {
	interrupts := make(chan os.Signal, 1)
	// Ends all other notifications: the context of the run must not end with the first Ctrl-C.
	signal.Ignore(os.Interrupt)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	width, _, err := term.GetSize(int(r.process.Out.Fd()))
	if err != nil {
		width = 0
	}
	return plain.Run(ctx, plain.Options{
		In: r.process.In, Out: r.process.Out, Err: r.process.Err,
		Open:  func(ctx context.Context) (*client.Session, error) { return host.Open(ctx, e.Target) },
		Label: targetLabel(e.Target, ", "), Beside: e.Target.Beside(), Sample: e.Target.Kind == target.KindSample,
		Query: e.Query, Agent: e.Target.SearchAgent(), Limit: e.Limit, Width: width, Interrupts: interrupts,
	})
}

// targetLabel names a target for a person: "acme, onyx.acme.com".
func targetLabel(choice target.Choice, separator string) string {
	switch choice.Kind {
	case target.KindSample:
		return "the sample library"
	case target.KindLibrary:
		if choice.LibraryDir == "" || choice.Rule > target.RuleFlag {
			return "the library on this machine"
		}
		return choice.Describe()
	}
	if !choice.IsNamed() {
		return hostOf(choice.ServerURL)
	}
	return choice.Profile + separator + hostOf(choice.ServerURL)
}

// explore opens the explorer. It returns when the person leaves it or ctx ends, with the terminal as it was found.
func (r *run) explore(ctx context.Context, e cli.Exploration) error {
	host, err := r.host()
	if err != nil {
		return err
	}
	host.MakeVectors()
	if e.Plain {
		return r.explorePlain(ctx, host, e)
	}
	return r.exploreScreen(ctx, host, e)
}

// remoteGarbage is how much garbage, in percent of what is in use, may gather at a server's screen: rendering makes a
// lot of it in a moment, and the budget for memory leaves little room.
const remoteGarbage = 20

// exploreScreen opens the full screen.
func (r *run) exploreScreen(ctx context.Context, host *target.Host, e cli.Exploration) error {
	if e.Target.Kind == target.KindRemote || e.Target.Kind == target.KindSlack {
		defer debug.SetGCPercent(debug.SetGCPercent(remoteGarbage))
	}
	set := settingsFor(r, host, e.Target)
	setUp := explorer.SetUp{Backend: set.backend(), Target: func(context.Context) (explorer.Target, error) {
		found := *set.last.Load()
		fresh, err := r.fresh() // with what was saved
		if err != nil {
			return explorer.Target{}, err
		}
		fresh.Log = host.Log
		fresh.MakeVectors()
		return screenTarget(fresh, found), nil
	}}
	in, out := r.process.In, r.process.Out
	var pick *explorer.Pick
	if e.Chosen != nil {
		var err error
		if in, out, err = uv.OpenTTY(); err != nil {
			return &cli.Failure{Code: cli.ExitUsage, What: "--pick needs a terminal: " + err.Error(),
				Do: "Run it in a terminal; without one, quarry search prints results.", Err: err}
		}
		defer func() { _ = errors.Join(in.Close(), out.Close()) }() // on most systems one file
		pick, setUp.Refused = &explorer.Pick{Unfit: e.Unfit, Chosen: e.Chosen},
			"not while picking: start quarry without --pick"
	}
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		width, height = 0, 0 // unknown
	}
	caps := r.capabilities()
	caps.Suspend = caps.Suspend && pick == nil // the shell waits for the choice
	return explorer.Run(ctx, explorer.Options{
		Target: screenTarget(host, e.Target), Query: e.Query, Caps: caps, SetUp: setUp, Pick: pick,
		Results: e.Limit, Instant: host.Config.Instant, Fast: host.Config.Fast, Private: host.Config.Private,
		Keys:       host.Config.Keys,
		Profile:    theme.Profile(true, e.NoColor, r.process.Env),
		AgeWarning: time.Duration(host.Config.AgeWarning) * explorer.Year,
		Permalinks: host.Config.Links == config.LinksPermalink, Theme: host.Config.Theme,
		Own: r.configuredTheme(host.Config.Theme), Themes: r.themes,
		Width: width, Height: height, Log: r.screenLog(host), Now: r.process.Now,
	}, explorer.Terminal{In: in, Out: out, Env: r.process.Env})
}

// screenTarget returns a target as the explorer shows it.
func screenTarget(host *target.Host, choice target.Choice) explorer.Target {
	kinds := map[target.Kind]explorer.Kind{target.KindRemote: explorer.Remote, target.KindSlack: explorer.Remote,
		target.KindLibrary: explorer.Library, target.KindSample: explorer.Sample}
	beside := choice.Beside()
	shown := explorer.Target{Kind: kinds[choice.Kind], Where: targetLabel(choice, " · "), State: stateOf(host, choice),
		Command: collectionCommand(host, choice),
		Agent:   choice.SearchAgent(), Beside: beside, Elsewhere: choice.Elsewhere(),
		OwnModel: choice.Kind == target.KindRemote && len(beside) > 0, NoModel: withoutModel(host, choice),
		Open: func(ctx context.Context) (*client.Session, error) { return host.Open(ctx, choice) }}
	if choice.Kind == target.KindSample {
		shown.Examples = sampleExamples()
	}
	return shown
}

// withoutModel reports whether a target is a library of this machine for which no language model is configured.
func withoutModel(host *target.Host, choice target.Choice) bool {
	return !choice.Elsewhere() && slices.Contains([]target.Kind{target.KindLibrary, target.KindSample}, choice.Kind) &&
		host.Config.LLM.Default == ""
}

// stateOf returns what is remembered of a target between runs; with private: true, only until this one ends.
func stateOf(host *target.Host, choice target.Choice) *state.Store {
	if host.Private() {
		return state.InMemory(0)
	}
	return state.InFolder(host.Paths.State, choice.Name())
}

// stateOf is stateOf on this machine, which a choice was made for.
func (r *run) stateOf(choice target.Choice) *state.Store {
	host, err := r.host()
	if err != nil {
		return state.InMemory(0)
	}
	return stateOf(host, choice)
}

// collectionCommand is the command line that prints what was collected at a target; empty if nothing is stored.
func collectionCommand(host *target.Host, choice target.Choice) string {
	command := "quarry collection"
	switch {
	case host.Private():
		return ""
	case choice.Kind == target.KindSample:
		return command + " --sample"
	case choice.LibraryDir != "":
		return command + " --library " + config.ShellQuote(choice.LibraryDir)
	case choice.Kind == target.KindLibrary:
		return command + " --profile " + config.LocalProfile
	case choice.IsNamed():
		return command + " --profile " + config.ShellQuote(choice.Profile)
	case choice.Rule == target.RuleFlag:
		return command + " --server " + config.ShellQuote(choice.ServerURL)
	}
	return command // as the environment says
}

// saveFile writes a file that only its owner can read. Without replace, a file that exists is fs.ErrExist.
func (r *run) saveFile(path string, content []byte, replace bool) (string, error) {
	path, err := filepath.Abs(config.PathIn(r.process.Dir, r.inHome(path)))
	if err != nil {
		return "", err
	}
	if replace {
		return path, config.ReplaceFile(path, content)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	return path, errors.Join(err, file.Close())
}

// inHome returns a path with the home folder in the place of a ~ at its beginning, where there is one.
func (r *run) inHome(path string) string {
	if rest, home := strings.CutPrefix(path, "~"); home && (rest == "" || os.IsPathSeparator(rest[0])) {
		for _, variable := range []string{"HOME", "USERPROFILE"} {
			if folder, _ := r.lookup(variable); folder != "" {
				return cmp.Or(strings.TrimSuffix(folder, string(os.PathSeparator))+rest, folder)
			}
		}
	}
	return path
}

// sampleExamples are questions that the sample library answers.
func sampleExamples() []string {
	return []string{"how do we roll back a deploy", "how many weeks of parental leave do we get",
		"what does ERR_BATT_005 mean"}
}

// capabilities are what may be done to this machine. Who came over SSH looks at another one: its clipboard and its
// browser are out of reach, and those of this machine are nobody's business.
func (r *run) capabilities() explorer.Capabilities {
	terminal, _ := r.lookup("TERM")
	caps := explorer.Capabilities{Suspend: true, Save: r.saveFile, ASCII: explorer.NeedsASCII(terminal)}
	caps.Edit, caps.EditReason = r.editor()
	if r.overSSH() {
		caps.OpenReason = "no browser over SSH: click here"
		return caps
	}
	caps.Open = openLink
	if !clipboard.Unsupported {
		caps.Copy = clipboard.WriteAll
	}
	return caps
}

func (r *run) overSSH() bool {
	return slices.ContainsFunc([]string{"SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"}, func(variable string) bool {
		value, _ := r.lookup(variable)
		return value != ""
	})
}

// openLink opens a link with the system's own opener, never through a shell. On Windows a link to a file could start a
// program.
func openLink(link string) error {
	parsed, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("parse the link: %w", err)
	}
	if !text.IsAmong(parsed.Scheme, "http https mailto") && (parsed.Scheme != "file" || runtime.GOOS == "windows") {
		return fmt.Errorf("links of type %q cannot be opened", parsed.Scheme)
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard // the screen is not theirs to write on
	switch err := browser.OpenURL(link); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("no browser found")
	case err != nil:
		return fmt.Errorf("the system's opener failed: %w", err)
	}
	return nil
}

// editor returns how files are opened in the person's editor, or why they cannot be.
func (r *run) editor() (edit func(path string, line int, done tea.ExecCallback) tea.Cmd, refused string) {
	variable := "VISUAL"
	command, _ := r.lookup(variable)
	if strings.TrimSpace(command) == "" {
		variable = "EDITOR"
		command, _ = r.lookup(variable)
	}
	words, err := text.CommandWords(command)
	switch {
	case config.ReadOnly(r.lookup):
		return nil, "editing is disabled by QUARRY_READONLY"
	case err != nil:
		return nil, fmt.Sprintf("$%s: %v", variable, err)
	case len(words) == 0:
		return nil, "no editor is set: set $VISUAL or $EDITOR, such as EDITOR=nano"
	}
	return func(path string, line int, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg {
			// An editor would make a file that is gone.
			if info, err := os.Lstat(path); err != nil {
				return done(err)
			} else if !info.Mode().IsRegular() {
				return done(fmt.Errorf("%s is not a regular file", path))
			}
			// Which only the shell reads.
			if _, err := exec.LookPath(words[0]); err != nil && !strings.ContainsAny(words[0], "=$") {
				return done(err)
			}
			edit := cli.ShellCommand(command, editorArguments(words[0], path, line)...)
			if edit.Err != nil {
				return done(edit.Err)
			}
			return tea.ExecProcess(edit, done)()
		}
	}, ""
}

// editorArguments returns what opens a file at a line in a program; in one that is not known, at its beginning.
func editorArguments(program, path string, line int) []string {
	name := strings.ToLower(filepath.Base(program))
	name = cmp.Or(strings.TrimSuffix(name, ".exe"), name)
	number := strconv.Itoa(line)
	switch {
	case line <= 0:
		return []string{path}
	case text.IsAmong(name, "vi vim nvim gvim nano emacs emacsclient micro kak joe mg"):
		return []string{"+" + number, path}
	case text.IsAmong(name, "hx helix zed subl"):
		return []string{path + ":" + number}
	case text.IsAmong(name, "code code-insiders codium cursor windsurf"):
		return []string{"--goto", path + ":" + number}
	}
	return []string{path}
}

// screenLog returns the log of the full screen, which has the terminal to itself: explorer.log in the state folder.
// There is none where nothing may be stored.
func (r *run) screenLog(host *target.Host) *slog.Logger {
	if host.Config.Private || config.ReadOnly(host.Env) {
		return slog.New(slog.DiscardHandler)
	}
	path := filepath.Join(host.Paths.State, "explorer.log")
	return slog.New(slog.NewTextHandler(newLateFile(path), &slog.HandlerOptions{ReplaceAttr: printableAttr}))
}

// largestScreenLog is the size in bytes from which on the log begins again.
const largestScreenLog = 1 << 20

// lateFile opens a file at the first write, so that a run without one leaves nothing behind.
type lateFile func() (*os.File, error)

func newLateFile(path string) lateFile {
	return sync.OnceValues(func() (*os.File, error) { return openLog(path) })
}

// Write appends to the file.
func (open lateFile) Write(p []byte) (int, error) {
	file, err := open()
	if err != nil {
		return 0, err
	}
	return file.Write(p)
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the log: %w", err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Lstat(path); err == nil && info.Size() > largestScreenLog {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return file, nil
}

const (
	themeExtension = ".yaml"
	mostThemes     = 100
)

// themesFolder returns the folder of the user's own themes, NAME.yaml; "" if no file configures this run.
func (r *run) themesFolder() string {
	host, err := r.host()
	if err != nil || host.Config.Sandbox() {
		return ""
	}
	return filepath.Join(filepath.Dir(host.Paths.ConfigFile), "themes")
}

// themes reads the themes of the user's own, with the errors of those that cannot be used.
func (r *run) themes() []explorer.OwnTheme {
	folder := r.themesFolder()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // there are none
	}
	var found []explorer.OwnTheme
	for _, entry := range entries {
		name, isTheme := strings.CutSuffix(entry.Name(), themeExtension)
		if isTheme && len(found) < mostThemes {
			found = append(found, readTheme(filepath.Join(folder, entry.Name()), name))
		}
	}
	return found
}

// configuredTheme returns the configured theme if it is one of the user's own.
func (r *run) configuredTheme(name string) []explorer.OwnTheme {
	if slices.Contains(theme.Modes(), name) {
		return nil
	}
	return []explorer.OwnTheme{readTheme(filepath.Join(r.themesFolder(), name+themeExtension), name)}
}

func readTheme(path, name string) explorer.OwnTheme {
	own := explorer.OwnTheme{Custom: theme.Custom{Name: name}}
	switch {
	case slices.Contains(theme.Modes(), name):
		own.Err = errors.New(path + ": the name of a built-in theme; rename the file")
	case config.CheckName(name) != nil:
		own.Err = config.CheckName(name)
	default:
		own.Err = config.DecodeFile(path, &own.Custom)
	}
	return own
}
