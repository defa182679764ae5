//go:build unix

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/mattn/go-isatty"

	"quarry/ui"
	"quarry/ui/cli"
)

// The states of what a search asks.
const (
	configured = "configured"
	unset      = "not configured"
	wrongToken = "wrong token"
	down       = "server down"
	slow       = "slow server"
	limited    = "limited token"
)

// Keys at a terminal.
const ctrlC, ctrlD = "\x03", "\x04"

// The streams that a command has. In all states they are pipes.
const (
	atTerminal   = "terminal"
	dumbTerminal = "dumb terminal"
	closedStdin  = "closed stdin"
	closedStdout = "closed stdout"
	brokenPipe   = "broken pipe"
)

// row is how a command is run, and how that ends.
type row struct {
	args  []string
	talks bool           // to the server of the environment
	codes map[string]int // by state or stream, where it is not the usual one; "" is of all that are not given
	json  bool           // standard output is JSON, or lines of it
	says  bool           // also a failed run has results on standard output
	await string         // what a terminal shows before keys are typed there; errors then go there too
	keys  string
	tty   []string // args at a terminal
}

func asked(args ...string) row { return row{args: args, talks: true, json: true} }

// over is a command of admin over the API of the server.
func over(args ...string) row { return asked(append(args, "--server", "{server}")...) }

func local(code int, args ...string) row { return row{args: args, codes: map[string]int{"": code}} }

func (r row) but(codes map[string]int) row {
	r.codes = codes
	return r
}

func (r row) text() row {
	r.json = false
	return r
}

// rows are all commands. The streams are tried with the first row of each.
func rows() map[string][]row {
	validate := asked("--json")
	validate.says = true
	interactive := row{codes: map[string]int{"": 2, atTerminal: 130, dumbTerminal: 130}, await: "1", keys: ctrlC}
	agent := asked().but(map[string]int{wrongToken: 0, down: 0, slow: 0, limited: 0})
	agent.await, agent.keys = "Ctrl-D", ctrlD
	root := asked("roll back")
	root.tty = []string{"--version"}
	return map[string][]row{
		"":                {root},
		"search":          {asked("roll back"), asked("roll back", "--format", "md").text()},
		"ask":             {asked("roll back").text().but(map[string]int{configured: 2, "": 2, unset: 3, wrongToken: 4, down: 5, slow: 7, limited: 4})},
		"read":            {asked("plan").text()},
		"sources":         {asked().but(map[string]int{limited: 0})},
		"agents":          {asked()},
		"document-sets":   {asked()},
		"tags":            {asked()},
		"mcp":             {agent},
		"validate-config": {validate},
		"version":         {asked("--json").but(map[string]int{"": 0, unset: 0, wrongToken: 0, down: 0, slow: 0, limited: 0})},

		"install-skill": {local(0)},
		"skill render":  {asked("--dir", "-").text().but(map[string]int{limited: 0})},

		"add":        {local(0, "{note}")},
		"remove":     {local(9, "nothing")},
		"sync":       {local(9)},
		"migrate":    {local(9, "--to", "postgres"), local(9, "--to", "weaviate"), local(2, "--to", "sqlite")},
		"status":     {local(0)},
		"schema":     {local(0)},
		"collection": {local(0).but(map[string]int{unset: 3})},
		"serve":      {local(2)},
		"configure":  {interactive},
		"completion": {local(0, "bash")},
		"man":        {local(0)},

		"config path": {local(0)},
		"config list": {local(0)},
		"config get":  {local(9, "llm.default")},
		"config set":  {local(0, "theme", "dark"), local(2, "theme", "plaid")},
		"config edit": {local(2).but(map[string]int{"": 2, atTerminal: 0})},

		"admin user add":            {local(0, "jo@acme.example")},
		"admin user list":           {local(0), over().but(map[string]int{configured: 2, wrongToken: 2, down: 2, slow: 2, limited: 2})},
		"admin user deactivate":     {local(9, "no@acme.example")},
		"admin user activate":       {local(9, "no@acme.example")},
		"admin user remove":         {local(9, "no@acme.example")},
		"admin group add":           {local(0, "Legal")},
		"admin group list":          {local(0), over()},
		"admin group remove":        {local(9, "Nobody")},
		"admin token add":           {local(0, "laptop"), over("desk")},
		"admin token ensure":        {local(3, "--sandbox", "--user", "jo@acme.example")},
		"admin token list":          {local(0), over()},
		"admin token remove":        {local(9, "999"), over("999").but(map[string]int{configured: 9})},
		"admin connector add":       {local(2, "Wiki"), over("Wiki{n}", "--source", "web")},
		"admin connector list":      {local(0)},
		"admin connector remove":    {local(9, "Nothing")},
		"admin agent add":           {local(0, "Eng{n}"), over("Legal{n}")},
		"admin agent list":          {local(0), over()},
		"admin agent remove":        {local(9, "Nobody"), over("999").but(map[string]int{configured: 9})},
		"admin document-set add":    {local(0, "Pages{n}"), over("Pages{n}").but(map[string]int{configured: 2})}, // Onyx's API has no set without connectors
		"admin document-set list":   {local(0), over()},
		"admin document-set remove": {local(9, "Nothing")},
		"admin tenant add":          {local(0, "acme")},
		"admin tenant list":         {local(0)},
		"admin tenant remove":       {local(9, "nobody")},
	}
}

