package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// memoryRing is a keyring in memory.
type memoryRing struct {
	mu      sync.Mutex
	secrets map[string]string
	asked   int
	err     error
}

func newRing() *memoryRing { return &memoryRing{secrets: map[string]string{}} }

func (r *memoryRing) Get(_ context.Context, account string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.err != nil {
		return "", r.err
	}
	secret, ok := r.secrets[account]
	if !ok {
		return "", ErrNoSecret
	}
	return secret, nil
}

func (r *memoryRing) Set(_ context.Context, account, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.secrets[account] = secret
	}
	return r.err
}

func needShell(t *testing.T) {
	t.Helper()
	if !unixFolders() {
		t.Skip("the commands are those of a Unix shell")
	}
}

func commandProfile(command string) Profile {
	return Profile{Name: "work", ServerURL: "https://onyx.acme.com", TokenCommand: command}
}

func TestTokenCommand(t *testing.T) {
	needShell(t)
	tests := []struct {
		name, command, want string
		words               []string
	}{
		{"first line", "printf 'tok\\nrest\\n'", "tok", nil},
		{"trimmed", "printf '  tok \\r\\n'", "tok", nil},
		{"a pipe", "printf 'a\\ntok\\n' | tail -1", "tok", nil},
		{"no input", "cat; echo tok", "tok", nil},
		{"something stays behind", "sleep 30 & echo tok", "tok", nil},
		{"nothing", "true", "", []string{"printed nothing"}},
		{"empty line", "echo; echo hunter2", "", []string{"printed nothing"}},
		{"failure", "echo hunter2; echo hunter2 >&2; exit 3", "", []string{"failed", "exit status 3"}},
		{"no such command", "/no/such/thing", "", []string{"failed"}},
		{"not a token", "echo hunter2 and more", "", []string{"not a token"}},
		{"escape", "printf '\\033[31mhunter2'", "", []string{"not a token"}},
		{"endless", "yes hunter2", "", []string{"64 KB"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Config{File: "/home/ada/config.yaml"}
			token, err := c.Token(commandProfile(test.command), nil)(context.Background())
			if test.words == nil {
				if token != test.want || err != nil {
					t.Errorf("got %q, %v", token, err)
				}
				return
			}
			wantError(t, err, 3, append(test.words, "profiles.work.token_command", c.File)...)
			if token != "" || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("leaks: %q, %v", token, err)
			}
		})
	}
}

func TestTokenCommandRunsOnceAndOnlyWhenAsked(t *testing.T) {
	needShell(t)
	log := filepath.Join(t.TempDir(), "log")
	source := (&Config{}).Token(commandProfile("echo run >> '"+log+"'; echo tok"), nil)
	if _, err := os.Stat(log); err == nil {
		t.Fatal("ran before it was asked")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if token, err := source(context.Background()); token != "tok" || err != nil {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	group.Wait()
	if runs, _ := os.ReadFile(log); string(runs) != "run\n" {
		t.Errorf("runs: %q", runs)
	}
}

func TestTokenCommandEndsWithItsCaller(t *testing.T) {
	needShell(t)
	folder := t.TempDir()
	started := filepath.Join(folder, "started")
	if _, err := shell(t.Context(), "mkfifo '"+started+"'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.ReadFile(started) // returns when the command has opened the pipe and closed it
		cancel()
	}()
	before := time.Now()
	_, err := (&Config{}).Token(commandProfile("echo > '"+started+"'; sleep 600 | sleep 600; echo tok"), nil)(ctx)
	if !errors.Is(err, context.Canceled) || time.Since(before) > 5*time.Minute {
		t.Errorf("%v after %s", err, time.Since(before))
	}
}

func TestTokenCommandOfAFileThatOthersWrite(t *testing.T) {
	needShell(t)
	const text = "profiles: {work: {server_url: 'https://a', token_command: echo tok}}"
	token := func(t *testing.T, paths Paths) (string, error) {
		t.Helper()
		c, err := Load(paths, env())
		if err != nil {
			t.Fatal(err)
		}
		return c.Token(c.Profiles["work"], nil)(context.Background())
	}
	paths := write(t, text)
	if got, err := token(t, paths); got != "tok" || err != nil {
		t.Errorf("0600: %q, %v", got, err)
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		if err := os.Chmod(paths.ConfigFile, mode); err != nil {
			t.Fatal(err)
		}
		_, err := token(t, paths)
		wantError(t, err, 3, "others can write", "chmod 600", paths.ConfigFile)
	}
	paths = write(t, text)
	if err := os.Chmod(filepath.Dir(paths.ConfigFile), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := token(t, paths)
	wantError(t, err, 3, "folder", "chmod 700")
}

func TestTokenFromTheKeyring(t *testing.T) {
	p := Profile{Name: "work", ServerURL: "https://onyx.acme.com:443/base"}
	ring := newRing()
	source := (&Config{File: "f"}).Token(p, ring)
	_, err := source(context.Background())
	wantError(t, err, 3, "no token for https://onyx.acme.com", "quarry configure")

	ring.secrets["work@https://onyx.acme.com"] = "tok"
	for range 3 { // a failure is not remembered, a success is
		if token, err := source(context.Background()); token != "tok" || err != nil {
			t.Errorf("%q, %v", token, err)
		}
	}
	if ring.asked != 2 {
		t.Errorf("asked %d times", ring.asked)
	}

	p.ServerURL = "https://elsewhere.example.com"
	_, err = (&Config{}).Token(p, ring)(context.Background())
	wantError(t, err, 3, "no token")
	_, err = (&Config{}).Token(p, &memoryRing{err: errors.New("locked")})(context.Background())
	wantError(t, err, 3, "cannot read the system keyring", "locked")
	_, err = (&Config{}).Token(p, nil)(context.Background())
	wantError(t, err, 3, "no token")
	_, err = (&Config{}).Token(p, &memoryRing{err: context.Canceled})(context.Background())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestWaitingForATokenCanBeGivenUp(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	source := once(func(context.Context) (string, error) {
		calls.Add(1)
		close(entered)
		<-release
		return "tok", nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if token, err := source(context.Background()); token != "tok" || err != nil {
			t.Errorf("%q, %v", token, err)
		}
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := source(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	<-done
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestFixedToken(t *testing.T) {
	if token, err := FixedToken(NewSecret("tok"), "ONYX_PAT")(context.Background()); token != "tok" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	_, err := FixedToken(NewSecret("hunter2\nx"), "ONYX_PAT")(context.Background())
	wantError(t, err, 3, "ONYX_PAT")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("leaks: %v", err)
	}
}

func TestKeyringIsLeftAloneWithoutASession(t *testing.T) {
	if !unixFolders() {
		t.Skip("there is always one here")
	}
	if ring := SystemKeyring(env("XDG_RUNTIME_DIR", t.TempDir())); ring != nil {
		t.Error("no message bus, yet a keyring")
	}
	if ring := SystemKeyring(env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")); ring == nil {
		t.Error("a message bus, yet no keyring")
	}
}
