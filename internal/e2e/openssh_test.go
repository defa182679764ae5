//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quarry/internal/testkit/screentest"
	"quarry/internal/testkit/screentest/terminal"
)

// sshHost is the program serving over SSH, and OpenSSH's client to reach it with.
type sshHost struct {
	home
	client, port string
	serve        *exec.Cmd
	ended        chan error
	log          *lockedBuffer
}

// lockedBuffer is written while it is read.
type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// openSSH finds the client. Without it there is nothing to try.
func openSSH(t *testing.T) string {
	t.Helper()
	client, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("NOT TRIED: there is no ssh in PATH")
	}
	return client
}

// serveSSH serves until the test ends.
func serveSSH(t *testing.T, h home, arguments ...string) *sshHost {
	t.Helper()
	s := &sshHost{home: h, client: openSSH(t), ended: make(chan error, 1), log: &lockedBuffer{}}
	s.serve = h.detached(binary(h.t), append([]string{"serve", "--ssh", "127.0.0.1:0", "--ssh-arrivals", "1000"}, arguments...)...)
	told, err := s.serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.serve.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(io.TeeReader(told, s.log))
		address := regexp.MustCompile(`ssh -p (\d+) 127\.0\.0\.1`)
		for lines.Scan() {
			if found := address.FindStringSubmatch(lines.Text()); found != nil {
				ready <- found[1]
			}
		}
		s.ended <- s.serve.Wait()
		close(ready)
	}()
	if s.port = <-ready; s.port == "" {
		t.Fatalf("it does not serve: %s", s.log)
	}
	t.Cleanup(func() { s.stop(t, syscall.SIGKILL) })
	return s
}

// stop ends the server and gives its exit code.
func (s *sshHost) stop(t *testing.T, signal os.Signal) int {
	t.Helper()
	_ = s.serve.Process.Signal(signal)
	if err, ok := <-s.ended; ok {
		close(s.ended)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	}
	return s.serve.ProcessState.ExitCode()
}

// ssh is a run of the client. Nothing of the person who runs the test is used: no configuration, key, agent or host.
func (s *sshHost) ssh(port string, arguments ...string) *exec.Cmd {
	options := []string{"-F", "/dev/null", "-p", port, "-l", "visitor"}
	for _, option := range []string{"UserKnownHostsFile=" + filepath.Join(s.dir, "known_hosts"), "GlobalKnownHostsFile=/dev/null",
		"StrictHostKeyChecking=accept-new", "IdentitiesOnly=yes", "IdentityAgent=none", "ControlPath=none", "LogLevel=ERROR",
		"ConnectTimeout=300"} {
		options = append(options, "-o", option)
	}
	if !strings.Contains(strings.Join(arguments, " "), "-i ") {
		options = append(options, "-o", "IdentityFile=none")
	}
	return s.detached(s.client, append(options, arguments...)...)
}

