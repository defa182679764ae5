package config

import (
	"context"
	"errors"
	"fmt"
	"io"
)

const longestToken = 4096 // bytes; Onyx's own have some 270

// TokenSource returns a token, or an error with a hint if there is none. It is safe for concurrent use, reads its secret
// at most once, and does not cache errors.
type TokenSource func(ctx context.Context) (string, error)

// FixedToken returns the source of a known token, which it checks. The name, such as "ONYX_PAT" or a file and key, is
// used in errors.
func FixedToken(token Secret, name string) TokenSource {
	return func(context.Context) (string, error) {
		if err := checkSecret(token); err != nil {
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
		if checkSecret(NewSecret(token)) != nil || token == "" {
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

// checkSecret returns an error if a secret cannot be sent in a header. The error never quotes it.
func checkSecret(s Secret) error {
	text := s.Reveal()
	if len(text) > longestToken {
		return fmt.Errorf("is longer than %d characters", longestToken)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return errors.New("contains spaces or invalid characters")
		}
	}
	return nil
}

// readBounded reads at most one byte more than maxFile, so that a longer file is detected.
func readBounded(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxFile+1)) }