// code is the exit code of a row in a state or on a stream.
func (r row) code(where string) int {
	usual := map[string]int{unset: 3, wrongToken: 4, down: 5, slow: 7, limited: 4}
	if !r.talks {
		usual = nil
	}
	for _, codes := range []map[string]int{r.codes, usual} {
		if code, given := codes[where]; given {
			return code
		}
	}
	return r.codes[""]
}

// world is a served library, and the servers that fail.
type world struct {
	addresses map[string]string // by state
	tokens    map[string]string
	note      string
	runs      *atomic.Int64
	commands  []string
}

func newWorld(t *testing.T) world {
	t.Helper()
	h := newHome(t)
	w := world{addresses: map[string]string{}, tokens: map[string]string{}, runs: new(atomic.Int64), note: filepath.Join(h.dir, "note.jsonl")}
	if err := os.WriteFile(w.note, []byte(`{"id":"plan","source":"web","semantic_identifier":"Plan","sections":[{"text":"How to roll back."}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("add", w.note)
	for _, state := range []string{configured, limited} {
		arguments := []string{"admin", "token", "add", state}
		if state == limited {
			arguments = append(arguments, "--scope", "read:chat")
		}
		var made struct{ Token string }
		decode(t, h.must(arguments...), &made)
		w.tokens[state] = made.Token
	}
	address := serveHTTP(t, h)
	silent, stop := newSilent()
	t.Cleanup(stop)
	w.tokens[wrongToken], w.tokens[down], w.tokens[slow] = "onyx_pat_wrong0123456789", w.tokens[configured], w.tokens[configured]
	for _, state := range []string{configured, unset, wrongToken, limited} {
		w.addresses[state] = address
	}
	w.addresses[slow], w.addresses[down] = silent, refusing()
	return w
}

// command returns a cell of the matrix.
func (w world) command(h home, path, state string, args ...string) ui.Process {
	arguments := strings.Fields(path)
	for _, argument := range args {
		number := strconv.FormatInt(w.runs.Add(1), 10)
		values := strings.NewReplacer("{server}", w.addresses[state], "{note}", w.note, "{n}", number)
		arguments = append(arguments, values.Replace(argument))
	}
	process := h.inside(arguments...)
	if state != unset {
		process.Env = append(process.Env, "QUARRY_SERVER_URL="+w.addresses[state], "QUARRY_PAT="+w.tokens[state])
	}
	return process
}

// external returns the same command line as a process of the built program.
func (h home) external(process ui.Process) *exec.Cmd {
	h.t.Helper()
	c := h.command(context.WithoutCancel(h.t.Context()), process.Arguments...)
	c.Env, c.Dir = process.Env, process.Dir
	return c
}

// hang is when a command counts as one that does not end.
const hang = time.Minute

// runner runs a command line with the streams that are given; those that are nil are pipes.
type runner func(t *testing.T, process ui.Process) outcome

func inside(t *testing.T, process ui.Process) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	o := runInside(ctx, process, "")
	if ctx.Err() != nil {
		t.Error("it does not end")
	}
	return o
}

// outside runs a process of the built program in a session of its own, whose terminal is its standard input if that is one.
func (h home) outside(t *testing.T, process ui.Process) outcome {
	t.Helper()
	c := h.external(process)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(""), &stdout, &stderr
	if process.In != nil {
		c.Stdin = process.In
	}
	if process.Out != nil {
		c.Stdout = process.Out
	}
	if process.Err != nil {
		c.Stderr = process.Err
	}
	if process.In != nil && isatty.IsTerminal(process.In.Fd()) {
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	code := ends(t, c)
	for _, stream := range []*os.File{process.In, process.Out} {
		if stream != nil {
			_ = stream.Close() // as run inside does
		}
	}
	return outcome{code, stdout.String(), stderr.String()}
}

func ends(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if !late.Stop() {
		t.Error("it does not end")
	}
	return c.ProcessState.ExitCode()
}

// shellStreams are the streams that only a shell can make, as the program's own runtime replaces them before it starts.
var shellStreams = map[string]string{closedStdin: "<&-", closedStdout: ">&-"}

// throughShell runs a process of the built program with a closed stream.
func (h home) throughShell(t *testing.T, process ui.Process, redirection string) outcome {
	t.Helper()
	c := h.external(process)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(""), &stdout, &stderr
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	c.Path, c.Args = sh, append([]string{"sh", "-c", `exec "$0" "$@" ` + redirection, c.Path}, c.Args[1:]...)
	return outcome{ends(t, c), stdout.String(), stderr.String()}
}

// onStream runs a command with other streams than pipes. A closed one is, to a Go program, the null device.
func onStream(t *testing.T, process ui.Process, stream string, r row, run runner) outcome {
	t.Helper()
	null := func() *os.File {
		file, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	switch stream {
	case closedStdin:
		process.In = null()
	case closedStdout:
		process.Out = null()
		defer process.Out.Close()
	case brokenPipe:
		near, far := pipe()
		_ = near.Close()
		defer far.Close()
		process.Out = far
	case atTerminal, dumbTerminal:
		return onTerminal(t, process, stream, r, run)
	}
	return run(t, process)
}

// onTerminal runs a command whose standard input and output are a terminal. Its errors go to a pipe, to tell them apart.
func onTerminal(t *testing.T, process ui.Process, stream string, r row, run runner) outcome {
	t.Helper()
	kind := "xterm-256color"
	if stream == dumbTerminal {
		kind = "dumb"
	}
	process.Env = append(process.Env, "TERM="+kind, "EDITOR=true")
	terminal, far, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	process.In, process.Out = far, far
	if r.await != "" {
		process.Err = far
	}
	shown := make(chan string, 1)
	go func() {
		var all strings.Builder
		for part := make([]byte, 4096); ; {
			n, err := terminal.Read(part)
			before := r.await != "" && strings.Contains(all.String(), r.await)
			all.Write(part[:n])
			if !before && r.await != "" && strings.Contains(all.String(), r.await) {
				_, _ = terminal.WriteString(r.keys)
			}
			if err != nil { // the far end is closed
				break
			}
		}
		shown <- all.String()
	}()
	o := run(t, process) // closes the far end
	o.stdout = <-shown
	return o
}

// problems lists what is wrong with how a run ended.
func (w world) problems(o outcome, r row, path, where string) (wrong []string) {
	report := func(format string, arguments ...any) { wrong = append(wrong, fmt.Sprintf(format, arguments...)) }
	if want := r.code(where); o.code != want {
		report("exit code %d, want %d", o.code, want)
	}
	for _, token := range w.tokens {
		if strings.Contains(o.stderr, token) || strings.Contains(o.stdout, token) {
			report("a token is printed")
		}
	}
	if strings.Contains(o.stderr, "\x1b") || where != atTerminal && strings.Contains(o.stdout, "\x1b") {
		report("escape sequences where there is no terminal")
	}
	isFailure := o.code != 0 && o.code != 130
	var errors, hints, others []string
	for line := range strings.Lines(o.stderr) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "error: "):
			errors = append(errors, line)
		case strings.HasPrefix(line, "hint: "):
			hints = append(hints, line)
		case !strings.HasPrefix(line, "debug: ") && !strings.HasPrefix(line, "note: "):
			others = append(others, line)
		}
	}
	switch {
	case isFailure && (len(errors) != 1 || len(hints) > 1 || len(others) > 0):
		report("%d lines say what failed, %d what to do, and %d more", len(errors), len(hints), len(others))
	case !isFailure && len(errors)+len(hints) != 0 && o.code == 0:
		report("errors of a success")
	case isFailure && path != "" && regexp.MustCompile("quarry "+path+`($|[.;,])`).MatchString(strings.Join(hints, "")):
		report("the failed command is its own remedy")
	}
	for _, named := range commandName.FindAllStringSubmatch(strings.Join(hints, ""), -1) {
		isKnown := func(known string) bool { return known == named[1] || strings.HasPrefix(known, named[1]+" ") }
		if named[1] != "help" && !slices.ContainsFunc(w.commands, isKnown) {
			report("there is no command %s", named[0])
		}
	}
	isPipe := where != atTerminal && where != dumbTerminal
	if isFailure && o.stdout != "" && !r.says && isPipe {
		report("standard output of a failure")
	}
	if r.json && isPipe && o.stdout != "" {
		for line := range strings.Lines(o.stdout) {
			if !json.Valid([]byte(line)) {
				report("no JSON: %s", line)
				break
			}
		}
	}
	return wrong
}

// commandName is a command that a hint names.
var commandName = regexp.MustCompile(`quarry ([a-z][a-z-]*)`)

// remedy is what the hint of a command that talks to the server must say in a state.
func remedy(state string) string {
	return map[string]string{unset: "ONYX_SERVER_URL|quarry configure|--profile", wrongToken: "token", down: "server_url", slow: "--timeout", limited: "scope"}[state]
}

// request is a line of --debug.
var request = regexp.MustCompile(`(?m)^debug: [A-Z]+ \S+: .+ in [0-9.]+(µs|ms|s)$`)

// TestMatrix runs every command in every state, and on every stream: once each as a process, else inside of the test.
func TestMatrix(t *testing.T) {
	w, matrix := newWorld(t), rows()
	w.commands = []string{""}
	for _, command := range cli.Commands() {
		w.commands = append(w.commands, command.Path)
	}
	for path := range matrix {
		if !slices.Contains(w.commands, path) {
			t.Errorf("there is no command %q", path)
		}
	}
	for _, path := range w.commands {
		t.Run("quarry "+path, func(t *testing.T) {
			t.Parallel()
			if len(matrix[path]) == 0 {
				t.Fatal("the matrix lacks this command: see rows")
			}
			h := newHome(t)
			talks := slices.ContainsFunc(matrix[path], func(r row) bool { return r.talks })
			for i, r := range matrix[path] {
				states := []string{configured, unset, wrongToken, down, slow, limited}
				if !r.talks && (talks || i > 0) { // another row is tried in all of them
					states = states[:1]
				}
				w.tryStates(t, h, path, r, states)
			}
			w.tryStreams(t, h, path, matrix[path][0])
		})
	}
}

func (w world) tryStates(t *testing.T, h home, path string, r row, states []string) {
	for _, state := range states {
		arguments := r.args
		if r.talks {
			arguments = append(slices.Clone(arguments), "--debug")
		}
		if r.talks && state == slow { // what waits for no server may take longer on a loaded machine
			arguments = append(slices.Clone(arguments), "--timeout", "300ms")
		}
		got := inside(t, w.command(h, path, state, arguments...))
		wrong := w.problems(got, r, path, state)
		if r.talks && got.code > 2 && got.code == r.code(state) && !regexp.MustCompile(remedy(state)).MatchString(got.stderr) {
			wrong = append(wrong, "the hint is not that of the failure")
		}
		if r.talks && got.code != 2 && path != "mcp" && state != unset && !request.MatchString(got.stderr) {
			wrong = append(wrong, "--debug shows no request")
		}
		if len(wrong) > 0 {
			t.Errorf("%s %q, %s: %s\nstdout: %.400s\nstderr: %s", path, r.args, state, strings.Join(wrong, "; "), got.stdout, got.stderr)
		}
	}
}

// realStreams are the streams on which a command runs as a process, where that matters to it. Of every other command that is
// one of them in turn; on the others it runs inside of the test.
var realStreams = map[string]string{"": dumbTerminal, "search": brokenPipe, "add": closedStdout, "mcp": closedStdin, "configure": atTerminal,
	"config edit": atTerminal, "serve": brokenPipe}

func (w world) tryStreams(t *testing.T, h home, path string, r row) {
	streams := []string{atTerminal, dumbTerminal, closedStdin, closedStdout, brokenPipe}
	real := cmp.Or(realStreams[path], streams[slices.Index(w.commands, path)%len(streams)])
	for _, stream := range streams {
		arguments := r.args
		isTerminal := stream == atTerminal || stream == dumbTerminal
		if r.tty != nil && isTerminal {
			arguments = r.tty
		}
		process := w.command(h, path, configured, arguments...)
		var got outcome
		switch redirection := shellStreams[stream]; {
		case stream == real && redirection != "":
			got = h.throughShell(t, process, redirection)
		case stream == real, isTerminal && r.keys == ctrlC: // only a terminal of its own sends it a signal
			got = onStream(t, process, stream, r, h.outside)
		default:
			got = onStream(t, process, stream, r, inside)
		}
		if wrong := w.problems(got, r, path, stream); len(wrong) > 0 {
			t.Errorf("%s %q, %s: %s\nstdout: %.400s\nstderr: %s", path, r.args, stream, strings.Join(wrong, "; "), got.stdout, got.stderr)
		}
	}
}