// visit runs the client without a terminal.
func (s *sshHost) visit(t *testing.T, stdin string, environment []string, arguments ...string) outcome {
	t.Helper()
	command := s.ssh(s.port, arguments...)
	command.Env = append(command.Env, environment...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// sit runs the client at a terminal.
func (s *sshHost) sit(t *testing.T, port string, arguments ...string) *screentest.Screen {
	t.Helper()
	return screentest.StartCommand(t, s.ssh(port, arguments...), usual())
}

func wantExit(t *testing.T, screen *screentest.Screen, code int) {
	t.Helper()
	var exit *exec.ExitError
	got := 0
	if err := screen.WaitEnd(); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Error(err)
	}
	if got != code {
		t.Errorf("exit %d, want %d\n%s", got, code, screen.Text())
	}
}

func TestOpenSSHWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, newHome(t), "--sample", "--ssh-open")
	const isJSON = "{"
	tests := []struct {
		name      string
		arguments []string
		stdin     string
		code      int
		stdout    string // how it begins; empty: nothing
		stderr    string // what it holds
	}{
		{"nothing", []string{"127.0.0.1"}, "", 0, "Search the documents", ""},
		{"-T", []string{"-T", "127.0.0.1"}, "", 0, "Search the documents", ""},
		{"words", []string{"127.0.0.1", "roll", "back", "a release"}, "", 0, isJSON, ""},
		{"-T and words", []string{"-T", "127.0.0.1", "roll back"}, "", 0, isJSON, ""},
		{"a question in quotes", []string{"127.0.0.1", `"roll back" -slack`}, "", 0, isJSON, ""},
		{"a command", []string{"127.0.0.1", "search", "--source", "confluence", "rollback"}, "", 0, isJSON, ""},
		{"queries on standard input", []string{"127.0.0.1", "search", "-"}, "rollback\nrelease\n", 0, isJSON, ""},
		{"help", []string{"127.0.0.1", "search", "--help"}, "", 0, "Search and print", ""},
		{"sources", []string{"127.0.0.1", "sources"}, "", 0, "[", ""},
		{"no command for guests", []string{"127.0.0.1", "add", "/etc/passwd"}, "", 2, "", "add is not available over SSH"},
		{"mcp", []string{"-T", "127.0.0.1", "mcp"}, "no message\n", 0, `{"error"`, ""},
		{"mcp on the machine's files", []string{"127.0.0.1", "mcp", "--library", "/"}, "", 2, "", "--library is not available over SSH"},
		{"no such flag", []string{"127.0.0.1", "search", "--sauce", "x"}, "", 2, "", "unknown flag --sauce"},
		{"no such source", []string{"127.0.0.1", "search", "--source", "nowhere", "x"}, "", 2, "", "nowhere"},
		{"a flag of the machine", []string{"127.0.0.1", "search", "--server", "http://127.0.0.1:1", "x"}, "", 2, "", "--server is not available over SSH"},
		{"a shell's words", []string{"127.0.0.1", "search", "x; touch /tmp/x; $(id) `id`"}, "", 0, isJSON, ""},
		{"files", []string{"-s", "127.0.0.1", "sftp"}, "", 255, "", "subsystem"},
		{"a tunnel", []string{"-W", "127.0.0.1:1", "127.0.0.1"}, "", 255, "", "forward"},
		{"an agent and a display", []string{"-A", "-X", "127.0.0.1", "version"}, "", 0, "Client version: ", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := s.visit(t, test.stdin, nil, test.arguments...)
			if got.code != test.code || !strings.HasPrefix(got.stdout, test.stdout) || (got.stdout == "") != (test.stdout == "") ||
				!strings.Contains(strings.ToLower(got.stderr), strings.ToLower(test.stderr)) || strings.Contains(got.stdout+got.stderr, "\x1b") {
				t.Errorf("exit %d\n%.1000s\n%s", got.code, got.stdout, got.stderr)
			}
			if test.stdout == isJSON && !json.Valid([]byte(got.stdout)) {
				t.Errorf("no JSON: %.500s", got.stdout)
			}
		})
	}
}

