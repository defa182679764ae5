package ssh

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	charm "charm.land/ssh"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
	"golang.org/x/time/rate"

	"quarry/client"
	"quarry/theme"
	"quarry/ui/cli"
	"quarry/ui/explorer"
	"quarry/ui/plain"
	"quarry/ui/state"
	"quarry/ui/target"
)

// Limits of the drawn part of a terminal. Each cell uses memory as long as the session lasts: Bubble Tea keeps two
// grids of cells, also of lines and columns from before the terminal shrank. So rows and columns are limited
// separately.
const (
	mostColumns = 250
	mostRows    = 80
)

// Frames per second: waiting for the next frame is most of a key's latency. With many sessions there are fewer, because
// each wake-up costs.
const (
	framesPerSecond = 90
	framesOfMany    = 30
	many            = 300 // sessions
)

// Bounds of each visitor's explorer: its cache, and its searches and collected passages, which end with the session.
const (
	cacheBytes = 384 << 10
	stateBytes = 128 << 10
)

// command runs a command line as a guest. At a terminal, a query or nothing opens the explorer.
func (s *session) command(line string) int {
	var in io.Reader = progressing{s.inner, s.idle.heard}
	if s.keyboard != nil {
		in = s.keyboard
	}
	streams := cli.IO{In: in, Out: s, Err: s.stderr(), InTTY: s.arrival.hasPty, OutTTY: s.arrival.hasPty,
		ErrTTY: s.arrival.hasPty, Env: s.environment(), Now: s.now}
	if s.arrival.hasPty {
		streams.Width = min(s.arrival.pty.Window.Width, mostColumns)
	}
	return cli.Run(s.ctx, streams, arguments(line), cli.Program{
		Version: s.server.Version, Guest: true, Broke: s.broke,
		Host:    func() (cli.Host, error) { return visited{session: s}, nil },
		Explore: s.explore,
	})
}

// visited is the host of a visitor's commands. Only the methods declared here are available.
type visited struct {
	cli.Host
	session *session
}

// Decide returns the served target, whatever the flags are.
func (v visited) Decide(target.Request) (target.Choice, error) {
	server := v.session.server
	return target.Choice{Kind: target.KindRemote, Rule: target.RuleFlag, Reason: "served over SSH",
		Profile: v.session.visitor.client.Profile(), ServerURL: server.Where,
		Agent: server.Agent}, nil
}

// Open returns the visitor's client.
func (v visited) Open(ctx context.Context, _ target.Choice) (*client.Session, error) {
	return v.session.open(ctx)
}

// Private reports whether conversations are not stored.
func (v visited) Private() bool { return v.session.server.People.KnowsPeople() }

// open returns the visitor's client, which outlives the command.
func (s *session) open(context.Context) (*client.Session, error) {
	return &client.Session{Client: s.visitor.client, Close: func() error { return nil }}, nil
}

// environment returns the visitor's variables about their terminal.
func (s *session) environment() []string {
	var kept []string
	for _, entry := range s.arrival.env {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(terminalVariables(), name) && len(value) < 100 {
			kept = append(kept, entry)
		}
	}
	if s.arrival.hasPty {
		kept = append(kept, "TERM="+terminalName(s.arrival.pty.Term))
	}
	return kept
}

// terminalName returns the name of a terminal, or "unknown" for text that cannot be one.
func terminalName(given string) string {
	const longest = 64
	strange := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-+._", r)
	}
	if len(given) > longest || strings.ContainsFunc(given, strange) {
		return "unknown"
	}
	return given
}

// theme returns the visitor's QUARRY_THEME; empty: by their terminal's background.
func (s *session) theme() string {
	if name := s.arrival.env.Getenv("QUARRY_THEME"); slices.Contains(theme.Modes(), name) {
		return name
	}
	return ""
}

// explore opens the explorer at the visitor's terminal.
func (s *session) explore(ctx context.Context, e cli.Exploration) error {
	if e.Plain {
		return s.explorePlain(ctx, e)
	}
	s.keyboard.whole.Store(true)
	environment := s.environment()
	size := clamped(s.arrival.pty.Window)
	frames := framesPerSecond
	if s.server.guests.count() >= many {
		frames = framesOfMany
	}
	err := explorer.Run(ctx, explorer.Options{
		Target: explorer.Target{Kind: explorer.Remote, Where: s.server.Where, Agent: s.server.Agent,
			Examples: s.server.Examples, NoModel: s.server.NoModel, Offers: true,
			State: state.InMemory(stateBytes), Open: s.open},
		Query: e.Query, Results: e.Limit, Private: s.server.People.KnowsPeople(), Theme: s.theme(),
		Profile: theme.Profile(true, e.NoColor, environment), Caps: capabilities(s.arrival.pty.Term),
		SetUp: explorer.SetUp{Refused: "the server's operator configures what is searched"},
		Width: size.Width, Height: size.Height, CacheBytes: cacheBytes, Now: s.now, Log: s.server.Log,
	}, explorer.Terminal{In: s.keyboard, Out: s, Env: environment, FramesPerSecond: frames,
		Pace: rate.NewLimiter(keyRate, keyBurst).Wait, Sizes: s.arrival.sizes, Notices: s.notices})
	_, _ = io.WriteString(s, ansi.ShowCursor) // an incomplete last frame may leave it hidden
	switch {
	case errors.Is(err, explorer.ErrBroke):
		s.broke(err)
		return errBroke
	case errors.Is(err, context.Canceled):
		return context.Cause(s.ctx)
	}
	return err
}

