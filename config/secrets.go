package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/zalando/go-keyring"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const redacted = "[secret]"

// Secret is a text that no formatting, encoding or logging shows. The value is behind a pointer because fmt cannot call
// methods of unexported fields: for those it prints the address.
type Secret struct{ value *string }

// NewSecret wraps a text; for an empty text it returns the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{value: &text}
}

// Reveal returns the text, to be sent or stored only.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// String shows only whether there is a secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// Format writes String under every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText writes String; JSON, YAML and slog use it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const longestToken = 4096 // bytes; Onyx's own have some 270

// TokenSource returns a token, or an error with a hint if there is none. It is safe for concurrent use, reads its
// secret at most once, and does not cache errors.
type TokenSource func(ctx context.Context) (string, error)

// FixedToken returns the source of a known token, which it checks. The name, such as "ONYX_PAT" or a file and key, is
// used in errors.
func FixedToken(token Secret, name string) TokenSource {
	return func(context.Context) (string, error) {
		if err := CheckToken(token.Reveal()); err != nil {
			return "", &Error{Key: name, Problem: err.Error(), Fix: "set " + name + " to the token only"}
		}
		return token.Reveal(), nil
	}
}

// Token returns the source of a profile's token: its token, the output of its token_command, or the keyring's secret.
// The command runs and the keyring is read when the source is first called. A nil ring is no keyring. Call it once per
// profile.
func (c *Config) Token(p Profile, ring Keyring) TokenSource {
	key := "profiles." + p.Name
	if !p.Token.IsZero() {
		return FixedToken(p.Token, key+".token in "+c.File)
	}
	if p.TokenCommand != "" {
		return once(func(ctx context.Context) (string, error) { return c.runTokenCommand(ctx, p) })
	}
	return once(func(ctx context.Context) (string, error) {
		account, err := KeyringAccount(p)
		if err != nil || ring == nil {
			return "", c.noToken(p, nil)
		}
		token, err := ring.Get(ctx, account)
		switch {
		case errors.Is(err, context.Canceled):
			return "", err
		case errors.Is(err, ErrNoSecret):
			return "", c.noToken(p, nil)
		case err != nil:
			return "", c.noToken(p, fmt.Errorf("cannot read the system keyring: %w", err))
		}
		if CheckToken(token) != nil || token == "" {
			return "", c.noToken(p, errors.New("the secret in the system keyring is not a token"))
		}
		return token, nil
	})
}

func (c *Config) noToken(p Profile, cause error) error {
	return &Error{File: c.File, Key: "profiles." + p.Name, Problem: "no token for " + p.ServerURL, Err: cause,
		Fix: "store one with quarry configure, or set the profile's token_command"}
}

// once caches the first success. Concurrent callers wait for it until their context ends.
func once(read TokenSource) TokenSource {
	turn := make(chan struct{}, 1) // guards token; waiting for it can be canceled, unlike a mutex
	token := ""
	return func(ctx context.Context) (string, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if token != "" {
			return token, nil
		}
		fresh, err := read(ctx)
		if err != nil {
			return "", err
		}
		token = fresh
		return token, nil
	}
}

// CheckToken returns an error if a token cannot be sent in a header. The error begins with a verb and never quotes it.
func CheckToken(token string) error { return wire.CheckToken(token, longestToken) }

const (
	commandLimit  = 10 * time.Second
	commandOutput = 64 << 10 // bytes
	// commandGrace limits the wait for output that a background process keeps open.
	commandGrace = 500 * time.Millisecond
)

var errTooMuchOutput = errors.New("it printed more than 64 KB")

