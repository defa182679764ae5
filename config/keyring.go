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

// Keyring stores secrets in the system's keyring. Get and Delete return ErrNoSecret for unknown accounts.
type Keyring interface {
	Get(ctx context.Context, account string) (string, error)
	Set(ctx context.Context, account, secret string) error
	Delete(ctx context.Context, account string) error
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
	if !keyringAvailable(env) {
		return nil
	}
	return systemKeyring{}
}

// keyringAvailable checks for a message bus, because the keyring library would start one.
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

// wait adds the context and a time limit, which the keyring library lacks.
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
		return "", fmt.Errorf("no response within %s", keyringLimit)
	}
}
