package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const (
	keyringService = "quarry"
	// keyringLimit leaves time to type the password of a locked keyring.
	keyringLimit = 60 * time.Second
)

// Errors of a Keyring.
var (
	// ErrNoSecret: the keyring holds nothing under that account.
	ErrNoSecret = errors.New("not in the keyring")
	// ErrNoKeyring: there is no keyring on this machine or in this session.
	ErrNoKeyring = errors.New("no system keyring is available")
)

// Keyring stores secrets in the system's own store. ErrNoSecret is returned for what is not there.
type Keyring interface {
	Get(ctx context.Context, account string) (string, error)
	Set(ctx context.Context, account, secret string) error
	Delete(ctx context.Context, account string) error
}

// KeyringAccount is the name that a profile's token has in the keyring. It holds the server's origin, so that a
// profile which moves to another server does not take the token along.
func KeyringAccount(p Profile) (string, error) {
	origin, err := wire.Origin(p.ServerURL)
	if err != nil {
		return "", fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return p.Name + "@" + origin, nil
}

// SystemKeyring is the keyring of macOS, of Windows, or of the desktop session on other systems; nil where there is
// none.
func SystemKeyring(env Env) Keyring {
	if !keyringAvailable(env) {
		return nil
	}
	return systemKeyring{}
}

// keyringAvailable is asked before the library is, which would start a message bus of its own where none runs.
func keyringAvailable(env Env) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	if env.Get("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	folder := env.Get("XDG_RUNTIME_DIR")
	if folder == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(folder, "bus"))
	return err == nil
}

type systemKeyring struct{}

func (k systemKeyring) Get(ctx context.Context, account string) (string, error) {
	return k.wait(ctx, func() (string, error) { return keyring.Get(keyringService, account) })
}

func (k systemKeyring) Set(ctx context.Context, account, secret string) error {
	_, err := k.wait(ctx, func() (string, error) { return "", keyring.Set(keyringService, account, secret) })
	return err
}

func (k systemKeyring) Delete(ctx context.Context, account string) error {
	_, err := k.wait(ctx, func() (string, error) { return "", keyring.Delete(keyringService, account) })
	return err
}

// wait gives up on a keyring that does not answer; the library knows no context.
func (k systemKeyring) wait(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		secret string
		err    error
	}
	answers := make(chan answer, 1)
	guard.Go(func() {
		secret, err := ask()
		answers <- answer{secret, err}
	}, func(err error) { answers <- answer{err: err} })
	timer := time.NewTimer(keyringLimit)
	defer timer.Stop()
	select {
	case a := <-answers:
		switch {
		case errors.Is(a.err, keyring.ErrNotFound):
			return "", ErrNoSecret
		case errors.Is(a.err, keyring.ErrUnsupportedPlatform):
			return "", ErrNoKeyring
		}
		return a.secret, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", fmt.Errorf("no answer within %s", keyringLimit)
	}
}