// runTokenCommand runs the token_command of a profile in the system's shell, since it may be a pipe. Its stderr is
// dropped: it may contain a secret.
func (c *Config) runTokenCommand(ctx context.Context, p Profile) (string, error) {
	fail := func(problem string, cause error, fix string) error {
		return &Error{File: c.File, Key: "profiles." + p.Name + ".token_command", Problem: problem,
			Err: cause, Fix: fix}
	}
	if c.exposed {
		return "", fail("not run: others can write this file or its folder", nil,
			"check the command, then run chmod 600 on the file and chmod 700 on its folder")
	}
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	output, err := shell(limited, p.TokenCommand)
	const byHand = "run the command yourself: its first line of output must be the token"
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fail("did not finish within 10 s", nil, byHand)
	case err != nil:
		return "", fail("failed", err, byHand)
	}
	line, _, _ := strings.Cut(string(output), "\n")
	token := strings.TrimSpace(line)
	if token == "" {
		return "", fail("printed nothing", nil, byHand)
	}
	if err := CheckToken(token); err != nil {
		return "", fail("printed text that is not a token", err, byHand)
	}
	return token, nil
}

// shell runs a command line without input and returns its output.
func shell(ctx context.Context, line string) ([]byte, error) {
	command := shellCommand(ctx, line)
	output := &boundedBuffer{limit: commandOutput}
	command.Stdout = output
	command.WaitDelay = commandGrace
	err := command.Run()
	if output.overflowed {
		return nil, errTooMuchOutput
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded; a background process keeps the pipe open
	}
	return output.buffer.Bytes(), err
}

// boundedBuffer fails writes beyond its limit, which ends the command with a closed pipe. It hides the buffer's other
// methods: ReadFrom would bypass the limit.
type boundedBuffer struct {
	buffer     bytes.Buffer
	limit      int
	overflowed bool
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	if b.buffer.Len()+len(data) > b.limit {
		b.overflowed = true
		return 0, errTooMuchOutput
	}
	return b.buffer.Write(data)
}

// ShellQuote quotes a word for a shell, for the commands in hints.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

const (
	keyringService = "quarry"
	// keyringLimit allows time to type the password of a locked keyring.
	keyringLimit = 60 * time.Second
)

// Errors of a Keyring.
var (
	// ErrNoSecret means that the keyring has no secret for the account.
	ErrNoSecret = errors.New("not in the keyring")
	// ErrNoKeyring means that this machine or session has no keyring.
	ErrNoKeyring = errors.New("no system keyring is available")
)

// Keyring stores secrets in the system's keyring. Get returns ErrNoSecret for an unknown account.
type Keyring interface {
	Get(ctx context.Context, account string) (string, error)
	Set(ctx context.Context, account, secret string) error
}

// KeyringAccount returns the account of a profile's token in the keyring. It contains the server's origin, so that the
// token is not used if the profile's server changes.
func KeyringAccount(p Profile) (string, error) {
	origin, err := wire.Origin(p.ServerURL)
	if err != nil {
		return "", fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return p.Name + "@" + origin, nil
}

// SystemKeyring returns the keyring of macOS, Windows, or the desktop session on other systems; nil if there is none.
func SystemKeyring(env Env) Keyring {
	// The keyring library would start a message bus.
	folder := env.Get("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(folder, "bus"))
	if unixFolders() && env.Get("DBUS_SESSION_BUS_ADDRESS") == "" && (folder == "" || err != nil) {
		return nil
	}
	return systemKeyring{}
}

type systemKeyring struct{}

func (k systemKeyring) Get(ctx context.Context, account string) (string, error) {
	return k.wait(ctx, func() (string, error) { return keyring.Get(keyringService, account) })
}

func (k systemKeyring) Set(ctx context.Context, account, secret string) error {
	_, err := k.wait(ctx, func() (string, error) { return "", keyring.Set(keyringService, account, secret) })
	return err
}

// wait adds the context and a time limit, which the keyring library lacks.
func (k systemKeyring) wait(ctx context.Context, ask func() (string, error)) (string, error) {
	secret, err := guard.Within(ctx, keyringLimit, func(context.Context) (string, error) { return ask() })
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("no response within %s", keyringLimit)
	case errors.Is(err, keyring.ErrNotFound):
		return "", ErrNoSecret
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return "", ErrNoKeyring
	}
	return secret, err
}
