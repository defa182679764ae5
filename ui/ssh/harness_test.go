package ssh_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/internal/testkit/memnet"
	"quarry/internal/testkit/screentest/terminal"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// house is a library with people, served over SSH.
type house struct {
	t       testing.TB
	address string
	memory  *memnet.Listener // nil: a real network
	home    string           // of the operator
	log     *journal
	stop    context.CancelFunc
	done    chan error
	served  *target.Served
	machine *target.Host
}

// journal is a log that a test reads while it is written.
type journal struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.String()
}

// machineIn is a machine whose user's folders are all in one.
func machineIn(t testing.TB, home string) *target.Host {
	t.Helper()
	environment := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_DATA_HOME": filepath.Join(home, "data"),
		"XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_CACHE_HOME": filepath.Join(home, "cache")}
	machine, err := target.NewHost(func(key string) (string, bool) { value, ok := environment[key]; return value, ok }, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// open serves a library that arrange fills, until the test ends. change adapts the options.
func open(t testing.TB, where target.Request, change func(*ssh.Options)) *house {
	t.Helper()
	home := t.TempDir()
	h := &house{t: t, home: home, log: &journal{}, done: make(chan error, 1), machine: machineIn(t, home)}
	h.machine.Log = slog.New(slog.NewTextHandler(h.log, nil))
	served, err := h.machine.OpenServed(t.Context(), target.ServeOptions{Request: where})
	if err != nil {
		t.Fatal(err)
	}
	h.served = served
	options := ssh.Options{SSHOptions: target.SSHOptions{Address: "127.0.0.1:0", HostKey: filepath.Join(home, "host_key"),
		Limits: target.SSHLimits{Arrivals: 100_000}}, People: served, Where: "the library", Version: "1.2.3", Log: h.machine.Log}
	change(&options)
	h.memory, _ = options.Listener.(*memnet.Listener)
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	listening := make(chan string, 1)
	go func() { h.done <- ssh.Serve(ctx, options, func(address, _ string) { listening <- address }) }()
	select {
	case h.address = <-listening:
	case err := <-h.done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.stop()
		if err := <-h.done; err != nil {
			t.Error(err)
		}
		if err := served.Close(); err != nil {
			t.Error(err)
		}
		if h.memory != nil {
			time.Sleep(time.Hour) // Bubble Tea waits for its ticks to the end
		}
	})
	return h
}

// quiet waits until nothing is under way any more: in a bubble, time passes only then.
func quiet() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// inMemory serves in a synctest bubble, where everybody's time passes while all of them wait.
func inMemory(options *ssh.Options) { options.Listener = memnet.Listen() }

// sample serves the sample library to anybody.
func sample(t testing.TB, change func(*ssh.Options)) *house {
	t.Helper()
	return open(t, target.Request{Sample: true}, func(options *ssh.Options) {
		options.Open = true
		if change != nil {
			change(options)
		}
	})
}

// key makes a key, and the line of it for a file of keys.
func key(t *testing.T) (gossh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, strings.TrimSpace(string(gossh.MarshalAuthorizedKey(signer.PublicKey())))
}

// connect connects with the given ways to authenticate.
func (h *house) connect(methods ...gossh.AuthMethod) (*gossh.Client, error) {
	conn, err := h.dialFrom("127.0.0.1")
	if err != nil {
		return nil, err
	}
	return h.client(conn, methods...)
}

func (h *house) mustConnect(methods ...gossh.AuthMethod) *gossh.Client {
	h.t.Helper()
	conn, err := h.connect(methods...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// said is what a command left behind.
type said struct {
	out, err string
	code     int
}

// run runs a command without a terminal.
func run(t testing.TB, conn *gossh.Client, command, in string, env ...string) said {
	t.Helper()
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	var out, errs bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(in), &out, &errs
	setenv(t, session, env)
	code := exitCode(t, session.Run(command))
	return said{out: out.String(), err: errs.String(), code: code}
}

func setenv(t testing.TB, session *gossh.Session, env []string) {
	t.Helper()
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		_ = session.Setenv(name, value) // what is not used here is refused
	}
}

func exitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *gossh.ExitError
	switch {
	case err == nil || errors.Is(err, io.EOF): // it ended well before all of its input was sent
		return 0
	case errors.As(err, &exit):
		return exit.ExitStatus()
	}
	t.Fatal(err)
	return -1
}

// visit is somebody at a terminal.
type visit struct {
	*terminal.Terminal
	t       testing.TB
	session *gossh.Session
	conn    *gossh.Client
	ended   chan error
}

// patience is how long a test that fails waits for what must come.
const patience = 5 * time.Minute

// sit opens a session with a terminal: a shell, or a command.
func sit(t testing.TB, conn *gossh.Client, width, height int, command string, env ...string) *visit {
	t.Helper()
	return sitAt(t, conn, terminal.Options{Width: width, Height: height}, command, env...)
}

// sitAt opens a session with a terminal of a kind.
func sitAt(t testing.TB, conn *gossh.Client, options terminal.Options, command string, env ...string) *visit {
	t.Helper()
	session, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	setenv(t, session, env)
	if err := session.RequestPty("xterm-256color", options.Height, options.Width, gossh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	v := &visit{Terminal: terminal.New(options), t: t, session: session, conn: conn,
		ended: make(chan error, 1)}
	t.Cleanup(func() {
		_ = session.Close()
		v.Close()
	})
	keys, err := session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(keys, v.Input()) }()
	session.Stdout, session.Stderr = v, v
	if command == "" {
		err = session.Shell()
	} else {
		err = session.Start(command)
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { v.ended <- session.Wait() }()
	return v
}

// sees waits until a text stands on the screen.
func (v *visit) sees(text string) {
	v.t.Helper()
	if !v.Wait(patience, func(screen string) bool { return strings.Contains(screen, text) }) {
		v.t.Fatalf("%q does not come:\n%s", text, v.Text())
	}
}

// leaves waits for the end of the session, and gives its exit code.
func (v *visit) leaves() int {
	v.t.Helper()
	select {
	case err := <-v.ended:
		return exitCode(v.t, err)
	case <-time.After(patience):
		v.t.Fatalf("the session does not end:\n%s", v.Text())
		return -1
	}
}

func (v *visit) press(keys ...string) {
	v.t.Helper()
	if err := v.Press(keys...); err != nil {
		v.t.Fatal(err)
	}
}

// interactive is how a visitor without a key comes in.
func interactive() gossh.AuthMethod {
	return gossh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return nil, nil })
}