// capabilities returns what a visitor can do: nothing on this machine.
func capabilities(terminal string) explorer.Capabilities {
	return explorer.Capabilities{
		OpenReason:   "no browser over SSH: click here",
		EditReason:   "over SSH no files can be edited",
		NoHyperlinks: explorer.NeedsASCII(terminal), ASCII: explorer.NeedsASCII(terminal),
	}
}

// clamped limits a terminal's size.
func clamped(window charm.Window) explorer.Size {
	return explorer.Size{Width: max(0, min(window.Width, mostColumns)), Height: max(0, min(window.Height, mostRows))}
}

// explorePlain runs the plain explorer with a line editor.
func (s *session) explorePlain(ctx context.Context, e cli.Exploration) error {
	return plain.Run(ctx, plain.Options{
		In: &lines{editor: s.lineEditor()}, Out: s, Err: s.stderr(), Open: s.open,
		Label: s.server.Where, Query: e.Query, Agent: e.Target.Agent, Limit: e.Limit,
		Width: clamped(s.arrival.pty.Window).Width,
	})
}

// lines reads from a line editor.
type lines struct {
	editor *term.Terminal
	rest   string
}

// Read is io.Reader's.
func (l *lines) Read(p []byte) (int, error) {
	if l.rest == "" {
		line, err := l.editor.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return 0, err
		}
		l.rest = line + "\n"
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// arguments splits the command line of ssh, which joins its arguments. A query is kept as it is, because quotes and
// minus signs have a meaning in it; a command is split as a shell does.
func arguments(line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	flagged := slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--") })
	if !flagged && !strings.HasPrefix(words[0], "-") && !commands(words) {
		if slices.Contains(cli.CommandNames(), words[0]) {
			return []string{"--", strings.TrimSpace(line)}
		}
		if strings.ContainsAny(line, `"'`) ||
			slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }) {
			return []string{"--", strings.TrimSpace(line)}
		}
		return words
	}
	return split(line)
}

// commands reports whether words are a command with its arguments. Some commands have none: "sources of revenue" is a
// query.
func commands(words []string) bool {
	switch words[0] {
	case "sources", "agents", "document-sets", "tags", "version", "status", "mcp":
		return len(words) == 1
	case "help":
		return len(words) == 1 || len(words) == 2 && slices.Contains(cli.CommandNames(), words[1])
	case "read":
		if quoted := split(strings.Join(words, " ")); len(quoted) == 2 {
			_, isCited := client.Cited(quoted[1])
			return isCited || len(words) == 2
		}
		return len(words) == 1
	}
	return slices.Contains(cli.CommandNames(), words[0])
}

// split splits a line at spaces. Quotes group words if they start a word or a flag's value; an apostrophe within a word
// does not. An unclosed quote is a character. A backslash escapes the next character, except in single quotes.
func split(line string) []string {
	var words []string
	runes := []rune(line)
	for i := 0; i < len(runes); {
		if unicode.IsSpace(runes[i]) {
			i++
			continue
		}
		var word strings.Builder
		for i < len(runes) && !unicode.IsSpace(runes[i]) {
			opens := word.Len() == 0 || strings.HasSuffix(word.String(), "=")
			end := -1
			if c := runes[i]; opens && (c == '"' || c == '\'') {
				end = closing(runes, i)
			}
			switch {
			case end >= 0:
				word.WriteString(unescaped(runes[i+1:end], runes[i]))
				i = end + 1
			case runes[i] == '\\' && i+1 < len(runes):
				word.WriteRune(runes[i+1])
				i += 2
			default:
				word.WriteRune(runes[i])
				i++
			}
		}
		words = append(words, word.String())
	}
	return words
}

// closing returns the position of the closing quote for the one at start, or -1.
func closing(runes []rune, start int) int {
	for i := start + 1; i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && runes[start] == '"':
			i++
		case runes[i] == runes[start]:
			return i
		}
	}
	return -1
}

func unescaped(text []rune, quote rune) string {
	if quote == '\'' {
		return string(text)
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(string(text))
}

// now returns the time in UTC: the zone of a visitor is not known, and that of the server is nobody's.
func (s *session) now() time.Time { return s.server.Now().UTC() }