func TestOpenSSHAtATerminal(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, newHome(t), "--sample", "--ssh-open")
	t.Run("the explorer", func(t *testing.T) {
		screen := s.sit(t, s.port, "127.0.0.1")
		screen.WaitText("type to search")
		screen.Type("roll back a release")
		screen.WaitText(found)
		for _, size := range [][2]int{{60, 20}, {20, 5}, {1, 1}, {200, 60}, {100, 30}} {
			screen.Resize(size[0], size[1])
		}
		screen.Wait("the screen to fill the window", func(string) bool {
			return strings.Contains(screen.Text(), found) && len([]rune(strings.TrimRight(screen.Line(29), " "))) > 20
		})
		screen.Press("enter", "y")
		screen.WaitText("sent to your terminal's clipboard")
		screen.Wait("the clipboard, which is sent beside the screen", func(string) bool { return len(screen.Clipboard()) > 0 })
		if copied := screen.Clipboard(); len(copied) != 1 || !strings.Contains(copied[0], "rolling back a release") {
			t.Errorf("copied %q", copied)
		}
		screen.Press("q")
		wantExit(t, screen, 0)
		screen.RequireRestored()
	})
	t.Run("a query", func(t *testing.T) {
		screen := s.sit(t, s.port, "-t", "127.0.0.1", "roll", "back")
		screen.WaitText(found)
		screen.Press("esc", "ctrl+c")
		wantExit(t, screen, 0)
		screen.RequireRestored()
	})
	t.Run("a command", func(t *testing.T) {
		screen := s.sit(t, s.port, "-t", "127.0.0.1", "search", "--limit", "1", "roll back a release")
		wantExit(t, screen, 0)
		if text := screen.Text(); !strings.Contains(text, found) || strings.Contains(text, `"results"`) {
			t.Error(text)
		}
	})
	t.Run("-T at a terminal", func(t *testing.T) {
		screen := s.sit(t, s.port, "-T", "127.0.0.1")
		wantExit(t, screen, 0)
		if modes := screen.Modes(); modes != terminal.Untouched() || !strings.Contains(screen.Text(), "quarry") {
			t.Errorf("%+v\n%s", modes, screen.Text())
		}
	})
	t.Run("line by line", func(t *testing.T) {
		screen := s.sit(t, s.port, "-t", "127.0.0.1", "--", "--plain")
		screen.Type("roll back a release\r")
		screen.WaitText(found)
		screen.Type("quit\r")
		wantExit(t, screen, 0)
	})
}

// A window of 0x0 is what -tt without a terminal asks for.
func TestOpenSSHWithoutAWindow(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, newHome(t), "--sample", "--ssh-open")
	if got := s.visit(t, "", nil, "-tt", "127.0.0.1", "search", "roll back a release"); got.code != 0 || !strings.Contains(got.stdout, found) {
		t.Errorf("a command: exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if got := s.visit(t, "", nil, "-tt", "127.0.0.1"); got.code != 0 { // the input ends, and so does the explorer
		t.Errorf("no input: exit %d\n%q\n%s", got.code, got.stdout, got.stderr)
	}
	if got := s.visit(t, "roll back\r\x03\x03", nil, "-tt", "127.0.0.1"); got.code != 0 {
		t.Errorf("keys: exit %d\n%q\n%s", got.code, got.stdout, got.stderr)
	}
}

