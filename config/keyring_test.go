package config

import (
	"context"
	"errors"
	"testing"

	"github.com/zalando/go-keyring"
)

func TestSystemKeyring(t *testing.T) {
	keyring.MockInit()
	ring, ctx := systemKeyring{}, context.Background()
	if _, err := ring.Get(ctx, "a"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get of nothing: %v", err)
	}
	if err := ring.Set(ctx, "a", "tok"); err != nil {
		t.Error(err)
	}
	if got, err := ring.Get(ctx, "a"); got != "tok" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := keyring.Get("quarry", "a"); got != "tok" || err != nil {
		t.Errorf("the service's name: %q, %v", got, err)
	}
	if err := keyring.Delete("quarry", "a"); err != nil {
		t.Error(err)
	}
	if _, err := ring.Get(ctx, "a"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get after it was deleted: %v", err)
	}
	keyring.MockInitWithError(keyring.ErrUnsupportedPlatform)
	if err := ring.Set(ctx, "a", "tok"); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("unsupported: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	never := make(chan struct{})
	defer close(never)
	_, err := ring.wait(ended, func() (string, error) { <-never; return "", nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a keyring that hangs: %v", err)
	}
}