func TestOpenSSHIdentities(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	openSSH(t)
	plan := filepath.Join(h.dir, "plan.md")
	if err := os.WriteFile(plan, []byte("# The plan\n\nTo win.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("add", plan)
	h.must("admin", "user", "add", "jo@acme.com")
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(h.must("admin", "token", "add", "--name", "laptop", "--user", "jo@acme.com")), &made); err != nil || made.Token == "" {
		t.Fatal(err)
	}
	jo, stranger := h.keyPair("jo"), h.keyPair("stranger")
	public, err := os.ReadFile(jo + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(h.dir, "keys")
	if err := os.WriteFile(keys, append([]byte(`user="jo@acme.com" `), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	only := serveSSH(t, h, "--library", h.library(), "--ssh-keys", keys)
	both := serveSSH(t, h, "--library", h.library(), "--ssh-keys", keys, "--ssh-token")
	pat := []string{"ONYX_PAT=" + made.Token}
	tests := []struct {
		name        string
		s           *sshHost
		environment []string
		arguments   []string
		code        int
		stderr      string
	}{
		{"a key", only, nil, []string{"-i", jo}, 0, ""},
		{"the wrong key", only, nil, []string{"-i", stranger}, 255, "Permission denied (publickey)"},
		{"no key", only, nil, nil, 255, "Permission denied (publickey)"},
		{"a token where only keys are known", only, pat, []string{"-o", "SendEnv=ONYX_PAT"}, 255, "Permission denied"},
		{"a key beside tokens", both, nil, []string{"-i", jo}, 0, ""},
		{"a token", both, pat, []string{"-o", "SendEnv=ONYX_PAT"}, 0, ""},
		{"a token that is not sent", both, pat, nil, 4, "this server requires a token"},
		{"a wrong token", both, []string{"ONYX_PAT=onyx_pat_wrong"}, []string{"-o", "SendEnv=ONYX_PAT"}, 4, "the token is not valid"},
		{"the wrong key and a token", both, pat, []string{"-i", stranger, "-o", "SendEnv=ONYX_PAT"}, 0, ""},
		{"the wrong key and none", both, nil, []string{"-i", stranger}, 4, "this server requires a token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.s.visit(t, "", test.environment, append(test.arguments, "127.0.0.1", "search", "plan")...)
			if got.code != test.code || !strings.Contains(got.stderr, test.stderr) || (test.code == 0) != strings.HasPrefix(got.stdout, "{") {
				t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
	screen := both.sit(t, both.port, "127.0.0.1")
	screen.WaitText("Token (hidden):")
	screen.Type(made.Token + "\r")
	screen.WaitText("type to search")
	if strings.Contains(screen.Text(), made.Token[:12]) {
		t.Error(screen.Text())
	}
	screen.Press("ctrl+c")
	wantExit(t, screen, 0)
	for _, s := range []*sshHost{only, both} {
		if strings.Contains(s.log.String(), made.Token) {
			t.Errorf("the token is in the log:\n%s", s.log)
		}
	}
}

// keyPair makes a key with OpenSSH's own tool, and gives the path of its private half.
func (h home) keyPair(name string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if out, err := h.detached("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return path
}

// forwarder passes connections on to a port until it is cut.
func forwarder(t *testing.T, to string) (port string, cut func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	conns := []io.Closer{listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", "127.0.0.1:"+to)
			if err != nil {
				_ = near.Close()
				return
			}
			mutex.Lock()
			conns = append(conns, near, far)
			mutex.Unlock()
			go func() { _, _ = io.Copy(near, far) }()
			go func() { _, _ = io.Copy(far, near) }()
		}
	}()
	cut = func() {
		mutex.Lock()
		defer mutex.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		conns = nil
	}
	t.Cleanup(cut)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, cut
}

func TestOpenSSHCutOffInASearch(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, newHome(t), "--sample", "--ssh-open", "--ssh-sessions", "3")
	for range 3 { // more than there is room for, if one were kept
		screen := s.sit(t, s.port, "127.0.0.1")
		screen.WaitText("type to search")
		screen.Type("roll back a rel")
		screen.Signal(syscall.SIGKILL) // the client
		wantExit(t, screen, -1)

		port, cut := forwarder(t, s.port)
		screen = s.sit(t, port, "127.0.0.1")
		screen.WaitText("type to search")
		screen.Type("roll back a rel")
		cut() // the network
		wantExit(t, screen, 255)
		if !regexp.MustCompile("(?i)closed|broken|reset").MatchString(screen.Text()) {
			t.Errorf("the person sees\n%s", screen.Text())
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); ; { // until the server has noticed
		got := s.visit(t, "", nil, "127.0.0.1", "search", "roll back")
		if got.code == 0 {
			break
		}
		if time.Now().After(deadline) || got.code != 6 {
			t.Fatalf("afterwards: exit %d\n%s", got.code, got.stderr)
		}
	}
	if log := s.log.String(); strings.Contains(log, "panic") {
		t.Error(log)
	}
}

func TestOpenSSHWhenTheServerStops(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, newHome(t), "--sample", "--ssh-open")
	screen := s.sit(t, s.port, "127.0.0.1")
	screen.WaitText("type to search")
	began := time.Now()
	stopped := make(chan int, 1)
	go func() { stopped <- s.stop(t, syscall.SIGTERM) }()
	screen.WaitText("the server is shutting down") // in the explorer, or of a slow machine when it is over
	if got := s.visit(t, "", nil, "127.0.0.1", "version"); got.code != 255 {
		t.Errorf("somebody new: exit %d\n%s", got.code, got.stderr)
	}
	wantExit(t, screen, 130)
	if !strings.Contains(screen.Text(), "error: the server is shutting down\n") {
		t.Errorf("the person sees\n%s", screen.Text())
	}
	screen.RequireRestored()
	if code := <-stopped; code != 0 && code != 130 {
		t.Errorf("the server ended with %d\n%s", code, s.log)
	}
	t.Logf("it stopped after %s", time.Since(began).Round(time.Millisecond))
}
